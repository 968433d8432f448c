// SPDX-License-Identifier: GPL-2.0
// A chip as data: what a profile file (emulator/profiles/*.json) says about one GPU. Each group in the file names its
// source; "sources" files each number by its kind.
#pragma once
#include "model/entry.hpp"
#include "model/traits.hpp"

#include <optional>
#include <string>
#include <vector>

namespace emu {

struct EngineInfo {
	std::string name;  // as the tables of the papers print it: GR0, LCE2, NVDEC0, SEC2
	unsigned type = 0; // NV_PTOP_DEVICE_INFO_TYPE_ENUM
	unsigned instance = 0;
	unsigned die = 0;   // gb100: in which die's device table
	unsigned group = 0; // GROUP_ID, gb100
	int runlist = -1;   // -1: no runlist (two-row device)
	int engine_id = -1; // index in ENGINE_STATUS; published in PTOP v1 only
	int intr = -1;      // the row's, or from Ampere on INTR_ID of its runlist registers
	int reset = -1, fault = -1;
	u32 pri_base = 0;
	unsigned rleng = 0; // which of the runlist's engines (PTOP v2 RLENG_ID)
};

struct RunlistInfo {
	int id = 0;
	u32 pri_base = 0; // NV_RUNLIST; 0 on PFIFO chips
	u32 chram_base = 0;
	unsigned channels = 0;        // entries of NV_CHRAM
	std::vector<unsigned> pbdmas; // by runqueue
};

struct Timing { // nanoseconds; none is published, all are assumed, but GV100's first
	u64 runlist_fetch = 20'000;
	u64 switch_request = 2'000;
	u64 save_wfi = 40'000, save_cta = 20'000, save_gfxp = 15'000, save_cilp = 8'000;
	u64 load = 10'000;
	u64 idle_gap = 1'000;
	u64 preempt_absent = 1'000; // a preempt that finds nothing to remove
};

enum class PtopRow { Data, Enum, Type };

// Throws unless "sources" says of each number of the profile, once, whether it is a card's, a manual's or invented.
void check_sources(const Entry &profile);

struct Profile {
	// Throws std::invalid_argument with the file, if it is named, and the key of what is wrong.
	explicit Profile(const nlohmann::json &json, const std::string &file = "");
	explicit Profile(const Entry &j);

	bool pfifo() const { return traits.pfifo; }
	const EngineInfo *find_engine(const std::string &name) const;
	int find_engine_index(const Entry &name) const; // throws if there is none

	std::string document; // "profile FILE", for errors
	std::string name, marketing;
	const Traits &traits;
	bool unified = false;          // SoC: no memory of its own, every aperture means system memory
	bool vid_means_sysmem = false; // SoC whose driver writes the video memory aperture: gv11b, ga10b
	bool tsg_headers = true;       // gk104: false
	bool entry_inst = true;        // word 1 of 8-byte channel entries; nvgpu writes 0
	bool channel_preempt = true;   // gv11b: PREEMPT of a channel does nothing
	bool image_magic_4 = false;    // ga10b: context image header of 0x300 bytes
	u32 boot0, boot42;
	u16 pci_vendor, pci_device, pci_subvendor, pci_subdevice;
	u32 pci_class;
	u8 pci_revision;
	unsigned bar_index[3];
	u64 bar_size[3];
	u64 memory_bytes;
	// SCAL counters (design maxima)
	unsigned num_gpcs, tpc_per_gpc, num_fbps, num_fbpas, num_ces, ltc_per_fbp, num_ltcs, slices_per_ltc,
		pes_per_gpc;
	u32 gpc_disabled;
	std::optional<u32> fbp_disabled; // none: not known
	std::vector<u32> tpc_disabled;   // by physical GPC
	u32 pce_map;
	std::vector<unsigned> pce2lce; // 0xf: none
	std::vector<u32> grce_config;  // raw words, or the one packed word on Pascal
	std::vector<EngineInfo> engines;
	struct Table {
		std::vector<int> order; // index into engines; -1: a zero row
	};
	std::vector<Table> ptop;             // one per die
	unsigned ptop_rows = 0;              // v2: NUM_ROWS
	unsigned ptop_max_devices = 0;       // v2: MAX_DEVICES
	std::vector<PtopRow> ptop_row_order; // v1: order of the rows inside a device is free
	std::vector<RunlistInfo> runlists;
	unsigned channels = 0; // PCCSR entries (PFIFO chips)
	unsigned max_runlists = 0, max_engines = 0, num_pbdma = 0;
	u32 host_class = 0, pbdma_fault_id = 0;
	Timing timing;
};

} // namespace emu
