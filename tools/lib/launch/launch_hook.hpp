// SPDX-License-Identifier: GPL-2.0
// Masks in CUDA's launch descriptors (TMD, also QMD): the driver's own callback gets a descriptor before it is uploaded
// (RTAS'23, section IV-A; what is where in it: docs/results/2026-11-22-h200-masks.md). This is also built into what gpulens
// run preloads into other people's programs: nothing here throws. A launch takes no lock; it ends the program where it
// has a mask that cannot hold or that it could wait under for ever (a cooperative grid of more blocks than SMs).
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace gpulens {

using LaunchMask = std::array<uint64_t, 2>; // a set bit disables
using GpuUuid = std::array<unsigned char, 16>;

// "GPU-00112233-...", as CUDA_VISIBLE_DEVICES takes it.
std::string name_of(const GpuUuid &gpu);

// On standard error, before the program is ended.
void say_unpartitioned(const std::string &why);

namespace hook {

constexpr unsigned VERSION = 0x40; // of descriptors that are known: 4.0, Hopper

// Of the calling thread's launches.
struct Seen {
	unsigned launches = 0, version = 0; // of the last one's descriptor
	const void *descriptor = nullptr;   // where that was; each stream has its own
	void *context = nullptr;            // CUDA's, in which it is
};

// Asks a libcuda (a handle of dlopen's) to call back before launches. nullptr: it will; else why not. Needs no CUDA context
// and makes none. From then on this process cannot make green contexts (CUDA's error 801; seen with driver 580).
const char *subscribe(void *libcuda);

// Which GPU masks were verified on, before the first is set. A launch with a mask on another one ends the program: its
// bits may be other TPCs.
void only_on(const GpuUuid &gpu);

// A mask goes before those below it; where there is none, a launch is as CUDA made it.
void set_next(const std::optional<LaunchMask> &mask); // of the calling thread's next launch
std::optional<LaunchMask> take_next();                // what it would have been, and has not any more
void set_of_descriptor(const void *descriptor, const std::optional<LaunchMask> &mask);
void set_global(const LaunchMask &mask);

Seen seen();

// Where launches with a mask are counted from now on; nullptr: nowhere. The place stays mapped for ever.
void count_into(uint64_t *masked);
// Called by a launch with a mask that is counted nowhere, to name a place; by any thread, also by several at once.
void on_uncounted(void (*begin)());

} // namespace hook
} // namespace gpulens
