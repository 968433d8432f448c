// SPDX-License-Identifier: GPL-2.0
// Runs the library of partitions in child processes.
#include "gpulens/cmd/cuda_probe.hpp"

#include "gpulens/cmd/child.hpp"
#include "gpulens/out/partition_notes.hpp"
#include "lib/base/errors.hpp"
#include "lib/launch/environment.hpp"
#include "lib/launch/partition_entry.hpp"
#include "lib/source/driver/driver_source.hpp"
#include "lib/tpc/gpc_map.hpp"
#include "partition/cuda.hpp"
#include "partition/launch.hpp"
#include "partition/work.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace gpulens {

namespace {

using nlohmann::json;

constexpr char VISIBLE_DEVICES[] = "CUDA_VISIBLE_DEVICES";
constexpr unsigned TIMEOUT_S = 120; // long, because the probe waits for a busy GPU

int device_of(const std::string &pci)
{
	int device = 0;

	unsetenv(VISIBLE_DEVICES); // so that device numbers count all GPUs of the machine
	if (cuda().by_pci(&device, pci.c_str()))
		throw Error(Error::Source, fmt::format("CUDA finds no GPU at {}", pci));
	return device;
}

// Makes the GPU's context the thread's current one. Returns its device number.
int use_device(std::optional<unsigned> gpu)
{
	int device = 0;

	if (gpu)
		device = device_of(tool::DriverSource().gpus({*gpu}).at(0).chip.device);
	make_current(device);
	return device;
}

// Runs in the child process.
json verify_masks(std::optional<unsigned> gpu, const std::function<std::vector<TpcMask>(const Layout &)> &choose)
{
	int device = use_device(gpu);
	KnownGpu known = gpu_of_device(device);
	if (!known.layout.map.tpcs)
		known.layout = layout_of_device(device);
	std::vector<TpcMask> masks = choose(known.layout);
	GpuUuid uuid = uuid_of_device(device);
	json limits = json::array();
	std::optional<bool> mps = tool::mps_runs(tool::DriverSource::gpu_at(known.pci).processes);

	for (const TpcMask &mask : masks) {
		environment::VerifiedMask verified{Launches::instance().format().id,
						   Launches::instance().launch_mask(mask), uuid};
		limits.push_back({{"tpcs", mask.tpcs()},
				  {"gpcs", tool::plan::gpcs_of(known.layout.map, mask)},
				  {"mask", environment::format_launch_mask(verified)}});
	}
	return {{"pci", known.pci},
		{"uuid", format_uuid(uuid)},
		{"mps", mps ? json(*mps) : json(nullptr)},
		{"tpcs", known.layout.map.tpcs},
		{"limits", limits}};
}

} // namespace

VerifiedLimits verify_limits(std::optional<unsigned> gpu,
			     const std::function<std::vector<TpcMask>(const Layout &)> &choose)
{
	json answer = json::parse(run_in_child(TIMEOUT_S, [&] { return verify_masks(gpu, choose).dump(); }));
	VerifiedLimits verified{.tpcs = answer.at("tpcs"), .limits{}};

	for (const json &object : answer.at("limits")) {
		VerifiedLimit limit{.pci = answer.at("pci"),
				    .tpcs = object.at("tpcs"),
				    .gpcs = object.at("gpcs"),
				    .mps{},
				    .environment{}};
		tool::PartitionEntry entry{
			.gpu = limit.pci, .method = "mask", .scope = "program", .tpcs = limit.tpcs, .gpcs = limit.gpcs};
		if (!answer.at("mps").is_null())
			limit.mps = answer.at("mps").get<bool>();
		limit.environment = {{VISIBLE_DEVICES, answer.at("uuid")},
				     {environment::LAUNCH_MASK, object.at("mask")},
				     {environment::PARTITION, tool::format_partitions({entry})}};
		verified.limits.push_back(std::move(limit));
	}
	return verified;
}

VerifiedLimit verify_limit(std::optional<unsigned> gpu, const std::string &tpcs)
{
	auto parse = [&](const Layout &layout) { return std::vector<TpcMask>{layout.parse_mask(tpcs)}; };
	return verify_limits(gpu, parse).limits.front();
}

VerifiedLimit whole_gpu(unsigned gpu)
{
	json answer = json::parse(run_in_child(TIMEOUT_S, [gpu] {
		std::string pci = tool::DriverSource().gpus({gpu}).at(0).chip.device;
		return json{{"pci", pci}, {"uuid", format_uuid(uuid_of_device(device_of(pci)))}}.dump();
	}));

	return {.pci = answer.at("pci"),
		.tpcs{},
		.gpcs{},
		.mps{},
		.environment = {{VISIBLE_DEVICES, answer.at("uuid")}},
		.masked = false};
}

MpsGpu probe_mps()
{
	json answer = json::parse(run_in_child(TIMEOUT_S, [] {
		unsetenv(MPS_PERCENTAGE); // which would leave it some of the SMs
		int device = use_device({});
		if (!is_under_mps(device))
			throw Error(
				Error::Unsupported,
				"programs are not under MPS (nvidia-cuda-mps-control -d starts it): processes on one "
				"runlist take turns (RTAS'24, rule R4), so a neighbour would not run beside the "
				"program");
		KnownGpu known = gpu_of_device(device);
		return json{{"pci", known.pci}, {"sms", known.sms}}.dump();
	}));

	return {.pci = answer.at("pci"), .tpcs = answer.at("sms").get<unsigned>() / SMS_PER_TPC};
}

std::vector<MethodSupport> probe_methods(std::optional<unsigned> gpu)
{
	std::vector<MethodSupport> list = {
		{"masks", {}, "", ""}, {"green contexts", {}, "", ""}, {"green contexts for clusters", {}, "", ""}};

	for (Method method : {Method::Masks, Method::Green, Method::GreenClusters}) {
		MethodSupport &support = list[static_cast<size_t>(method)];
		try {
			json answer = json::parse(run_in_child(TIMEOUT_S, [&] {
				use_device(gpu);
				unsigned tpcs = granularity(method);
				return json{{"tpcs", tpcs}, {"evidence", evidence(method)}}.dump();
			}));
			support.granularity = answer.at("tpcs").get<unsigned>();
			support.evidence = answer.at("evidence").get<std::string>();
		} catch (const Error &e) {
			if (e.code == Error::Source)
				throw;
			support.reason = e.what();
		}
	}
	return list;
}

} // namespace gpulens
