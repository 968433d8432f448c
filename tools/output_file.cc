// SPDX-License-Identifier: GPL-2.0
// See output_file.hpp.
#include "output_file.hpp"

#include "sources.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
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

} // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path))
{
	struct stat st {};

	if (path_ == "-") {
		fd_ = dup(STDOUT_FILENO);
	} else if (!lstat(path_.c_str(), &st) && !S_ISREG(st.st_mode)) {
		fd_ = open(path_.c_str(),
			   O_WRONLY | O_CLOEXEC | O_NOCTTY | (S_ISLNK(st.st_mode) ? O_CREAT | O_TRUNC : 0), 0666);
	} else {
		draft_ = path_ + ".XXXXXX";
		fd_ = mkostemp(draft_.data(), O_CLOEXEC);
		if (fd_ < 0)
			draft_.clear();
		else
			fchmod(fd_, S_ISREG(st.st_mode) ? st.st_mode & 07777 : new_mode());
	}
	if (fd_ < 0)
		fail(errno);
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
	throw SourceError(explain_file(err, path_ == "-" ? "standard output" : path_));
}

void OutputFile::write(std::string_view bytes)
{
	buffer_.append(bytes);
	if (buffer_.size() >= BUFFER)
		flush();
}

void OutputFile::flush()
{
	for (size_t at = 0; at < buffer_.size();) {
		ssize_t n = ::write(fd_, buffer_.data() + at, buffer_.size() - at);
		if (n < 0 && errno != EINTR)
			fail(errno);
		at += n > 0 ? static_cast<size_t>(n) : 0;
	}
	buffer_.clear();
}

void OutputFile::commit()
{
	flush();
	int closed = close(fd_);
	fd_ = -1;
	if (closed || (!draft_.empty() && std::rename(draft_.c_str(), path_.c_str())))
		fail(errno);
	draft_.clear();
}

} // namespace tool
