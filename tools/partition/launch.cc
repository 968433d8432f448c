// SPDX-License-Identifier: GPL-2.0
// Verifies launch masks and sets them through the driver's callback.
#include "partition/launch.hpp"

#include "partition/publish_stream.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <mutex>
#include <set>
#include <vector>

namespace gpulens {

namespace {

// Runs the probe with this mask and returns the SMs it ran on.
std::set<unsigned> run_masked(Probe &probe, const LaunchMask &mask)
{
	hook::set_next(mask);
	try {
		return probe.run();
	} catch (const Error &) {
		hook::set_next(std::nullopt);
		throw;
	}
}

// Disables one TPC at a time. If the bits do not mean what is assumed, a larger mask could disable all TPCs, and the
// GPU would hang.
void verify_masks(const Layout &layout, unsigned sms)
{
	Probe probe(sms);
	unsigned before = hook::seen().launches, per = sms / layout.map.tpcs;
	std::set<unsigned> all = probe.run();

	if (hook::seen().launches == before)
		throw Error(Error::Missing, "the driver does not call the callback before a launch");
	if (hook::seen().version != hook::VERSION)
		throw Error(Error::Missing,
			    fmt::format("launch descriptors have version {:#x}; only version {:#x} is supported",
					hook::seen().version, hook::VERSION));
	void *context = nullptr;
	check(cuda().context(&context), "cuCtxGetCurrent");
	if (hook::seen().context != context)
		throw Error(Error::Missing,
			    "the driver's callback does not report the context of a launch at the known offset");
	if (all.size() != sms || *all.rbegin() != sms - 1)
		throw Error(Error::Failed,
			    fmt::format("the probe ran on {} of {} SMs: masks need a whole GPU, and this GPU may be "
					"divided (MIG; nvidia-smi -L)",
					all.size(), sms));
	for (unsigned tpc = 0; tpc < layout.map.tpcs; tpc++) {
		LaunchMask disabled{};
		disabled[layout.launch_bits[tpc] / 64] = uint64_t{1} << layout.launch_bits[tpc] % 64;
		std::set<unsigned> expected = all, ran = run_masked(probe, disabled);
		for (unsigned sm = tpc * per; sm < (tpc + 1) * per; sm++)
			expected.erase(sm);
		if (ran == expected)
			continue;
		std::vector<unsigned> gone;
		std::set_difference(all.begin(), all.end(), ran.begin(), ran.end(), std::back_inserter(gone));
		throw Error(Error::Failed,
			    fmt::format("bit {} of the launch mask disabled {} instead of the SMs of TPC {}",
					layout.launch_bits[tpc],
					gone.empty() ? "no SM" : fmt::format("SMs {}", fmt::join(gone, ", ")), tpc));
	}
}

} // namespace

Launches &Launches::instance()
{
	static Launches launches;
	return launches;
}

const Layout &Launches::verified_layout()
{
	static std::mutex lock;
	std::lock_guard<std::mutex> hold(lock);

	if (failed_)
		throw *failed_;
	if (verified_)
		return layout_;
	try {
		int device = device_of_context();
		KnownGpu gpu = gpu_of_device(device);
		layout_ = gpu.layout;
		layout_.launch_mask(
			layout_.complement(TpcMask(layout_.map.tpcs))); // throws if a TPC's bit is not known
		sms_ = gpu.sms;
		check_smid_is_physical(device);
		if (const char *why = hook::subscribe(cuda().library))
			throw Error(Error::Missing, why);
		hook::restrict_to_gpu(uuid_of_device(device));
		verify_masks(layout_, sms_);
	} catch (const Error &e) {
		failed_ = e;
		throw;
	}
	verified_ = true;
	return layout_;
}

void Launches::set_global(const TpcMask &enabled)
{
	hook::set_global(verified_layout().launch_mask(enabled));
	publish_partition(this, layout_, "mask", "all launches", enabled);
}

void Launches::set_next(const TpcMask &enabled)
{
	hook::set_next(verified_layout().launch_mask(enabled));
}

// Returns whether the object of the stream, whose address is the first word that the CUstream points to, contains the
// address of the descriptor. With driver 580, all 430 streams tested had it at offset 992, and none of 537,012 launches
// in 2,000 streams and in other threads used another descriptor.
static bool has_descriptor(const void *stream, const void *descriptor)
{
	constexpr size_t OBJECT_WORDS = 128;
	const unsigned char *object = nullptr;
	const void *words[OBJECT_WORDS];

	std::memcpy(&object, stream, sizeof(object));
	std::memcpy(words, object, sizeof(words));
	return std::find(words, words + OBJECT_WORDS, descriptor) != words + OBJECT_WORDS;
}

// Saves the mask of the program's next launch while probes are launched, which would use it up.
class NextMaskKeeper {
public:
	NextMaskKeeper() : mask_(hook::take_next()) {}
	NextMaskKeeper(const NextMaskKeeper &) = delete;
	NextMaskKeeper &operator=(const NextMaskKeeper &) = delete;
	~NextMaskKeeper() { hook::set_next(mask_); }

private:
	std::optional<LaunchMask> mask_;
};

// The callback does not get the stream of a launch, but the address of the launch descriptor, and each stream has its
// own descriptor. A launch of the probe in the stream finds the address.
const void *Launches::set_stream(void *stream, const TpcMask &enabled)
{
	constexpr uintptr_t LEGACY_STREAM = 1, PER_THREAD_STREAM = 2; // CU_STREAM_LEGACY, CU_STREAM_PER_THREAD
	LaunchMask mask = verified_layout().launch_mask(enabled);
	uintptr_t handle = reinterpret_cast<uintptr_t>(stream);
	NextMaskKeeper keeper;
	Probe probe(sms_);

	if (handle == PER_THREAD_STREAM)
		throw Error(Error::Unsupported, "the per-thread default stream is a different stream in each thread");
	probe.run(stream);
	const void *descriptor = hook::seen().descriptor;
	probe.run(stream);
	if (descriptor != hook::seen().descriptor || (handle > LEGACY_STREAM && !has_descriptor(stream, descriptor)))
		throw Error(Error::Unsupported,
			    "launches of this stream cannot be distinguished from launches of other streams");
	hook::set_of_descriptor(descriptor, mask);
	unsigned per = sms_ / layout_.map.tpcs;
	for (unsigned sm : probe.run(stream))
		if (!enabled.has(sm / per)) {
			hook::set_of_descriptor(descriptor, std::nullopt);
			throw Error(Error::Failed, fmt::format("with the stream's mask the probe ran on SM {}", sm));
		}
	publish_partition(stream, layout_, "mask", "stream", enabled);
	return descriptor;
}

void Launches::end_stream(const void *descriptor)
{
	hook::set_of_descriptor(descriptor, std::nullopt);
}

} // namespace gpulens
