// SPDX-License-Identifier: GPL-2.0
// Host: channels that execute their pushbuffers. A channel is busy as long as it has entries that were not fetched or
// methods that were not executed, and no semaphore to wait for.
#include "model/host.hpp"

#include <algorithm>

namespace emu {

namespace {

constexpr size_t POLLED = 256; // channels that one poll looks at

} // namespace

// Whether the channel has something to do, and notes whether it waits for a semaphore.
bool Host::find_work(const Runlist &rl, u32 chid, Channel &ch)
{
	u32 number = work_number(rl, chid);
	bool stopped = ch.pbdma_faulted || ch.eng_faulted, has = !stopped && work_.has_work(number, ch.inst);
	ch.acquire_fail = !stopped && !has && work_.waits_for_semaphore(number);
	return has;
}

u32 Host::work_number(const Runlist &rl, u32 chid) const
{
	return profile_.pfifo() ? chid : u32(rl.info.id) << 16 | chid;
}

// CHRAM chips bind no channels: instance block and USERD are in the entry of the runlist (DOC ampere/ga100/
// dev_ram.ref.txt NV_RAMRL_ENTRY_CHAN_*).
void Host::bind_listed(Runlist &rl)
{
	if (profile_.pfifo() || !work_.enabled)
		return;
	for (const auto &tsg : rl.list.tsgs)
		for (const auto &c : tsg.channels) {
			Channel *ch = channel(rl, c.id);
			if (!ch || (ch->bound && ch->inst == c.inst && ch->userd == c.userd))
				continue;
			ch->bound = true;
			ch->inst = c.inst;
			ch->userd = c.userd;
			work_.begin(work_number(rl, c.id), c.userd);
		}
}

void Host::unbind(Runlist &rl, u32 chid)
{
	channel(rl, chid)->bound = false;
	work_.forget(work_number(rl, chid));
}

// Looks at USERD and at the semaphores of channels on the lists: of the next ones in each call, so that long lists cost an
// access no more than short ones.
void Host::poll_work()
{
	bool changed = false;
	size_t skip = polled_, left = POLLED;
	for (auto &rl : runlists_) {
		for (const auto &tsg : rl.list.tsgs) {
			size_t n = tsg.channels.size(), first = std::min(skip, n);
			skip -= first;
			for (size_t i = first; i < n && left; i++, left--) {
				Channel *ch = channel(rl, tsg.channels[i].id);
				if (!ch || !ch->bound)
					continue;
				bool has = find_work(rl, tsg.channels[i].id, *ch);
				waits_ |= ch->acquire_fail;
				changed |= has != ch->work;
				ch->work = has;
			}
			if (!left)
				break;
		}
		if (rl.phase == Phase::Valid && rl.work_due == NEVER)
			for (int chid : rl.now.chid)
				if (chid >= 0 && channel(rl, u32(chid))->work)
					rl.work_due = now_;
	}
	polled_ += POLLED - left;
	if (left) { // the round ends
		polled_ = 0;
		waited_ = waits_;
		waits_ = false;
	}
	if (changed)
		channel_changed();
}

// The next piece of work of each channel that is on a PBDMA. The time slice ends where there is none.
void Host::do_work(Runlist &rl, u64 t)
{
	u64 ns = 0;
	Work::Yield yield = Work::Yield::None;
	rl.work_due = NEVER;
	for (unsigned q = 0; q < 2; q++) {
		if (rl.now.chid[q] < 0)
			continue;
		u32 chid = u32(rl.now.chid[q]);
		Channel &ch = *channel(rl, chid);
		ch.work = find_work(rl, chid, ch);
		if (!ch.work)
			continue;
		Work::Step step = work_.run(work_number(rl, chid), ch.inst, t);
		cost_ += step.cost;
		channel_interrupt |= step.interrupt;
		rl.channel_message |= step.interrupt;
		yield = std::max(yield, step.yield);
		if (step.fault)
			stop_for_fault(rl, chid, q, *step.fault);
		ns = std::max({ns, step.ns, u64{1}});
	}
	if (ns)
		rl.work_due = t + ns;
	if (ns && yield == Work::Yield::None)
		return;
	count_run_time(rl, t);
	if (yield == Work::Yield::Channel) {
		yield_channel(rl);
		return;
	}
	choose_next(rl, t);
	if (rl.work_due == t)
		rl.work_due = t + ns;
}

// YIELD_OP_TSG: the next channels of the TSG go on, until the same time slice ends.
void Host::yield_channel(Runlist &rl)
{
	for (const auto &tsg : rl.list.tsgs)
		if (tsg.entry == rl.now.entry && tsg.id == rl.now.tsg && can_run(rl, tsg)) {
			rl.now = make_timeslice(rl, tsg);
			return;
		}
}

// The unit that faulted is the engine, or the PBDMA: HOST0 is 6 on Pascal and 7 before (nouveau engine/fifo/gp100.c,
// gk104.c). A unit beyond those that the registers have stops the channel all the same.
void Host::stop_for_fault(Runlist &rl, u32 chid, unsigned queue, const WorkFault &fault)
{
	Channel &ch = *channel(rl, chid);
	unsigned unit = profile_.traits.fault_host0 + (queue < rl.info.pbdmas.size() ? rl.info.pbdmas[queue] : 0);
	(fault.host ? ch.pbdma_faulted : ch.eng_faulted) = true;
	if (!fault.host)
		for (const auto &e : profile_.engines)
			if (e.runlist == rl.info.id && e.rleng == ch.engine_slot && e.fault >= 0)
				unit = unsigned(e.fault);
	if (unit >= FAULT_UNITS)
		return;
	mmu_faults |= 1u << unit;
	mmu_fault[unit] = {ch.inst, fault};
}

// What the runlist should do before t, it does then.
void Host::put_off(Runlist &rl, u64 t)
{
	for (u64 *due : {&rl.phase_end, &rl.fetch_done, &rl.preempt_done, &rl.work_due, &rl.job_due})
		*due = std::max(*due, t);
}

} // namespace emu
