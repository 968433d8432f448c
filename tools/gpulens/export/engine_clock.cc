// SPDX-License-Identifier: GPL-2.0
// Samples in a thread, and adds up intervals.
#include "gpulens/export/engine_clock.hpp"

#include "lib/base/process_info.hpp"

#include <algorithm>
#include <cstdio>

namespace tool {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds RETRY_TIME{1000};       // after a failure: the GPU may come back
constexpr int MAX_READS = 16;                  // between checks whether to stop
constexpr milliseconds LONGEST_READ_TIME{250}; // from read to read: a scrape has all samples up to then
constexpr std::chrono::seconds CHECK_TIME{5};  // between checks which processes have ended: a file of /proc each

} // namespace

// Reading more often than there are samples would only wake the thread up.
EngineClock::EngineClock(std::shared_ptr<const Source> source, unsigned gpu, const SampleOptions &options,
			 std::chrono::nanoseconds keep_ended)
	: source_(std::move(source)), gpu_(gpu), options_(options),
	  read_period_(std::max(source_->read_period(),
				std::min(milliseconds(options.period_us / 1000), LONGEST_READ_TIME))),
	  times_(keep_ended), thread_([this] { run(); })
{
}

EngineClock::~EngineClock()
{
	{
		std::lock_guard lock(mutex_);
		stop_ = true;
	}
	wake_.notify_all();
	thread_.join();
}

bool EngineClock::stopping_after(milliseconds time)
{
	std::unique_lock lock(mutex_);

	return wake_.wait_for(lock, time, [this] { return stop_; });
}

void EngineClock::run()
{
	do {
		try {
			std::unique_ptr<SampleStream> stream = source_->samples({gpu_}, options_);
			TimelineBuilder builder;
			do {
				std::string_view bytes = stream->read(milliseconds(0));
				for (int i = 0; i < MAX_READS && !bytes.empty();
				     i++, bytes = stream->read(milliseconds(0)))
					builder.feed(bytes);
				count_intervals(builder);
			} while (!stopping_after(read_period_));
		} catch (const std::exception &e) { // including std::bad_alloc: a failure ends only the sampling
			set_state(false, e.what());
		}
	} while (!stopping_after(RETRY_TIME));
}

// Prints an error once, not at each retry.
void EngineClock::set_state(bool up, const std::string &error)
{
	std::lock_guard lock(mutex_);

	up_ = up;
	if (error != last_error_ && !error.empty())
		std::fprintf(stderr, "gpulens: engines cannot be sampled: %s\n", error.c_str());
	last_error_ = error;
}

void EngineClock::count_intervals(TimelineBuilder &builder)
{
	std::vector<Track> tracks = builder.drain();

	if (tracks.empty())
		return;
	set_state(true, "");
	std::lock_guard lock(mutex_);
	for (const Track &t : tracks) {
		times_.add_engine(t.engine);
		for (const Interval &i : t.intervals) {
			times_.add(t.engine, i);
			if (source_->finds_owners())
				owner_times_.add(t.engine, i, builder.closed().owner(t.engine.runlist, i));
		}
	}
	OwnerTimes::Clock::time_point now = OwnerTimes::Clock::now();
	if (now >= processes_checked_ + CHECK_TIME) {
		owner_times_.end_old(now, process_exists);
		processes_checked_ = now;
	}
}

bool EngineClock::up() const
{
	std::lock_guard lock(mutex_);

	return up_;
}

void EngineClock::add_snapshot(const Gpu &snapshot)
{
	std::lock_guard lock(mutex_);

	times_.end_absent(snapshot, EngineTimes::Clock::now());
	if (source_->finds_owners())
		owner_times_.settle(snapshot);
}

void EngineClock::add_to(Metrics &metrics, const std::string &label) const
{
	std::lock_guard lock(mutex_);

	metrics.gauge("gpulens_sampler_up", "1 while the GPU's engines are sampled.").add({{"gpu", label}}, u64{up_});
	times_.add_to(metrics, label, source_->reports_work());
	owner_times_.add_to(metrics, label);
}

} // namespace tool
