// SPDX-License-Identifier: GPL-2.0
// See engine_clock.hpp.
#include "gpulens/cmd/engine_clock.hpp"

#include <cstdio>

namespace tool {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds EVERY{10};   // the module keeps 65536 samples, and waking for each costs more than they do
constexpr milliseconds AGAIN{1000}; // after a failure: a GPU may come back
constexpr int AT_ONCE = 16;         // reads until somebody may say that it is enough

} // namespace

EngineClock::EngineClock(std::shared_ptr<const Source> source, unsigned gpu, u32 period_us)
	: source_(std::move(source)), gpu_(gpu), period_us_(period_us), thread_([this] { run(); })
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
				for (int i = 0; i < AT_ONCE && !bytes.empty();
				     i++, bytes = stream->read(milliseconds(0)))
					builder.feed(bytes);
				count(builder);
			} while (!stopping_after(EVERY));
		} catch (const std::exception &e) { // also no memory: nothing else is to end with the sampler
			say(false, e.what());
		}
	} while (!stopping_after(AGAIN));
}

// A message once, not every second.
void EngineClock::say(bool up, const std::string &why)
{
	std::lock_guard lock(mutex_);

	up_ = up;
	if (why != said_ && !why.empty())
		std::fprintf(stderr, "gpulens: no time on engines: %s\n", why.c_str());
	said_ = why;
}

void EngineClock::add(const Engine &engine, const Interval &i)
{
	std::string name = engine.short_name();
	u64 ns = i.end_ns - i.start_ns;

	if (i.phase == Phase::Switching)
		switch_ns_[name] += ns;
	if (i.phase != Phase::On)
		return;
	Key key{name, engine.runlist, i.bare || i.tsg == LENS_NONE ? "none" : std::to_string(i.tsg)};
	if (key.tsg != "none" && !on_ns_.count(key)) {
		if (tsgs_[name] < MAX_TSGS)
			tsgs_[name]++;
		else
			key.tsg = "other";
	}
	on_ns_[key] += ns;
}

void EngineClock::count(TimelineBuilder &builder)
{
	std::vector<Track> tracks = builder.drain();

	if (tracks.empty())
		return;
	say(true, "");
	std::lock_guard lock(mutex_);
	for (const Track &t : tracks) {
		switch_ns_[t.engine.short_name()]; // a counter is there from its zero on
		for (const Interval &i : t.intervals)
			add(t.engine, i);
	}
}

bool EngineClock::up() const
{
	std::lock_guard lock(mutex_);

	return up_;
}

void EngineClock::add_to(Metrics &to, const std::string &label) const
{
	std::lock_guard lock(mutex_);

	to.gauge("gpulens_sampler_up", "1 while the GPU's engines are sampled.").add({{"gpu", label}}, u64{up_});
	for (const auto &[key, ns] : on_ns_)
		to.counter("gpulens_tsg_engine_seconds_total", "Time of a TSG on an engine, from samples.")
			.add({{"gpu", label},
			      {"engine", key.engine},
			      {"runlist", key.runlist == LENS_NONE ? "" : std::to_string(key.runlist)},
			      {"tsg", key.tsg}},
			     static_cast<double>(ns) / 1e9);
	for (const auto &[engine, ns] : switch_ns_)
		to.counter("gpulens_engine_switch_seconds_total", "Time in which an engine switched, from samples.")
			.add({{"gpu", label}, {"engine", engine}}, static_cast<double>(ns) / 1e9);
}

} // namespace tool
