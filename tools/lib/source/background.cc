// SPDX-License-Identifier: GPL-2.0
// The thread samples without the lock and takes it only to hand bytes over. While MAX_BYTES wait for a reader it does not
// sample, and the ticks that pass count as late.
#include "lib/source/background.hpp"

#include <utility>

namespace tool {

namespace {

using std::chrono::milliseconds;

constexpr size_t MAX_BYTES = size_t{16} << 20; // kept for a reader that does not come: a million samples

} // namespace

BackgroundSamples::BackgroundSamples(std::unique_ptr<SampleStream> inner, milliseconds piece)
	: inner_(std::move(inner)), piece_(piece), thread_([this] { run(); })
{
}

BackgroundSamples::~BackgroundSamples()
{
	end();
}

void BackgroundSamples::end()
{
	{
		std::lock_guard lock(mutex_);
		stop_ = true;
	}
	changed_.notify_all();
	if (thread_.joinable())
		thread_.join();
}

void BackgroundSamples::run()
{
	try {
		for (;;) {
			std::string_view bytes = inner_->read(piece_);
			std::unique_lock lock(mutex_);
			filled_ += bytes;
			if (!bytes.empty())
				changed_.notify_all();
			// Nobody reads: sampling stops until somebody does, and the ticks count as late.
			changed_.wait(lock, [this] { return stop_ || filled_.size() < MAX_BYTES; });
			if (stop_)
				return; // finish() appends what is left
		}
	} catch (const std::exception &e) {
		std::lock_guard lock(mutex_);
		error_ = e.what();
	}
	changed_.notify_all();
}

std::string_view BackgroundSamples::read(milliseconds time)
{
	std::unique_lock lock(mutex_);

	if (time.count()) // to wait for no time is a call of the kernel, too
		changed_.wait_for(lock, time, [this] { return !filled_.empty() || !error_.empty(); });
	if (filled_.empty() && !error_.empty())
		throw Error(Error::Source, error_);
	taken_.swap(filled_);
	filled_.clear();
	changed_.notify_all();
	return taken_;
}

void BackgroundSamples::finish(std::string &last)
{
	end();
	last += std::exchange(filled_, {});
	if (!error_.empty())
		throw Error(Error::Source, error_);
	inner_->finish(last);
}

} // namespace tool
