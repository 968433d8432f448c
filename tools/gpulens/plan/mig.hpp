// SPDX-License-Identifier: GPL-2.0
// GPU instances of MIG (Multi-Instance GPU) as partitions. A GPU has slices of SMs and of memory, most seven and eight; an
// instance has a profile, which says how many of each it has, and where in memory it may begin.
//
// Sources, all public:
//   slices    NVIDIA Multi-Instance GPU User Guide, r580, "Supported MIG Profiles": tables of A100, H100, H200 and B200
//   starts    the same, "Getting Started with MIG": the output of nvidia-smi mig -lgipp, {start,..}:memory slices
//   SMs       output of nvidia-smi mig -lgip: A100, forums.developer.nvidia.com/t/170488, and the same in
//             github.com/NVIDIA/go-nvml, pkg/nvml/mock/shared/gpus/a100.go; H100 SXM5 80 GB, jbarrow.ai/field_notes/nvidia-mig
//   assumed   H100 PCIe: such output with driver 570.169, in a repository whose name is not known. H200: as an H100 SXM5,
//             which has as many SMs. B200: go-nvml's b200.go, whose sister file for the H100 has no number above that of
//             an H100, and some below it
#pragma once
#include "gpulens/plan/allocate.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tool::plan {

struct MigProfile {
	u32 id;           // as nvidia-smi mig takes it; the same on all these GPUs
	std::string name; // of the GPU instance without its memory: "3g"
	u32 sm_slices, memory_slices;
	std::vector<u32> starts; // memory slices that it may begin at
	u32 sms;
};

struct MigGpu {
	std::string name;                 // "A100"
	u32 die;                          // id of the chip
	u32 tpcs;                         // of the whole GPU, which tell products apart
	std::string assumed;              // what is not published, for the user; empty: nothing
	std::vector<MigProfile> profiles; // without those that differ by media engines only
	u32 sm_slices = 7;                // of the whole GPU
};

struct MigInstance {
	const MigProfile *profile = nullptr;
	u32 start = 0; // memory slice

	u32 tpcs() const { return profile->sms / 2; }
};

// Returns the GPU with so many TPCs; nullptr if none is known. die: id of its chip; nothing: any.
const MigGpu *find_mig_gpu(std::optional<u32> die, u32 tpcs);
// Reads the output of nvidia-smi mig -lgip, with that of -lgipp before or after it where the GPU has not seven slices. Throws
// Error (Input). name: of the file.
MigGpu parse_mig_profiles(const std::string &text, const std::string &name);
// Returns "A100 (54 TPCs), ...", for messages.
std::string mig_gpu_names();
// Returns the TPCs of the largest instance.
u32 largest_instance(const MigGpu &gpu);

// Returns all sets of instances that can be there at the same time, none empty, one for each selection of profiles, with
// the instances in the order of their starts. Those with the fewest slices come first.
std::vector<std::vector<MigInstance>> list_mig_layouts(const MigGpu &gpu);

// Divides the tasks among instances: for each set of instances, tasks by falling size and utilization go to the instance
// that they fill most (best fit). Returns the first set that all fit into. instances: those of the partitions, in their order.
Allocation allocate_on_mig(const Problem &problem, const MigGpu &gpu, std::vector<MigInstance> &instances);

} // namespace tool::plan
