// SPDX-License-Identifier: GPL-2.0
// Host's scheduler: channels, runlists and what is on their engines, in virtual time. It has no registers; the
// units pfifo, pccsr, rlram, chram and pbdma show it and steer it. Behaviour, per runlist:
//
//   phase    INVALID -> LOAD -> VALID -> SWITCH -> SAVE -> (LOAD of the next | INVALID)
//   VALID    lasts one timeslice, then the next TSG with an enabled, busy, fault-free channel is chosen
//   disable  takes no TSG off an engine; it keeps a channel from being chosen (manuals: teardown, steps 2, 3)
//   preempt  takes the TSG off; the next one is chosen afterwards, which may be the same
//   SCHED_DISABLE  nothing new is chosen; what runs stays until preempted
//   submit   PENDING, then the list is fetched, the running timeslice expires, choosing starts at OFFSET
// Sources: DOC turing/tu104/dev_fifo.ref.txt and ampere/ga100/dev_runlist.ref.txt (teardown text),
// ampere/ga100/dev_ram.ref.txt (runlists, TSGs). Durations are assumed (Timing in profile.hpp). All engines of
// a runlist switch together: approximated, see README.md.
#pragma once
#include "model/ctxsw.hpp"
#include "model/runlist_walk.hpp"

#include <map>
#include <tuple>
#include <unordered_map>

namespace emu {

inline constexpr uint64_t NEVER = ~0ull;

struct Channel {
	Phys inst; // PCCSR chips: the bound instance block
	bool bound = false;
	bool enabled = false, next = false;
	bool pbdma_faulted = false, eng_faulted = false;
	bool ctx_reload = false, acquire_fail = false;
	bool work = false;       // has methods to run; endless
	uint8_t runlist = 0;     // Kepler: as PCCSR says; kept, not used for choosing
	uint8_t engine_slot = 0; // which of its runlist's engines the work is for (RLENG_ID numbering)
	uint64_t ran_ns = 0, slices = 0;

	bool runnable() const { return enabled && work && !pbdma_faulted && !eng_faulted; }
};

enum class Phase { Invalid, Load, Valid, Switch, Save };

// A TSG's turn: who is on the PBDMAs (by runqueue) and which engines it uses.
struct Turn {
	bool set = false;
	bool bare = false;
	uint32_t tsg = 0;
	uint32_t entry = 0;
	uint64_t slice_ns = 0;
	int chid[2] = {-1, -1};
	Phys inst[2];
	unsigned slots = 0; // bit per engine
};

struct TsgAccount {
	uint64_t ran_ns = 0, slices = 0;
	unsigned rotate[2] = {0, 0};
};

struct Runlist {
	explicit Runlist(const RunlistInfo &i) : info(i) {}

	const RunlistInfo &info;
	// as last submitted, and as last taken up
	Phys submit_base, base;
	uint32_t submit_length = 0, submit_offset = 0, length = 0;
	bool submit_pending = false;
	uint64_t fetch_done = NEVER;
	bool preempted_valid = false;
	uint32_t preempted_tsg = 0, preempted_offset = 0;
	WalkedList list;
	uint64_t list_stamp = 0;
	size_t cursor = 0; // where choosing goes on

	bool sched_disabled = false, slice_expired = false;
	bool tsg_preempt_pending = false, runlist_preempt_pending = false;
	bool evict_after_load = false;
	uint64_t preempt_done = NEVER; // when a preempt that found nothing reports so
	Phase phase = Phase::Invalid;
	uint64_t phase_end = NEVER;
	uint64_t counted_to = 0; // run time is counted up to here
	Turn now, next;
	std::unordered_map<uint32_t, TsgAccount> accounts;
	std::vector<Channel> channels; // CHRAM chips: this runlist's own
	uint32_t intr = 0;             // event bits for the register units, NV_RUNLIST_INTR_0 numbering
	uint64_t submits = 0, decisions = 0;
	// which lists were submitted how often: aperture, address, entries
	std::map<std::tuple<Aperture, uint64_t, uint32_t>, uint64_t> submitted;
};

class Host {
public:
	Host(const Profile &profile, Memories &mem);

	void reset(); // as after power-up; time goes on
	void advance(uint64_t now);
	uint64_t now() const { return now_; }

	std::vector<Runlist> &runlists() { return runlists_; }
	Runlist *runlist(int id);
	Channel *channel(Runlist &rl, uint32_t id);
	std::vector<Channel> &pccsr_channels() { return channels_; }
	ContextImages &images() { return images_; }

	// What register writes ask for. All act at now().
	void submit(Runlist &rl, Phys base, uint32_t length, uint32_t offset);
	void set_sched_disabled(Runlist &rl, bool off);
	void preempt_tsg(Runlist &rl, uint32_t tsg, bool bare);
	void preempt_runlist(Runlist &rl);
	void channel_changed(); // something may have become runnable
	void account_all();     // bring the run times up to now()

	// Where preempting TSG (or bare channel) id acts: the runlist it is on; null if on none.
	Runlist *find_tsg(uint32_t id, bool bare);
	// The runlist on which channel chid stands inside a TSG, and that TSG; null if on none.
	Runlist *find_channel(uint32_t chid, uint32_t *tsg);

	bool preempt_hangs = false;         // injected fault: a preempt never completes
	uint64_t preempts_over_pending = 0; // writes to a PREEMPT register that showed a pending preempt

private:
	uint64_t event_of(const Runlist &rl) const;
	void reschedule();
	void step(Runlist &rl, uint64_t t);
	void adopt(Runlist &rl, uint64_t t);
	void refresh(Runlist &rl);
	bool eligible(Runlist &rl, const ListTsg &t);
	Turn turn_of(Runlist &rl, const ListTsg &t);
	int pick(Runlist &rl);
	void decide(Runlist &rl, uint64_t t);
	void leave(Runlist &rl, uint64_t t, const Turn &next);
	void saved(Runlist &rl, uint64_t t);
	void loaded(Runlist &rl, uint64_t t);
	void account(Runlist &rl, uint64_t t);
	void evict(Runlist &rl);
	void skip_cycles(Runlist &rl, uint64_t to);
	uint64_t save_ns(const Turn &t);
	bool uses_image(const Runlist &rl, const Turn &t) const;

	const Profile &profile_;
	Memories &mem_;
	ContextImages images_;
	std::vector<Channel> channels_; // PCCSR chips: one table for all runlists
	std::vector<Runlist> runlists_;
	uint64_t now_ = 0, next_event_ = NEVER;
};

} // namespace emu
