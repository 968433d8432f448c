// SPDX-License-Identifier: GPL-2.0
// Why a part of a GPU cannot be shown: the part, the error, and the words that an image lacks.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tool {

// A register or word of memory that decoding needs and an image lacks.
struct Missing {
	char kind; // 'r', 'v' or 's', the first word of an image's lines
	uint64_t addr;
};

// Returns "r 0x00c00080".
std::string to_string(const Missing &m);

// The parts of a GPU that are read, and can fail, separately.
enum class Part {
	Gpu, // the whole GPU
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

// A part, with its number where there are several.
struct Subject {
	Subject(Part p, uint32_t i = 0, uint32_t c = 0) : part(p), id(i), channel(c) {}
	Subject(Part p, std::string n) : part(p), name(std::move(n)) {}

	Part part;
	uint32_t id = 0, channel = 0; // of a GPC, an LCE or a runlist; of a channel on that runlist
	std::string name{};           // of a GPU or a file

	// Returns "runlist 3".
	std::string text() const;
};

struct Failure {
	Subject item;
	int err = 0; // negative errno
	std::vector<Missing> missing;
	std::string reason{}; // replaces the text for err; empty: use that

	// Returns the reason, such as "not recorded: r 0x00c00080".
	std::string text() const;
	// Returns "EIO".
	std::string errno_name() const;
};

// Returns the reason for -ENOSPC, with the number of engines that exceeded the limit; empty for other errors.
std::string describe_dropped_engines(int err, uint32_t dropped);

} // namespace tool
