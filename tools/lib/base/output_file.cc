// SPDX-License-Identifier: GPL-2.0
// Writes to a draft, and replaces the file with it.
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

constexpr size_t BUFFER_BYTES = 1 << 18;

// Returns the mode that open() with 0666 would give. Reading the umask sets it, also for other threads, for a moment.
mode_t default_mode()
{
	mode_t mask = umask(077);

	umask(mask);
	return 0666 & ~mask;
}

// Opens what exists: a device, a FIFO, or the target of a link, if the kernel permits following it.
int open_in_place(const std::string &path)
{
	constexpr int FLAGS = O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC;
	int fd = open(path.c_str(), FLAGS);

	return fd < 0 && errno == ENOENT ? open(path.c_str(), FLAGS | O_CREAT, 0666) : fd;
}

} // namespace

OutputFile::OutputFile(std::string path, Existing existing) : path_(std::move(path)), existing_(existing)
{
	struct stat old {};
	bool exists = path_ != "-" && !lstat(path_.c_str(), &old);

	if (exists && existing_ == Existing::Refuse)
		fail(EEXIST);
	if (path_ == "-")
		fd_ = dup(STDOUT_FILENO);
	else if (exists && !S_ISREG(old.st_mode))
		fd_ = open_in_place(path_);
	else
		fd_ = open_draft(exists ? &old : nullptr);
	// The folder may not permit new files, while the file itself can be written.
	if (fd_ < 0 && exists && S_ISREG(old.st_mode) && (errno == EACCES || errno == EPERM || errno == EROFS))
		fd_ = open_in_place(path_);
	if (fd_ < 0)
		fail(errno);
}

// Creates the draft beside the file, with its mode and, if permitted, its owner. Returns -1 with errno on failure.
int OutputFile::open_draft(const struct stat *old)
{
	std::filesystem::path whole(path_);
	std::string draft = (whole.parent_path() / fmt::format(".{}.XXXXXX", whole.filename().string())).string();
	int fd = mkostemp(draft.data(), O_CLOEXEC);

	if (fd < 0)
		return -1;
	draft_ = draft;
	if (old && (old->st_uid != geteuid() || old->st_gid != getegid()) && fchown(fd, old->st_uid, old->st_gid))
		(void)!fchown(fd, static_cast<uid_t>(-1),
			      old->st_gid); // an ordinary user may set another of his groups
	fchmod(fd, old ? old->st_mode & 0777 : default_mode());
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
	throw Error(Error::Source, explain_file(err, path_ == "-" ? "standard output" : path_, true));
}

void OutputFile::write(std::string_view bytes)
{
	buffer_.append(bytes);
	if (buffer_.size() >= BUFFER_BYTES)
		flush();
}

void OutputFile::flush()
{
	int err = write_fully(fd_, buffer_);

	if (err)
		fail(err);
	buffer_.clear();
}

// Copies the draft to the file: one that is a mount point, as in containers, cannot be replaced.
void OutputFile::copy_draft()
{
	std::string bytes(BUFFER_BYTES, 0);
	int draft = open(draft_.c_str(), O_RDONLY | O_CLOEXEC), file = open_in_place(path_);
	int err = draft < 0 || file < 0 ? errno : 0;

	while (!err) {
		ssize_t n = read(draft, bytes.data(), bytes.size());
		if (n <= 0) {
			err = n ? errno : 0;
			break;
		}
		err = write_fully(file, std::string_view(bytes).substr(0, static_cast<size_t>(n)));
	}
	if (draft >= 0)
		close(draft);
	if (file >= 0 && close(file) && !err)
		err = errno;
	if (err)
		fail(err);
}

// Gives the draft the file's name. Returns -1 with errno on failure.
int OutputFile::publish_draft() const
{
	if (existing_ == Existing::Replace)
		return std::rename(draft_.c_str(), path_.c_str());
	int result = renameat2(AT_FDCWD, draft_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE);
	// File systems without that flag, such as NFS, have hard links.
	if (result && (errno == EINVAL || errno == ENOSYS)) {
		result = link(draft_.c_str(), path_.c_str());
		if (!result)
			unlink(draft_.c_str());
	}
	return result;
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
	int result = close(fd_);
	fd_ = -1;
	if (result)
		fail(errno);
	if (!draft_.empty() && publish_draft()) {
		if (errno != EBUSY || existing_ == Existing::Refuse)
			fail(errno);
		copy_draft();
		unlink(draft_.c_str());
	}
	draft_.clear();
}

} // namespace tool
