// SPDX-License-Identifier: GPL-2.0
// Reads /proc/gpuX.
#include "lib/source/module/module_source.hpp"

#include "lib/base/errors.hpp"
#include "lib/source/module/proc.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>
#include <utility>

namespace tool {

namespace {

// /proc/gpuX/samples, opened and configured.
class ModuleSamples : public SampleStream {
public:
	// first: bytes to return before the samples.
	ModuleSamples(std::string path, std::string first, const SampleOptions &options)
		: path_(std::move(path)), first_(std::move(first)),
		  fd_(open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC)), buffer_(1 << 18, 0)
	{
		std::string list = fmt::format("{}", fmt::join(options.runlists, " "));
		std::string text = fmt::format("{}{}{}", options.period_us, list.empty() ? "" : " ", list);

		if (fd_ < 0)
			throw Error(Error::Source, explain(errno, path_, false));
		if (::write(fd_, text.data(), text.size()) < 0) {
			int err = errno;
			close(fd_);
			throw Error(Error::Source,
				    err == ENOENT   ? "no such runlist: " + list
				    : err == ERANGE ? fmt::format("the sampling period must be 10 us to 1 s, not {} us",
								  options.period_us)
						    : explain(err, path_, true));
		}
	}
	~ModuleSamples() override { close(fd_); }

	std::string_view read(std::chrono::milliseconds time) override
	{
		pollfd p{.fd = fd_, .events = POLLIN, .revents = 0};

		if (!std::exchange(first_returned_, true) && !first_.empty())
			return first_;
		if (time.count())
			poll(&p, 1, static_cast<int>(time.count()));
		ssize_t n = ::read(fd_, buffer_.data(), buffer_.size());
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			throw Error(Error::Source, explain(errno, path_, false));
		return std::string_view(buffer_).substr(0, n < 0 ? 0 : static_cast<size_t>(n));
	}

private:
	std::string path_, first_;
	int fd_;
	std::string buffer_;
	bool first_returned_ = false;
};

} // namespace

std::vector<unsigned> ModuleSource::numbers() const
{
	return proc_gpus(proc_);
}

std::vector<Gpu> ModuleSource::gpus(const std::vector<unsigned> &numbers) const
{
	std::vector<Gpu> list;

	for (unsigned x : numbers.empty() ? proc_gpus(proc_) : numbers) {
		list.push_back(load_permitted(proc_, x));
		load_hardware_gpcs(proc_, x, list.back());
	}
	return list;
}

Gpu ModuleSource::snapshot(unsigned number) const
{
	return load_live(proc_, number);
}

std::unique_ptr<SampleStream> ModuleSource::samples(const std::vector<unsigned> &numbers,
						    const SampleOptions &options) const
{
	std::string folder = fmt::format("{}/gpu{}/", proc_, only_gpu(proc_, numbers));

	return std::make_unique<ModuleSamples>(folder + "samples",
					       options.with_snapshot ? read_proc(folder + "snapshot") : "", options);
}

std::optional<std::string> ModuleSource::stats(unsigned number) const
{
	return read_proc(fmt::format("{}/gpu{}/stats", proc_, number));
}

} // namespace tool
