// SPDX-License-Identifier: GPL-2.0
// See file.hpp.
#include "lib/base/file.hpp"

#include "lib/base/errors.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tool {

namespace {

// Larger files cannot be what one GPU's decoding touched: all of a 128 GB GPU's page tables are smaller than this.
constexpr size_t LARGEST_FILE = size_t{1} << 30;

// The whole file, at once. errno on failure.
bool read_file(int fd, std::string &text)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	// Pipes too, so the size is a hint only.
	size_t room = S_ISREG(st.st_mode) && st.st_size > 0 ? static_cast<size_t>(st.st_size) + 1 : 65536;
	for (size_t have = 0;;) {
		if (room > LARGEST_FILE) {
			errno = EFBIG;
			return false;
		}
		text.resize(room);
		ssize_t n = read(fd, text.data() + have, room - have);
		if (n < 0 && errno != EINTR)
			return false;
		have += n > 0 ? static_cast<size_t>(n) : 0;
		if (n == 0) {
			text.resize(have);
			return true;
		}
		if (have == room)
			room *= 2;
	}
}

} // namespace

std::string explain_file(int err, const std::string &path)
{
	const char *todo = err == ENOENT   ? "; look at the path, or make the folder"
			   : err == EACCES ? "; be its owner, or root: sudo gpulens ..."
			   : err == EISDIR ? "; name a file in that folder"
			   : err == ENOSPC ? "; make room there, or name a file elsewhere"
			   : err == EROFS  ? "; name a file elsewhere"
					   : "";

	return fmt::format("{}: {}: {}{}", path, strerrorname_np(err) ? strerrorname_np(err) : "?", std::strerror(err),
			   todo);
}

int read_path(const std::string &path, std::string &bytes)
{
	int fd = path == "-" ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC);
	// The module collects at the first read() and serves the rest from that: a snapshot stays one instant.
	int err = fd >= 0 && read_file(fd, bytes) ? 0 : errno;

	if (fd >= 0)
		close(fd);
	return err;
}

std::string name_of_file(const std::string &path)
{
	return path == "-" ? "standard input" : path;
}

std::string read_whole(const std::string &path)
{
	std::string bytes;

	if (int err = read_path(path, bytes))
		throw Error(Error::Source, explain_file(err, path));
	return bytes;
}

} // namespace tool
