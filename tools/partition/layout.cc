// SPDX-License-Identifier: GPL-2.0
// Builds layouts from GPUs, and makes, parses and checks masks.
#include "partition/layout.hpp"

#include "lib/base/errors.hpp"
#include "lib/source/driver/driver_source.hpp"
#include "lib/source/image/file_source.hpp"
#include "lib/source/module/module_source.hpp"
#include "lib/source/table/sources.hpp"
#include "lib/tpc/gpc_map.hpp"
#include "lib/tpc/place.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <numeric>
#include <utility>

namespace gpulens {

namespace {

constexpr size_t MAX_GPCS_HALVED = 20; // first_half() tries 2^19 sets of GPCs

// Parses "2,3" and "0-9,12". whole: the user's text, for the message. Throws Error (Input).
std::vector<unsigned> parse_numbers(const std::string &text, const std::string &whole)
{
	std::optional<std::vector<unsigned>> list = tool::plan::parse_numbers(text, tool::plan::MAX_LISTED_TPCS);

	if (!list)
		throw Error(Error::Input, fmt::format("\"{}\": expected {}", whole, tool::plan::TPC_FORMS));
	return *list;
}

} // namespace

void Layout::write_words(const TpcMask &mask, uint64_t *words) const
{
	std::fill(words, words + word_count(), 0);
	for (unsigned tpc : mask.tpcs())
		words[tpc / 64] |= uint64_t{1} << tpc % 64;
}

TpcMask Layout::read_words(const uint64_t *words, const std::string &item) const
{
	TpcMask mask(map.tpcs);

	for (size_t tpc = 0; tpc < word_count() * 64; tpc++) {
		if (!(words[tpc / 64] >> tpc % 64 & 1))
			continue;
		if (tpc >= map.tpcs)
			throw Error(Error::Absent,
				    fmt::format("{}there is no TPC {}; there are 0 to {}", item, tpc, map.tpcs - 1));
		mask.add(static_cast<unsigned>(tpc));
	}
	return mask;
}

TpcMask Layout::gpc_mask(const GpcTpcs &gpc) const
{
	TpcMask mask(map.tpcs);

	for (unsigned tpc : gpc.tpcs)
		mask.add(tpc);
	return mask;
}

void Layout::require_mask_numbers() const
{
	if (map.numbering == tool::plan::TpcNumbering::BySmid)
		return;
	throw Error(
		Error::Unknown,
		fmt::format(
			"{}TPCs of this layout are numbered GPC by GPC, and masks number them in the order of %smid; "
			"take the layout from NVIDIA's driver, or from the module while a CUDA context is active, "
			"or convert the mask (gpulens_mask_convert)",
			device.empty() ? "" : device + ": "));
}

void Layout::require_gpcs() const
{
	if (map.gpcs.empty())
		throw Error(Error::Unknown,
			    "the GPCs of this GPU are unknown, as NVIDIA's driver does not report its SMs; name TPCs");
}

TpcMask Layout::mask_of_gpcs(const std::vector<unsigned> &ids) const
{
	TpcMask mask(map.tpcs);

	if (ids.empty())
		throw Error(Error::Input, "no GPC is named");
	require_gpcs();
	for (size_t i = 0; i < ids.size(); i++) {
		const GpcTpcs *gpc = map.find(ids[i]);
		if (!gpc)
			throw Error(Error::Absent, fmt::format("there is no GPC {}; there are {}", ids[i],
							       fmt::join(map.gpc_numbers(), ", ")));
		if (std::find(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(i), ids[i]) !=
		    ids.begin() + static_cast<std::ptrdiff_t>(i))
			throw Error(Error::Input, fmt::format("GPC {} is named twice", ids[i]));
		for (unsigned tpc : gpc->tpcs)
			mask.add(tpc);
	}
	return mask;
}

TpcMask Layout::complement(const TpcMask &mask) const
{
	TpcMask rest(map.tpcs);

	for (unsigned tpc = 0; tpc < map.tpcs; tpc++)
		if (!mask.has(tpc))
			rest.add(tpc);
	return rest;
}

TpcMask Layout::first_half() const
{
	TpcMask half(map.tpcs);
	size_t n = map.gpcs.size(), best = 0;
	long off = map.tpcs; // twice the distance from half of the TPCs; initially that of the empty set

	require_gpcs();
	if (n > MAX_GPCS_HALVED)
		throw Error(Error::Range,
			    fmt::format("halves of {} GPCs are not supported; at most {} GPCs", n, MAX_GPCS_HALVED));
	for (size_t set = 1; set < size_t{1} << n; set += 2) {
		long sum = 0;
		for (size_t i = 0; i < n; i++)
			sum += set >> i & 1 ? 2 * static_cast<long>(map.gpcs[i].tpcs.size()) : 0;
		if (std::labs(sum - map.tpcs) < off) {
			off = std::labs(sum - map.tpcs);
			best = set;
		}
	}
	for (size_t i = 0; i < n; i++)
		if (best >> i & 1)
			for (unsigned tpc : map.gpcs[i].tpcs)
				half.add(tpc);
	for (unsigned tpc = 0; !best && tpc < (map.tpcs + 1) / 2; tpc++)
		half.add(tpc);
	return half;
}

std::vector<TpcMask> Layout::make_masks(const std::vector<unsigned> &sizes, Placing placing, const TpcMask &taken) const
{
	unsigned available = map.tpcs - taken.count();

	for (size_t i = 0; i < sizes.size(); i++)
		if (!sizes[i])
			throw Error(Error::Input, fmt::format("size {} is 0", i));
	for (size_t i = 0; i < sizes.size(); i++) {
		if (sizes[i] > available)
			throw Error(Error::NoRoom,
				    fmt::format("size {} is {} TPCs, but only {} are free", i, sizes[i], available));
		available -= sizes[i];
	}
	if (!map.gpcs.empty())
		return tool::plan::place_partitions(map, taken, sizes, placing);
	std::vector<TpcMask> masks(sizes.size(), TpcMask(map.tpcs));
	unsigned tpc = 0;
	for (size_t i = 0; i < sizes.size(); i++)
		for (unsigned n = 0; n < sizes[i]; tpc++)
			if (!taken.has(tpc)) {
				masks[i].add(tpc);
				n++;
			}
	return masks;
}

TpcMask Layout::parse_mask(const std::string &text) const
{
	TpcMask mask(map.tpcs);

	if (text == "all")
		return complement(mask);
	if (text == "half:a" || text == "half:b") {
		TpcMask half = text == "half:a" ? first_half() : complement(first_half());
		if (!half.count())
			throw Error(Error::Input, fmt::format("\"{}\": there is only one TPC", text));
		return half;
	}
	if (text.compare(0, 4, "gpc:") == 0)
		return mask_of_gpcs(parse_numbers(text.substr(4), text));
	std::optional<std::vector<u32>> hex = tool::plan::parse_mask(text);
	for (unsigned tpc : hex ? *hex : parse_numbers(text, text)) {
		if (tpc >= map.tpcs)
			throw Error(Error::Absent, fmt::format("\"{}\": there is no TPC {}; there are 0 to {}", text,
							       tpc, map.tpcs - 1));
		mask.add(tpc);
	}
	return mask;
}

TpcMask Layout::check_masks(const std::vector<TpcMask> &masks) const
{
	TpcMask shared(map.tpcs);

	for (size_t i = 0; i < masks.size(); i++) {
		if (!masks[i].count())
			throw Error(Error::Input, fmt::format("mask {} is empty", i));
		for (size_t j = 0; j < i; j++)
			for (unsigned tpc : masks[i].tpcs())
				if (masks[j].has(tpc))
					throw Error(Error::Taken,
						    fmt::format("masks {} and {} both have TPC {}", j, i, tpc));
	}
	for (const GpcTpcs &gpc : map.gpcs) {
		auto in = [&](const TpcMask &mask) {
			return std::any_of(gpc.tpcs.begin(), gpc.tpcs.end(), [&](unsigned t) { return mask.has(t); });
		};
		if (std::count_if(masks.begin(), masks.end(), in) > 1)
			for (unsigned tpc : gpc.tpcs)
				shared.add(tpc);
	}
	return shared;
}

std::array<uint64_t, 2> Layout::launch_mask(const TpcMask &mask) const
{
	std::array<uint64_t, 2> disable = {~uint64_t{0}, ~uint64_t{0}};

	if (!mask.count())
		throw Error(Error::Input, "the mask is empty");
	if (launch_bits.empty())
		throw Error(Error::Unknown,
			    "a launch mask needs virtual GPC numbers, which only NVIDIA's driver reports");
	for (unsigned tpc : mask.tpcs()) {
		unsigned bit = launch_bits[tpc];
		if (bit >= 128)
			throw Error(Error::Range, fmt::format("TPC {} would be bit {} of 128", tpc, bit));
		disable[bit / 64] &= ~(uint64_t{1} << bit % 64);
	}
	return disable;
}

TpcMask convert_mask(const Layout &from, const Layout &to, const TpcMask &mask)
{
	TpcMask converted(to.map.tpcs);
	std::map<TpcPlace, unsigned> numbers;

	if (from.map.tpcs != to.map.tpcs || (!from.device.empty() && !to.device.empty() && from.device != to.device))
		throw Error(Error::Input, "the layouts are not of the same GPU");
	if (from.map == to.map)
		return mask;
	for (const Layout *layout : {&from, &to})
		if (layout->places.empty())
			throw Error(
				Error::Unknown,
				fmt::format("the numbers of TPCs cannot be converted: the layout {} ({}) does not tell "
					    "which physical GPC has which TPC; take it from NVIDIA's driver",
					    layout == &from ? "from which" : "to which", layout->evidence));
	for (unsigned tpc = 0; tpc < to.map.tpcs; tpc++)
		numbers[to.places[tpc]] = tpc;
	for (unsigned tpc = 0; tpc < from.map.tpcs; tpc++) {
		auto found = numbers.find(from.places[tpc]);
		if (found == numbers.end())
			throw Error(
				Error::Input,
				fmt::format("the layouts are not of the same GPU: TPC {} of GPC {} is in one of them",
					    from.places[tpc].tpc, from.places[tpc].gpc));
		if (mask.has(tpc))
			converted.add(found->second);
	}
	return converted;
}

// Returns the places of a layout whose TPCs are numbered GPC by GPC.
static std::vector<TpcPlace> places_by_gpc(const GpcMap &map)
{
	std::vector<TpcPlace> places(map.tpcs);

	for (const GpcTpcs &gpc : map.gpcs)
		for (unsigned i = 0; i < gpc.tpcs.size(); i++)
			places[gpc.tpcs[i]] = {gpc.gpc, i};
	return places;
}

// Returns the places of TPCs in the order of %smid; nothing if the driver does not report its numbers of the GPCs.
static std::vector<TpcPlace> places_by_smid(const tool::Gpu &gpu, unsigned tpcs)
{
	std::map<unsigned, unsigned> physical; // by the driver's number
	std::vector<TpcPlace> places(tpcs);

	for (const tool::Gpc &g : gpu.gpcs)
		if (g.logical != LENS_NONE)
			physical[static_cast<unsigned>(g.logical)] = g.id;
	for (const tool::Sm &sm : gpu.sms) {
		auto gpc = physical.find(sm.gpc);
		if (gpc == physical.end())
			return {};
		places[sm.id * tpcs / static_cast<unsigned>(gpu.sms.size())] = {gpc->second, sm.tpc};
	}
	return places;
}

// gpc_map() numbers TPCs by their first SM, masks number them by %smid / (SMs per TPC). Throws Error (Source) if the
// two differ.
static void check_tpc_numbers(const tool::Gpu &gpu, const GpcMap &map)
{
	std::map<std::pair<unsigned, unsigned>, unsigned> numbers; // by GPC and TPC within it
	std::vector<unsigned> sms(map.tpcs);

	for (const tool::Sm &sm : gpu.sms) {
		unsigned tpc = sm.id * map.tpcs / static_cast<unsigned>(gpu.sms.size());
		if (numbers.emplace(std::pair(sm.gpc, sm.tpc), tpc).first->second == tpc)
			sms[tpc]++;
	}
	if (numbers.size() != map.tpcs ||
	    std::any_of(sms.begin(), sms.end(), [&](unsigned n) { return size_t{n} * map.tpcs != gpu.sms.size(); }))
		throw Error(Error::Source,
			    gpu.name() + ": the SMs of a TPC are not consecutive in %smid, so the TPCs of a mask "
					 "are unknown");
}

Layout layout_of_gpu(const tool::Gpu &gpu)
{
	Layout layout{.map = tool::plan::gpc_map(gpu), .device = gpu.chip.device};
	std::map<unsigned, unsigned> next; // TPC within a virtual GPC
	unsigned last = ~0U;

	if (!gpu.sms.empty()) {
		check_tpc_numbers(gpu, layout.map);
		layout.evidence = "the driver's table of SMs";
		layout.places = places_by_smid(gpu, layout.map.tpcs);
	} else if (!gpu.hardware_gpcs.empty()) {
		layout.evidence = "the hardware's table CWD_GPC_TPC_ID, whose GPCs have the driver's numbers";
	} else {
		layout.evidence = "TPCs counted GPC by GPC";
		layout.places = places_by_gpc(layout.map);
	}

	// Each of the NUM_GPCS virtual GPCs has NUM_TPC_PER_GPC bits. Virtual GPCs beyond have a single TPC and one bit
	// each.
	for (const tool::Sm &sm : gpu.sms) {
		unsigned tpc = sm.id * layout.map.tpcs / static_cast<unsigned>(gpu.sms.size());
		if (tpc == last)
			continue;
		last = tpc;
		unsigned whole = gpu.num_gpcs * gpu.num_tpc_per_gpc;
		layout.virtual_gpcs.push_back(sm.virtual_gpc);
		layout.launch_bits.push_back(sm.virtual_gpc < gpu.num_gpcs
						     ? sm.virtual_gpc * gpu.num_tpc_per_gpc + next[sm.virtual_gpc]++
						     : whole + sm.virtual_gpc - gpu.num_gpcs);
	}
	if (layout.launch_bits.size() != layout.map.tpcs || !gpu.num_gpcs || !gpu.num_tpc_per_gpc)
		layout.launch_bits.clear();
	if (layout.virtual_gpcs.size() != layout.map.tpcs)
		layout.virtual_gpcs.clear();
	return layout;
}

Layout layout_from(const std::string &source, unsigned gpu)
{
	std::unique_ptr<tool::Source> gpu_source;

	if (source == "auto")
		gpu_source = tool::machine_source({});
	else if (source == "module")
		gpu_source = std::make_unique<tool::ModuleSource>("/proc");
	else if (source == "driver")
		gpu_source = std::make_unique<tool::DriverSource>();
	else
		gpu_source = std::make_unique<tool::FileSource>(source);
	tool::Gpu found = gpu_source->gpus({gpu}).at(0);
	if (source == "auto" && found.sms.empty())
		tool::add_driver_sms(found);
	try {
		return layout_of_gpu(found);
	} catch (const Error &e) {
		throw Error(Error::Unknown, e.what());
	}
}

Layout layout_of(const std::vector<unsigned> &tpcs_of_gpc)
{
	Layout layout;

	for (unsigned i = 0; i < tpcs_of_gpc.size(); i++) {
		if (tpcs_of_gpc[i] > tool::plan::MAX_LISTED_TPCS - layout.map.tpcs)
			throw Error(Error::Input, fmt::format("more than {} TPCs", tool::plan::MAX_LISTED_TPCS));
		GpcTpcs gpc{i, std::vector<u32>(tpcs_of_gpc[i])};
		std::iota(gpc.tpcs.begin(), gpc.tpcs.end(), layout.map.tpcs);
		layout.map.tpcs += tpcs_of_gpc[i];
		layout.map.gpcs.push_back(std::move(gpc));
	}
	layout.evidence = "an imaginary GPU";
	layout.places = places_by_gpc(layout.map);
	if (!layout.map.tpcs)
		throw Error(Error::Input, "a GPU without TPCs");
	return layout;
}

} // namespace gpulens
