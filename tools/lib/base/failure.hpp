// SPDX-License-Identifier: GPL-2.0
// Why a part of a GPU is not shown: which part, what the kernel or the core answered, which words an image lacks.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tool {

// A word that decoding wanted and that an image does not have.
struct Missing {
	char kind; // 'r', 'v' or 's', as image lines begin
	uint64_t addr;
};

// "r 0x00c00080"
std::string to_string(const Missing &m);

// The parts of a GPU that are read, or fail, by themselves.
enum class Part {
	Gpu, // the whole of it
	Chip,
	ProductName,
	MemorySize,
	Engines,
	EngineRunlists,
	EngineIds,
	FaultIds,
	Gpcs,
	GpcMask,
	GpcCounts,
	TpcMask,
	LogicalGpcs,
	Sms,
	Copy,
	Pces,
	Memory,
	Bars,
	Runlists, // all of them
	Runlist,
	Channel,
	AllocatedChannels,
	Processes,
	ProcFile, // of /proc/gpuX
};

// A part, and which one where there are several.
struct Subject {
	Subject(Part p, uint32_t i = 0, uint32_t c = 0) : part(p), id(i), channel(c) {}
	Subject(Part p, std::string n) : part(p), name(std::move(n)) {}

	Part part;
	uint32_t id = 0, channel = 0; // of a GPC, an LCE or a runlist; of a channel on that runlist
	std::string name{};           // of a GPU or a file

	// "runlist 3"
	std::string text() const;
};

struct Failure {
	Subject item;
	int err = 0; // negative errno
	std::vector<Missing> missing;
	std::string said{}; // by who was asked, instead of the errno's words

	// "not recorded: r 0x00c00080"
	std::string why() const;
	// "EIO"
	std::string errno_name() const;
};

// What to say of engines that are missing: of which there was no room for so many, or nothing more than the errno says.
std::string engines_missing(int err, uint32_t dropped);

} // namespace tool
