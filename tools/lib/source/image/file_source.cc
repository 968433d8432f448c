// SPDX-License-Identifier: GPL-2.0
// Reads an image or a snapshot from a file.
#include "lib/source/image/file_source.hpp"

#include "lib/base/file.hpp"
#include "lib/source/image/from_image.hpp"

#include <fmt/format.h>

namespace tool {

std::vector<Gpu> FileSource::gpus(const std::vector<unsigned> &numbers) const
{
	Gpu gpu = from_bytes(read_file(file_), name_of_file(file_));

	for (unsigned x : numbers)
		if (x)
			throw Error(Error::Source,
				    fmt::format("{}: there is no GPU {}; a file has GPU 0 only", file_, x));
	return {gpu};
}

} // namespace tool
