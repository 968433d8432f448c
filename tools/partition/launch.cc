// SPDX-License-Identifier: GPL-2.0
// Verifies launch masks and sets them through the driver's callback.
#include "partition/launch.hpp"

#include "lib/launch/environment.hpp"
#include "partition/kept_bits.hpp"
#include "partition/mask_bits.hpp"
#include "partition/publish_stream.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <vector>

namespace gpulens {

namespace {

// The bits that the GPU's layout predicts; nothing: it does not, or a TPC has none of the 128. The prediction is that of
// docs/results/2026-11-22-h200-masks.md, so it is for descriptors of that version.
std::optional<std::vector<LaunchBits>> predicted_bits(const DescriptorFormat &format, const Layout &layout)
{
	std::vector<LaunchBits> of_tpc(layout.map.tpcs);

	if (format.id != hook::SEEN_VERSION || of_tpc.empty() || layout.launch_bits.size() != of_tpc.size())
		return std::nullopt;
	for (size_t tpc = 0; tpc < of_tpc.size(); tpc++) {
		unsigned bit = layout.launch_bits[tpc];
		if (bit >= 128)
			return std::nullopt;
		of_tpc[tpc][bit / 64] = uint64_t{1} << bit % 64;
	}
	return of_tpc;
}

// Disables one TPC at a time. If the bits do not mean what is assumed, a larger mask could disable all TPCs, and the
// GPU would hang.
void verify_bits(Probe &probe, const Layout &layout, const std::vector<LaunchBits> &of_tpc, unsigned per,
		 const std::set<unsigned> &all)
{
	for (unsigned tpc = 0; tpc < layout.map.tpcs; tpc++) {
		std::set<unsigned> expected = all, ran = run_masked(probe, of_tpc[tpc]);
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

// Launches the probe without a mask, and returns the SMs that it ran on. Throws Error if the launch did not call back.
std::set<unsigned> run_unmasked(Probe &probe)
{
	unsigned before = hook::seen().launches;
	std::set<unsigned> all = probe.run();

	if (hook::seen().launches == before)
		throw Error(Error::Missing, "the driver does not call the callback before a launch");
	return all;
}

// The format of the last launch's descriptor.
const DescriptorFormat &format_of_launch(int device)
{
	hook::Seen seen = hook::seen();
	const DescriptorFormat *format = find_descriptor(seen.version, seen.version_5, capability_of_device(device));

	if (!format)
		throw Error(
			Error::Missing,
			fmt::format("launch descriptors have {:#04x} in byte {} and {:#04x} in byte {}, which is no "
				    "version whose mask NVIDIA's headers define",
				    seen.version, VERSION_AT, seen.version_5, VERSION_5_AT));
	return *format;
}

// Installs the driver's callback for launches on the device.
void subscribe_hook(int device)
{
	if (const char *why = hook::subscribe(cuda().library))
		throw Error(Error::Missing, why);
	hook::restrict_to_gpu(uuid_of_device(device));
}

// Where launches that could wait for ever cannot be recognized, masks need the user's word that there are none.
bool is_stated_not_cooperative()
{
	const char *stated = std::getenv(environment::NO_COOPERATIVE);

	return stated && std::string_view(stated) == "1";
}

std::string source_of(const DescriptorFormat &format)
{
	return format.seen ? fmt::format("launch descriptors of version {}, seen on H200 and H100", format.name)
			   : fmt::format("launch descriptors of version {}: from the manual, not yet tested on "
					 "hardware (open-gpu-doc, {})",
					 format.name, format.header);
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
		sms_ = gpu.sms;
		driver_ = gpu.driver;
		under_mps_ = is_under_mps(device);
		subscribe_hook(device);
		verify(device);
	} catch (const Error &e) {
		failed_ = e;
		throw;
	}
	verified_ = true;
	return layout_;
}

void Launches::verify(int device)
{
	Probe probe(sms_);
	std::set<unsigned> all = run_unmasked(probe);
	void *context = nullptr;

	format_ = &format_of_launch(device);
	check(cuda().context(&context), "cuCtxGetCurrent");
	if (hook::seen().context != context)
		throw Error(Error::Missing,
			    "the driver's callback does not report the context of a launch at the known offset");
	if (all.size() != sms_ || *all.rbegin() != sms_ - 1)
		throw Error(Error::Failed,
			    fmt::format("the probe ran on {} of {} SMs: masks need a whole GPU, and this GPU may be "
					"divided (MIG; nvidia-smi -L)",
					all.size(), sms_));
	hook::use_format(*format_);
	if (under_mps_) {
		verify_under_mps(probe, format_uuid(uuid_of_device(device)));
	} else if (std::optional<std::vector<LaunchBits>> predicted = predicted_bits(*format_, layout_)) {
		bits_ = *predicted;
		verify_bits(probe, layout_, bits_, sms_ / layout_.map.tpcs, all);
		evidence_ =
			source_of(*format_) + "; each TPC's bit follows from the driver's table of SMs, and was tried";
	} else {
		discover(probe, all);
	}
	unrecognized_ = !format_->cooperative && has_cooperative_launches(device);
	if (unrecognized_)
		evidence_ += "; cooperative launches are not recognized, and the user states that there are none";
}

// Under MPS, %smid numbers the SMs that a mask leaves from 0, while the bits of masks are the same (seen with driver 580).
void Launches::verify_under_mps(Probe &probe, const std::string &uuid)
{
	std::optional<KeptBits> kept = find_kept_bits(uuid, driver_);

	if (!kept || kept->format != format_->id || kept->of_tpc.empty() ||
	    (layout_.map.tpcs && layout_.map.tpcs != kept->of_tpc.size()))
		throw Error(
			Error::Unsupported,
			"under MPS, %smid is not the physical SM number, so that masks cannot be verified; run gpulens "
			"partitions --methods once, which verifies them without MPS and keeps what each bit disables");
	bits_ = kept->of_tpc;
	layout_.map.tpcs = static_cast<unsigned>(bits_.size());
	size_t per = sms_ / layout_.map.tpcs;
	std::vector<unsigned> halves[2];
	for (unsigned tpc = 0; tpc < layout_.map.tpcs; tpc++) {
		check_sms(probe, bits_[tpc], layout_.map.tpcs - 1, per);
		halves[tpc % 2].push_back(tpc);
	}
	for (const std::vector<unsigned> &half : halves)
		check_sms(probe, mask_without(bits_, half), half.size(), per);
	evidence_ = kept->evidence + "; found without MPS, and under it that each leaves its number of SMs";
}

void Launches::keep()
{
	verified_layout();
	if (!under_mps_)
		keep_bits({.uuid = format_uuid(uuid_of_device(device_of_context())),
			   .driver = driver_,
			   .format = format_->id,
			   .of_tpc = bits_,
			   .evidence = evidence_});
}

void Launches::check_recognized()
{
	verified_layout();
	if (unrecognized_ && !is_stated_not_cooperative())
		throw Error(Error::Missing,
			    fmt::format("cooperative launches are not recognized in launch descriptors of version {}, "
					"and their "
					"blocks wait for ever where the TPCs of a mask do not hold all; if the program "
					"launches none, say so by gpulens run --no-cooperative or {}=1",
					format_->name, environment::NO_COOPERATIVE));
}

void Launches::discover(Probe &probe, const std::set<unsigned> &all)
{
	std::vector<MaskBit> table = discover_mask_bits(probe, format_->bits, all);
	size_t each = table[0].sms.size();
	const char *unknown = "";

	if (!layout_.map.tpcs) {
		unknown = "; NVIDIA's driver does not report the GPU's SMs, so its GPCs are unknown, and a TPC is what "
			  "one bit "
			  "disables";
		for (const MaskBit &row : table)
			if (row.sms.size() != each)
				throw Error(Error::Failed,
					    fmt::format("bits {} and {} of the launch mask disabled {} and {} SMs, so "
							"what a TPC is is unknown",
							table[0].bit, row.bit, each, row.sms.size()));
		layout_.map.tpcs = sms_ / static_cast<unsigned>(each);
	}
	unsigned per = sms_ / layout_.map.tpcs;
	bits_ = bits_of_tpcs(table, layout_.map.tpcs, per);
	for (const MaskBit &row : table)
		if (format_->cooperative && row.sms.size() != SMS_PER_TPC)
			throw Error(Error::Failed,
				    fmt::format("{}; with descriptors of version {} only bits of {} SMs are supported",
						describe_mask_bits(table, format_->bits), format_->name, SMS_PER_TPC));
	verify_halves(probe, bits_, per);
	evidence_ = fmt::format("{}; {}, found by setting each in turn{}", source_of(*format_),
				describe_mask_bits(table, format_->bits), unknown);
}

Layout layout_of_device(int device)
{
	Layout layout = gpu_of_device(device).layout;

	if (layout.map.tpcs)
		return layout;
	const Layout &verified = Launches::instance().verified_layout();
	if (verified.device != layout.device)
		throw Error(Error::Source, layout.device + ": NVIDIA's driver does not report the SMs of this GPU");
	return verified;
}

void check_masks(unsigned format, size_t per, const std::vector<CountedMask> &masks)
{
	int device = device_of_context();

	subscribe_hook(device);
	Probe probe(gpu_of_device(device).sms);
	run_unmasked(probe);
	const DescriptorFormat &seen = format_of_launch(device);
	if (seen.id != format)
		throw Error(Error::Failed, "under MPS, launch descriptors have another format than without it");
	hook::use_format(seen);
	for (const auto &[mask, tpcs] : masks)
		check_sms(probe, mask.bits, tpcs, per);
}

LaunchMask Launches::launch_mask(const TpcMask &enabled)
{
	verified_layout();
	if (!enabled.count())
		throw Error(Error::Input, "the mask is empty");
	LaunchMask mask{.bits = mask_without(bits_, enabled.tpcs()), .cluster = ANY_CLUSTER};
	if (enabled.count() == layout_.map.tpcs) // each grid fits as without a mask
		return mask;
	check_recognized();
	mask.cluster = SMS_PER_TPC;
	std::map<unsigned, uint32_t> sms; // by virtual GPC
	for (unsigned tpc : enabled.tpcs())
		if (tpc < layout_.virtual_gpcs.size())
			mask.cluster = std::max(mask.cluster, sms[layout_.virtual_gpcs[tpc]] += SMS_PER_TPC);
	return mask;
}

const DescriptorFormat &Launches::format()
{
	verified_layout();
	return *format_;
}

const std::string &Launches::evidence()
{
	verified_layout();
	return evidence_;
}

void Launches::set_global(const TpcMask &enabled)
{
	if (!enabled.count()) {
		check_recognized();
		hook::refuse_unmasked();
		return;
	}
	hook::set_global(launch_mask(enabled));
	publish_partition(this, layout_, "mask", "all launches", enabled);
}

void Launches::set_next(const TpcMask &enabled)
{
	hook::set_next(launch_mask(enabled));
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
	LaunchMask mask = launch_mask(enabled);
	uintptr_t handle = reinterpret_cast<uintptr_t>(stream);
	NextMaskKeeper keeper;
	Probe probe(sms_);

	if (handle == PER_THREAD_STREAM)
		throw Error(Error::Unsupported, "the per-thread default stream is a different stream in each thread");
	auto run = [&] {
		if (hook::is_unmasked_refused())
			hook::set_next(LaunchMask());
		probe.run(stream);
	};
	run();
	const void *descriptor = hook::seen().descriptor;
	run();
	if (descriptor != hook::seen().descriptor || (handle > LEGACY_STREAM && !has_descriptor(stream, descriptor)))
		throw Error(Error::Unsupported,
			    "launches of this stream cannot be distinguished from launches of other streams");
	hook::set_of_descriptor(descriptor, mask);
	unsigned per = sms_ / layout_.map.tpcs;
	std::set<unsigned> ran = probe.run(stream);
	auto outside = std::find_if(ran.begin(), ran.end(), [&](unsigned sm) { return !enabled.has(sm / per); });
	if (under_mps_ ? ran.size() != enabled.count() * per : outside != ran.end()) {
		hook::set_of_descriptor(descriptor, std::nullopt);
		throw Error(Error::Failed,
			    under_mps_ ? fmt::format("with the stream's mask the probe ran on {} SMs", ran.size())
				       : fmt::format("with the stream's mask the probe ran on SM {}", *outside));
	}
	publish_partition(stream, layout_, "mask", "stream", enabled);
	return descriptor;
}

void Launches::end_stream(const void *descriptor)
{
	hook::set_of_descriptor(descriptor, std::nullopt);
}

} // namespace gpulens
