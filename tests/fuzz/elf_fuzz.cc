// SPDX-License-Identifier: GPL-2.0
// The symbols of a file that a program has mapped: any file. Seen failing with the copy of an empty table from a null pointer.
#include "lib/base/elf_symbols.hpp"
#include "room.hpp"

#include <string>
#include <sys/mman.h>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int file = memfd_create("elf", 0);
	static std::string path = "/proc/self/fd/" + std::to_string(file);

	FUZZ_CHECK(ftruncate(file, static_cast<off_t>(size)) == 0);
	FUZZ_CHECK(pwrite(file, data, size, 0) == static_cast<ssize_t>(size));
	tool::ElfSymbols symbols(path);
	for (u64 address : {u64{0}, u64{0x1000}, u64{0x1008}, ~u64{0}})
		symbols.function_at(address);
	return 0;
}
