// SPDX-License-Identifier: GPL-2.0
// Applies the rules of RTAS'24 to engines, runlists and copy engines.
#include "lib/model/isolation.hpp"

#include "hw/ptop.h"
#include "lib/base/sets.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>

namespace tool {

const std::vector<std::string> HAZARD_IDS = {
	"R4:address-spaces-share-runlist",
	"R4:processes-share-runlist",
	"R4:unknown-tasks",
	"R6:shared-runlist",
	"R8:grce-shares-pce",
	"R8:tasks-share-pce",
	"R8:unknown-copy-engines",
	"R8:unknown-tasks",
};

namespace {

constexpr size_t MAX_NAMED = 4; // processes in a sentence

std::string and_joined(const std::vector<std::string> &names)
{
	if (names.size() < 2)
		return names.empty() ? "" : names[0];
	return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

// Returns whether a copy engine is on a runlist without graphics.
bool has_copy_only_runlist(const Gpu &gpu)
{
	for (const Engine &e : gpu.engines) {
		if (!e.is_copy() || e.runlist == LENS_NONE)
			continue;
		std::vector<const Engine *> all = gpu.engines_of(static_cast<u32>(e.runlist));
		if (std::none_of(all.begin(), all.end(), [](const Engine *other) { return other->is_graphics(); }))
			return true;
	}
	return false;
}

// Graphics and its copy engines share a runlist on every GPU of the paper; only on the TX2, which has no other runlist for
// copies, this did harm. So it is a note, and a hazard if another engine shares the runlist, or if there is no other
// runlist for copies (sections V-C, V-D).
void check_runlist(Isolation &result, const Gpu &gpu, u32 id)
{
	std::vector<const Engine *> all = gpu.engines_of(id);
	std::vector<std::string> names = gpu.engine_names(id);

	if (all.size() < 2)
		return;
	result.shared_runlists++;
	auto copies = std::count_if(all.begin(), all.end(), [](const Engine *e) { return e->is_copy(); });
	auto graphics = std::count_if(all.begin(), all.end(), [](const Engine *e) { return e->is_graphics(); });
	// Kepler and Maxwell have no GRCEs; their copy engine on the runlist of graphics corresponds to one.
	bool usual = graphics == 1 && std::all_of(all.begin(), all.end(), [](const Engine *e) {
			     return e->is_graphics() || e->grce ||
				    (e->is_copy() && e->type != NV_PTOP_DEVICE_INFO_TYPE_ENUM_LCE);
		     });
	if (usual && has_copy_only_runlist(gpu)) {
		result.notes.push_back(
			fmt::format("runlist {}: {}, as on every GPU; other copy engines have their own runlists", id,
				    and_joined(names)));
		return;
	}
	std::string reason =
		graphics && copies && !has_copy_only_runlist(gpu)
			? "no other runlist has a copy engine, so copies wait for the time slices of compute work"
			: "their time slices depend on each other";
	result.hazards.push_back({"R6",
				  "shared-runlist",
				  fmt::format("{} share runlist {}: {}", and_joined(names), id, reason),
				  names,
				  {id}});
}

const Engine *copy_engine(const Gpu &gpu, u32 lce)
{
	for (const Engine &e : gpu.engines)
		if (e.is_copy() && e.inst == lce)
			return &e;
	return nullptr;
}

std::string pces_text(const std::vector<u32> &pces)
{
	return fmt::format("PCE{} {}", pces.size() == 1 ? "" : "s", fmt::join(pces, ", "));
}

// The processes and address spaces that have channels on a runlist.
struct Tenants {
	std::map<u32, std::string> processes;         // by pid: "473 python3"
	std::set<std::pair<u32, u64>> spaces;         // page directories: aperture, address
	std::set<std::pair<bool, u32>> tasks;         // TSGs and channels in no TSG (true), by id
	bool all_processes = true, all_spaces = true; // those of every task are known

	bool several() const { return processes.size() > 1 || spaces.size() > 1; }
	// Returns whether it is unknown that all tasks are of one process or address space.
	bool in_doubt() const { return !several() && tasks.size() > 1 && !all_processes && !all_spaces; }
	std::string text() const
	{
		std::vector<std::string> names;
		if (processes.size() < 2)
			return fmt::format("{} address spaces", spaces.size());
		for (const auto &[pid, name] : processes)
			if (names.size() < MAX_NAMED)
				names.push_back(name);
		if (processes.size() > MAX_NAMED)
			names.push_back(fmt::format("{} more", processes.size() - MAX_NAMED));
		return "processes " + and_joined(names);
	}
	void add(std::pair<bool, u32> task, const std::vector<const Channel *> &channels,
		 const std::shared_ptr<const Owner> &owner)
	{
		if (channels.empty())
			return;
		tasks.insert(task);
		if (owner)
			processes.emplace(owner->pid, owner->text());
		all_processes &= owner != nullptr;
		for (const Channel *c : channels) {
			auto space = c->address_space();
			if (space)
				spaces.insert(*space);
			all_spaces &= space.has_value();
		}
	}
};

Tenants tenants_of(const Gpu &gpu, const std::vector<u32> &runlists)
{
	Tenants tenants;

	for (const Runlist &rl : gpu.runlists) {
		if (std::find(runlists.begin(), runlists.end(), rl.id) == runlists.end())
			continue;
		for (const Tsg &tsg : rl.tsgs) {
			std::vector<const Channel *> channels;
			for (const Channel &c : tsg.channels)
				channels.push_back(&c);
			tenants.add({false, tsg.id}, channels, tsg.owner);
		}
		for (const Channel &c : rl.outside)
			tenants.add({true, c.id}, {&c}, c.owner);
	}
	return tenants;
}

bool can_be_read(const Runlist &rl)
{
	return !rl.err && !rl.torn;
}

std::optional<std::vector<u32>> find_mps_processes(const Gpu &gpu)
{
	std::vector<u32> pids;

	if (!gpu.processes)
		return std::nullopt;
	for (const Process &p : *gpu.processes)
		if (std::find(p.uses.begin(), p.uses.end(), "MPS") != p.uses.end())
			pids.push_back(p.pid);
	return pids;
}

// NVIDIA's driver lists the processes that compute on a GPU, and no runlists.
void check_processes(Isolation &result, const Gpu &gpu)
{
	std::vector<const Engine *> graphics;
	Tenants tenants;
	bool mps = false;

	for (const Engine &e : gpu.engines)
		if (e.is_graphics() && e.runlist != LENS_NONE)
			graphics.push_back(&e);
	for (const Process &p : gpu.processes.value_or(std::vector<Process>{}))
		for (const std::string &use : p.uses) {
			mps |= use == "MPS";
			if (use == "compute")
				tenants.processes.emplace(p.pid, p.name.empty() ? std::to_string(p.pid)
										: fmt::format("{} {}", p.pid, p.name));
		}
	if (graphics.size() != 1 || !tenants.several())
		return;
	u32 id = static_cast<u32>(graphics[0]->runlist);
	result.sharing.push_back({"R4",
				  "processes-share-runlist",
				  fmt::format("{} compute on {} of runlist {}: they take turns{}", tenants.text(),
					      graphics[0]->short_name(), id,
					      mps ? ", but for clients of MPS, which run at the same time" : ""),
				  {graphics[0]->short_name()},
				  {id}});
}

// ids: the runlists that serve an engine.
void check_tasks(Isolation &result, const Gpu &gpu, const std::vector<u32> &ids)
{
	std::vector<u32> unread;

	if (!gpu.has_runlists) {
		check_processes(result, gpu);
		result.unknown.push_back({"R4",
					  "unknown-tasks",
					  fmt::format("which tasks share a runlist is unknown: {}",
						      gpu.reports_runlists ? "the runlists of this chip cannot be read"
									   : "NVIDIA's driver reports no runlists"),
					  {},
					  {}});
		return;
	}
	for (u32 id : ids) {
		const Runlist *rl = gpu.runlist(id);
		if (!rl || !can_be_read(*rl)) {
			unread.push_back(id);
			continue;
		}
		Tenants tenants = tenants_of(gpu, {id});
		std::vector<std::string> names = gpu.engine_names(id);
		if (tenants.several())
			result.sharing.push_back({"R4",
						  tenants.processes.size() > 1 ? "processes-share-runlist"
									       : "address-spaces-share-runlist",
						  fmt::format("{} share runlist {}: they take turns on {}",
							      tenants.text(), id, and_joined(names)),
						  names,
						  {id}});
		else if (tenants.in_doubt())
			result.unknown.push_back(
				{"R4",
				 "unknown-tasks",
				 fmt::format("{} TSGs and channels are on runlist {}, and whether they are of one "
					     "process or address space is unknown",
					     tenants.tasks.size(), id),
				 names,
				 {id}});
	}
	if (!unread.empty())
		result.unknown.push_back({"R4",
					  "unknown-tasks",
					  fmt::format("which tasks share runlist{} {} is unknown: {} cannot be read",
						      unread.size() == 1 ? "" : "s", fmt::join(unread, ", "),
						      unread.size() == 1 ? "it" : "they"),
					  {},
					  unread});
}

// Of a GRCE and the LCE whose physical copy engines it shares, on two runlists.
void check_copying_tasks(Isolation &result, const Gpu &gpu, const Hazard &shared, const std::string &pces)
{
	std::vector<Tenants> each;

	for (u32 id : shared.runlists) {
		const Runlist *rl = gpu.runlist(id);
		if (!rl || !can_be_read(*rl)) {
			result.unknown.push_back({"R8", "unknown-tasks",
						  fmt::format("which tasks share {} is unknown: the tasks of runlist "
							      "{} are",
							      pces, id),
						  shared.engines, shared.runlists});
			return;
		}
		each.push_back(tenants_of(gpu, {id}));
	}
	Tenants both = tenants_of(gpu, shared.runlists);
	if (each[0].tasks.empty() || each[1].tasks.empty())
		return;
	if (both.several())
		result.sharing.push_back(
			{"R8", "tasks-share-pce",
			 fmt::format("{} use runlists {} and {}, whose {} share {}", both.text(), shared.runlists[0],
				     shared.runlists[1], and_joined(shared.engines), pces),
			 shared.engines, shared.runlists});
	else if (!both.all_processes && !both.all_spaces)
		result.unknown.push_back(
			{"R8", "unknown-tasks",
			 fmt::format("whether the tasks of runlists {} and {}, whose {} share {}, are of one process "
				     "or address space is unknown",
				     shared.runlists[0], shared.runlists[1], and_joined(shared.engines), pces),
			 shared.engines, shared.runlists});
}

// Fig. 10 and 11: a GRCE that shares an LCE's PCEs lets copies of runlist 0 disturb those of the LCE's runlist.
void check_copies(Isolation &result, const Gpu &gpu, Sets &sets)
{
	for (const Copy &c : gpu.copies()) {
		const Engine *borrower = copy_engine(gpu, c.lce);
		const Engine *lender =
			c.shares_lce == LENS_NONE ? nullptr : copy_engine(gpu, static_cast<u32>(c.shares_lce));
		if (!borrower || !lender)
			continue;
		sets.join(static_cast<size_t>(borrower - gpu.engines.data()),
			  static_cast<size_t>(lender - gpu.engines.data()));
		if (borrower->runlist == lender->runlist || c.pces.empty())
			continue;
		std::vector<std::string> names{borrower->short_name(), lender->short_name()};
		result.hazards.push_back(
			{"R8",
			 "grce-shares-pce",
			 fmt::format("{} of runlist {} shares {} with {} of runlist {}: texture uploads and copies of "
				     "runlist "
				     "{} slow down copies there, about twofold on an RTX 6000 Ada (RTAS'24, Fig. 10)",
				     names[0], borrower->runlist, pces_text(c.pces), names[1], lender->runlist,
				     borrower->runlist),
			 names,
			 {static_cast<u32>(borrower->runlist), static_cast<u32>(lender->runlist)}});
		check_copying_tasks(result, gpu, result.hazards.back(), pces_text(c.pces));
	}
}

// PCEs can be shared where copy engines are on two runlists or more.
void check_unknown_copies(Isolation &result, const Gpu &gpu)
{
	std::set<int> runlists;

	for (const Engine &e : gpu.engines)
		if (e.is_copy())
			runlists.insert(e.runlist);
	if (!gpu.has_copy && runlists.size() > 1)
		result.unknown.push_back({"R8",
					  "unknown-copy-engines",
					  "which copy engines share physical copy engines is unknown: it cannot be "
					  "read on this chip",
					  {},
					  {}});
}

// A runlist may list a TSG and its channels several times, as Tegra's drivers do to schedule it more often.
void count_channels(Isolation &result, const Gpu &gpu)
{
	for (const Runlist &rl : gpu.runlists) {
		std::map<u32, size_t> tsgs; // by id: which of the tasks
		std::set<u32> seen;
		auto count = [&seen](TaskChannels &t, const Channel &c) {
			if (c.context && !c.context->err)
				t.page_directory = c.context->pdb;
			if (!seen.insert(c.id).second)
				return;
			t.channels++;
			t.enabled += !c.err && c.state.enable;
		};
		for (const Tsg &tsg : rl.tsgs) {
			auto [at, is_new] = tsgs.try_emplace(tsg.id, result.tasks.size());
			if (is_new)
				result.tasks.push_back({.runlist = rl.id, .tsg = static_cast<int>(tsg.id)});
			for (const Channel &c : tsg.channels)
				count(result.tasks[at->second], c);
		}
		for (const Channel &c : rl.outside) {
			if (seen.count(c.id))
				continue;
			TaskChannels t{.runlist = rl.id};
			count(t, c);
			result.tasks.push_back(t);
		}
	}
}

} // namespace

Isolation isolation_of(const Gpu &gpu)
{
	Sets sets(gpu.engines.size());
	Isolation result;
	std::vector<u32> ids;

	for (const Engine &e : gpu.engines)
		if (e.runlist != LENS_NONE)
			ids.push_back(static_cast<u32>(e.runlist));
	std::sort(ids.begin(), ids.end());
	ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
	result.runlists = static_cast<u32>(ids.size());
	for (u32 id : ids) {
		check_runlist(result, gpu, id);
		std::vector<const Engine *> all = gpu.engines_of(id);
		for (const Engine *e : all)
			sets.join(static_cast<size_t>(all[0] - gpu.engines.data()),
				  static_cast<size_t>(e - gpu.engines.data()));
	}
	if (ids.empty() || gpu.inaccessible || !gpu.engine_failures.empty())
		result.unknown.push_back({"R7",
					  "unknown-engines",
					  "the engines and runlists of this chip are unknown, or not all of them are "
					  "known",
					  {},
					  {}});
	result.mps = find_mps_processes(gpu);
	check_tasks(result, gpu, ids);
	check_copies(result, gpu, sets);
	check_unknown_copies(result, gpu);
	count_channels(result, gpu);
	for (size_t i = 0; i < gpu.engines.size(); i++) {
		std::vector<std::string> lock;
		for (size_t j = i; j < gpu.engines.size(); j++)
			if (gpu.engines[j].runlist != LENS_NONE && sets.root(j) == i)
				lock.push_back(gpu.engines[j].short_name());
		if (!lock.empty())
			result.locks.push_back(lock);
	}
	return result;
}

} // namespace tool
