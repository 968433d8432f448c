// SPDX-License-Identifier: GPL-2.0
// Host: channels that execute their pushbuffers. A channel is busy as long as it has entries that were not fetched or
// methods that were not executed, and no semaphore to wait for.
#include "model/host.hpp"

#include <algorithm>

namespace emu {

// Looks at USERD and at the semaphores of all channels on the lists. Returns whether a channel became busy or idle.
bool Host::poll_work()
{
	bool changed = false;
	waits_ = false;
	for (auto &rl : runlists_) {
		for (const auto &tsg : rl.list.tsgs)
			for (const auto &c : tsg.channels) {
				Channel *ch = channel(rl, c.id);
				if (!ch || !ch->bound)
					continue;
				bool has = work_.has_work(c.id, ch->inst);
				ch->acquire_fail = !has && work_.waits_for_semaphore(c.id);
				waits_ |= ch->acquire_fail;
				changed |= has != ch->work;
				ch->work = has;
			}
		if (rl.phase == Phase::Valid && rl.work_due == NEVER)
			for (int chid : rl.now.chid)
				if (chid >= 0 && channel(rl, u32(chid))->work)
					rl.work_due = now_;
	}
	if (changed)
		channel_changed();
	return changed;
}

// The next piece of work of each channel that is on a PBDMA. The time slice ends where there is none.
void Host::do_work(Runlist &rl, u64 t)
{
	u64 ns = 0;
	rl.work_due = NEVER;
	for (unsigned q = 0; q < 2; q++) {
		if (rl.now.chid[q] < 0)
			continue;
		u32 chid = u32(rl.now.chid[q]);
		Channel &ch = *channel(rl, chid);
		ch.work = !ch.pbdma_faulted && !ch.eng_faulted && work_.has_work(chid, ch.inst);
		ch.acquire_fail = !ch.work && work_.waits_for_semaphore(chid);
		if (!ch.work)
			continue;
		Work::Step step = work_.run(chid, ch.inst, t);
		channel_interrupt |= step.interrupt;
		if (step.fault)
			stop_for_fault(rl, chid, q, *step.fault);
		ns = std::max({ns, step.ns, u64{1}});
	}
	if (ns) {
		rl.work_due = t + ns;
		return;
	}
	count_run_time(rl, t);
	choose_next(rl, t);
}

// The unit that faulted is the engine, or the PBDMA: HOST0 is 6 on Pascal (nouveau engine/fifo/gp100.c).
void Host::stop_for_fault(Runlist &rl, u32 chid, unsigned queue, const WorkFault &fault)
{
	constexpr unsigned HOST0 = 6;
	Channel &ch = *channel(rl, chid);
	unsigned unit = HOST0 + (queue < rl.info.pbdmas.size() ? rl.info.pbdmas[queue] : 0);
	(fault.host ? ch.pbdma_faulted : ch.eng_faulted) = true;
	if (!fault.host)
		for (const auto &e : profile_.engines)
			if (e.runlist == rl.info.id && e.rleng == ch.engine_slot && e.fault >= 0)
				unit = unsigned(e.fault) & 31;
	mmu_faults |= 1u << unit;
	mmu_fault[unit] = {ch.inst, fault};
}

} // namespace emu
