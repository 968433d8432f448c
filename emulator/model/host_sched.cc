// SPDX-License-Identifier: GPL-2.0
// Host: committing a runlist, choosing the next TSG, and the steps of a context switch. Rules in emulator/README.md.
#include "model/host.hpp"

#include <algorithm>

namespace emu {

void Host::reread_list(Runlist &rl)
{
	unsigned entry = profile_.traits.entry_bytes;
	u64 bytes = u64(rl.length) * entry;
	cost_ += rl.length / 16;
	bool sys = mem_.in_system(rl.base.ap); // writes by the machine are not seen
	u64 stamp = sys ? 0 : mem_.vid.stamp(rl.base.addr, bytes);
	if (!sys && stamp == rl.list_stamp)
		return;
	// ID_HW is 11:0 up to Turing and 10:0 from ga100 on: NV_RAMRL_ENTRY_ID_HW in the three dev_ram.ref.txt
	rl.list = walk_runlist(mem_, rl.base, rl.length, entry, profile_.pfifo() ? 0xfff : 0x7ff);
	rl.list_stamp = stamp;
	if (rl.list.error)
		rl.intr |= INTR_BAD_TSG;
	if (rl.cursor >= rl.list.tsgs.size())
		rl.cursor = 0;
	bind_listed(rl);
}

void Host::commit_list(Runlist &rl, u64 t)
{
	rl.fetch_done = NEVER;
	rl.submit_pending = false;
	rl.base = rl.submit_base;
	rl.length = rl.submit_length;
	rl.preempted_valid = rl.phase == Phase::Valid;
	if (rl.preempted_valid) {
		rl.preempted_tsg = rl.now.tsg;
		rl.preempted_offset = rl.now.entry;
	}
	rl.list_stamp = ~0ull;
	rl.list = WalkedList{};
	reread_list(rl);
	rl.cursor = 0;
	for (const auto &tsg : rl.list.tsgs)
		for (const auto &c : tsg.channels)
			if (Channel *ch = channel(rl, c.id))
				ch->lost = false;
	for (size_t i = 0; i < rl.list.tsgs.size(); i++)
		if (rl.list.tsgs[i].entry >= rl.submit_offset) {
			rl.cursor = i;
			break;
		}
	if (rl.phase == Phase::Valid) { // the time slice of the old list expires
		count_run_time(rl, t);
		choose_next(rl, t);
	} else if (rl.phase == Phase::Invalid && rl.phase_end == NEVER) {
		choose_next(rl, t);
	}
}

bool Host::can_run(Runlist &rl, const ListTsg &tsg)
{
	for (const auto &c : tsg.channels)
		if (const Channel *ch = channel(rl, c.id); ch && ch->runnable())
			return true;
	return false;
}

int Host::pick_tsg(Runlist &rl)
{
	for (const auto &tsg : rl.list.tsgs) // it looks for work of all that is enabled
		for (const auto &c : tsg.channels)
			if (Channel *ch = channel(rl, c.id); ch && ch->enabled)
				ch->fresh = false;
	size_t n = rl.list.tsgs.size();
	for (size_t i = 0; i < n; i++) {
		size_t at = (rl.cursor + i) % n;
		if (can_run(rl, rl.list.tsgs[at])) {
			rl.cursor = (at + 1) % n;
			return int(at);
		}
	}
	return -1;
}

namespace {

// Channels of a TSG that could go on PBDMA q now, NEXT first (then it is the only one).
std::vector<const ListChannel *> list_candidates(Host &host, Runlist &rl, const ListTsg &tsg, unsigned q)
{
	std::vector<const ListChannel *> out;
	for (const auto &c : tsg.channels) {
		const Channel *ch = host.channel(rl, c.id);
		unsigned runqueue = c.runqueue < rl.info.pbdmas.size() ? c.runqueue : 0;
		if (!ch || !ch->runnable() || runqueue != q)
			continue;
		if (ch->next)
			return {&c};
		out.push_back(&c);
	}
	return out;
}

} // namespace

Timeslice Host::make_timeslice(Runlist &rl, const ListTsg &tsg)
{
	Timeslice t;
	t.set = true;
	t.bare = tsg.bare;
	t.tsg = tsg.id;
	t.entry = tsg.entry;
	t.slice_ns = tsg.timeslice_ns();
	auto &account = rl.accounts[tsg.id];
	for (unsigned q = 0; q < 2; q++) {
		auto c = list_candidates(*this, rl, tsg, q);
		if (c.empty())
			continue;
		const ListChannel *chosen = c[account.rotate[q]++ % c.size()];
		Channel &ch = *channel(rl, chosen->id);
		t.chid[q] = int(chosen->id);
		t.inst[q] = profile_.pfifo() ? ch.inst : chosen->inst;
		t.slots |= 1u << ch.engine_slot;
	}
	for (unsigned q = 0; q < rl.info.pbdmas.size(); q++)
		if (t.chid[q] < 0 && t.guest_queue < 0)
			add_guest(rl, tsg, q, t);
	return t;
}

// The runqueues of a runlist are half-independent (RTAS'24, rule R4 and footnote 16): each is arbitrated by itself, so that a
// TSG that copies has the copy engine while another one computes.
void Host::add_guest(Runlist &rl, const ListTsg &tsg, unsigned q, Timeslice &slice)
{
	size_t n = rl.list.tsgs.size(), at = size_t(&tsg - rl.list.tsgs.data());
	for (size_t i = 1; i < n; i++) {
		const ListTsg &other = rl.list.tsgs[(at + i) % n];
		auto c = list_candidates(*this, rl, other, q);
		std::erase_if(c,
			      [&](const ListChannel *l) { return slice.slots >> channel(rl, l->id)->engine_slot & 1; });
		if (c.empty() || slice.has({other.id, other.bare}))
			continue;
		const ListChannel *chosen = c[rl.accounts[other.id].rotate[q]++ % c.size()];
		const Channel &ch = *channel(rl, chosen->id);
		slice.chid[q] = int(chosen->id);
		slice.inst[q] = profile_.pfifo() ? ch.inst : chosen->inst;
		slice.guest_queue = int(q);
		slice.guest = {other.id, other.bare};
		slice.guest_slots = 1u << ch.engine_slot;
		slice.slots |= slice.guest_slots;
		return;
	}
}

bool Host::uses_context_image(const Runlist &rl, const Timeslice &t) const
{
	if (!t.set || !(t.slots & 1))
		return false;
	for (const auto &e : profile_.engines)
		if (e.runlist == rl.info.id && e.type == 0)
			return true;
	return false;
}

u64 Host::save_ns(const Timeslice &t)
{
	const Timing &d = profile_.timing;
	for (int q = 0; q < 2; q++) {
		if (t.chid[q] < 0)
			continue;
		switch (context_images_.save_kind(t.inst[q])) {
		case SaveKind::Wfi: return d.save_wfi;
		case SaveKind::Cta: return d.save_cta;
		case SaveKind::Gfxp: return d.save_gfxp;
		case SaveKind::Cilp: return d.save_cilp;
		}
	}
	return d.save_wfi;
}

void Host::count_run_time(Runlist &rl, u64 t)
{
	if (rl.phase == Phase::Valid && t > rl.counted_to) {
		u64 ns = t - rl.counted_to;
		rl.accounts[rl.now.tsg].ran_ns += ns;
		if (rl.now.guest_queue >= 0)
			rl.accounts[rl.now.guest.id].ran_ns += ns;
		for (int chid : rl.now.chid)
			if (chid >= 0) {
				Channel &ch = *channel(rl, chid);
				ch.ran_ns += ns;
				if (ch.jobs)
					ch.jobs->run_for(ns);
			}
	}
	rl.counted_to = std::max(rl.counted_to, t);
}

namespace {

void count_slice(Host &host, Runlist &rl)
{
	rl.accounts[rl.now.tsg].slices++;
	if (rl.now.guest_queue >= 0)
		rl.accounts[rl.now.guest.id].slices++;
	for (int chid : rl.now.chid)
		if (chid >= 0)
			host.channel(rl, chid)->slices++;
}

} // namespace

// At the end of a time slice, or when an idle runlist may have something to run.
void Host::choose_next(Runlist &rl, u64 t)
{
	rl.decisions++;
	rl.slice_expired = false;
	if (rl.sched_disabled) {
		rl.slice_expired = rl.phase == Phase::Valid;
		rl.phase_end = NEVER;
		return;
	}
	reread_list(rl);
	int at = pick_tsg(rl);
	const ListTsg *tsg = at < 0 ? nullptr : &rl.list.tsgs[at];

	if (rl.phase == Phase::Invalid) {
		rl.phase_end = NEVER;
		if (!tsg)
			return;
		rl.next = make_timeslice(rl, *tsg);
		rl.phase = Phase::Load;
		rl.phase_end = t + profile_.timing.load;
		return;
	}
	Timeslice next = tsg ? make_timeslice(rl, *tsg) : Timeslice{};
	if (tsg && (next.owner() == rl.now.owner() || next.has_same(rl.now))) { // goes on without a switch
		rl.now = next;
		rl.phase_end = t + rl.now.slice_ns;
		rl.work_due = work_.enabled ? t : NEVER;
		find_job_end(rl, t);
		count_slice(*this, rl);
		return;
	}
	begin_switch(rl, t, next);
}

void Host::begin_switch(Runlist &rl, u64 t, const Timeslice &next)
{
	rl.next = next;
	rl.work_due = rl.job_due = NEVER;
	rl.phase = next.set ? Phase::Switch : Phase::Save;
	rl.phase_end = t + (next.set ? profile_.timing.switch_request : save_ns(rl.now));
}

void Host::evict_running(Runlist &rl)
{
	count_run_time(rl, now_);
	begin_switch(rl, now_, Timeslice{});
	if (preempt_hangs)
		rl.phase_end = NEVER;
}

void Host::finish_save(Runlist &rl, u64 t)
{
	if (uses_context_image(rl, rl.now))
		context_images_.count_saves(rl.now.inst_of_engine(0), 1);
	rl.now = Timeslice{};
	bool preempted = (rl.tsg_preempt_pending || rl.runlist_preempt_pending) && rl.preempt_done == NEVER;
	if (preempted) {
		if (rl.tsg_preempt_pending)
			rl.intr |= INTR_TSG_PREEMPT_COMPLETE;
		if (rl.runlist_preempt_pending)
			rl.intr |= INTR_RUNLIST_PREEMPT_COMPLETE;
		rl.tsg_preempt_pending = rl.runlist_preempt_pending = false;
	}
	if (rl.next.set) {
		rl.phase = Phase::Load;
		rl.phase_end = t + profile_.timing.load;
		return;
	}
	rl.phase = Phase::Invalid;
	rl.phase_end = t + profile_.timing.idle_gap;
	if (!preempted)
		rl.intr |= INTR_RUNLIST_IDLE;
}

void Host::finish_load(Runlist &rl, u64 t)
{
	rl.now = rl.next;
	rl.next = Timeslice{};
	rl.phase = Phase::Valid;
	rl.counted_to = t;
	if (uses_context_image(rl, rl.now))
		context_images_.count_restores(rl.now.inst_of_engine(0), 1);
	for (int chid : rl.now.chid)
		if (chid >= 0)
			channel(rl, chid)->ctx_reload = false;
	rl.phase_end = t + rl.now.slice_ns;
	rl.work_due = work_.enabled ? t : NEVER;
	find_job_end(rl, t);
	count_slice(*this, rl);
	if (rl.evict_after_load) {
		rl.evict_after_load = false;
		begin_switch(rl, t, Timeslice{});
		if (preempt_hangs)
			rl.phase_end = NEVER;
		return;
	}
	bool listed = std::any_of(rl.list.tsgs.begin(), rl.list.tsgs.end(),
				  [&](const ListTsg &l) { return l.id == rl.now.tsg && l.bare == rl.now.bare; });
	if (!listed) // a new list came while it was loading
		rl.phase_end = t;
}

namespace {

// Returns whether a TSG may be on a runqueue beside another TSG.
bool has_guests(Host &host, Runlist &rl)
{
	for (unsigned q = 0; q < std::min<size_t>(rl.info.pbdmas.size(), 2); q++) {
		size_t with = 0, without = 0;
		for (const auto &tsg : rl.list.tsgs) {
			bool on[2] = {!list_candidates(host, rl, tsg, 0).empty(),
				      !list_candidates(host, rl, tsg, 1).empty()};
			with += on[q];
			without += !on[q] && on[1 - q];
		}
		if (with && without)
			return true;
	}
	return false;
}

} // namespace

// Between two accesses only time changes, so whole rounds of the list are added at once instead of simulated.
void Host::skip_cycles(Runlist &rl, u64 to)
{
	if (work_.enabled || rl.has_jobs || rl.phase != Phase::Valid || rl.phase_end == NEVER || rl.sched_disabled ||
	    rl.submit_pending || rl.preempt_done != NEVER || rl.evict_after_load || is_sysmem(rl.base.ap))
		return;
	if (to <= rl.phase_end || (to - rl.phase_end) / 64 < rl.now.slice_ns)
		return;
	reread_list(rl);
	if (has_guests(*this, rl))
		return;

	struct Part {
		const ListTsg *tsg;
		u64 save;
		Phys context_image;
		bool has_context_image;
	};
	std::vector<Part> parts;
	std::unordered_map<u32, int> seen;
	u64 cycle = 0;
	bool found = false;
	for (const auto &tsg : rl.list.tsgs) {
		if (!can_run(rl, tsg))
			continue;
		if (seen[tsg.id]++)
			return; // interleaved lists are simulated step by step
		Part p{&tsg, 0, {}, false};
		std::vector<const ListChannel *> c = list_candidates(*this, rl, tsg, 0);
		if (c.empty())
			c = list_candidates(*this, rl, tsg, 1);
		Timeslice t;
		t.set = true, t.chid[0] = int(c[0]->id);
		t.inst[0] = profile_.pfifo() ? channel(rl, c[0]->id)->inst : c[0]->inst;
		t.slots = 1u << channel(rl, c[0]->id)->engine_slot;
		p.save = save_ns(t);
		p.context_image = t.inst[0];
		p.has_context_image = uses_context_image(rl, t);
		found |= tsg.id == rl.now.tsg && tsg.bare == rl.now.bare && tsg.entry == rl.now.entry;
		cycle += tsg.timeslice_ns();
		parts.push_back(p);
	}
	if (!found)
		return;
	if (parts.size() > 1)
		for (const auto &p : parts)
			cycle += profile_.timing.switch_request + p.save + profile_.timing.load;
	u64 k = (to - rl.phase_end) / cycle;
	if (!k)
		return;
	for (const auto &p : parts) {
		auto &account = rl.accounts[p.tsg->id];
		account.slices += k;
		account.ran_ns += k * p.tsg->timeslice_ns();
		if (p.has_context_image && parts.size() > 1) {
			context_images_.count_saves(p.context_image, u32(k));
			context_images_.count_restores(p.context_image, u32(k));
		}
		for (unsigned q = 0; q < 2; q++) {
			auto c = list_candidates(*this, rl, *p.tsg, q);
			for (size_t i = 0; i < c.size(); i++) {
				u64 turns = k / c.size() + (i < k % c.size());
				Channel &ch = *channel(rl, c[(account.rotate[q] + i) % c.size()]->id);
				ch.slices += turns;
				ch.ran_ns += turns * p.tsg->timeslice_ns();
			}
			if (!c.empty())
				account.rotate[q] = unsigned((account.rotate[q] + k) % c.size());
		}
	}
	rl.phase_end += k * cycle;
	rl.counted_to += k * cycle;
	rl.decisions += k * parts.size();
}

} // namespace emu
