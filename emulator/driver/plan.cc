// SPDX-License-Identifier: GPL-2.0
// From scenario JSON to a checked plan; nothing in the GPU is touched here. Schema: emulator/README.md.
#include "driver/loader.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

namespace emu {

using nlohmann::json;

namespace {

[[noreturn]] void refuse(const std::string &why)
{
	throw std::invalid_argument("scenario: " + why);
}

unsigned graphics_mode(const std::string &s)
{
	if (s == "wfi")
		return 0;
	if (s == "gfxp")
		return 1;
	refuse("unknown graphics preemption mode " + s);
}

unsigned compute_mode(const std::string &s)
{
	if (s == "wfi")
		return 0;
	if (s == "cta")
		return 1;
	if (s == "cilp")
		return 2;
	refuse("unknown compute preemption mode " + s);
}

void read_timeslice(const json &t, u32 *timeout, u32 *scale)
{
	if (auto us = t.find("us"); us != t.end()) {
		u64 units = read_number(*us) * 1000 / 1024;
		*scale = 0;
		while (units >> *scale > 255)
			++*scale;
		*timeout = u32(units >> *scale);
	} else {
		*timeout = read_number(t, "timeout", 128);
		*scale = read_number(t, "scale", 3);
	}
	if (*timeout > 255 || *scale > 15)
		refuse("timeslice does not fit its fields");
}

// A mode that the chip lacks becomes the nearest one it has: gm20x has WFI and CTA, older chips report no mode.
void limit_modes(ImageKind kind, unsigned *graphics, unsigned *compute)
{
	if (kind == ImageKind::Gp10x || kind == ImageKind::PerVeid)
		return;
	*graphics = 0;
	*compute = kind == ImageKind::Gm20b && *compute ? 1 : 0;
}

} // namespace

DriverPart::ChannelPlan DriverPart::plan_channel(const json &c, int runlist, unsigned slot)
{
	const Profile &profile = gpu_.profile();
	ChannelPlan ch;
	ch.id = read_number(c.at("id"));
	ch.runqueue = profile.traits.entry_runqueue ? read_number(c, "runqueue", 0) : 0;
	ch.slot = slot;
	ch.veid = read_number(c, "veid", 0);
	if (ch.veid > (profile.traits.subcontexts ? 63u : 0u))
		refuse("channel " + std::to_string(ch.id) + ": no such subcontext on " + profile.name);
	ch.busy = c.value("busy", true);
	ch.enabled = c.value("enabled", true);
	ch.next = c.value("next", false);
	ch.pbdma_faulted = c.value("pbdma_faulted", false);
	ch.eng_faulted = c.value("eng_faulted", false);
	// which engine the work is for: on the graphics runlist also "copy", that is the runqueue's GRCE, if there is one
	if (c.value("engine", "gr") == "copy" && has_graphics(runlist)) {
		unsigned engines = 0;
		for (const auto &e : profile.engines)
			engines += e.runlist == runlist;
		ch.slot = std::min(1 + ch.runqueue, engines - 1);
	}
	return ch;
}

DriverPart::TsgPlan DriverPart::plan_tsg(const json &t, int *runlist)
{
	const Profile &profile = gpu_.profile();
	TsgPlan out;
	unsigned slot = 0;
	out.id = read_number(t.at("id"));
	out.bare = t.value("bare", false);
	*runlist = -1;
	if (auto e = t.find("engine"); e != t.end()) {
		if (const EngineInfo *info = profile.find_engine(*e))
			*runlist = info->runlist, slot = info->rleng;
	} else {
		*runlist = int(read_number(t, "runlist", 0));
	}
	if (*runlist < 0 || !gpu_.host().runlist(*runlist)) {
		*runlist = -1;
		if (!t.value("optional", false))
			refuse("TSG " + std::to_string(out.id) + " wants an engine or runlist that " + profile.name +
			       " lacks");
		return out;
	}
	if (auto slice = t.find("timeslice"); slice != t.end())
		read_timeslice(*slice, &out.timeout, &out.scale);
	out.graphics = graphics_mode(t.value("graphics_preemption", "wfi"));
	out.compute = compute_mode(t.value("compute_preemption", "wfi"));
	limit_modes(profile.traits.image, &out.graphics, &out.compute);
	if (profile.traits.subcontexts)
		for (const auto &s : t.value("subcontexts", json::array())) {
			out.subcontexts.push_back({unsigned(read_number(s.at("veid"))), s.value("process", "")});
			if (out.subcontexts.back().veid > 63)
				refuse("TSG " + std::to_string(out.id) + ": there are 64 subcontexts");
		}
	for (const auto &c : t.at("channels"))
		out.channels.push_back(plan_channel(c, *runlist, slot));
	return out;
}

void DriverPart::plan_generated(const json &g, std::vector<ProcessPlan> &out)
{
	u64 channels = read_number(g.at("channels")), per_tsg = read_number(g, "channels_per_tsg", 8);
	u64 tsgs_per_process = read_number(g, "tsgs_per_process", 4);
	u64 first_channel = read_number(g, "first_channel", 0), first_tsg = read_number(g, "first_tsg", 0);
	int runlist = int(read_number(g, "runlist", 0));
	if (!per_tsg || !tsgs_per_process || channels > 4096)
		refuse("generate: bad sizes");
	if (!gpu_.host().runlist(runlist))
		refuse("generate: no such runlist");
	u64 made = 0, tsg = first_tsg;
	while (made < channels) {
		TsgPlan t;
		t.id = u32(tsg++);
		if (auto slice = g.find("timeslice"); slice != g.end())
			read_timeslice(*slice, &t.timeout, &t.scale);
		t.compute = unsigned(tsg % 3);
		limit_modes(gpu_.profile().traits.image, &t.graphics, &t.compute);
		for (u64 i = 0; i < per_tsg && made < channels; i++, made++) {
			ChannelPlan c;
			c.id = u32(first_channel + made);
			c.busy = g.value("busy", true);
			c.enabled = g.value("enabled", true);
			t.channels.push_back(c);
		}
		if (out.empty() || out.back().name.rfind("generated", 0) != 0 ||
		    out.back().tsgs.size() >= tsgs_per_process)
			out.push_back({"generated" + std::to_string(out.size()), 12, {}, nullptr});
		out.back().tsgs.emplace_back(runlist, std::move(t));
	}
}

std::vector<DriverPart::ProcessPlan> DriverPart::make_plan(const json &scenario)
{
	std::vector<ProcessPlan> out;
	for (const auto &p : scenario.value("processes", json::array())) {
		ProcessPlan proc;
		proc.name = p.value("name", "process" + std::to_string(out.size()));
		std::string page = p.value("page_size", "");
		proc.page_shift = page == "4k"                     ? 12
				  : page == "64k" || page == "big" ? 16
				  : page == "2m"                   ? 21
				  : page == "512m"                 ? 29
								   : 0;
		for (const auto &t : p.at("tsgs")) {
			int runlist;
			TsgPlan tsg = plan_tsg(t, &runlist);
			if (runlist >= 0)
				proc.tsgs.emplace_back(runlist, std::move(tsg));
		}
		out.push_back(std::move(proc));
	}
	if (auto g = scenario.find("generate"); g != scenario.end()) {
		if (g->is_array())
			for (const auto &group : *g)
				plan_generated(group, out);
		else
			plan_generated(*g, out);
	}
	if (!gpu_.profile().tsg_headers)
		make_bare(out);
	check_plan(out);
	return out;
}

// gk104 has no TSG headers: each channel is on the runlist by itself.
void DriverPart::make_bare(std::vector<ProcessPlan> &processes) const
{
	for (auto &p : processes) {
		std::vector<std::pair<int, TsgPlan>> alone;
		for (const auto &[runlist, t] : p.tsgs)
			for (const auto &c : t.channels) {
				TsgPlan bare = t;
				bare.id = c.id;
				bare.bare = true;
				bare.channels = {c};
				alone.emplace_back(runlist, std::move(bare));
			}
		p.tsgs = std::move(alone);
	}
}

void DriverPart::check_plan(const std::vector<ProcessPlan> &processes)
{
	const Profile &profile = gpu_.profile();
	std::set<std::pair<int, u32>> channels, tsgs; // ids are per runlist from Ampere on, global before
	for (const auto &p : processes)
		for (const auto &[runlist, t] : p.tsgs) {
			int space = profile.pfifo() ? 0 : runlist;
			u32 limit = profile.pfifo() ? profile.channels : gpu_.host().runlist(runlist)->info.channels;
			bool short_entries = profile.traits.entry_bytes == 8;
			size_t longest = short_entries ? 32 : 128;
			if (t.channels.empty() || t.channels.size() > longest)
				refuse("TSG " + std::to_string(t.id) + ": bad number of channels");
			if (t.id >= limit || (!t.bare && !tsgs.insert({space, t.id}).second))
				refuse("TSG id " + std::to_string(t.id) + " twice or too large");
			if (t.bare && (!short_entries || t.channels.size() != 1))
				refuse("a channel outside a TSG needs the 8-byte format");
			for (const auto &c : t.channels)
				if (c.id >= limit || !channels.insert({space, c.id}).second)
					refuse("channel id " + std::to_string(c.id) + " twice or too large");
		}
}

} // namespace emu
