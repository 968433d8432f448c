// SPDX-License-Identifier: GPL-2.0
// Reads files, and explains their errors.
#include "lib/base/file.hpp"

#include "lib/base/errors.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tool {

namespace {

// No image of one GPU is larger: all page tables of a GPU with 128 GB are smaller than this.
constexpr size_t MAX_FILE_BYTES = size_t{1} << 30;

constexpr size_t MAX_JSON_BYTES = size_t{16} << 20;

// Reads to the end of the file. Returns false with errno on failure.
bool read_to_end(int fd, std::string &text, size_t most)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	// Only a hint: pipes have no size.
	size_t capacity = S_ISREG(st.st_mode) && st.st_size > 0 ? static_cast<size_t>(st.st_size) + 1 : 65536;

	capacity = std::min(capacity, most + 1);
	for (size_t size = 0;;) {
		if (size > most) {
			errno = EFBIG;
			return false;
		}
		text.resize(capacity);
		ssize_t n = read(fd, text.data() + size, capacity - size);
		if (n < 0 && errno != EINTR)
			return false;
		size += n > 0 ? static_cast<size_t>(n) : 0;
		if (n == 0) {
			text.resize(size);
			return true;
		}
		if (size == capacity)
			capacity = std::min(capacity * 2, most + 1);
	}
}

int read_path(const std::string &path, std::string &bytes, size_t most)
{
	int fd = path == "-" ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC);
	// The module takes the snapshot at the first read(); further reads return the rest of it.
	int err = fd >= 0 && read_to_end(fd, bytes, most) ? 0 : errno;

	if (fd >= 0)
		close(fd);
	return err;
}

std::string read_bounded(const std::string &path, size_t most)
{
	std::string bytes;

	if (int err = read_path(path, bytes, most))
		throw Error(Error::Source, explain_file(err, path));
	return bytes;
}

} // namespace

std::string installed_file(const std::string &name)
{
	std::error_code err;
	std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe", err).parent_path();
	std::filesystem::path installed = here.parent_path() / "lib/gpulens" / name;

	return !std::filesystem::exists(installed, err) && std::filesystem::exists(here / name, err) ? here / name
												     : installed;
}

std::string explain_file(int err, const std::string &path, bool writing)
{
	const char *remedy = err == ENOENT   ? writing ? "; check the path, or create the folder" : "; check the path"
			     : err == EACCES ? "; run as its owner, or as root: sudo gpulens ..."
			     : err == EISDIR ? "; name a file in that folder"
			     : err == ENOSPC ? "; free space, or name a file elsewhere"
			     : err == EROFS  ? "; name a file elsewhere"
					     : "";

	return fmt::format("{}: {}: {}{}", path, strerrorname_np(err) ? strerrorname_np(err) : "?", std::strerror(err),
			   remedy);
}

int read_path(const std::string &path, std::string &bytes)
{
	return read_path(path, bytes, MAX_FILE_BYTES);
}

std::string name_of_file(const std::string &path)
{
	return path == "-" ? "standard input" : path;
}

std::string read_file(const std::string &path)
{
	return read_bounded(path, MAX_FILE_BYTES);
}

std::string read_json_file(const std::string &path)
{
	return read_bounded(path, MAX_JSON_BYTES);
}

} // namespace tool
