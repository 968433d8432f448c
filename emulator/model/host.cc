// SPDX-License-Identifier: GPL-2.0
// Host: what register writes request of the scheduler, and the loop that advances it. Choosing and context switches are
// in host_sched.cc.
#include "model/host.hpp"

#include <algorithm>

namespace emu {

Host::Host(const Profile &profile, Memories &mem)
	: profile_(profile), mem_(mem), context_images_(profile, mem), work_(profile, mem)
{
	runlists_.reserve(profile_.runlists.size()); // units keep pointers to the elements
	reset();
}

void Host::reset()
{
	channels_.assign(profile_.channels, Channel{});
	runlists_.clear();
	preempts_over_pending = 0;
	work_.reset();
	mmu_faults = 0;
	channel_interrupt = waits_ = waited_ = false;
	polled_ = 0;
	for (const auto &info : profile_.runlists) {
		auto &rl = runlists_.emplace_back(info);
		rl.channels.assign(info.channels, Channel{});
		rl.counted_to = now_;
	}
	update_next_event();
}

void Host::enable_work()
{
	constexpr u64 KEPT = 1ull << 30; // bytes of video memory: a channel could fill all of it
	work_.enabled = true;
	mem_.vid.set_limit(KEPT);
}

Runlist *Host::runlist(int id)
{
	for (auto &rl : runlists_)
		if (rl.info.id == id)
			return &rl;
	return nullptr;
}

Channel *Host::channel(Runlist &rl, u32 id)
{
	auto &table = profile_.pfifo() ? channels_ : rl.channels;
	return id < table.size() ? &table[id] : nullptr;
}

Runlist *Host::find_tsg(u32 id, bool bare)
{
	for (auto &rl : runlists_) {
		if (rl.now.has({id, bare}) || rl.next.has({id, bare}))
			return &rl;
		for (const auto &t : rl.list.tsgs)
			if (t.id == id && t.bare == bare)
				return &rl;
	}
	return nullptr;
}

Runlist *Host::find_channel(u32 chid, u32 *tsg)
{
	for (auto &rl : runlists_)
		for (const auto &t : rl.list.tsgs)
			for (const auto &c : t.channels)
				if (c.id == chid && !t.bare) {
					*tsg = t.id;
					return &rl;
				}
	return nullptr;
}

namespace {

constexpr size_t SUBMITTED_LISTS = 256; // remembered; more than any test has that looks at them

} // namespace

void Host::submit(Runlist &rl, Phys base, u32 length, u32 offset)
{
	rl.submit_base = base;
	rl.submit_length = length;
	rl.submit_offset = offset;
	rl.submit_pending = true;
	rl.submits++;
	if (rl.submitted.size() < SUBMITTED_LISTS || rl.submitted.count({base.ap, base.addr, length}))
		rl.submitted[{base.ap, base.addr, length}]++;
	rl.fetch_done = now_ + profile_.timing.runlist_fetch;
	update_next_event();
}

void Host::set_sched_disabled(Runlist &rl, bool off)
{
	if (rl.sched_disabled == off)
		return;
	rl.sched_disabled = off;
	if (!off && rl.phase == Phase::Valid && rl.slice_expired) {
		count_run_time(rl, now_);
		choose_next(rl, now_);
	} else if (!off && rl.phase == Phase::Invalid) {
		choose_next(rl, now_);
	}
	update_next_event();
}

void Host::enable(Channel &c, bool on, bool loaded)
{
	c.lost = on && !loaded && (c.lost || (lose_enabled && !c.enabled));
	c.enabled = on;
}

void Host::channel_changed()
{
	for (auto &rl : runlists_)
		if (rl.phase == Phase::Invalid && rl.phase_end == NEVER && !rl.list.tsgs.empty())
			choose_next(rl, now_);
	update_next_event();
}

void Host::preempt_tsg(Runlist &rl, u32 tsg, bool bare)
{
	auto is = [&](const Timeslice &t) { return t.has({tsg, bare}); };
	rl.tsg_preempt_pending = true;
	rl.preempt_done = NEVER;
	if (rl.phase == Phase::Valid && is(rl.now)) {
		evict_running(rl);
	} else if (rl.phase == Phase::Load && is(rl.next)) {
		rl.evict_after_load = true;
	} else {
		bool leaving = (rl.phase == Phase::Switch || rl.phase == Phase::Save) && is(rl.now);
		if ((rl.phase == Phase::Switch || rl.phase == Phase::Save) && is(rl.next))
			rl.next = Timeslice{};
		if (!leaving)
			rl.preempt_done = now_ + profile_.timing.preempt_absent;
	}
	if (preempt_hangs)
		rl.preempt_done = NEVER;
	update_next_event();
}

void Host::preempt_runlist(Runlist &rl)
{
	rl.runlist_preempt_pending = true;
	rl.preempt_done = NEVER;
	switch (rl.phase) {
	case Phase::Valid: evict_running(rl); break;
	case Phase::Load: rl.evict_after_load = true; break;
	case Phase::Switch:
	case Phase::Save: rl.next = Timeslice{}; break;
	case Phase::Invalid: rl.preempt_done = now_ + profile_.timing.preempt_absent; break;
	}
	if (preempt_hangs)
		rl.preempt_done = NEVER;
	update_next_event();
}

void Host::count_run_times()
{
	for (auto &rl : runlists_)
		count_run_time(rl, now_);
}

u64 Host::find_next_event(const Runlist &rl) const
{
	u64 arrival = rl.arrivals.empty() ? NEVER : rl.arrivals.begin()->first;
	return std::min({rl.phase_end, rl.fetch_done, rl.preempt_done, rl.work_due, rl.job_due, arrival});
}

void Host::update_next_event()
{
	next_event_ = NEVER;
	for (const auto &rl : runlists_)
		next_event_ = std::min(next_event_, find_next_event(rl));
}

namespace {

// With --execute: what a runlist may do in one advance(), as Work::Step::cost counts. A driver that gives more work than
// the emulator does in the same time gets it done later; time and the registers go on.
constexpr u64 COST_LIMIT = 4096;

} // namespace

void Host::advance(u64 to)
{
	if (work_.enabled)
		poll_work();
	if (to < next_event_) {
		now_ = std::max(now_, to);
		return;
	}
	for (auto &rl : runlists_) {
		if (find_next_event(rl) > to)
			continue;
		skip_cycles(rl, to);
		cost_ = 0;
		for (u64 t; (t = find_next_event(rl)) <= to;) {
			if (work_.enabled && ++cost_ > COST_LIMIT) {
				put_off(rl, to + 1);
				break;
			}
			run_event(rl, std::max(t, now_));
		}
	}
	now_ = std::max(now_, to);
	if (work_.enabled) // what ran may have released a semaphore
		poll_work();
	update_next_event();
}

void Host::run_event(Runlist &rl, u64 t)
{
	if (t >= rl.preempt_done) {
		rl.preempt_done = NEVER;
		if (rl.tsg_preempt_pending)
			rl.intr |= INTR_TSG_PREEMPT_COMPLETE;
		if (rl.runlist_preempt_pending)
			rl.intr |= INTR_RUNLIST_PREEMPT_COMPLETE;
		rl.tsg_preempt_pending = rl.runlist_preempt_pending = false;
		return;
	}
	if (t >= rl.fetch_done) {
		commit_list(rl, t);
		return;
	}
	if (!rl.arrivals.empty() && t >= rl.arrivals.begin()->first) {
		bring_jobs(rl, t);
		return;
	}
	if (t >= rl.job_due) {
		end_jobs(rl, t);
		return;
	}
	if (t >= rl.work_due && t < rl.phase_end) {
		do_work(rl, t);
		return;
	}
	switch (rl.phase) {
	case Phase::Invalid: // the short gap after a preempt is over
		rl.phase_end = NEVER;
		choose_next(rl, t);
		break;
	case Phase::Valid:
		count_run_time(rl, t);
		choose_next(rl, t);
		break;
	case Phase::Switch:
		rl.phase = Phase::Save;
		rl.phase_end = t + save_ns(rl.now);
		break;
	case Phase::Save: finish_save(rl, t); break;
	case Phase::Load: finish_load(rl, t); break;
	}
}

} // namespace emu
