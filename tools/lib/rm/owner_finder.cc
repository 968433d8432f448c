// SPDX-License-Identifier: GPL-2.0
// See owner_finder.hpp.
#include "lib/rm/owner_finder.hpp"

#include "lib/base/monotonic.hpp"
#include "lib/base/process_info.hpp"

#include <algorithm>

namespace tool::rm {

namespace {

constexpr u64 CHANGES_PERIOD_NS = 2000000000;
constexpr u64 LOOK_MARGIN_NS = 600000; // before and after a utilisation sample may have been taken
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

OwnerFinder::OwnerFinder(Client &client, const Subdevice &gpu, u64 max_gap_ns)
	: client_(client), gpu_(gpu), owners_(max_gap_ns), changes_taken_ns_(now_ns())
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

void OwnerFinder::query()
{
	u64 began = now_ns();
	std::vector<UtilSample> samples = util_samples(client_, gpu_);
	std::vector<u64> times;

	times.reserve(samples.size());
	for (const UtilSample &sample : samples)
		times.push_back(sample.time_ns);
	clock_.add_answer(began, now_ns(), times);
	owners_.add_samples(samples);
	auto pid_of = [this](u32 key) {
		auto known = known_.find(key);
		return known == known_.end() ? 0 : known->second.pid;
	};
	if (std::optional<UtilClock::Offset> offset = clock_.offset(); offset && owners_.contradict(*offset, pid_of))
		contradictions_.add(began);
}

bool OwnerFinder::is_calm() const
{
	u64 now = now_ns();

	return !unknown_.justify_queries(now) && !contradictions_.justify_queries(now);
}

u64 OwnerFinder::next_query_ns() const
{
	return clock_.next_query_ns(is_calm());
}

void OwnerFinder::query_if_due()
{
	if (now_ns() >= next_query_ns())
		query();
}

std::vector<OwnerFinder::Change> OwnerFinder::take_changes(bool now)
{
	std::vector<Change> changes;

	if (!now && now_ns() < changes_taken_ns_ + CHANGES_PERIOD_NS)
		return changes;
	if (now)
		query();
	std::optional<UtilClock::Offset> offset = clock_.offset();
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
	if (!window || (window->ahead > 1 && !unknown_.justify_queries(now)))
		return ~u64{0};
	return std::max(now + LOOK_NS, window->min_ns - std::min(window->min_ns, LOOK_MARGIN_NS));
}

} // namespace tool::rm
