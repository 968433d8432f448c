// SPDX-License-Identifier: GPL-2.0
// Restricts kernel launches of this process to sets of TPCs, through launch masks (lib/launch/launch_hook.hpp). Before
// the first mask is set, a probe kernel verifies TPC by TPC that a mask disables the expected SMs on this GPU and
// driver, or finds the SMs of each bit where they are not known (mask_bits.hpp).
#pragma once
#include "lib/launch/launch_hook.hpp"
#include "partition/cuda.hpp"
#include "partition/layout.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gpulens {

class Launches {
public:
	// There is one per process, as the driver's callback.
	static Launches &instance();

	// Installs the driver's callback and verifies masks on the GPU of device_of_context(), at the first call.
	// Returns that GPU's layout. Throws Error, the same at each call: what is missing, or what the probe found.
	const Layout &verified_layout();
	// Throws Error as verified_layout(), and Missing where this GPU has cooperative launches which its descriptors do not
	// tell from others, unless GPULENS_NO_COOPERATIVE=1.
	void check_recognized();
	// Returns the mask that disables all but these TPCs. Throws Error, as check_recognized(); Input for an empty mask.
	LaunchMask launch_mask(const TpcMask &enabled);
	// Returns the format of this GPU's launch descriptors. Throws Error, as verified_layout().
	const DescriptorFormat &format();
	// Keeps what each bit disables, for processes under MPS; under MPS, nothing. Throws Error, as verified_layout().
	void keep();
	// Returns how the descriptors and the bits of masks are known, for the user. Throws Error, as verified_layout().
	const std::string &evidence();
	// Restricts all launches that no other mask applies to. An empty mask ends the program at such a launch. Throws Error,
	// as check_recognized().
	void set_global(const TpcMask &enabled);
	// Restricts all launches of a stream of the calling thread's context; overrides the global mask. Graphs are not
	// covered: they are not launched through their stream. Runs the probe in the stream, which must not be
	// capturing. Returns the argument of end_stream(). Throws Error, as check_recognized(), and Unsupported if launches
	// of the stream cannot be recognized.
	const void *set_stream(void *stream, const TpcMask &enabled);
	// Removes a stream's mask. Call it before the stream is destroyed: a new stream may get the same descriptor,
	// and would inherit the mask.
	static void end_stream(const void *descriptor);
	// Restricts the calling thread's next launch; overrides all other masks. Throws Error, as check_recognized().
	void set_next(const TpcMask &enabled);

private:
	void verify(int device);
	void verify_under_mps(Probe &probe, const std::string &uuid);
	void discover(Probe &probe, const std::set<unsigned> &all);

	bool verified_ = false;
	std::optional<Error> failed_;
	Layout layout_;
	std::string driver_;
	bool under_mps_ = false;
	unsigned sms_ = 0;
	const DescriptorFormat *format_ = nullptr;
	std::vector<LaunchBits> bits_; // by TPC: those that disable it
	std::string evidence_;
	bool unrecognized_ = false; // cooperative launches
};

// A mask, and how many TPCs it leaves.
using CountedMask = std::pair<LaunchMask, size_t>;
// check_sms() for each mask, of descriptors that have that format, on the device of device_of_context(). Throws Error.
void check_masks(unsigned format, size_t per, const std::vector<CountedMask> &masks);

// Returns the layout that the driver reports of a device; where it does not report the SMs, the one that verified_layout()
// discovers. Throws Error: as gpu_of_device() and verified_layout(); Source if that is another device's.
Layout layout_of_device(int device);

} // namespace gpulens
