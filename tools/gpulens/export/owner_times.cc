// SPDX-License-Identifier: GPL-2.0
// Ids of tasks and pids are used again: waiting time goes to an owner only if both snapshots also share a channel of the
// task, and a process with the pid of another one marks that one as replaced, until that one has time again.
#include "gpulens/export/owner_times.hpp"

namespace tool {

void OwnerTimes::add(const Engine &engine, const Interval &interval, const std::optional<Owner> &owner)
{
	u64 ns = interval.end_ns - interval.start_ns;

	if (interval.phase != Phase::On)
		return;
	if (owner)
		count(engine.short_name(), ns, &*owner);
	else
		waiting_ns_[{{engine.runlist, interval.bare, interval.tsg}, engine.short_name()}] += ns;
}

void OwnerTimes::settle(const Gpu &snapshot)
{
	std::map<TaskId, Known> now;
	Identities channels = identities_of(snapshot);

	for (const Runlist &rl : snapshot.runlists)
		for (const Tsg &tsg : rl.tsgs)
			if (tsg.owner) {
				TaskId id = rl.task(tsg);
				now[id] = {*tsg.owner, channels[id]};
			}
	for (const auto &[key, ns] : waiting_ns_) {
		const auto &[task, engine] = key;
		auto before = known_.find(task), after = now.find(task);
		bool same = before != known_.end() && after != now.end() &&
			    before->second.owner.pid == after->second.owner.pid &&
			    before->second.owner.user == after->second.owner.user &&
			    share_channel(before->second.channels, after->second.channels);
		count(engine, ns, same ? &after->second.owner : nullptr);
	}
	waiting_ns_.clear();
	known_ = std::move(now);
}

// owner: null if unknown.
void OwnerTimes::count(const std::string &engine, u64 ns, const Owner *owner)
{
	ProcessKey key = owner ? ProcessKey{owner->pid, owner->name, owner->user} : ProcessKey{};

	on_ns_[{engine, key}] += ns;
	if (!owner)
		return;
	auto [known, is_new] = processes_.try_emplace(key);
	if (!is_new && !known->second.replaced && !known->second.ended)
		return;
	known->second.replaced = false;
	known->second.ended.reset();
	for (auto &[other, process] : processes_)
		process.replaced |= other.pid == key.pid && other != key;
	if (!is_new)
		return;
	known->second.owner = *owner;
	// The samples' record has no room for the whole container and the pod.
	Owner now = make_owner(owner->pid, owner->evidence);
	if (now.name == owner->name && now.container.starts_with(owner->container))
		known->second.owner = now;
}

void OwnerTimes::end_old(Clock::time_point now, bool (*exists)(u32 pid))
{
	for (auto at = processes_.begin(); at != processes_.end();) {
		if (!at->second.replaced && exists(at->first.pid)) {
			++at;
			continue;
		}
		if (!at->second.ended)
			at->second.ended = now;
		if (now < *at->second.ended + KEEP_ENDED) {
			++at;
			continue;
		}
		std::erase_if(on_ns_, [&](const auto &series) { return series.first.second == at->first; });
		at = processes_.erase(at);
	}
}

void OwnerTimes::add_to(Metrics &metrics, const std::string &gpu) const
{
	for (const auto &[key, ns] : on_ns_) {
		const auto &[engine, who] = key;
		auto process = processes_.find(who);
		Owner owner = process == processes_.end() ? Owner{} : process->second.owner;
		Labels labels = {{"gpu", gpu}, {"engine", engine}};
		add_owner_labels(labels, owner);
		labels.emplace_back("evidence", who.pid ? name_of(owner.evidence) : "unknown");
		metrics.counter("gpulens_process_engine_seconds_total", "Time of a process on an engine, from samples; "
									"pid is empty if it is unknown whose it was.")
			.add(labels, static_cast<double>(ns) / 1e9);
	}
}

} // namespace tool
