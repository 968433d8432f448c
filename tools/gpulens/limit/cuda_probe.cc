// SPDX-License-Identifier: GPL-2.0
// Runs the library of partitions in child processes.
#include "gpulens/limit/cuda_probe.hpp"

#include "gpulens/limit/child.hpp"
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
constexpr unsigned TIMEOUT_S = 120;      // long, because the probe waits for a busy GPU
constexpr char NO_PIPES[] = "/dev/null"; // for MPS_PIPES

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

// Of a mask that the program is to have.
json limit_json(const Layout &layout, const TpcMask &mask, const GpuUuid &uuid)
{
	environment::VerifiedMask verified{Launches::instance().format().id, Launches::instance().launch_mask(mask),
					   uuid};

	return {{"tpcs", mask.tpcs()},
		{"gpcs", tool::plan::gpcs_of(layout.map, mask)},
		{"mask", environment::format_launch_mask(verified)}};
}

// Runs in a child process, a client of MPS. answer: of verify_masks().
void check_under_mps(std::optional<unsigned> gpu, const json &answer)
{
	std::vector<CountedMask> masks;
	unsigned format = 0, per = gpu_of_device(use_device(gpu)).sms / answer.at("tpcs").get<unsigned>();

	for (const json &limit : answer.at("limits")) {
		environment::VerifiedMask verified{};
		environment::parse_launch_mask(limit.at("mask").get<std::string>(), verified);
		format = verified.format;
		masks.emplace_back(verified.mask, limit.at("tpcs").size());
	}
	check_masks(format, per, masks);
}

// Under MPS, %smid numbers the SMs that a mask leaves from 0, while the bits of masks are the same. So what they disable is
// verified without MPS, and under it that they leave as many SMs. verify: runs in a child process; answer: {"tpcs", "limits"},
// with an entry under_mps added.
json verify_in_children(std::optional<unsigned> gpu, const std::function<json(int device)> &verify)
{
	auto run = [&](bool leave) {
		return json::parse(run_in_child(TIMEOUT_S, [&] {
			if (leave)
				setenv(MPS_PIPES, NO_PIPES, 1);
			int device = use_device(gpu);
			return (is_under_mps(device) && !leave ? json() : verify(device)).dump();
		}));
	};
	json answer = run(false);
	bool under_mps = answer.is_null();

	if (under_mps) {
		try {
			answer = run(true);
		} catch (const Error &e) {
			throw Error(e.code, std::string("in a process without MPS, which verifies masks: ") + e.what());
		}
		run_in_child(TIMEOUT_S, [&] {
			check_under_mps(gpu, answer);
			return std::string();
		});
	}
	answer["under_mps"] = under_mps;
	return answer;
}

json verify_masks(int device, const std::function<std::vector<TpcMask>(const Layout &)> &choose)
{
	KnownGpu known = gpu_of_device(device);
	if (!known.layout.map.tpcs)
		known.layout = layout_of_device(device);
	std::vector<TpcMask> masks = choose(known.layout);
	GpuUuid uuid = uuid_of_device(device);
	json limits = json::array();
	std::optional<bool> mps = tool::mps_runs(tool::DriverSource::gpu_at(known.pci).processes);

	for (const TpcMask &mask : masks)
		limits.push_back(limit_json(known.layout, mask, uuid));
	return {{"pci", known.pci},
		{"uuid", format_uuid(uuid)},
		{"mps", mps ? json(*mps) : json(nullptr)},
		{"tpcs", known.layout.map.tpcs},
		{"limits", limits}};
}

// What partitions --methods says of masks, with one to look at under MPS.
json probe_masks(int device)
{
	const Layout &layout = Launches::instance().verified_layout();
	TpcMask one(layout.map.tpcs);

	one.add(0);
	try {
		Launches::instance().keep();
	} catch (const Error &e) { // without a folder for it, masks work all the same
		fmt::print(stderr, "gpulens: for programs under MPS, it is not kept what masks do: {}\n", e.what());
	}
	return {{"granule", granularity(Method::Masks)},
		{"evidence", evidence(Method::Masks)},
		{"tpcs", layout.map.tpcs},
		{"limits", json::array({limit_json(layout, one, uuid_of_device(device))})}};
}

} // namespace

VerifiedLimits verify_limits(std::optional<unsigned> gpu,
			     const std::function<std::vector<TpcMask>(const Layout &)> &choose)
{
	json answer = verify_in_children(gpu, [&](int device) { return verify_masks(device, choose); });
	VerifiedLimits verified{.tpcs = answer.at("tpcs"), .limits{}};

	for (const json &object : answer.at("limits")) {
		VerifiedLimit limit{.pci = answer.at("pci"),
				    .tpcs = object.at("tpcs"),
				    .gpcs = object.at("gpcs"),
				    .mps{},
				    .under_mps{},
				    .environment{}};
		tool::PartitionEntry entry{.gpu = limit.pci,
					   .method = "mask",
					   .scope = tool::SCOPE_OF_RUN,
					   .tpcs = limit.tpcs,
					   .gpcs = limit.gpcs};
		if (!answer.at("mps").is_null())
			limit.mps = answer.at("mps").get<bool>();
		limit.under_mps = answer.at("under_mps");
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
		.under_mps{},
		.environment = {{VISIBLE_DEVICES, answer.at("uuid")}},
		.masked = false};
}

void require_mps()
{
	run_in_child(TIMEOUT_S, [] {
		if (!is_under_mps(use_device({})))
			throw Error(Error::Unsupported, "programs are not under MPS: CUDA does not use the daemon");
		return std::string();
	});
}

void require_mps(const VerifiedLimit &limit, const char *option)
{
	if (!limit.under_mps)
		throw Error(Error::Failed, fmt::format("{}: CUDA does not use the daemon", option));
}

std::vector<MethodSupport> probe_methods(std::optional<unsigned> gpu)
{
	std::vector<MethodSupport> list = {
		{"masks", {}, "", ""}, {"green contexts", {}, "", ""}, {"green contexts for clusters", {}, "", ""}};

	for (Method method : {Method::Masks, Method::Green, Method::GreenClusters}) {
		MethodSupport &support = list[static_cast<size_t>(method)];
		try {
			json answer = method == Method::Masks
					      ? verify_in_children(gpu, [](int device) { return probe_masks(device); })
					      : json::parse(run_in_child(TIMEOUT_S,
									 [&] {
				use_device(gpu);
				return json{{"granule", granularity(method)}, {"evidence", evidence(method)}}.dump();
						}));
			support.granularity = answer.at("granule").get<unsigned>();
			support.evidence = answer.at("evidence").get<std::string>();
			if (answer.value("under_mps", false))
				support.evidence +=
					"; found without MPS, and under it that one TPC has its number of SMs";
		} catch (const Error &e) {
			if (e.code == Error::Source)
				throw;
			support.reason = e.what();
		}
	}
	return list;
}

} // namespace gpulens
