// SPDX-License-Identifier: GPL-2.0
// What the kernel's driver for AMD GPUs (amdkfd) says of its queues: the files of /sys/class/kfd and /sys/kernel/debug/kfd,
// and which queue of one file is which of another. Never seen on a GPU.
//
// The files are read one after the other, so queues that come and go meanwhile are in one of them only. A queue of the
// runlist or of a slot is that of a process if both its doorbell and the address of its MQD agree; if only one of them
// does, it is called unknown. MQDs and slots of SDMA have no such address: their doorbell decides, which is unique on a GPU.
#pragma once
#include "lib/amd/hqds.hpp"
#include "lib/amd/mqds.hpp"
#include "lib/amd/runlist.hpp"
#include "lib/amd/topology.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tool::amd {

// A queue of a process. Nothing where the generation of the GPU is not known.
struct Queue {
	QueueType type{};
	u32 gpu_id = 0;
	u32 line = 0;                   // in mqds
	std::optional<u32> pasid{};     // of its process on this GPU
	std::vector<ComputeMqd> dies{}; // of compute queues: its MQD for each die
	std::optional<SdmaMqd> sdma{};
	std::optional<bool> mapped{}; // in the runlist; nothing: unknown
	std::optional<u32> doorbell() const;
};

struct Process {
	u32 pid = 0;
	std::vector<Queue> queues{};
};

// A queue by its places in the lists: processes[process].queues[queue].
struct QueueRef {
	size_t process, queue;
};

struct KfdState {
	std::vector<KfdGpu> gpus{};
	std::vector<Process> processes{};
	std::vector<Runlist> runlists{};
	std::vector<GpuSlots> slots{};
	std::vector<std::string> notes{};                                    // what could not be decoded or matched
	bool whole = true;                                                   // false: a note says what is missing
	bool has_processes = false, has_runlists = false, has_slots = false; // the file was read

	std::optional<QueueRef> find_queue(u32 gpu_id, u32 doorbell, u64 mqd) const;
	std::optional<QueueRef> find_sdma_queue(u32 gpu_id, u32 doorbell) const;
	std::optional<QueueRef> find_queue(u32 gpu_id, const MappedQueue &queue) const;
	std::optional<QueueRef> find_queue(u32 gpu_id, const Slot &slot) const;
};

// Which files to read. The topology is always read.
struct KfdFiles {
	bool mqds = true, rls = true, hqds = true;
	bool partly = false; // one that cannot be read, or is malformed, becomes a note
};

// root: the folder that has sys/; "" for this machine. Throws Error: Source if a file cannot be read, Input if it is
// malformed; of the topology only if the others may be missing (partly).
KfdState read_kfd_state(const std::string &root, const KfdFiles &files);

// Why a GPU's runlist is oversubscribed.
struct Oversubscription {
	bool chained = false;      // the driver says so
	size_t compute_queues = 0; // in the runlist
	std::optional<u32> compute_slots{};
	size_t processes = 0;                   // in the runlist
	std::optional<u32> processes_at_once{}; // told only by a chained runlist

	bool is_queues() const { return compute_slots && compute_queues > *compute_slots; }
	bool is_processes() const { return processes_at_once && processes > *processes_at_once; }
};
Oversubscription judge_oversubscription(const KfdGpu &gpu, const Runlist &list);

} // namespace tool::amd
