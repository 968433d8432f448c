// SPDX-License-Identifier: GPL-2.0
// Host's scheduler: channels, runlists and what is on their engines, in virtual time; the units with registers show and
// control it. Behaviour and what is approximated: emulator/README.md, "How it schedules". Sources: DOC turing/tu104/
// dev_fifo.ref.txt, ampere/ga100/dev_runlist.ref.txt (teardown text), ampere/ga100/dev_ram.ref.txt (runlists, TSGs).
#pragma once
#include "model/ctxsw.hpp"
#include "model/jobs.hpp"
#include "model/runlist_walk.hpp"
#include "model/work.hpp"

#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <unordered_map>

namespace emu {

inline constexpr u64 NEVER = ~0ull;

// Runlist::intr: DOC ampere/ga100/dev_runlist.ref.txt NV_RUNLIST_INTR_0
enum RunlistEvent : u32 {
	INTR_RUNLIST_IDLE = 1u << 4,
	INTR_TSG_PREEMPT_COMPLETE = 1u << 8,
	INTR_RUNLIST_PREEMPT_COMPLETE = 1u << 9,
	INTR_BAD_TSG = 1u << 12,
};

struct Channel {
	Phys inst, userd; // PCCSR chips: the bound instance block; otherwise (--execute) those of the runlist's entry
	bool bound = false;
	bool enabled = false, next = false;
	bool pbdma_faulted = false, eng_faulted = false;
	bool ctx_reload = false, acquire_fail = false;
	bool work = false;  // has methods to run; endless
	bool fresh = false; // was bound, and Host has not looked for work of it yet: it counts as pending
	bool lost = false;  // Host does not know of its work: it was enabled while Host::lose_enabled was set
	u8 runlist = 0;     // Kepler: as PCCSR says; kept, not used for choosing
	u8 engine_slot = 0; // which of its runlist's engines the work is for (RLENG_ID numbering)
	u64 ran_ns = 0, slices = 0;
	std::shared_ptr<ChannelJobs> jobs{}; // null: its work is endless, or (--execute) what a driver wrote

	// A doorbell: it has work, unless what that is lies elsewhere.
	void ring_doorbell()
	{
		work |= !jobs;
		lost = false;
	}
	bool is_pending() const { return (work || fresh) && !lost; }
	bool runnable() const { return enabled && work && !lost && !pbdma_faulted && !eng_faulted; }
};

enum class Phase { Invalid, Load, Valid, Switch, Save };

// A TSG, or a channel in no TSG.
struct Tenant {
	u32 id = 0;
	bool bare = false;

	bool operator==(const Tenant &) const = default;
};

// One time slice of a TSG: its channels on the PBDMAs (by runqueue) and the engines it uses. A runqueue that the TSG does
// not use may have a channel of another TSG, the guest, on other engines.
struct Timeslice {
	bool set = false;
	bool bare = false;
	u32 tsg = 0;
	u32 entry = 0;
	u64 slice_ns = 0;
	int chid[2] = {-1, -1};
	Phys inst[2];
	unsigned slots = 0;   // bit per engine, the guest's included
	int guest_queue = -1; // the guest's runqueue; -1: no guest
	Tenant guest;
	unsigned guest_slots = 0;

	Tenant owner() const { return {tsg, bare}; }
	bool has(const Tenant &t) const { return set && (t == owner() || (guest_queue >= 0 && t == guest)); }
	bool has_same(const Timeslice &o) const
	{
		return o.has(owner()) && has(o.owner()) && (guest_queue < 0) == (o.guest_queue < 0) &&
		       (guest_queue < 0 || (o.has(guest) && has(o.guest)));
	}
	bool is_guests(unsigned slot) const { return guest_queue >= 0 && (guest_slots >> slot & 1); }
	Tenant on_engine(unsigned slot) const { return is_guests(slot) ? guest : owner(); }
	Tenant on_pbdma(unsigned q) const { return int(q) == guest_queue ? guest : owner(); }
	// The instance block of the context on an engine.
	Phys inst_of_engine(unsigned slot) const
	{
		if (is_guests(slot))
			return inst[guest_queue];
		return inst[chid[0] >= 0 && guest_queue != 0 ? 0 : 1];
	}
};

struct TsgAccount {
	u64 ran_ns = 0, slices = 0;
	unsigned rotate[2] = {0, 0};
};

struct Runlist {
	explicit Runlist(const RunlistInfo &i) : info(i) {}

	const RunlistInfo &info;
	// as last submitted, and as last committed
	Phys submit_base, base;
	u32 submit_length = 0, submit_offset = 0, length = 0;
	bool submit_pending = false;
	u64 fetch_done = NEVER;
	bool preempted_valid = false;
	u32 preempted_tsg = 0, preempted_offset = 0;
	WalkedList list;
	u64 list_stamp = 0;
	size_t cursor = 0; // where choosing goes on

	bool sched_disabled = false, slice_expired = false;
	bool tsg_preempt_pending = false, runlist_preempt_pending = false;
	bool evict_after_load = false;
	u64 preempt_done = NEVER; // when a preempt that found nothing reports so
	Phase phase = Phase::Invalid;
	u64 phase_end = NEVER;
	bool has_jobs = false;
	std::set<std::pair<u64, u32>> arrivals; // of jobs: time, channel
	u64 job_due = NEVER;                    // when a job of the running channels ends
	u64 work_due = NEVER; // when the next piece of the running channels' work begins (Host::work())
	u64 counted_to = 0;   // run time is counted up to here
	Timeslice now, next;
	std::unordered_map<u32, TsgAccount> accounts;
	std::vector<Channel> channels; // CHRAM chips: this runlist's own
	u32 intr = 0;                  // event bits for the register units, NV_RUNLIST_INTR_0 numbering
	u32 intr_enabled = 0;          // of these, in the tree that the CPU gets
	// CHRAM chips: an interrupt to be sent, of its events and of a channel that asked for one
	bool event_message = false, channel_message = false;
	u64 submits = 0, decisions = 0;
	// which lists were submitted how often: aperture, address, entries
	std::map<std::tuple<Aperture, u64, u32>, u64> submitted;

	bool raised() const { return (intr & intr_enabled) != 0; }
};

class Host {
public:
	Host(const Profile &profile, Memories &mem);

	void reset(); // as after power-up; time goes on
	void advance(u64 now);
	u64 now() const { return now_; }

	std::vector<Runlist> &runlists() { return runlists_; }
	Runlist *runlist(int id);
	Channel *channel(Runlist &rl, u32 id);
	std::vector<Channel> &pccsr_channels() { return channels_; }
	ContextImages &context_images() { return context_images_; }
	Work &work() { return work_; }
	void enable_work(); // channels execute what a driver wrote for them; video memory gets a limit
	u64 next_event() const { return next_event_; }
	// Some channel does, whatever may release it; or there are channels that were not looked at.
	bool waits_for_semaphore() const { return waits_ || waited_ || polled_; }

	void unbind(Runlist &rl, u32 chid); // CHRAM chips: the channel begins anew when a runlist names it
	// The number under which work() knows a channel.
	u32 work_number(const Runlist &rl, u32 chid) const;

	// MMU faults by the id of the unit that faulted, and a bit for each that is pending.
	struct MmuFault {
		Phys inst;
		WorkFault fault;
	};
	static constexpr unsigned FAULT_UNITS = 32; // that the registers can report
	u32 mmu_faults = 0;
	MmuFault mmu_fault[FAULT_UNITS];
	bool channel_interrupt = false; // a channel asked for one: NON_STALL_INTERRUPT

	// Requests by register writes. All take effect at now().
	void submit(Runlist &rl, Phys base, u32 length, u32 offset);
	void set_sched_disabled(Runlist &rl, bool off);
	void preempt_tsg(Runlist &rl, u32 tsg, bool bare);
	void preempt_runlist(Runlist &rl);
	void enable(Channel &c, bool on, bool loaded); // loaded: it is on a PBDMA or an engine
	void channel_changed();                        // something may have become runnable
	// The channel's work is jobs from now on. Times in ns; a period of 0: one job. count: of jobs that arrive.
	void give_jobs(Runlist &rl, u32 chid, Phys semaphore);
	void plan_jobs(Runlist &rl, u32 chid, u64 first, u64 length, u64 period, u64 count);
	void add_jobs(Runlist &rl, u32 chid, u64 length, u64 count); // now
	void count_run_times();                                      // bring the run times up to now()

	// Where preempting TSG (or bare channel) id acts: the runlist it is on; null if on none.
	Runlist *find_tsg(u32 id, bool bare);
	// Returns the runlist that lists channel chid inside a TSG, and that TSG; null if none does.
	Runlist *find_channel(u32 chid, u32 *tsg);

	bool preempt_hangs = false;    // injected fault: a preempt never completes
	bool lose_enabled = false;     // injected fault: work of a channel that is enabled is known after a submit only
	u64 preempts_over_pending = 0; // writes to a PREEMPT register that showed a pending preempt

private:
	u64 find_next_event(const Runlist &rl) const;
	void update_next_event();
	void run_event(Runlist &rl, u64 t);
	void commit_list(Runlist &rl, u64 t);
	void reread_list(Runlist &rl);
	bool can_run(Runlist &rl, const ListTsg &t);
	Timeslice make_timeslice(Runlist &rl, const ListTsg &t);
	void add_guest(Runlist &rl, const ListTsg &t, unsigned q, Timeslice &slice);
	int pick_tsg(Runlist &rl);
	void choose_next(Runlist &rl, u64 t);
	void begin_switch(Runlist &rl, u64 t, const Timeslice &next);
	void finish_save(Runlist &rl, u64 t);
	void finish_load(Runlist &rl, u64 t);
	void count_run_time(Runlist &rl, u64 t);
	void evict_running(Runlist &rl);
	void skip_cycles(Runlist &rl, u64 to);
	void bring_jobs(Runlist &rl, u64 t);
	void find_job_end(Runlist &rl, u64 t);
	void end_jobs(Runlist &rl, u64 t);
	void poll_work();
	void do_work(Runlist &rl, u64 t);
	bool find_work(const Runlist &rl, u32 chid, Channel &ch);
	void bind_listed(Runlist &rl);
	void yield_channel(Runlist &rl);
	void put_off(Runlist &rl, u64 t);
	void stop_for_fault(Runlist &rl, u32 chid, unsigned queue, const WorkFault &fault);
	u64 save_ns(const Timeslice &t);
	bool uses_context_image(const Runlist &rl, const Timeslice &t) const;

	const Profile &profile_;
	Memories &mem_;
	ContextImages context_images_;
	Work work_;
	bool waits_ = false, waited_ = false; // in the round of polls that goes on, and in the one before
	size_t polled_ = 0;                   // channels, in this round
	u64 cost_ = 0;                        // of what the runlist did in this advance()
	std::vector<Channel> channels_;       // PCCSR chips: one table for all runlists
	std::vector<Runlist> runlists_;
	u64 now_ = 0, next_event_ = NEVER;
};

} // namespace emu
