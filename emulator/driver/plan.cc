// SPDX-License-Identifier: GPL-2.0
// From scenario JSON to a checked plan; nothing in the GPU is touched here. Schema: emulator/README.md.
#include "driver/loader.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

namespace emu {

using nlohmann::json;

[[noreturn]] static void refuse(const std::string &why)
{
	throw std::invalid_argument("scenario: " + why);
}

static unsigned graphics_mode(const std::string &s)
{
	if (s == "wfi")
		return 0;
	if (s == "gfxp")
		return 1;
	refuse("unknown graphics preemption mode " + s);
}

static unsigned compute_mode(const std::string &s)
{
	if (s == "wfi")
		return 0;
	if (s == "cta")
		return 1;
	if (s == "cilp")
		return 2;
	refuse("unknown compute preemption mode " + s);
}

static void read_timeslice(const json &t, uint32_t *timeout, uint32_t *scale)
{
	if (auto us = t.find("us"); us != t.end()) {
		uint64_t units = number(*us) * 1000 / 1024;
		*scale = 0;
		while (units >> *scale > 255)
			++*scale;
		*timeout = uint32_t(units >> *scale);
	} else {
		*timeout = number(t, "timeout", 128);
		*scale = number(t, "scale", 3);
	}
	if (*timeout > 255 || *scale > 15)
		refuse("timeslice does not fit its fields");
}

// A mode the chip lacks becomes the nearest one it has: gm20x knows WFI and CTA, older chips tell nothing.
static void limit_modes(ImageKind kind, unsigned *graphics, unsigned *compute)
{
	if (kind == ImageKind::Gp10x || kind == ImageKind::PerVeid)
		return;
	*graphics = 0;
	*compute = kind == ImageKind::Gm20b && *compute ? 1 : 0;
}

DriverPart::ChannelPlan DriverPart::plan_channel(const json &c, int runlist, unsigned slot)
{
	const Profile &profile = gpu_.profile();
	ChannelPlan ch;
	ch.id = number(c.at("id"));
	ch.runqueue = profile.is.entry_runqueue ? number(c, "runqueue", 0) : 0;
	ch.slot = slot;
	ch.veid = number(c, "veid", 0);
	if (ch.veid > (profile.is.subcontexts ? 63u : 0u))
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
	out.id = number(t.at("id"));
	out.bare = t.value("bare", false);
	*runlist = -1;
	if (auto e = t.find("engine"); e != t.end()) {
		if (const EngineInfo *info = profile.engine(*e))
			*runlist = info->runlist, slot = info->rleng;
	} else {
		*runlist = int(number(t, "runlist", 0));
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
	limit_modes(profile.is.image, &out.graphics, &out.compute);
	if (profile.is.subcontexts)
		for (const auto &s : t.value("subcontexts", json::array())) {
			out.subcontexts.push_back({unsigned(number(s.at("veid"))), s.value("process", "")});
			if (out.subcontexts.back().veid > 63)
				refuse("TSG " + std::to_string(out.id) + ": there are 64 subcontexts");
		}
	for (const auto &c : t.at("channels"))
		out.channels.push_back(plan_channel(c, *runlist, slot));
	return out;
}

void DriverPart::plan_generated(const json &g, std::vector<ProcessPlan> &out)
{
	uint64_t channels = number(g.at("channels")), per_tsg = number(g, "channels_per_tsg", 8);
	uint64_t tsgs_per_process = number(g, "tsgs_per_process", 4);
	uint64_t first_channel = number(g, "first_channel", 0), first_tsg = number(g, "first_tsg", 0);
	int runlist = int(number(g, "runlist", 0));
	if (!per_tsg || !tsgs_per_process || channels > 4096)
		refuse("generate: bad sizes");
	if (!gpu_.host().runlist(runlist))
		refuse("generate: no such runlist");
	uint64_t made = 0, tsg = first_tsg;
	while (made < channels) {
		TsgPlan t;
		t.id = uint32_t(tsg++);
		if (auto slice = g.find("timeslice"); slice != g.end())
			read_timeslice(*slice, &t.timeout, &t.scale);
		t.compute = unsigned(tsg % 3);
		limit_modes(gpu_.profile().is.image, &t.graphics, &t.compute);
		for (uint64_t i = 0; i < per_tsg && made < channels; i++, made++) {
			ChannelPlan c;
			c.id = uint32_t(first_channel + made);
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

std::vector<DriverPart::ProcessPlan> DriverPart::plan(const json &scenario)
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
			for (const auto &one : *g)
				plan_generated(one, out);
		else
			plan_generated(*g, out);
	}
	if (!gpu_.profile().tsg_headers)
		stand_alone(out);
	check(out);
	return out;
}

// gk104 knows no TSG headers: each channel stands on the runlist alone.
void DriverPart::stand_alone(std::vector<ProcessPlan> &processes) const
{
	for (auto &p : processes) {
		std::vector<std::pair<int, TsgPlan>> alone;
		for (const auto &[runlist, t] : p.tsgs)
			for (const auto &c : t.channels) {
				TsgPlan one = t;
				one.id = c.id;
				one.bare = true;
				one.channels = {c};
				alone.emplace_back(runlist, std::move(one));
			}
		p.tsgs = std::move(alone);
	}
}

void DriverPart::check(const std::vector<ProcessPlan> &processes)
{
	const Profile &profile = gpu_.profile();
	std::set<std::pair<int, uint32_t>> channels, tsgs; // ids are per runlist from Ampere on, global before
	for (const auto &p : processes)
		for (const auto &[runlist, t] : p.tsgs) {
			int space = profile.pfifo() ? 0 : runlist;
			uint32_t limit =
				profile.pfifo() ? profile.channels : gpu_.host().runlist(runlist)->info.channels;
			bool short_entries = profile.is.entry_bytes == 8;
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
