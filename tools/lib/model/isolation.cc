// SPDX-License-Identifier: GPL-2.0
// See isolation.hpp.
#include "lib/model/isolation.hpp"

#include "hw/ptop.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <numeric>
#include <set>

namespace tool {

namespace {

// Engines as sets that grow together: union-find by index into Gpu::engines.
class Sets {
public:
	explicit Sets(size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), size_t{0}); }
	size_t root(size_t i) const { return parent_[i] == i ? i : root(parent_[i]); }
	void join(size_t a, size_t b)
	{
		// The smaller index leads, so that sets come in the order of their first engine.
		parent_[std::max(root(a), root(b))] = std::min(root(a), root(b));
	}

private:
	std::vector<size_t> parent_;
};

std::string and_joined(const std::vector<std::string> &names)
{
	if (names.size() < 2)
		return names.empty() ? "" : names[0];
	return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

// A copy engine that copies need not share with graphics for.
bool has_copy_only_runlist(const Gpu &gpu)
{
	for (const Engine &e : gpu.engines) {
		if (!e.is_copy() || e.runlist == LENS_NONE)
			continue;
		std::vector<const Engine *> all = gpu.engines_of(static_cast<u32>(e.runlist));
		if (std::none_of(all.begin(), all.end(), [](const Engine *o) { return o->is_graphics(); }))
			return true;
	}
	return false;
}

/*
 * Every GPU of the paper's has graphics and its copy engines on one runlist, and only the TX2 showed the harm of it:
 * there is no other runlist to copy through. So that alone is a note, and two engines on a runlist are a hazard when
 * one of them is no graphics copy engine, or when copies have nowhere else to go. (Section V-C, V-D.)
 */
void judge_runlist(Isolation &to, const Gpu &gpu, u32 id)
{
	std::vector<const Engine *> all = gpu.engines_of(id);
	std::vector<std::string> names = gpu.engine_names(id);

	if (all.size() < 2)
		return;
	to.shared_runlists++;
	auto copies = std::count_if(all.begin(), all.end(), [](const Engine *e) { return e->is_copy(); });
	auto graphics = std::count_if(all.begin(), all.end(), [](const Engine *e) { return e->is_graphics(); });
	// Kepler and Maxwell number copy engines by type and know no GRCEs; the one that is with graphics is their like.
	bool usual = graphics == 1 && std::all_of(all.begin(), all.end(), [](const Engine *e) {
			     return e->is_graphics() || e->grce ||
				    (e->is_copy() && e->type != NV_PTOP_DEVICE_INFO_TYPE_ENUM_LCE);
		     });
	if (usual && has_copy_only_runlist(gpu)) {
		to.notes.push_back(fmt::format("runlist {}: {}, as on every GPU; copies have runlists of their own", id,
					       and_joined(names)));
		return;
	}
	std::string why = graphics && copies && !has_copy_only_runlist(gpu)
				  ? "there is no other runlist for copies, so that they wait for time slices of compute"
				  : "their time slices depend on each other";
	to.hazards.push_back({"R6",
			      "shared-runlist",
			      fmt::format("{} share runlist {}: {}", and_joined(names), id, why),
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

// Fig. 10 and 11: a GRCE that borrows an LCE's PCEs brings copies of runlist 0 to that LCE's runlist.
void judge_copies(Isolation &to, const Gpu &gpu, Sets &sets)
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
		to.hazards.push_back(
			{"R8",
			 "grce-shares-pce",
			 fmt::format(
				 "{} of runlist {} copies with {} of {}, runlist {}: texture uploads and copies of "
				 "runlist {} slow copies there, about twofold on an RTX 6000 Ada (RTAS'24, Fig. 10)",
				 names[0], borrower->runlist, pces_text(c.pces), names[1], lender->runlist,
				 borrower->runlist),
			 names,
			 {static_cast<u32>(borrower->runlist), static_cast<u32>(lender->runlist)}});
	}
}

// A runlist may name a TSG and its channels more than once, as Tegra's drivers do to give one more turns.
void count_channels(Isolation &to, const Gpu &gpu)
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
			auto [at, is_new] = tsgs.try_emplace(tsg.id, to.tasks.size());
			if (is_new)
				to.tasks.push_back({.runlist = rl.id, .tsg = static_cast<int>(tsg.id)});
			for (const Channel &c : tsg.channels)
				count(to.tasks[at->second], c);
		}
		for (const Channel &c : rl.outside) {
			if (seen.count(c.id))
				continue;
			TaskChannels t{.runlist = rl.id};
			count(t, c);
			to.tasks.push_back(t);
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
		judge_runlist(result, gpu, id);
		std::vector<const Engine *> all = gpu.engines_of(id);
		for (const Engine *e : all)
			sets.join(static_cast<size_t>(all[0] - gpu.engines.data()),
				  static_cast<size_t>(e - gpu.engines.data()));
	}
	judge_copies(result, gpu, sets);
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
