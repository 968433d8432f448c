// SPDX-License-Identifier: GPL-2.0
// Samples in a thread, and adds up intervals.
#include "gpulens/cmd/engine_clock.hpp"

#include "lib/base/process_info.hpp"

#include <cstdio>

namespace tool {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds READ_PERIOD{10};  // the module buffers 65536 samples; frequent wakeups would cost more
constexpr milliseconds RETRY_TIME{1000}; // after a failure: the GPU may come back
constexpr int MAX_READS = 16;            // between checks whether to stop

} // namespace

EngineClock::EngineClock(std::shared_ptr<const Source> source, unsigned gpu, u32 period_us,
			 std::chrono::nanoseconds keep_ended)
	: source_(std::move(source)), gpu_(gpu), period_us_(period_us), times_(keep_ended), thread_([this] { run(); })
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
			std::unique_ptr<SampleStream> stream = source_->samples({gpu_}, {.period_us = period_us_});
			TimelineBuilder builder;
			do {
				std::string_view bytes = stream->read(milliseconds(0));
				for (int i = 0; i < MAX_READS && !bytes.empty();
				     i++, bytes = stream->read(milliseconds(0)))
					builder.feed(bytes);
				count_intervals(builder);
			} while (!stopping_after(READ_PERIOD));
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
	owner_times_.end_old(OwnerTimes::Clock::now(), process_exists);
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
