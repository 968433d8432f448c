// SPDX-License-Identifier: GPL-2.0
// See output_file.hpp.
#include "lib/base/output_file.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"
#include "lib/base/write_fully.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tool {

namespace {

constexpr size_t BUFFER = 1 << 18;

// As open() with 0666 would have made it. umask() can only be read by setting it, also for other threads.
mode_t new_mode()
{
	mode_t mask = umask(077);

	umask(mask);
	return 0666 & ~mask;
}

// What stands there stays what it is: a device, a FIFO, where a link leads. The kernel decides who may follow one.
int open_through(const std::string &path)
{
	constexpr int HOW = O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC;
	int fd = open(path.c_str(), HOW);

	return fd < 0 && errno == ENOENT ? open(path.c_str(), HOW | O_CREAT, 0666) : fd;
}

} // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path))
{
	struct stat old {};
	bool there = path_ != "-" && !lstat(path_.c_str(), &old);

	if (path_ == "-")
		fd_ = dup(STDOUT_FILENO);
	else if (there && !S_ISREG(old.st_mode))
		fd_ = open_through(path_);
	else
		fd_ = open_draft(there ? &old : nullptr);
	// A folder that takes no other file may hold one that can be written.
	if (fd_ < 0 && there && S_ISREG(old.st_mode) && (errno == EACCES || errno == EPERM || errno == EROFS))
		fd_ = open_through(path_);
	if (fd_ < 0)
		fail(errno);
}

// Beside the file, with its mode, and its owner where that is allowed. -1: errno says why not.
int OutputFile::open_draft(const struct stat *old)
{
	std::filesystem::path whole(path_);
	std::string draft = (whole.parent_path() / fmt::format(".{}.XXXXXX", whole.filename().string())).string();
	int fd = mkostemp(draft.data(), O_CLOEXEC);

	if (fd < 0)
		return -1;
	draft_ = draft;
	if (old && (old->st_uid != geteuid() || old->st_gid != getegid()) && fchown(fd, old->st_uid, old->st_gid))
		(void)!fchown(fd, static_cast<uid_t>(-1), old->st_gid); // a user's own file of another of his groups
	fchmod(fd, old ? old->st_mode & 0777 : new_mode());
	return fd;
}

OutputFile::~OutputFile()
{
	if (fd_ >= 0)
		close(fd_);
	if (!draft_.empty())
		unlink(draft_.c_str());
}

void OutputFile::fail(int err) const
{
	throw Error(Error::Source, explain_file(err, path_ == "-" ? "standard output" : path_));
}

void OutputFile::write(std::string_view bytes)
{
	buffer_.append(bytes);
	if (buffer_.size() >= BUFFER)
		flush();
}

void OutputFile::flush()
{
	int err = write_fully(fd_, buffer_);

	if (err)
		fail(err);
	buffer_.clear();
}

// A file that is mounted by itself, as containers have them, cannot be replaced: it gets the draft's bytes.
void OutputFile::copy_draft()
{
	std::string bytes(BUFFER, 0);
	int from = open(draft_.c_str(), O_RDONLY | O_CLOEXEC), to = open_through(path_);
	int err = from < 0 || to < 0 ? errno : 0;

	while (!err) {
		ssize_t n = read(from, bytes.data(), bytes.size());
		if (n <= 0) {
			err = n ? errno : 0;
			break;
		}
		err = write_fully(to, std::string_view(bytes).substr(0, static_cast<size_t>(n)));
	}
	if (from >= 0)
		close(from);
	if (to >= 0 && close(to) && !err)
		err = errno;
	if (err)
		fail(err);
}

void OutputFile::keep()
{
	buffer_.clear();
	commit();
}

void OutputFile::commit()
{
	if (fd_ < 0)
		return;
	flush();
	int closed = close(fd_);
	fd_ = -1;
	if (closed)
		fail(errno);
	if (!draft_.empty() && std::rename(draft_.c_str(), path_.c_str())) {
		if (errno != EBUSY)
			fail(errno);
		copy_draft();
		unlink(draft_.c_str());
	}
	draft_.clear();
}

} // namespace tool
