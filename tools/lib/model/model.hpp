// SPDX-License-Identifier: GPL-2.0
// A GPU as values, whatever its source: a snapshot of the module, a recorded image or NVIDIA's driver. Values that a
// source does not report are empty or nullopt. Sources (lib/source) fill it in, gpulens/out formats it.
#pragma once
#include "gpulens/gpu.h"
#include "lib/base/failure.hpp"
#include "lib/model/owner.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tool {

struct Chip {
	std::string name;         // "GP106"
	std::string architecture; // "Pascal"
	std::string device;       // PCI address or platform name; empty: unknown
	std::string assumed;      // the parts of this chip's tables that no manual publishes
	u32 id = 0;               // architecture << 4 | implementation
	std::string product;      // "NVIDIA H200"; empty: unknown
	std::string driver;       // its version; empty: unknown
	std::optional<u32> boot0, boot42;
	bool known = true; // false: only the generation is known
	bool ids_per_runlist = false;
	u64 memory_bytes = 0;    // 0: unknown
	u32 engines_dropped = 0; // at least this number exceeded the limit
};

// What was on an engine at the instant of a snapshot or image.
struct EngineNow {
	int err = 0; // why it is unknown, negative errno; -EOPNOTSUPP: the engine has no register for it
	lens_engine_state state = LENS_ENGINE_IDLE;
	int id = LENS_NONE; // of a TSG, or of a channel that is in no TSG: bare
	bool bare = false;
	int channel = LENS_NONE; // of that TSG; some chips do not report it
	bool busy = false, faulted = false, reload = false;

	// Returns "TSG 5", "TSG 5 (saving)", "idle", "unreadable", or "-" without a register.
	std::string text() const;
	// Returns "on", "loading", ...
	const char *state_name() const;
};

struct Engine {
	std::string name; // as device_info names it
	u32 type = 0;     // NV_PTOP_DEVICE_INFO_TYPE_ENUM
	u16 inst = 0;
	int runlist = LENS_NONE, engine_id = LENS_NONE, intr = LENS_NONE, reset = LENS_NONE, fault = LENS_NONE;
	u32 pri_base = 0, runlist_base = 0; // BAR0 offsets, 0: unknown
	bool grce = false;                  // a copy engine on a runlist with graphics
	std::optional<EngineNow> now{};     // nothing: the source does not report it

	bool is_copy() const;
	bool is_graphics() const;
	// Returns the shortest unique name: "GR0", "GRCE0/LCE0", "LCE2", "NVDEC1", "SEC".
	std::string short_name() const;
};

// The content of an instance block and a context image. Images have it, snapshots do not.
struct Context {
	int err = 0, image_err = 0; // negative errno
	u64 pdb = 0;                // page directory: contexts with the same one share an address space
	u32 pdb_target = 0;
	std::string page_tables; // "v2"
	u32 veid = 0;
	u64 subcontexts = 0, image_va = 0;
	u32 context_id = 0, graphics = 0, compute = 0;
	u32 saves_wfi = 0, saves_cta = 0, saves_gfxp = 0, saves_cilp = 0;
};

// The activity of a channel, sorted by name, as metrics are.
enum class Activity { Faulted, Idle, Off, OnPbdma, Runs, RunsOff, Unreadable, Waits };
constexpr size_t ACTIVITIES = 8;
// Returns "faulted", "runs, off", ...
const char *name_of(Activity activity);

struct Channel {
	u32 id = 0, runlist = 0;
	u32 position = 0;    // among the runlist's entries
	int tsg = LENS_NONE; // LENS_NONE: in no TSG
	u32 runqueue = 0;
	u64 inst = 0;                   // 0: unknown
	std::optional<u32> inst_target; // nullopt: unknown
	int err = 0;                    // why its state could not be read, negative errno
	lens_channel_state state{};     // zero if err is set
	std::optional<Context> context;
	std::shared_ptr<const Owner> owner{}; // the process that it belongs to, shared by its channels; null: unknown

	TaskId task() const { return {static_cast<int>(runlist), tsg == LENS_NONE, tsg == LENS_NONE ? int(id) : tsg}; }
	bool on_engine() const;
	bool on_pbdma() const;
	// Returns the aperture and the address of its page directory; nothing: unknown.
	std::optional<std::pair<u32, u64>> address_space() const;
	bool faulted() const { return state.pbdma_faulted || state.eng_faulted; }
	Activity activity() const;
	// Returns "on pbdma+eng", "idle", "unreadable", ...
	std::string status() const;
};

struct Tsg {
	u32 id = 0, scale = 0, timeout = 0;
	u64 timeslice_ns = 0;
	u32 length = 0; // number of channels, as its header states it
	std::vector<Channel> channels{};
	std::shared_ptr<const Owner> owner{}; // the process that it belongs to; null: unknown

	bool running() const;
};

struct Runlist {
	u32 id = 0;
	int err = 0;           // why its entries could not be read, negative errno
	bool has_regs = false; // base, target, length and pending are known, even if err is set
	u64 base = 0;
	u32 target = 0, length = 0; // length: entries
	bool pending = false, torn = false;
	u32 channel_ids = 0; // ids of channels are below this; 0: unknown
	std::vector<Tsg> tsgs;
	std::vector<Channel> outside; // channels in no TSG

	std::vector<const Channel *> channels() const; // in the order of the runlist
	TaskId task(const Tsg &tsg) const { return {static_cast<int>(id), false, static_cast<int>(tsg.id)}; }
};

struct Gpc {
	u32 id = 0;       // physical; disabled GPCs are left out
	u32 tpc_mask = 0; // set bit: disabled
	u32 tpcs = 0;
	std::optional<u32> first_tpc{}; // logical number of its first TPC, if they are consecutive
	int logical = LENS_NONE;        // the driver's number of this GPC
};

// A streaming multiprocessor as a program sees it (%smid), and its location.
struct Sm {
	u32 id = 0;
	u32 gpc = 0, tpc = 0, sm = 0; // logical GPC, TPC within the GPC, SM within the TPC
	int cpc = LENS_NONE;          // physical; LENS_NONE: not reported, as by drivers before 580
	u32 virtual_gpc = 0;          // SMs of one virtual GPC can run one thread-block cluster
	int ugpu = LENS_NONE;         // the half of the L2 cache that is next to it; LENS_NONE: not reported
};

// The TPCs of a GPC by the hardware's own table (CWD_GPC_TPC_ID), which a driver has filled, or by its counts.
struct HardwareGpc {
	u32 logical = 0;       // the driver's number of this GPC
	std::vector<u32> tpcs; // in the order of %smid, ascending
};

struct MigInstance { // by NVIDIA's ids
	u32 gpu = 0, compute = 0;

	std::string text() const { return std::to_string(gpu) + '/' + std::to_string(compute); }
};

// A process that uses this GPU.
struct Process {
	u32 pid = 0;
	std::string name;                  // empty: unknown
	std::vector<std::string> uses;     // "compute", "copy", "debugger", "MPS"
	std::optional<u64> memory_bytes{}; // of the GPU; what is shared counts for the process that allocated it
	std::optional<MigInstance> mig{};

	std::string text() const; // "473 python3 (714.0 MiB, MIG 1/0)"
};

// A logical copy engine and its physical copy engines.
struct Copy {
	u32 lce = 0;
	bool grce = false;
	int runlist = LENS_NONE;
	int shares_lce = LENS_NONE; // the LCE whose PCEs a GRCE shares
	std::vector<u32> pces;
};

struct Gpu {
	int index = LENS_NONE;        // the X of /proc/gpuX
	std::string source;           // "/proc/gpu0/snapshot", or the file's name
	u64 time_ns = 0, took_ns = 0; // of a snapshot, CLOCK_MONOTONIC
	bool addresses = true;        // false: the reader lacks the permission to see any
	bool inaccessible = false;    // nothing can be read; each list of failures has the same reason
	bool reports_runlists = true; // false: its source never does, on no chip

	Chip chip;
	std::vector<Engine> engines;
	bool has_runlists = false;
	std::vector<Runlist> runlists;
	u32 num_gpcs = 0, num_tpc_per_gpc = 0, num_ces = 0; // 0: unknown
	bool has_gpcs = false, has_copy = false;
	lens_tpc_order tpc_order = LENS_TPC_ORDER_PUBLISHED; // of the logical numbers in gpcs
	u32 gpc_mask = 0;                                    // set bit: disabled
	std::vector<Gpc> gpcs;
	std::vector<HardwareGpc> hardware_gpcs; // empty: the table could not be read, as without a context on the GPU
	std::vector<HardwareGpc> counted_gpcs;  // where no fuses are published: counts; the order of TPCs is assumed
	std::vector<Sm> sms;                    // by id; empty: unknown
	u32 pce_map = 0;                        // set bit: present
	std::map<u32, int> lce_for_pce;         // LENS_NONE: serves no LCE
	std::vector<int> shared_lce;            // by GRCE; LENS_NONE: shares no LCE

	// Reported by NVIDIA's driver only.
	std::optional<std::vector<u32>> allocated; // ids of allocated channels, on a runlist or not
	std::optional<std::vector<Process>> processes;

	// Why a part is missing, by part.
	std::vector<Failure> chip_failures, engine_failures, gpc_failures, copy_failures, runlist_failures,
		channel_failures;

	// Sets counted_gpcs, and says in gpc_failures what the counts leave open.
	void set_counted_gpcs(std::vector<HardwareGpc> gpcs);
	// Returns whether any GPC has logical TPC numbers (see tpc_order).
	bool numbers_tpcs() const;
	// Are its TPCs known by %smid, as gpulens run takes them, from the driver or the hardware?
	bool has_smid_order() const { return !sms.empty() || !hardware_gpcs.empty(); }
	// chip.assumed, without the order of TPCs where that was read.
	std::string assumed() const;
	const Runlist *runlist(u32 id) const;
	std::vector<const Engine *> engines_of(u32 runlist) const;
	std::vector<std::string> engine_names(u32 runlist) const; // short names
	// The TSGs, and channels in none, that were on an engine of this runlist by the state of their channels, and that no
	// engine has by its status, which is read later: the engine has switched meanwhile.
	std::set<TaskId> left_engine(const Runlist &runlist) const;
	std::vector<Copy> copies() const; // by LCE
	// Returns "gpu0", or the source's name.
	std::string name() const;
	// Returns "gpu0: AD102 (Ada), 0000:01:00.0".
	std::string title() const;
};

// Converts an engine, with its name and kind from the core.
Engine engine_of(const lens_gpu &gpu, const lens_engine &engine);
// Returns "vid", "sys coh", ..., as /proc/gpuX/runlistY prints it.
const char *target_name(u32 target);

} // namespace tool
