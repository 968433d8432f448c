// SPDX-License-Identifier: GPL-2.0
// The file rls of the kernel's driver: the runlist of each GPU, which its scheduler (HWS) maps to hardware queues. Never
// seen on a GPU.
//
// Sources: torvalds/linux, drivers/gpu/drm/amd/amdkfd: kfd_topology.c, kfd_debugfs_rls_by_device(): "Node N, gpu_id N:";
// kfd_packet_manager.c, pm_debugfs_runlist(): a dump, or "  No active runlist"; pm_create_runlist_ib(): MAP_PROCESS with the
// MAP_QUEUES of its active queues, a chained RUN_LIST at the end if it is oversubscribed, and zeros. Packets:
// kfd_pm4_opcodes.h, kfd_pm4_headers_vi.h, kfd_pm4_headers_ai.h, kfd_pm4_headers_aldebaran.h.
#pragma once
#include "lib/amd/kfd_text.hpp"
#include "lib/amd/topology.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tool::amd {

// MAP_QUEUES of one queue.
struct MappedQueue {
	std::optional<u32> sdma_engine{}; // nothing: compute
	u32 kind = 0; // queue_type: 0 normal, 1 debug, 2 normal latency static, 3 low latency static
	u32 doorbell = 0;
	u64 mqd = 0, write_pointer = 0; // addresses
	std::optional<bool> gws{};      // global wave sync; nothing: the packet of this generation does not tell
};

// MAP_PROCESS with its queues, in order.
struct MappedProcess {
	u32 pasid = 0, quantum = 0;
	u32 queues_declared = 0; // num_queues, which counts inactive ones as well
	u32 gws = 0;             // num_gws
	std::vector<MappedQueue> queues{};
};

// RUN_LIST at the end: the list starts again, as not all of it is mapped at once.
struct Chain {
	u64 address = 0;
	u32 words = 0;
	u32 processes = 0; // how many are mapped at once
	bool chained = false;
};

struct Runlist {
	u32 node = 0, gpu_id = 0;
	bool active = false;
	bool decoded = false; // false for a generation whose packets are not known
	std::vector<MappedProcess> processes{};
	std::optional<Chain> chain{};

	size_t count_compute_queues() const;
	size_t count_sdma_queues() const;
};

// Throws Error (Input), which names file and line: malformed, of a GPU that gpus does not have, or packets that the driver
// does not write there.
std::vector<Runlist> parse_runlists(const std::string &text, const std::string &name, const std::vector<KfdGpu> &gpus);

} // namespace tool::amd
