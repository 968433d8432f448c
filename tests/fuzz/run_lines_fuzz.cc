// SPDX-License-Identifier: GPL-2.0
// The file that gpulens run -o writes: any text. Seen failing with a pid of 1e20, which was converted although it is
// out of range.
#include "gpulens/cmd/run.hpp"
#include "lib/base/errors.hpp"
#include "lib/rm/run_tsg.hpp"
#include "room.hpp"

#include <sys/mman.h>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int fd = memfd_create("lines", 0);
	static const std::string path = "/proc/self/fd/" + std::to_string(fd);

	FUZZ_CHECK(!ftruncate(fd, 0) && pwrite(fd, data, size, 0) == static_cast<ssize_t>(size));
	try {
		for (const tool::RunTsg &tsg : tool::read_run_file(path))
			FUZZ_CHECK(!tsg.engine.empty());
	} catch (const tool::Error &e) {
		FUZZ_CHECK(e.code == tool::Error::Source && std::string(e.what()).starts_with(path));
	}
	return 0;
}
