// SPDX-License-Identifier: GPL-2.0
// See sample_stream.hpp.
#include "lib/source/module/sample_stream.hpp"

#include "lib/base/errors.hpp"
#include "lib/source/module/proc.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace tool {

SampleStream::SampleStream(const std::string &proc, unsigned gpu, u32 period_us, const std::vector<u32> &runlists)
	: path_(fmt::format("{}/gpu{}/samples", proc, gpu)), fd_(open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC)),
	  buffer_(1 << 18, 0)
{
	std::string how = fmt::format("{}{}{}", period_us, runlists.empty() ? "" : " ", fmt::join(runlists, " "));

	if (fd_ < 0)
		throw SourceError(explain(errno, path_, false));
	if (::write(fd_, how.data(), how.size()) < 0) {
		int err = errno;
		close(fd_);
		throw SourceError(err == ENOENT ? "there is no such runlist: " + how.substr(how.find(' ') + 1)
				  : err == ERANGE
					  ? fmt::format("every {} us cannot be sampled: 10 us to 1 s can", period_us)
					  : explain(err, path_, true));
	}
}

SampleStream::~SampleStream()
{
	close(fd_);
}

std::string_view SampleStream::read()
{
	ssize_t n = ::read(fd_, buffer_.data(), buffer_.size());

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		throw SourceError(explain(errno, path_, false));
	return std::string_view(buffer_).substr(0, n < 0 ? 0 : static_cast<size_t>(n));
}

} // namespace tool
