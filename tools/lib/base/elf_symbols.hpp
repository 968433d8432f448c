// SPDX-License-Identifier: GPL-2.0
// Names of functions in a 64-bit ELF file, from its symbol table or, where it is stripped, its dynamic one.
#pragma once
#include "gpulens/types.h"

#include <string>
#include <vector>

namespace tool {

class ElfSymbols {
public:
	// A file that cannot be read, or is no such file, has no symbols.
	explicit ElfSymbols(const std::string &path);

	// Returns the function at an address of the file, demangled; empty: none is known.
	std::string function_at(u64 address) const;

private:
	struct Function {
		u64 begin, end;
		std::string name;
	};
	std::vector<Function> functions_; // by begin
};

} // namespace tool
