// SPDX-License-Identifier: GPL-2.0
// The table of other layouts, and copying between them.
#include "lib/rm/layouts.hpp"

#include "lib/rm/abi.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace tool::rm {

namespace {

constexpr u32 U16 = 2, U32 = 4, U64 = 8, ROUTE = sizeof(GrRoute), ALL_ENGINES = MAX_ENGINES * U32;
constexpr u32 SM = sizeof(GlobalSmOrder::sms[0]), SAMPLE = sizeof(UtilSamples::Sample),
	      SAMPLE_ENGINE = sizeof(UtilSamples::Engine), SAMPLES = std::size(UtilSamples{}.samples);
constexpr u32 OTHER_SAMPLE_ENGINE = SAMPLE_ENGINE - 12; // before 570 it ends with vgpu_name: no pid_info, no padding

// fields: u16 of each SM, the first ones of ours
constexpr OtherLayout sm_order(const char *series, const char *second, const char *third, u32 fields)
{
	u32 step = fields * U16, end = GlobalSmOrder::MAX * step, route = (end + 2 * U16 + U64 - 1) / U64 * U64;

	return {.series = {series, second, third},
		.cmd = GlobalSmOrder::CMD,
		.size = route + ROUTE,
		.moved = {{0, 0, step, GlobalSmOrder::MAX, step, SM},
			  {end, offsetof(GlobalSmOrder, count), 2 * U16},
			  {route, offsetof(GlobalSmOrder, route), ROUTE}},
		.absent = step,
		.absent_size = SM - step,
		.absent_count = GlobalSmOrder::MAX,
		.absent_step = SM};
}

// entries: of the list of pairs of index and value
constexpr OtherLayout gr_info(const char *series, const char *second, u32 entries)
{
	u32 ours = (offsetof(GrInfo, route) - U32) / (2 * U32), route = (U32 + entries * 2 * U32 + U64 - 1) / U64 * U64;

	return {.series = {series, second},
		.cmd = GrInfo::CMD,
		.size = route + ROUTE,
		.moved = {{0, 0, U32 + std::min(ours, entries) * 2 * U32}, {route, offsetof(GrInfo, route), ROUTE}}};
}

constexpr OtherLayout fb_info(const char *series, const char *second, u32 entries)
{
	return {.series = {series, second},
		.cmd = FbInfo::CMD,
		.size = U32 + entries * 2 * U32,
		.moved = {{0, 0, U32 + entries * 2 * U32}}};
}

// max: NV2080_GPU_MAX_ENGINES_LIST_SIZE
constexpr OtherLayout make_engines_layout(const char *series, u32 max)
{
	return {.series = {series}, .cmd = Engines::CMD, .size = U32 + max * U32, .moved = {{0, 0, U32 + max * U32}}};
}

constexpr OtherLayout engine_runlists(const char *series, u32 max)
{
	return {.series = {series},
		.cmd = EngineRunlists::CMD,
		.size = 2 * max * U32,
		.moved = {{0, 0, max * U32}, {max * U32, offsetof(EngineRunlists, pri_base), max * U32}},
		.absent = offsetof(EngineRunlists, runlist),
		.absent_size = ALL_ENGINES};
}

constexpr OtherLayout engine_ids(const char *series, u32 max)
{
	return {.series = {series},
		.cmd = HwEngineIds::CMD,
		.size = 2 * max * U32,
		.moved = {{0, 0, max * U32}, {max * U32, offsetof(HwEngineIds, ids), max * U32}}};
}

// engines: of a sample, the first ones of ours
constexpr OtherLayout util_samples(const char *series, u32 engines)
{
	u32 head = offsetof(UtilSamples, samples), step = U64 + engines * OTHER_SAMPLE_ENGINE;
	OtherLayout layout{.series = {series},
			   .cmd = UtilSamples::CMD,
			   .size = head + SAMPLES * step,
			   .moved = {{0, 0, head}, {head, head, U64, SAMPLES, step, SAMPLE}},
			   .length_at = offsetof(UtilSamples, size),
			   .length = SAMPLES * step};

	for (u32 i = 0; i < engines; i++)
		layout.moved[2 + i] = {head + U64 + i * OTHER_SAMPLE_ENGINE,
				       head + U64 + i * SAMPLE_ENGINE,
				       OTHER_SAMPLE_ENGINE,
				       SAMPLES,
				       step,
				       SAMPLE};
	return layout;
}

constexpr OtherLayout LAYOUTS[] = {
	sm_order("535", "550", "570", 6), // without ugpu, physical_cpc and virtual_tpc
	sm_order("575", nullptr, nullptr, 7),
	gr_info("535", nullptr, 53),
	gr_info("550", nullptr, 56),
	gr_info("590", "595", 59),
	fb_info("535", nullptr, 54),
	fb_info("550", nullptr, 55),
	fb_info("570", "575", 57),
	make_engines_layout("535", 62),
	make_engines_layout("550", 64),
	engine_runlists("535", 62), // without runlist
	engine_runlists("550", 64),
	engine_ids("535", 62),
	engine_ids("550", 64),
	util_samples("535", 4), // without nvjpg and ofa
	util_samples("550", 6),
	{.series = {"595"}, .cmd = NameString::CMD, .size = 68, .moved = {{0, 0, 68}}}, // ASCII alone
};

const unsigned char *find_bytes(const void *bytes, u32 offset)
{
	return static_cast<const unsigned char *>(bytes) + offset;
}

unsigned char *find_bytes(void *bytes, u32 offset)
{
	return static_cast<unsigned char *>(bytes) + offset;
}

} // namespace

const OtherLayout *find_layout(u32 cmd, const std::string &version)
{
	auto is_series = [&](const char *name) {
		return name && version.starts_with(name) && version[std::strlen(name)] == '.';
	};

	for (const OtherLayout &layout : LAYOUTS)
		if (layout.cmd == cmd && std::any_of(std::begin(layout.series), std::end(layout.series), is_series))
			return &layout;
	return nullptr;
}

std::vector<const OtherLayout *> list_layouts(u32 cmd)
{
	std::vector<const OtherLayout *> all = {find_layout(cmd, std::string(std::end(COMPARED_VERSIONS)[-1]) + ".")};

	if (all.front())
		all.push_back(nullptr);
	for (auto layout = std::rbegin(LAYOUTS); layout != std::rend(LAYOUTS); ++layout)
		if (layout->cmd == cmd && &*layout != all.front())
			all.push_back(&*layout);
	return all;
}

void convert_to(const OtherLayout &layout, const void *ours, void *theirs)
{
	std::memset(theirs, 0, layout.size);
	for (const Moved &m : layout.moved)
		for (u32 i = 0; i < m.count; i++)
			std::memcpy(find_bytes(theirs, m.theirs + i * m.their_step),
				    find_bytes(ours, m.ours + i * m.our_step), m.size);
	if (layout.length)
		std::memcpy(find_bytes(theirs, layout.length_at), &layout.length, sizeof(layout.length));
}

void convert_from(const OtherLayout &layout, const void *theirs, void *ours)
{
	for (const Moved &m : layout.moved)
		for (u32 i = 0; i < m.count; i++)
			std::memcpy(find_bytes(ours, m.ours + i * m.our_step),
				    find_bytes(theirs, m.theirs + i * m.their_step), m.size);
	for (u32 i = 0; i < layout.absent_count; i++)
		std::memset(find_bytes(ours, layout.absent + i * layout.absent_step), 0xff, layout.absent_size);
}

u32 their_offset(const OtherLayout &layout, u32 ours)
{
	for (const Moved &m : layout.moved)
		for (u32 i = 0; i < m.count; i++)
			if (u32 begin = m.ours + i * m.our_step; ours >= begin && ours < begin + m.size)
				return m.theirs + i * m.their_step + ours - begin;
	return ~0U;
}

} // namespace tool::rm
