// SPDX-License-Identifier: GPL-2.0
// The file hqds of the kernel's driver: the hardware queues (HQDs) of each GPU, by pipe and queue slot, with their registers.
// Never seen on a GPU.
//
// Source: torvalds/linux, drivers/gpu/drm/amd/amdkfd: kfd_topology.c, kfd_debugfs_hqds_by_device(); kfd_device_queue_manager.c,
// dqm_debugfs_hqds(): headings, those with "Inst" since the driver knows several dies.
#pragma once
#include "lib/amd/mqd.hpp"
#include "lib/amd/topology.hpp"

#include <string>
#include <vector>

namespace tool::amd {

enum class SlotKind { Hiq, Compute, Sdma };

struct Slot {
	SlotKind kind{};
	u32 die = 0;                  // XCC
	u32 pipe = 0, queue = 0;      // of SDMA: the engine, and its queue (RLC)
	std::optional<bool> active{}; // nothing: registers of this generation are not known
	QueueState state{};           // of active HQDs and compute queues
	u32 doorbell = 0;
};

struct GpuSlots {
	u32 node = 0, gpu_id = 0;
	bool stopped = false; // "Device is stopped": the driver does not schedule on it
	std::vector<Slot> slots{};
};

// Throws Error (Input), which names file and line.
std::vector<GpuSlots> parse_hqds(const std::string &text, const std::string &name, const std::vector<KfdGpu> &gpus);

} // namespace tool::amd
