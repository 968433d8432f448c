// SPDX-License-Identifier: GPL-2.0
// The file mqds of the kernel's driver: processes, and the memory queue descriptors (MQDs) of their queues as words. Never
// seen on a GPU.
//
// Source: torvalds/linux, drivers/gpu/drm/amd/amdkfd: kfd_process.c, kfd_debugfs_mqds_by_process(): "Process PID PASID
// 0xN:" (since 2025, "drm/amdkfd: Have kfd driver use same PASID values from graphic driver", the number after PASID is the
// PID again); kfd_process_queue_manager.c, pqm_debugfs_mqds(): a heading of each queue and a dump of its MQD for each die
// (XCC). The file has no ids of queues.
#pragma once
#include "lib/amd/kfd_text.hpp"

#include <string>
#include <vector>

namespace tool::amd {

enum class QueueType { Compute, Sdma, Diq };
const char *name_queue_type(QueueType type);

struct MqdQueue {
	QueueType type{};
	u32 gpu_id = 0;
	u32 line = 0;                         // of its heading
	std::vector<std::vector<u32>> mqds{}; // words, by die
};

struct MqdProcess {
	u32 pid = 0, pasid = 0;
	std::vector<MqdQueue> queues{};
};

struct Mqds {
	std::vector<MqdProcess> processes{};
	std::vector<std::string> complaints{}; // lines in which the driver calls a queue bad, with their places
};

// Throws Error (Input), which names file and line.
Mqds parse_mqds(const std::string &text, const std::string &name);

} // namespace tool::amd
