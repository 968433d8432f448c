// SPDX-License-Identifier: GPL-2.0
// The code of the error that a call throws.
#pragma once
#include "lib/base/errors.hpp"

#include <optional>

// Calls f. Returns the code of the tool::Error that it throws, or nullopt if it throws none.
template <typename F> std::optional<tool::Error::Code> code_of(F f)
{
	try {
		f();
	} catch (const tool::Error &e) {
		return e.code;
	}
	return std::nullopt;
}
