// SPDX-License-Identifier: GPL-2.0
// Reads section headers, and of symbols what the longer table has. Nothing in the file is trusted.
#include "lib/base/elf_symbols.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <elf.h>
#include <fstream>
#include <memory>

namespace tool {

namespace {

constexpr u64 MAX_TABLE = u64{256} << 20; // bytes of a table or its names; larger ones are ignored

// Returns the elements, or nothing where the file does not have all of these bytes.
template <typename T> std::vector<T> read_table(std::ifstream &file, u64 offset, u64 size)
{
	file.clear();
	file.seekg(0, std::ios::end);
	u64 end = static_cast<u64>(file.tellg());
	bool inside = offset <= end && size <= std::min(end - offset, MAX_TABLE);
	std::vector<T> table(inside ? size / sizeof(T) : 0);
	if (!file.seekg(static_cast<std::streamoff>(offset)) ||
	    !file.read(reinterpret_cast<char *>(table.data()), static_cast<std::streamsize>(table.size() * sizeof(T))))
		table.clear();
	return table;
}

std::string demangle_name(const char *name)
{
	int status = 0;
	std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
							 &std::free);

	return text ? text.get() : name;
}

} // namespace

ElfSymbols::ElfSymbols(const std::string &path)
{
	std::ifstream file(path, std::ios::binary);
	Elf64_Ehdr head{};

	if (!file.read(reinterpret_cast<char *>(&head), sizeof(head)) ||
	    std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_shentsize != sizeof(Elf64_Shdr))
		return;
	std::vector<Elf64_Shdr> sections =
		read_table<Elf64_Shdr>(file, head.e_shoff, u64{head.e_shnum} * sizeof(Elf64_Shdr));
	for (u32 type : {SHT_SYMTAB, SHT_DYNSYM})
		for (const Elf64_Shdr &section : sections) {
			if (section.sh_type != type || section.sh_link >= sections.size() || !functions_.empty())
				continue;
			const Elf64_Shdr &names_section = sections[section.sh_link];
			std::vector<char> names =
				read_table<char>(file, names_section.sh_offset, names_section.sh_size);
			if (names.empty() || names.back())
				continue;
			for (const Elf64_Sym &symbol : read_table<Elf64_Sym>(file, section.sh_offset, section.sh_size))
				if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF &&
				    symbol.st_name < names.size())
					functions_.push_back({symbol.st_value, symbol.st_value + symbol.st_size,
							      names.data() + symbol.st_name});
		}
	std::stable_sort(functions_.begin(), functions_.end(),
			 [](const Function &a, const Function &b) { return a.begin < b.begin; });
}

std::string ElfSymbols::function_at(u64 address) const
{
	auto after = std::upper_bound(functions_.begin(), functions_.end(), address,
				      [](u64 value, const Function &f) { return value < f.begin; });

	if (after == functions_.begin() || (after - 1)->end <= address)
		return "";
	return demangle_name((after - 1)->name.c_str());
}

} // namespace tool
