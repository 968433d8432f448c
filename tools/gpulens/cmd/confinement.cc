// SPDX-License-Identifier: GPL-2.0
// See confinement.hpp.
#include "gpulens/cmd/confinement.hpp"

#include "gpulens/cmd/child.hpp"
#include "lib/base/errors.hpp"
#include "lib/source/sources.hpp"
#include "lib/tpc/gpc_map.hpp"
#include "partition/cuda.hpp"
#include "partition/launch.hpp"
#include "partition/work.hpp"

#include <cerrno>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace gpulens {

namespace {

using nlohmann::json;

constexpr unsigned TIMEOUT_S = 120; // a busy GPU lets the probe wait

int device_of(const std::string &pci)
{
	int device = 0;

	unsetenv("CUDA_VISIBLE_DEVICES"); // numbers are all of the machine's GPUs'
	if (cuda().by_pci(&device, pci.c_str()))
		throw Error(ENODEV, fmt::format("CUDA knows no GPU at {}", pci));
	return device;
}

// Its context becomes the thread's.
int take_device(std::optional<unsigned> gpu)
{
	int device = 0;

	try {
		if (gpu) {
			tool::SourceOptions options;
			options.from = tool::From::Rm;
			options.gpus = {*gpu};
			device = device_of(tool::load_gpus(options).at(0).chip.device);
		}
	} catch (const tool::SourceError &e) {
		throw Error(ENODEV, e.what());
	}
	make_current(device);
	return device;
}

json verified(std::optional<unsigned> gpu, const std::string &text)
{
	int device = take_device(gpu);
	KnownGpu known = gpu_of_device(device);
	TpcMask mask = known.layout.parse(text);
	GpuUuid uuid = uuid_of_device(device);
	LaunchMask bits = Launches::the().ready().launch_mask(mask);

	return {{"pci", known.pci},
		{"uuid", name_of(uuid)},
		{"tpcs", mask.tpcs()},
		{"gpcs", tool::plan::gpcs_of(known.layout.map, mask)},
		{"mask", fmt::format("{:x}:{:x}:{:x}:{:02x}", hook::VERSION, bits[0], bits[1], fmt::join(uuid, ""))}};
}

} // namespace

Confinement confinement(std::optional<unsigned> gpu, const std::string &tpcs)
{
	json told = json::parse(in_child(TIMEOUT_S, [&] { return verified(gpu, tpcs).dump(); }));
	Confinement c{.pci = told.at("pci"), .tpcs = told.at("tpcs"), .gpcs = told.at("gpcs"), .environment = {}};
	json page = json::array(
		{{{"gpu", c.pci}, {"way", "mask"}, {"scope", "program"}, {"tpcs", c.tpcs}, {"gpcs", c.gpcs}}});

	c.environment = {{"CUDA_VISIBLE_DEVICES", told.at("uuid")},
			 {"GPULENS_LAUNCH_MASK", told.at("mask")},
			 {"GPULENS_PARTITION", page.dump()}};
	return c;
}

std::vector<WayThere> ways_on(std::optional<unsigned> gpu)
{
	std::vector<WayThere> list = {
		{"masks", {}, ""}, {"green contexts", {}, ""}, {"green contexts for clusters", {}, ""}};

	for (Way way : {Way::Masks, Way::Green, Way::GreenClusters}) {
		WayThere &one = list[static_cast<size_t>(way)];
		try {
			one.granule = std::stoul(in_child(TIMEOUT_S, [&] {
				take_device(gpu);
				return std::to_string(granule(way));
			}));
		} catch (const Error &e) {
			if (e.err == ENODEV)
				throw;
			one.why = e.what();
		}
	}
	return list;
}

} // namespace gpulens
