// SPDX-License-Identifier: GPL-2.0
// See launch.hpp.
#include "partition/launch.hpp"

#include "partition/publish_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <mutex>
#include <set>
#include <vector>

namespace gpulens {

namespace {

// SMs that a launch with this mask ran on.
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

// Only one TPC at a time is disabled: a mask that means something else could leave none, and the GPU would hang.
void verify(const Layout &layout, unsigned sms)
{
	Probe probe(sms);
	unsigned before = hook::seen().launches, per = sms / layout.map.tpcs;
	std::set<unsigned> all = probe.run();

	if (hook::seen().launches == before)
		throw Error(ENOSYS, "the driver does not call back before a launch");
	if (hook::seen().version != hook::VERSION)
		throw Error(ENOSYS, fmt::format("descriptors of launches have version {:#x} here; known is {:#x}",
						hook::seen().version, hook::VERSION));
	void *context = nullptr;
	check(cuda().context(&context), "cuCtxGetCurrent");
	if (hook::seen().context != context)
		throw Error(ENOSYS, "the driver's callback does not tell the context of a launch where it is known to");
	if (all.size() != sms || *all.rbegin() != sms - 1)
		throw Error(EIO,
			    fmt::format("the probe ran on {} of {} SMs: masks are for a whole GPU, and this one may "
					"be divided (MIG; nvidia-smi -L)",
					all.size(), sms));
	for (unsigned tpc = 0; tpc < layout.map.tpcs; tpc++) {
		LaunchMask one{};
		one[layout.launch_bits[tpc] / 64] = uint64_t{1} << layout.launch_bits[tpc] % 64;
		std::set<unsigned> expected = all, ran = run_masked(probe, one);
		for (unsigned sm = tpc * per; sm < (tpc + 1) * per; sm++)
			expected.erase(sm);
		if (ran == expected)
			continue;
		std::vector<unsigned> gone;
		std::set_difference(all.begin(), all.end(), ran.begin(), ran.end(), std::back_inserter(gone));
		throw Error(EIO, fmt::format("bit {} of a launch's mask took SMs {} away, and not TPC {}'s",
					     layout.launch_bits[tpc],
					     gone.empty() ? "none" : fmt::format("{}", fmt::join(gone, ", ")), tpc));
	}
}

} // namespace

Launches &Launches::the()
{
	static Launches one;
	return one;
}

const Layout &Launches::ready()
{
	static std::mutex lock;
	std::lock_guard<std::mutex> hold(lock);

	if (failed_)
		throw *failed_;
	if (ready_)
		return layout_;
	try {
		int device = device_of_context();
		KnownGpu gpu = gpu_of_device(device);
		layout_ = gpu.layout;
		layout_.launch_mask(layout_.complement(TpcMask(layout_.map.tpcs))); // are all bits known?
		sms_ = gpu.sms;
		smid_must_be_the_gpus(device);
		if (const char *why = hook::subscribe(cuda().library))
			throw Error(ENOSYS, why);
		hook::only_on(uuid_of_device(device));
		verify(layout_, sms_);
	} catch (const Error &e) {
		failed_ = e;
		throw;
	}
	ready_ = true;
	return layout_;
}

void Launches::set_global(const TpcMask &enabled)
{
	hook::set_global(ready().launch_mask(enabled));
	tell(this, layout_, "mask", "all launches", enabled);
}

void Launches::set_next(const TpcMask &enabled)
{
	hook::set_next(ready().launch_mask(enabled));
}

// Does the stream's object, whose address its handle begins with, point to the descriptor? With driver 580 each did, at
// 992, of 430 streams; and 537,012 launches in 2,000 of them and in others' threads never had another descriptor.
static bool points_to(const void *stream, const void *descriptor)
{
	constexpr size_t WORDS = 128;
	const unsigned char *object = nullptr;
	const void *words[WORDS];

	std::memcpy(&object, stream, sizeof(object));
	std::memcpy(words, object, sizeof(words));
	return std::find(words, words + WORDS, descriptor) != words + WORDS;
}

// The program's next launch keeps its mask over those of the probe.
class KeptNext {
public:
	KeptNext() : mask_(hook::take_next()) {}
	KeptNext(const KeptNext &) = delete;
	KeptNext &operator=(const KeptNext &) = delete;
	~KeptNext() { hook::set_next(mask_); }

private:
	std::optional<LaunchMask> mask_;
};

// The callback is not told the stream, but where the launch's descriptor lies, and each stream has its own. A launch of the probe
// tells which.
const void *Launches::set_stream(void *stream, const TpcMask &enabled)
{
	constexpr uintptr_t LEGACY = 1, PER_THREAD = 2;
	LaunchMask mask = ready().launch_mask(enabled);
	uintptr_t handle = reinterpret_cast<uintptr_t>(stream);
	KeptNext kept;
	Probe probe(sms_);

	if (handle == PER_THREAD)
		throw Error(ENOTSUP, "the per-thread default stream is another one in each thread");
	probe.run(stream);
	const void *descriptor = hook::seen().descriptor;
	probe.run(stream);
	if (descriptor != hook::seen().descriptor || (handle > LEGACY && !points_to(stream, descriptor)))
		throw Error(ENOTSUP, "the stream's launches cannot be told from others'");
	hook::set_of_descriptor(descriptor, mask);
	unsigned per = sms_ / layout_.map.tpcs;
	for (unsigned sm : probe.run(stream))
		if (!enabled.has(sm / per)) {
			hook::set_of_descriptor(descriptor, std::nullopt);
			throw Error(EIO, fmt::format("with the stream's mask the probe ran on SM {}", sm));
		}
	tell(stream, layout_, "mask", "stream", enabled);
	return descriptor;
}

void Launches::end_stream(const void *launches)
{
	hook::set_of_descriptor(launches, std::nullopt);
}

} // namespace gpulens
