// SPDX-License-Identifier: GPL-2.0
// Partitions by launch masks (MaskedWork) and by green contexts (GreenWork).
#include "partition/work.hpp"

#include "partition/launch.hpp"
#include "partition/publish_stream.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace gpulens {

namespace {

constexpr unsigned NON_BLOCKING = 1;        // CU_STREAM_NON_BLOCKING, CU_GREEN_CTX_DEFAULT_STREAM
constexpr unsigned IGNORE_COSCHEDULING = 1; // CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING
constexpr int NOT_SUPPORTED = 801;          // CUDA_ERROR_NOT_SUPPORTED

// A green context and a stream in it.
class Green {
public:
	Green(int device, std::vector<SmResource> resources)
	{
		void *description = nullptr;

		check(cuda().describe(&description, resources.data(), static_cast<unsigned>(resources.size())),
		      "cuDevResourceGenerateDesc");
		int err = cuda().make_green(&context_, description, device, NON_BLOCKING);
		if (err == NOT_SUPPORTED)
			throw Error(Error::Unsupported,
				    "the driver does not support green contexts here, or not in a process that "
				    "uses launch masks (CUDA error 801)");
		check(err, "cuGreenCtxCreate");
		err = cuda().green_stream(&stream, context_, NON_BLOCKING, 0);
		if (err)
			cuda().free_green(context_);
		check(err, "cuGreenCtxStreamCreate");
	}
	Green(const Green &) = delete;
	Green &operator=(const Green &) = delete;
	~Green()
	{
		cuda().free_stream(stream);
		cuda().free_green(context_);
	}

	void *stream = nullptr;

private:
	void *context_ = nullptr;
};

// The smallest groups of SMs that the driver can put into a green context.
struct SmGroups {
	int device = 0;
	KnownGpu gpu;
	std::vector<SmResource> resources;
	std::vector<TpcMask> tpcs; // of each group
};

TpcMask tpcs_of(const std::set<unsigned> &sms, const KnownGpu &gpu)
{
	TpcMask mask(gpu.layout.map.tpcs);

	for (unsigned sm : sms)
		mask.add(sm * gpu.layout.map.tpcs / gpu.sms);
	return mask;
}

// Runs the probe in a green context of each group, because the driver does not report the SMs of a group.
SmGroups find_groups(int device, bool clusters)
{
	SmGroups g{.device = device, .gpu = gpu_of_device(device), .resources = {}, .tpcs = {}};
	unsigned count = 0, flags = clusters ? 0 : IGNORE_COSCHEDULING;
	SmResource all{}, rest{};

	if (!cuda().green)
		throw Error(Error::Unsupported, "this driver has no green contexts");
	if (!g.gpu.layout.map.tpcs)
		throw Error(
			Error::Unsupported,
			"NVIDIA's driver does not report the GPU's SMs, so the TPCs of a green context are unknown");
	unsigned least = g.gpu.sms / g.gpu.layout.map.tpcs;
	check_smid_is_physical(device);
	check(cuda().resource(device, &all, 1), "cuDeviceGetDevResource");
	check(cuda().split(nullptr, &count, &all, &rest, flags, least), "cuDevSmResourceSplitByCount");
	g.resources.resize(count);
	check(cuda().split(g.resources.data(), &count, &all, &rest, flags, least), "cuDevSmResourceSplitByCount");
	g.resources.resize(count);
	if (rest.sms)
		g.resources.push_back(rest);
	if (g.resources.empty())
		throw Error(Error::Failed, "the driver offers no SM groups");
	Probe probe(g.gpu.sms);
	TpcMask seen(g.gpu.layout.map.tpcs);
	for (const SmResource &group : g.resources) {
		g.tpcs.push_back(tpcs_of(probe.run(Green(device, {group}).stream), g.gpu));
		for (unsigned tpc : g.tpcs.back().tpcs()) {
			if (seen.has(tpc))
				throw Error(Error::Failed,
					    fmt::format("TPC {} is in two SM groups of the driver", tpc));
			seen.add(tpc);
		}
	}
	return g;
}

// find_groups() once per device and kind.
const SmGroups &cached_groups(int device, bool clusters)
{
	static std::mutex lock;
	static std::map<std::pair<int, bool>, SmGroups> found;
	std::lock_guard<std::mutex> hold(lock);

	auto at = found.find({device, clusters});
	if (at == found.end())
		at = found.emplace(std::pair(device, clusters), find_groups(device, clusters)).first;
	return at->second;
}

class GreenWork : public Work {
public:
	GreenWork(const SmGroups &groups, const TpcMask &wanted) : Work(TpcMask(wanted.width()))
	{
		std::vector<SmResource> resources;

		for (size_t i = 0; i < groups.tpcs.size(); i++) {
			std::vector<unsigned> members = groups.tpcs[i].tpcs();
			if (std::none_of(members.begin(), members.end(), [&](unsigned tpc) { return wanted.has(tpc); }))
				continue;
			resources.push_back(groups.resources[i]);
			for (unsigned tpc : members)
				tpcs_.add(tpc);
		}
		for (unsigned tpc : wanted.tpcs())
			if (!tpcs_.has(tpc))
				throw Error(Error::NoRoom, fmt::format("TPC {} is in no SM group of the driver", tpc));
		green_ = std::make_unique<Green>(groups.device, resources);
		stream_ = green_->stream;
		Probe probe(groups.gpu.sms);
		for (unsigned tpc : tpcs_of(probe.run(stream_), groups.gpu).tpcs())
			if (!tpcs_.has(tpc))
				throw Error(Error::Failed,
					    fmt::format("the probe left the green context: it ran on TPC {}", tpc));
		publish_partition(stream_, groups.gpu.layout, "green", "stream", tpcs_);
	}
	GreenWork(const GreenWork &) = delete;
	GreenWork &operator=(const GreenWork &) = delete;
	~GreenWork() override { withdraw_partition(stream_); }

private:
	std::unique_ptr<Green> green_;
};

class MaskedWork : public Work {
public:
	explicit MaskedWork(const TpcMask &wanted) : Work(wanted)
	{
		Launches &launches = Launches::instance();
		launches.check_recognized();
		check(cuda().make_stream(&stream_, NON_BLOCKING), "cuStreamCreate");
		try {
			descriptor_ = launches.set_stream(stream_, wanted);
		} catch (...) {
			cuda().free_stream(stream_);
			throw;
		}
	}
	MaskedWork(const MaskedWork &) = delete;
	MaskedWork &operator=(const MaskedWork &) = delete;
	~MaskedWork() override
	{
		withdraw_partition(stream_);
		Launches::end_stream(descriptor_);
		cuda().free_stream(stream_);
	}

private:
	const void *descriptor_ = nullptr;
};

} // namespace

unsigned granularity(Method method)
{
	if (method == Method::Masks) {
		Launches::instance().check_recognized();
		return 1;
	}
	// The last group may be a smaller or larger rest.
	return cached_groups(device_of_context(), method == Method::GreenClusters).tpcs.at(0).count();
}

std::string evidence(Method method)
{
	return method == Method::Masks ? Launches::instance().evidence() : "";
}

std::unique_ptr<Work> make_work(Method method, const Layout &layout, const TpcMask &wanted)
{
	int device = device_of_context();

	layout.require_mask_numbers();
	if (!(layout_of_device(device).map == layout.map))
		throw Error(Error::Input, "the layout is not that of the GPU of this thread's CUDA context");
	if (!wanted.count())
		throw Error(Error::Input, "the mask is empty");
	if (method == Method::Masks)
		return std::make_unique<MaskedWork>(wanted);
	return std::make_unique<GreenWork>(cached_groups(device, method == Method::GreenClusters), wanted);
}

} // namespace gpulens
