// SPDX-License-Identifier: GPL-2.0
// Context switches and the driver's utilisation samples have times of different clocks, so a change from one to the other
// discards the samples so far. The middle of a turn serves as the sample of its process, and clients of MPS give none,
// because they share a context.
#include "lib/rm/owner_finder.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/monotonic.hpp"
#include "lib/base/process_info.hpp"

#include <algorithm>

namespace tool::rm {

namespace {

constexpr u64 CHANGES_PERIOD_NS = 2000000000;
constexpr u64 LOOK_MARGIN_NS = 600000; // before and after a utilisation sample may have been taken
constexpr u64 CALM_NS = 8000000000, BACKGROUND_CALM_NS = 60000000000; // an answer has the samples of 14 s
constexpr u64 LOOK_READ_NS = 1000000000;                              // until the sample of a look is in an answer
constexpr u64 SWITCHES_NS = 1000000000;                               // from read to read
constexpr u64 NAMED_NS = 200000000; // from sample to sample of a process, as of the driver's
constexpr u64 RECENT_NS = 5000000000, PATIENCE_NS = 30000000000, REST_NS = 120000000000;

} // namespace

void UnknownTasks::add(u64 time_ns, u32 key)
{
	auto [task, added] = tasks_.try_emplace(key, time_ns);

	if (added || time_ns > task->second + PATIENCE_NS)
		new_ns_ = time_ns;
	task->second = seen_ns_ = time_ns;
}

bool UnknownTasks::justify_queries(u64 now_ns) const
{
	return !tasks_.empty() && now_ns <= seen_ns_ + RECENT_NS && now_ns <= new_ns_ + PATIENCE_NS;
}

void Contradictions::add(u64 time_ns)
{
	if (!first_ns_ || time_ns > *first_ns_ + PATIENCE_NS + REST_NS)
		first_ns_ = time_ns;
}

bool Contradictions::justify_queries(u64 now_ns) const
{
	return first_ns_ && now_ns <= *first_ns_ + PATIENCE_NS;
}

bool SearchBudget::allow(bool wanted, u64 now_ns)
{
	u64 passed = asked_ns_ ? now_ns - asked_ns_ : 0;

	left_ns_ = std::min(left_ns_ + passed / REST, MOST_NS);
	if (searching_)
		left_ns_ -= std::min(left_ns_, passed);
	asked_ns_ = now_ns;
	searching_ = wanted && (searching_ ? left_ns_ > 0 : left_ns_ >= ENOUGH_NS);
	return searching_;
}

OwnerFinder::OwnerFinder(Client &client, const Subdevice &gpu, u64 max_gap_ns, Search search,
			 std::unique_ptr<ContextSwitches> switches)
	: client_(client), gpu_(gpu), search_(search), owners_(max_gap_ns),
	  clock_(search == Search::Background ? BACKGROUND_CALM_NS : CALM_NS), changes_taken_ns_(now_ns()),
	  switches_(std::move(switches))
{
}

void OwnerFinder::add_resident(u64 time_ns, std::optional<u32> key)
{
	owners_.add_resident(time_ns, key);
	if (!key)
		return;
	auto known = known_.find(*key);
	if (known == known_.end() || !known->second.pid)
		unknown_.add(time_ns, *key);
}

// Takes the middle of some turns of each process for samples. Nothing: a process that is alone does not switch.
bool OwnerFinder::add_switches()
{
	// Clients of MPS share a context, of which the driver names one.
	std::vector<u32> clients = list_users(client_, gpu_, MPS_COMPUTE, [](const char *, u32) {});
	std::vector<UtilSample> samples;
	u64 until = 0;
	std::vector<ContextSwitch> switches = switches_->read(until);

	if (!switched_ && !switches.empty())
		owners_.restart_samples(); // those of the driver have times of another clock
	switched_ |= !switches.empty();
	if (switches.empty()) // it is still as it was
		switches.push_back({.time_ns = until, .starts = on_.starts, .pid = on_.pid});
	for (const ContextSwitch &s : switches) {
		u64 &named = named_ns_[on_.pid];
		if (on_.starts && on_.pid != SwitchRecord::KERNEL_PID && !s.lost && s.time_ns >= named + NAMED_NS &&
		    std::find(clients.begin(), clients.end(), on_.pid) == clients.end()) {
			named = s.time_ns;
			samples.push_back({.time_ns = (on_.time_ns + s.time_ns) / 2, .pid = on_.pid});
		}
		on_ = s;
	}
	owners_.add_samples(samples);
	std::erase_if(named_ns_, [&](const auto &named) { return named.second + SWITCHES_NS < until; });
	switches_read_ns_ = now_ns();
	return switched_;
}

void OwnerFinder::query()
{
	u64 began = now_ns();

	try {
		if (switches_ && add_switches())
			return;
	} catch (const Error &) { // a driver that fails leaves owners unknown
		switches_.reset();
		owners_.restart_samples();
		switched_ = false;
	}
	bool reads_look = began >= look_read_ns_; // and the clock stays as it is
	std::vector<UtilSample> samples = util_samples(client_, gpu_);
	std::vector<u64> times;

	times.reserve(samples.size());
	for (const UtilSample &sample : samples)
		times.push_back(sample.time_ns);
	if (!reads_look)
		clock_.add_answer(began, now_ns(), times);
	owners_.add_samples(samples);
	auto pid_of = [this](u32 key) {
		auto known = known_.find(key);
		return known == known_.end() ? 0 : known->second.pid;
	};
	if (std::optional<UtilClock::Offset> offset = clock_.offset(); offset && owners_.contradict(*offset, pid_of))
		contradictions_.add(began);
	// In a minute the driver will not have the sample any more at which the engine is looked at now.
	bool is_last = !reads_look && calm_ && clock_.next_query_ns(true) > began + LOOK_READ_NS;
	look_read_ns_ = search_ == Search::Background && is_last ? began + LOOK_READ_NS : ~u64{0};
}

u64 OwnerFinder::next_query_ns() const
{
	return switched_ ? switches_read_ns_ + SWITCHES_NS : std::min(look_read_ns_, clock_.next_query_ns(calm_));
}

void OwnerFinder::query_if_due()
{
	u64 now = now_ns();
	bool wanted = unknown_.justify_queries(now) || contradictions_.justify_queries(now);

	calm_ = !(search_ == Search::Background ? budget_.allow(wanted, now) : wanted);
	if (now >= next_query_ns())
		query();
}

std::vector<OwnerFinder::Change> OwnerFinder::take_changes(bool now)
{
	std::vector<Change> changes;

	if (!now && now_ns() < changes_taken_ns_ + CHANGES_PERIOD_NS)
		return changes;
	if (now)
		query();
	// times of switches are of CLOCK_MONOTONIC
	std::optional<UtilClock::Offset> offset = switched_ ? UtilClock::Offset{} : clock_.offset();
	changes_taken_ns_ = now_ns();
	for (auto &[key, known] : known_) {
		bool exists = process_exists(known.pid);
		if (known.pid && known.seen && !exists) {
			owners_.forget(key); // what is known of it is that process
			known = {};
			unknown_.remove(key); // it is a new task
			changes.push_back({key, 0});
		}
		known.seen |= exists;
	}
	if (!offset)
		return changes;
	for (const auto &[key, pid] : owners_.find_pids(*offset)) {
		Known &known = known_[key];
		if (known.pid == pid)
			continue;
		known = {pid, process_exists(pid)};
		unknown_.remove(key);
		changes.push_back({key, pid});
	}
	return changes;
}

void OwnerFinder::forget(u32 key)
{
	owners_.forget(key);
	known_.erase(key);
	unknown_.remove(key);
}

u64 OwnerFinder::next_look_ns(u64 now) const
{
	std::optional<UtilClock::Window> window = clock_.next_sample(now - std::min(now, LOOK_MARGIN_NS));

	// Queries follow each other every two seconds, ten samples: the first one after each is enough to notice a change.
	if (!window || (window->ahead > 1 && (calm_ || !unknown_.justify_queries(now))))
		return ~u64{0};
	return std::max(now + LOOK_NS, window->min_ns - std::min(window->min_ns, LOOK_MARGIN_NS));
}

} // namespace tool::rm
