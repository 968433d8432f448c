// SPDX-License-Identifier: GPL-2.0
// Allocates a client of the driver fifty times. Prints how many allocations succeeded, and how many files they left
// open.
#include "lib/base/errors.hpp"
#include "lib/rm/client.hpp"

#include <cstdio>
#include <filesystem>
#include <iterator>

namespace {

long open_files()
{
	return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

} // namespace

int main()
{
	long before = open_files(), got = 0;

	for (int i = 0; i < 50; i++)
		try {
			tool::rm::Client client;
			got++;
		} catch (const tool::Error &) {
		}
	std::printf("%ld %ld\n", got, open_files() - before);
}
