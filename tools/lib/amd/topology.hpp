// SPDX-License-Identifier: GPL-2.0
// AMD's GPUs as the kernel's driver lists them below /sys/class/kfd/kfd/topology/nodes. Never seen on a GPU.
//
// Source: torvalds/linux, drivers/gpu/drm/amd/amdkfd/kfd_topology.c, node_show(): lines "NAME NUMBER" of a node's file
// properties; gpu_id ("%u\n", 0: no GPU) and name ("%s\n") are files beside it. Properties that an older kernel lacks are
// nullopt.
#pragma once
#include "lib/amd/kfd_text.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tool::amd {

// The lines of a file properties.
class Properties {
public:
	// Throws Error (Input), which names file and line, for a line that is not a name and a value.
	Properties(const std::string &text, const std::string &name);

	// Returns nothing without the property. Throws Error (Input) if it is no decimal number of 32 bits.
	std::optional<u32> find(const std::string &key) const;
	// Returns the value as it stands there; empty without the property.
	std::string find_text(const std::string &key) const;
	// Throws Error (Input) without the property.
	u32 get(const std::string &key) const;

private:
	std::string name_;
	struct Value {
		std::string text;
		size_t line;
	};
	std::map<std::string, Value> values_;
};

struct KfdGpu {
	u32 node = 0;
	u32 gpu_id = 0; // the driver's; its files show it in hexadecimal
	std::string name;
	std::optional<u32> gfx{};             // gfx_target_version: major * 10000 + minor * 100 + stepping
	std::optional<std::string> address{}; // PCI
	std::string unique_id{};              // of the die, which its partitions share; empty: not known
	u32 cus = 0, ses = 0;                 // enabled CUs, and SEs, of all dies
	u32 dies = 1;                         // XCCs
	std::optional<u32> compute_slots{};   // hardware queues (HQDs) for compute queues, per die
	std::optional<u32> sdma_slots{};      // engines times queues of each
};

// Reads the GPUs below root, "" for this machine. Throws Error: Source if a file cannot be read, Input if it is malformed.
std::vector<KfdGpu> read_topology(const std::string &root);
// Returns the GPU of this id; throws Error (Input) at the current line of the text without one.
const KfdGpu &find_gpu(const KfdText &text, const std::vector<KfdGpu> &gpus, u32 gpu_id);
// "9.0.6" for 90006.
std::string format_gfx(u32 version);

} // namespace tool::amd
