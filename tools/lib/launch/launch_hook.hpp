// SPDX-License-Identifier: GPL-2.0
// Sets TPC masks in CUDA's launch descriptors (TMD, also QMD), in a callback of the driver before it uploads one (RTAS'23,
// section IV-A; layouts: descriptor.hpp). Also part of what gpulens run preloads: nothing here throws.
// A launch takes no lock, unless another process asks for another mask (watch_requests()). It ends the program where its mask
// cannot hold, and where its blocks would wait for ever: those of a cooperative grid, or of a thread-block cluster that does not
// fit.
#pragma once
#include "lib/launch/descriptor.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace gpulens {

// A set bit disables. Bits beyond those of the descriptor's version are ignored.
using LaunchBits = std::array<uint64_t, 2>;

struct LaunchMask {
	LaunchBits bits{};
	// Blocks of the largest cluster that it holds: the SMs that it leaves in one virtual GPC, as a cluster has its blocks
	// on different SMs of one (docs/results/2026-11-26-h100-clusters.md). Those of one TPC are always left.
	uint32_t cluster = SMS_PER_TPC;

	auto operator<=>(const LaunchMask &) const = default; // NOLINT(modernize-use-nullptr): means the 0 in <=>
};
constexpr uint32_t ANY_CLUSTER = ~uint32_t{0}; // a mask of the whole GPU
using GpuUuid = std::array<unsigned char, 16>;

// Returns "GPU-00112233-...", the format of CUDA_VISIBLE_DEVICES.
std::string format_uuid(const GpuUuid &gpu);

// Prints why the program ends, on standard error.
void report_unpartitioned(const std::string &why);
constexpr int STATUS_UNLIMITED = 4; // exit status of a program that would run without its mask; gpulens run's, too

namespace hook {

constexpr uint32_t SEEN_VERSION = 0x40; // of descriptors that were seen on GPUs: 4.0, Hopper

// The calling thread's launches so far.
struct Seen {
	unsigned launches = 0;
	uint8_t version = 0, version_5 = 0; // of the last launch's descriptor: its bytes VERSION_AT and VERSION_5_AT
	const void *descriptor = nullptr;   // its address; each stream has its own
	void *context = nullptr;            // its CUDA context
};

// Registers the callback with libcuda (a handle of dlopen()). Returns nullptr, or why it cannot. Needs and makes no CUDA
// context. Afterwards this process cannot make green contexts (CUDA's error 801; seen with driver 580).
const char *subscribe(void *libcuda);

// The GPU that masks were verified on; to be called before the first mask is set. A masked launch on another GPU ends the
// program: there the bits may mean other TPCs.
void restrict_to_gpu(const GpuUuid &gpu);

// The format of the descriptors; to be called before the first mask is set, otherwise it is that of SEEN_VERSION. A masked
// launch with a descriptor of another version ends the program.
void use_format(const DescriptorFormat &format);

// Masks in order of precedence. Without any, a launch stays as CUDA made it.
void set_next(const std::optional<LaunchMask> &mask); // of the calling thread's next launch
std::optional<LaunchMask> take_next();                // removes and returns that mask
void set_of_descriptor(const void *descriptor, const std::optional<LaunchMask> &mask);
void set_global(const LaunchMask &mask);
// Ends the program at a launch without any mask, until set_global().
void refuse_unmasked();
bool is_unmasked_refused();

Seen seen();

// Function that each launch calls first, in its own thread; it may wait.
void before_launch(void (*call)());

// Counter of masked launches from now on; nullptr: none. It must stay mapped.
void count_into(uint64_t *masked);
// Number that another process raises where it asks for another global mask; nullptr: none. It must stay mapped. The next
// launch with the global mask calls take first, which returns the number that it answered.
void watch_requests(const uint32_t *asked, uint32_t (*take)());
// Function that a masked launch calls while there is no counter, to set one; from any thread, also concurrently.
void on_uncounted(void (*begin)());

} // namespace hook
} // namespace gpulens
