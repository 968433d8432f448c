// SPDX-License-Identifier: GPL-2.0
// See work.hpp.
#include "partition/work.hpp"

#include "partition/launch.hpp"
#include "partition/publish_stream.hpp"

#include <algorithm>
#include <cerrno>
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
			throw Error(ENOTSUP, "the driver makes no green contexts here, or not beside masks of launches "
					     "in one process (CUDA's error 801)");
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

// The smallest groups of SMs that the driver gives out, and the TPCs of each.
struct Groups {
	int device = 0;
	KnownGpu gpu;
	std::vector<SmResource> resources;
	std::vector<TpcMask> tpcs;
};

TpcMask tpcs_of(const std::set<unsigned> &sms, const KnownGpu &gpu)
{
	TpcMask mask(gpu.layout.map.tpcs);

	for (unsigned sm : sms)
		mask.add(sm * gpu.layout.map.tpcs / gpu.sms);
	return mask;
}

// Which SMs a group has the driver does not say: the probe does.
Groups find_groups(int device, bool clusters)
{
	Groups g{.device = device, .gpu = gpu_of_device(device), .resources = {}, .tpcs = {}};
	unsigned count = 0, flags = clusters ? 0 : IGNORE_COSCHEDULING, least = g.gpu.sms / g.gpu.layout.map.tpcs;
	SmResource all{}, rest{};

	if (!cuda().green)
		throw Error(ENOTSUP, "this driver has no green contexts");
	smid_must_be_the_gpus(device);
	check(cuda().resource(device, &all, 1), "cuDeviceGetDevResource");
	check(cuda().split(nullptr, &count, &all, &rest, flags, least), "cuDevSmResourceSplitByCount");
	g.resources.resize(count);
	check(cuda().split(g.resources.data(), &count, &all, &rest, flags, least), "cuDevSmResourceSplitByCount");
	g.resources.resize(count);
	if (rest.sms)
		g.resources.push_back(rest);
	if (g.resources.empty())
		throw Error(EIO, "the driver gives out no SMs");
	Probe probe(g.gpu.sms);
	TpcMask seen(g.gpu.layout.map.tpcs);
	for (const SmResource &one : g.resources) {
		g.tpcs.push_back(tpcs_of(probe.run(Green(device, {one}).stream), g.gpu));
		for (unsigned tpc : g.tpcs.back().tpcs()) {
			if (seen.has(tpc))
				throw Error(EIO, fmt::format("TPC {} is in two groups of the driver's", tpc));
			seen.add(tpc);
		}
	}
	return g;
}

const Groups &groups(int device, bool clusters)
{
	static std::mutex lock;
	static std::map<std::pair<int, bool>, Groups> found;
	std::lock_guard<std::mutex> hold(lock);

	auto at = found.find({device, clusters});
	if (at == found.end())
		at = found.emplace(std::pair(device, clusters), find_groups(device, clusters)).first;
	return at->second;
}

class GreenWork : public Work {
public:
	GreenWork(const Groups &of, const TpcMask &wanted) : Work(TpcMask(wanted.width()))
	{
		std::vector<SmResource> resources;
		TpcMask left(wanted.width());

		for (size_t i = 0; i < of.tpcs.size(); i++) {
			std::vector<unsigned> its = of.tpcs[i].tpcs();
			if (std::none_of(its.begin(), its.end(), [&](unsigned tpc) { return wanted.has(tpc); }))
				continue;
			resources.push_back(of.resources[i]);
			for (unsigned tpc : its)
				tpcs_.add(tpc);
		}
		for (unsigned tpc : wanted.tpcs())
			if (!tpcs_.has(tpc))
				throw Error(ENOSPC, fmt::format("TPC {} is in no group of the driver's", tpc));
		green_ = std::make_unique<Green>(of.device, resources);
		stream_ = green_->stream;
		Probe probe(of.gpu.sms);
		for (unsigned tpc : tpcs_of(probe.run(stream_), of.gpu).tpcs())
			if (!tpcs_.has(tpc))
				throw Error(EIO, fmt::format("in the green context the probe ran on TPC {}", tpc));
		tell(stream_, of.gpu.layout, "green", "stream", tpcs_);
	}
	GreenWork(const GreenWork &) = delete;
	GreenWork &operator=(const GreenWork &) = delete;
	~GreenWork() override { untell(stream_); }

private:
	std::unique_ptr<Green> green_;
};

class MaskedWork : public Work {
public:
	explicit MaskedWork(const TpcMask &wanted) : Work(wanted)
	{
		Launches &launches = Launches::the();
		launches.ready();
		check(cuda().make_stream(&stream_, NON_BLOCKING), "cuStreamCreate");
		try {
			launches_ = launches.set_stream(stream_, wanted);
		} catch (...) {
			cuda().free_stream(stream_);
			throw;
		}
	}
	MaskedWork(const MaskedWork &) = delete;
	MaskedWork &operator=(const MaskedWork &) = delete;
	~MaskedWork() override
	{
		untell(stream_);
		Launches::end_stream(launches_);
		cuda().free_stream(stream_);
	}

private:
	const void *launches_ = nullptr;
};

} // namespace

unsigned granule(Way way)
{
	if (way == Way::Masks) {
		Launches::the().ready();
		return 1;
	}
	// The last one may be of what is left over.
	return groups(device_of_context(), way == Way::GreenClusters).tpcs.at(0).count();
}

std::unique_ptr<Work> make_work(Way way, const Layout &layout, const TpcMask &wanted)
{
	int device = device_of_context();

	if (!(gpu_of_device(device).layout.map == layout.map))
		throw Error(EINVAL, "the layout is not that of the GPU of this thread's CUDA context");
	if (!wanted.count())
		throw Error(EINVAL, "the mask is empty");
	if (way == Way::Masks)
		return std::make_unique<MaskedWork>(wanted);
	return std::make_unique<GreenWork>(groups(device, way == Way::GreenClusters), wanted);
}

} // namespace gpulens
