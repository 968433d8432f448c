// SPDX-License-Identifier: GPL-2.0
// The order of bits is the distributed one already, so only packed masks need a sort, which is stable. The note on a slow
// mask compares it with as many CUs spread evenly, and not with the whole GPU.
#include "gpulens/cmd/cu_masks.hpp"

#include "gpulens/out/table.hpp"
#include "lib/amd/topology.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>

namespace tool {

using json = nlohmann::ordered_json;

namespace {

constexpr u32 WORD_BITS = 32;
constexpr u32 GFX10 = 100000; // of gfx_target_version: major * 10000 + minor * 100 + stepping
// A mask is slow if it takes this many times as long as one of as many CUs that are spread evenly.
constexpr double SLOW = 1.5;

std::optional<u32> parse_u32(const std::string &text, int base)
{
	u32 value = 0;
	auto [end, err] = std::from_chars(text.data(), text.data() + text.size(), value, base);

	return err == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

[[noreturn]] void refuse_layout(const std::string &text)
{
	throw Error(Error::Input,
		    fmt::format("\"{}\": expected the CUs of each SE, 15,15,15,15, or of each of its arrays, "
				"8+8,8+7; up to {} SEs, {} arrays of {} CUs",
				replace_controls(text.substr(0, 80)), MAX_SES, MAX_ARRAYS, MAX_CUS));
}

std::vector<std::string> notes_of(const CuLayout &layout, const std::vector<CuMask> &masks)
{
	std::vector<std::string> notes{
		"from the source of the kernel's driver (amdkfd), not yet tested on hardware; up to GFX9, on GPUs "
		"of one die"};
	CuMask taken(layout.count());

	for (size_t i = 0; i < masks.size(); i++) {
		CuMaskCost cost = cost_of(layout, masks[i]);
		if (cost.slowdown > SLOW * cost.best)
			notes.push_back(
				fmt::format("mask {} leaves few CUs of an SE enabled, through which as many blocks go "
					    "as through the others: "
					    "kernels take {:.1f} times as long as with as many CUs spread evenly",
					    i, cost.slowdown / cost.best));
		for (size_t bit = 0; bit < masks[i].size(); bit++) {
			if (masks[i][bit] && taken[bit]) {
				notes.push_back(fmt::format("mask {} has a CU of an earlier mask (bit {})", i, bit));
				break;
			}
		}
		for (size_t bit = 0; bit < masks[i].size(); bit++)
			taken[bit] = taken[bit] || masks[i][bit];
	}
	return notes;
}

} // namespace

u32 CuLayout::count() const
{
	u32 sum = 0;

	for (const std::vector<u32> &arrays : cus)
		for (u32 n : arrays)
			sum += n;
	return sum;
}

CuLayout parse_cu_layout(const std::string &text)
{
	CuLayout layout{.cus{}, .source = "the command line"};

	for (const std::string &se : split_text(text, ',')) {
		std::vector<u32> arrays;
		for (const std::string &array : split_text(se, '+')) {
			std::optional<u32> n = parse_u32(array, 10);
			if (!n || *n > MAX_CUS)
				refuse_layout(text);
			arrays.push_back(*n);
		}
		if (arrays.size() > MAX_ARRAYS || (!layout.cus.empty() && arrays.size() != layout.cus[0].size()))
			refuse_layout(text);
		layout.cus.push_back(std::move(arrays));
	}
	if (layout.cus.size() > MAX_SES || !layout.count())
		refuse_layout(text);
	return layout;
}

CuLayout read_cu_layout(const std::string &text, const std::string &name)
{
	amd::Properties properties(text, name);
	u32 simds = properties.get("simd_count"), per_cu = properties.get("simd_per_cu");
	u32 arrays = properties.get("array_count"), per_se = properties.get("simd_arrays_per_engine");
	u32 cus = properties.get("cu_per_simd_array");

	if (!simds)
		throw Error(Error::Absent, name + ": the node is no GPU");
	if (!per_cu || !per_se || !arrays || arrays % per_se || arrays / per_se > MAX_SES || per_se > MAX_ARRAYS ||
	    cus > MAX_CUS)
		throw Error(Error::Input,
			    name + ": its numbers of SEs, arrays and CUs contradict each other, or are too large");
	if (properties.find("gfx_target_version").value_or(0) >= GFX10)
		throw Error(Error::Absent, name + ": from GFX10 on CUs are enabled in pairs, which is not implemented");
	if (properties.find("num_xcc").value_or(1) > 1)
		throw Error(Error::Absent,
			    name + ": a GPU of several dies splits a mask among them, which is not implemented");
	if (simds / per_cu != arrays * cus)
		throw Error(
			Error::Absent,
			fmt::format(
				"{}: {} of {} CUs are enabled, and not which array has how many; give the CUs of each "
				"array instead, 8+8,8+7",
				name, simds / per_cu, arrays * cus));
	return {.cus = {arrays / per_se, std::vector<u32>(per_se, cus)}, .source = name};
}

std::vector<Cu> list_cus(const CuLayout &layout)
{
	std::vector<Cu> bits;

	for (u32 number = 0; number < MAX_CUS; number++)
		for (u32 array = 0; array < layout.cus[0].size(); array++)
			for (u32 se = 0; se < layout.cus.size(); se++)
				if (number < layout.cus[se][array])
					bits.push_back({se, array, number});
	return bits;
}

std::vector<CuMask> make_cu_masks(const CuLayout &layout, const std::vector<u32> &sizes, plan::Placing placing)
{
	std::vector<Cu> bits = list_cus(layout);
	std::vector<u32> order(bits.size());
	std::vector<CuMask> masks;
	size_t next = 0;

	for (u32 i = 0; i < order.size(); i++)
		order[i] = i;
	if (placing == plan::Placing::Packed) // bits are distributed already
		std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) { return bits[a].se < bits[b].se; });
	for (u32 size : sizes) {
		if (!size || size > order.size() - next)
			throw Error(Error::Input, fmt::format("partitions of {} CUs: the GPU has {}",
							      fmt::join(sizes, ", "), bits.size()));
		CuMask mask(bits.size());
		for (u32 i = 0; i < size; i++)
			mask[order[next++]] = true;
		masks.push_back(std::move(mask));
	}
	return masks;
}

CuMask parse_cu_mask(const CuLayout &layout, const std::string &text)
{
	CuMask mask(layout.count());
	std::vector<std::string> words = split_text(text, ',');
	auto refuse = [&](const char *why) {
		throw Error(Error::Input, fmt::format("\"{}\": {}", replace_controls(text.substr(0, 80)), why));
	};

	if (words.size() == 1 && words[0].starts_with("0x")) { // one number of any length
		std::string digits = words[0].substr(2);
		words.clear();
		while (digits.size() > WORD_BITS / 4) {
			words.push_back("0x" + digits.substr(digits.size() - WORD_BITS / 4));
			digits.resize(digits.size() - WORD_BITS / 4);
		}
		words.push_back("0x" + digits);
	}
	for (size_t i = 0; i < words.size(); i++) {
		std::optional<u32> word;
		if (words[i].starts_with("0x") && words[i].size() > 2)
			word = parse_u32(words[i].substr(2), 16);
		if (!word)
			refuse("expected 0x and hexadecimal digits, or words of 32 bits with commas");
		for (u32 bit = 0; bit < WORD_BITS; bit++)
			if (*word >> bit & 1) {
				if (i * WORD_BITS + bit >= mask.size())
					refuse("it has a bit beyond the CUs of the GPU");
				mask[i * WORD_BITS + bit] = true;
			}
	}
	if (std::find(mask.begin(), mask.end(), true) == mask.end())
		refuse("it has no CU, so that a queue with it would never run");
	return mask;
}

CuMaskCost cost_of(const CuLayout &layout, const CuMask &mask)
{
	CuMaskCost cost{.by_se = std::vector<u32>(layout.cus.size())};
	std::vector<Cu> bits = list_cus(layout);
	u32 ses = 0, least = MAX_ARRAYS * MAX_CUS;

	for (size_t bit = 0; bit < mask.size(); bit++)
		if (mask[bit]) {
			cost.by_se[bits[bit].se]++;
			cost.cus++;
		}
	for (u32 n : cost.by_se)
		if (n) {
			ses++;
			least = std::min(least, n);
		}
	cost.slowdown = double(layout.count()) / ses / least;
	cost.best = double(layout.count()) / cost.cus;
	return cost;
}

std::string cu_words(const CuMask &mask)
{
	std::string text;

	for (size_t from = 0; from < mask.size(); from += WORD_BITS) {
		u32 word = 0;
		for (u32 bit = 0; bit < WORD_BITS && from + bit < mask.size(); bit++)
			word |= u32(mask[from + bit]) << bit;
		text += fmt::format("{}{:#x}", from ? "," : "", word);
	}
	return text;
}

std::string cu_masks_text(const CuLayout &layout, const std::vector<CuMask> &masks)
{
	Table table({"Mask", "CUs", "<Of each SE", "Slowdown", "<Words"});
	std::string text;

	for (size_t i = 0; i < masks.size(); i++) {
		CuMaskCost cost = cost_of(layout, masks[i]);
		table.add({std::to_string(i), std::to_string(cost.cus), fmt::format("{}", fmt::join(cost.by_se, ",")),
			   fmt::format("{:.2f}", cost.slowdown), cu_words(masks[i])});
	}
	text = fmt::format("AMD GPU of {} CUs in {} SEs, by {}\n", layout.count(), layout.cus.size(), layout.source) +
	       table.str({});
	return text + notes_text(notes_of(layout, masks), {});
}

json cu_masks_json(const CuLayout &layout, const std::vector<CuMask> &masks)
{
	json list = json::array();

	for (const CuMask &mask : masks) {
		CuMaskCost cost = cost_of(layout, mask);
		list.push_back({{"words", split_text(cu_words(mask), ',')},
				{"cus", cost.cus},
				{"cus_of_ses", cost.by_se},
				{"slowdown", cost.slowdown},
				{"slowdown_if_even", cost.best}});
	}
	return {{"version", 1},      {"command", "masks"}, {"source", layout.source},
		{"cus", layout.cus}, {"masks", list},      {"notes", notes_of(layout, masks)}};
}

} // namespace tool
