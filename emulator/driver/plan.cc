// SPDX-License-Identifier: GPL-2.0
// From scenario JSON to a checked plan; nothing in the GPU is touched here. Schema: emulator/README.md.
#include "driver/loader.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace emu {

namespace {

// The position in names of the text below that key; 0 without it.
unsigned read_mode(const Entry &tsg, const char *key, const std::vector<std::string> &names)
{
	auto entry = tsg.find(key);
	if (!entry)
		return 0;
	std::string known;
	for (unsigned i = 0; i < names.size(); i++) {
		if (entry->text() == names[i])
			return i;
		known += (i ? ", " : "") + names[i];
	}
	entry->refuse("unknown preemption mode " + entry->text() + "; there are " + known);
}

// The shift of "page_size"; 0 without it.
unsigned read_page_size(const Entry &process)
{
	static const std::map<std::string, unsigned> shifts = {
		{"4k", 12}, {"64k", 16}, {"big", 16}, {"2m", 21}, {"512m", 29}};
	auto entry = process.find("page_size");
	if (!entry)
		return 0;
	auto found = shifts.find(entry->text());
	if (found == shifts.end())
		entry->refuse("unknown page size " + entry->text() + "; there are 4k, 64k, big, 2m and 512m");
	return found->second;
}

void read_timeslice(const Entry &t, u32 *timeout, u32 *scale)
{
	if (auto us = t.find("us")) {
		u64 units = us->number() * 1000 / 1024;
		*scale = 0;
		while (units >> *scale > 255)
			++*scale;
		*timeout = u32(units >> *scale);
	} else {
		*timeout = t.number<u32>("timeout", 128);
		*scale = t.number<u32>("scale", 3);
	}
	if (*timeout > 255 || *scale > 15)
		t.refuse("timeslice does not fit its fields: timeout up to 255, scale up to 15");
}

// A mode that the chip lacks becomes the nearest one it has: gm20x has WFI and CTA, older chips report no mode.
void limit_modes(ContextImageKind kind, unsigned *graphics, unsigned *compute)
{
	if (kind == ContextImageKind::Gp10x || kind == ContextImageKind::PerVeid)
		return;
	*graphics = 0;
	*compute = kind == ContextImageKind::Gm20b && *compute ? 1 : 0;
}

} // namespace

DriverPart::ChannelPlan DriverPart::plan_channel(const Entry &c, int runlist, unsigned slot)
{
	const Profile &profile = gpu_.profile();
	ChannelPlan ch;
	ch.id = c.at("id").number<u32>();
	ch.runqueue = profile.traits.entry_runqueue ? c.number<unsigned>("runqueue", 0) : 0;
	ch.slot = slot;
	ch.veid = c.number<unsigned>("veid", 0);
	if (ch.veid > (profile.traits.subcontexts ? 63u : 0u))
		c.at("veid").refuse("channel " + std::to_string(ch.id) + ": no such subcontext on " + profile.name);
	ch.jobs = c.find("jobs");
	if (ch.jobs && ch.jobs->find("length_us") && !ch.jobs->at("length_us").number())
		ch.jobs->at("length_us").refuse("a job takes a microsecond at least");
	ch.busy = !ch.jobs && c.flag("busy", true);
	ch.enabled = c.flag("enabled", true);
	ch.next = c.flag("next", false);
	ch.pbdma_faulted = c.flag("pbdma_faulted", false);
	ch.eng_faulted = c.flag("eng_faulted", false);
	// which engine the work is for: on the graphics runlist also "copy", that is the runqueue's GRCE, if there is one
	if (c.text("engine", "gr") == "copy" && has_graphics(runlist)) {
		unsigned engines = 0;
		for (const auto &e : profile.engines)
			engines += e.runlist == runlist;
		ch.slot = std::min(1 + ch.runqueue, engines - 1);
	}
	return ch;
}

DriverPart::TsgPlan DriverPart::plan_tsg(const Entry &t, int *runlist)
{
	const Profile &profile = gpu_.profile();
	TsgPlan out;
	unsigned slot = 0;
	out.entry = t;
	out.id = t.at("id").number<u32>();
	out.bare = t.flag("bare", false);
	*runlist = -1;
	if (auto e = t.find("engine")) {
		if (const EngineInfo *info = profile.find_engine(e->text()))
			*runlist = info->runlist, slot = info->rleng;
	} else {
		*runlist = t.number<int>("runlist", 0);
	}
	if (*runlist < 0 || !gpu_.host().runlist(*runlist)) {
		*runlist = -1;
		if (!t.flag("optional", false))
			t.refuse("TSG " + std::to_string(out.id) + " wants an engine or runlist that " + profile.name +
				 " lacks");
		return out;
	}
	if (auto slice = t.find("timeslice"))
		read_timeslice(*slice, &out.timeout, &out.scale);
	out.graphics = read_mode(t, "graphics_preemption", {"wfi", "gfxp"});
	out.compute = read_mode(t, "compute_preemption", {"wfi", "cta", "cilp"});
	limit_modes(profile.traits.context_image, &out.graphics, &out.compute);
	if (auto list = t.find("subcontexts"); list && profile.traits.subcontexts)
		for (const Entry &s : list->items()) {
			out.subcontexts.push_back({s.at("veid").number<unsigned>(), s.find("process")});
			if (out.subcontexts.back().veid > 63)
				s.at("veid").refuse("TSG " + std::to_string(out.id) + ": there are 64 subcontexts");
		}
	for (const Entry &c : t.at("channels").items())
		out.channels.push_back(plan_channel(c, *runlist, slot));
	return out;
}

void DriverPart::plan_generated(const Entry &g, std::vector<ProcessPlan> &out)
{
	u64 channels = g.at("channels").number(), per_tsg = g.number<u64>("channels_per_tsg", 8);
	u64 tsgs_per_process = g.number<u64>("tsgs_per_process", 4);
	u64 first_channel = g.number<u64>("first_channel", 0), first_tsg = g.number<u64>("first_tsg", 0);
	int runlist = g.number<int>("runlist", 0);
	if (!per_tsg || !tsgs_per_process || channels > 4096)
		g.refuse("channels must be 4096 at most, channels_per_tsg and tsgs_per_process 1 at least");
	if (!gpu_.host().runlist(runlist))
		g.refuse(gpu_.profile().name + " has no runlist " + std::to_string(runlist));
	u64 made = 0, tsg = first_tsg;
	while (made < channels) {
		TsgPlan t;
		t.entry = g;
		t.id = u32(tsg++);
		if (auto slice = g.find("timeslice"))
			read_timeslice(*slice, &t.timeout, &t.scale);
		t.compute = unsigned(tsg % 3);
		limit_modes(gpu_.profile().traits.context_image, &t.graphics, &t.compute);
		for (u64 i = 0; i < per_tsg && made < channels; i++, made++) {
			ChannelPlan c;
			c.id = u32(first_channel + made);
			c.busy = g.flag("busy", true);
			c.enabled = g.flag("enabled", true);
			t.channels.push_back(c);
		}
		if (out.empty() || out.back().name.rfind("generated", 0) != 0 ||
		    out.back().tsgs.size() >= tsgs_per_process)
			out.push_back({"generated" + std::to_string(out.size()), 12, {}, nullptr});
		out.back().tsgs.emplace_back(runlist, std::move(t));
	}
}

std::vector<DriverPart::ProcessPlan> DriverPart::make_plan(const Entry &scenario)
{
	std::vector<ProcessPlan> out;
	auto processes = scenario.find("processes");
	for (const Entry &p : processes ? processes->items() : std::vector<Entry>()) {
		ProcessPlan proc;
		proc.name = p.text("name", "process" + std::to_string(out.size()));
		proc.page_shift = read_page_size(p);
		for (const Entry &t : p.at("tsgs").items()) {
			int runlist;
			TsgPlan tsg = plan_tsg(t, &runlist);
			if (runlist >= 0)
				proc.tsgs.emplace_back(runlist, std::move(tsg));
		}
		out.push_back(std::move(proc));
	}
	if (auto g = scenario.find("generate")) {
		if (g->value().is_array())
			for (const Entry &group : g->items())
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
				t.entry->refuse("TSG " + std::to_string(t.id) + " has " +
						std::to_string(t.channels.size()) + " channels; 1 to " +
						std::to_string(longest) + " fit");
			if (t.id >= limit || (!t.bare && !tsgs.insert({space, t.id}).second))
				t.entry->refuse("TSG id " + std::to_string(t.id) + " twice or too large");
			if (t.bare && (!short_entries || t.channels.size() != 1))
				t.entry->refuse("a channel outside a TSG needs the 8-byte format");
			for (const auto &c : t.channels)
				if (c.id >= limit || !channels.insert({space, c.id}).second)
					t.entry->refuse("channel id " + std::to_string(c.id) + " twice or too large");
		}
}

} // namespace emu
