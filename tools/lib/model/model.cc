// SPDX-License-Identifier: GPL-2.0
// Names, states and lists that follow from a GPU's values.
#include "lib/model/model.hpp"

#include "format.h"
#include "hw/fifo.h"
#include "hw/ptop.h"
#include "lib/base/format.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>

namespace tool {

bool Engine::is_copy() const
{
	return type == NV_PTOP_DEVICE_INFO_TYPE_ENUM_LCE ||
	       (type >= NV_PTOP_DEVICE_INFO_TYPE_ENUM_COPY0 && type <= NV_PTOP_DEVICE_INFO_TYPE_ENUM_COPY2);
}

bool Engine::is_graphics() const
{
	return type == NV_PTOP_DEVICE_INFO_TYPE_ENUM_GRAPHICS;
}

// Long names may end with the short name in parentheses.
std::string Engine::short_name() const
{
	size_t open = name.rfind('('), close = name.rfind(')');

	if (is_graphics())
		return fmt::format("GR{}", inst);
	if (type == NV_PTOP_DEVICE_INFO_TYPE_ENUM_SEC)
		return inst ? fmt::format("SEC{}", inst) : "SEC";
	if (type == NV_PTOP_DEVICE_INFO_TYPE_ENUM_OFA)
		return fmt::format("OFA{}", inst);
	if (type >= NV_PTOP_DEVICE_INFO_TYPE_ENUM_COPY0 && type <= NV_PTOP_DEVICE_INFO_TYPE_ENUM_COPY2)
		return fmt::format("COPY{}", type - NV_PTOP_DEVICE_INFO_TYPE_ENUM_COPY0);
	if (name.compare(0, 8, "Unknown ") != 0 && open != name.npos && close != name.npos && close > open)
		return name.substr(open + 1, close - open - 1);
	return name;
}

const char *EngineNow::state_name() const
{
	switch (state) {
	case LENS_ENGINE_IDLE: return "idle";
	case LENS_ENGINE_ON: return "on";
	case LENS_ENGINE_LOAD: return "loading";
	case LENS_ENGINE_SAVE: return "saving";
	case LENS_ENGINE_SWITCH: return "switching";
	case LENS_ENGINE_UNKNOWN: break;
	}
	return "unknown";
}

std::string EngineNow::text() const
{
	if (err)
		return err == -EOPNOTSUPP ? "-" : "unreadable";
	if (state == LENS_ENGINE_UNKNOWN)
		return "unknown code";
	if (state == LENS_ENGINE_IDLE)
		return "idle";
	std::string occupant = id == LENS_NONE ? "unknown TSG" : fmt::format("{} {}", bare ? "channel" : "TSG", id);
	return state == LENS_ENGINE_ON ? occupant : fmt::format("{} ({})", occupant, state_name());
}

bool Channel::on_engine() const
{
	if (state.chram)
		return state.on_eng;
	return state.status == NV_PCCSR_CHANNEL_STATUS_ON_PBDMA_AND_ENG ||
	       (state.status >= NV_PCCSR_CHANNEL_STATUS_ON_ENG &&
		state.status <= NV_PCCSR_CHANNEL_STATUS_ON_ENG_PENDING) ||
	       (state.status >= NV_PCCSR_CHANNEL_STATUS_ON_PBDMA_AND_ENG_CTX_RELOAD &&
		state.status <= NV_PCCSR_CHANNEL_STATUS_ON_ENG_PENDING_ACQ_CTX_RELOAD);
}

std::optional<std::pair<u32, u64>> Channel::address_space() const
{
	if (!context || context->err || !context->pdb)
		return std::nullopt;
	return std::pair(context->pdb_target, context->pdb);
}

bool Channel::on_pbdma() const
{
	if (state.chram)
		return state.on_pbdma;
	return state.status == NV_PCCSR_CHANNEL_STATUS_ON_PBDMA ||
	       state.status == NV_PCCSR_CHANNEL_STATUS_ON_PBDMA_AND_ENG ||
	       state.status == NV_PCCSR_CHANNEL_STATUS_ON_PBDMA_CTX_RELOAD ||
	       state.status == NV_PCCSR_CHANNEL_STATUS_ON_PBDMA_AND_ENG_CTX_RELOAD;
}

const char *name_of(Activity activity)
{
	static const char *const names[ACTIVITIES] = {"faulted", "idle",      "off",        "on PBDMA",
						      "runs",    "runs, off", "unreadable", "waits"};

	return names[static_cast<size_t>(activity)];
}

Activity Channel::activity() const
{
	if (err)
		return Activity::Unreadable;
	if (faulted())
		return Activity::Faulted;
	if (on_engine())
		return state.enable ? Activity::Runs : Activity::RunsOff;
	if (!state.enable)
		return Activity::Off;
	if (on_pbdma())
		return Activity::OnPbdma;
	return state.busy || state.pending || state.status ? Activity::Waits : Activity::Idle;
}

std::string Channel::status() const
{
	return err ? "unreadable" : lens_status_name(state.status);
}

bool Tsg::running() const
{
	for (const Channel &c : channels)
		if (c.on_engine())
			return true;
	return false;
}

std::vector<const Channel *> Runlist::channels() const
{
	std::vector<const Channel *> all;

	for (const Tsg &t : tsgs)
		for (const Channel &c : t.channels)
			all.push_back(&c);
	for (const Channel &c : outside)
		all.push_back(&c);
	std::sort(all.begin(), all.end(), [](const Channel *a, const Channel *b) { return a->position < b->position; });
	return all;
}

void Gpu::set_counted_gpcs(std::vector<HardwareGpc> gpcs)
{
	counted_gpcs = std::move(gpcs);
	if (counted_gpcs.empty())
		return;
	for (Failure &f : gpc_failures)
		if (f.err == -EOPNOTSUPP)
			f.reason = "only counted, by logical GPC: which physical ones are enabled is not published for "
				   "this chip";
}

bool Gpu::numbers_tpcs() const
{
	return std::any_of(gpcs.begin(), gpcs.end(), [](const Gpc &g) { return g.tpcs && g.first_tpc; });
}

// It is the last part of the chips' texts (tests/unit/format_test.cc).
std::string Gpu::assumed() const
{
	size_t order = chip.assumed.find("logical TPC order");

	if (!has_smid_order() || order == std::string::npos)
		return chip.assumed;
	return chip.assumed.substr(0, order ? order - 2 : 0); // without "; "
}

const Runlist *Gpu::runlist(u32 id) const
{
	for (const Runlist &r : runlists)
		if (r.id == id)
			return &r;
	return nullptr;
}

std::vector<const Engine *> Gpu::engines_of(u32 runlist) const
{
	std::vector<const Engine *> list;

	for (const Engine &e : engines)
		if (e.runlist >= 0 && static_cast<u32>(e.runlist) == runlist)
			list.push_back(&e);
	return list;
}

std::vector<std::string> Gpu::engine_names(u32 runlist) const
{
	std::vector<std::string> names;

	for (const Engine *e : engines_of(runlist))
		names.push_back(e->short_name());
	return names;
}

std::set<TaskId> Gpu::left_engine(const Runlist &runlist) const
{
	const std::vector<const Engine *> all = engines_of(runlist.id);
	std::set<TaskId> left;

	for (const Tsg &tsg : runlist.tsgs)
		if (tsg.running())
			left.insert(runlist.task(tsg));
	for (const Channel &c : runlist.outside)
		if (c.on_engine())
			left.insert(c.task());
	for (const Engine *e : all) {
		if (!e->now || e->now->err || e->now->state == LENS_ENGINE_UNKNOWN)
			return {}; // it may have any of them
		left.erase({static_cast<int>(runlist.id), e->now->bare, e->now->id});
	}
	return all.empty() ? std::set<TaskId>{} : left;
}

std::vector<Copy> Gpu::copies() const
{
	std::map<u32, Copy> by_lce;

	if (!has_copy)
		return {};
	for (const Engine &e : engines) {
		if (e.type != NV_PTOP_DEVICE_INFO_TYPE_ENUM_LCE)
			continue;
		Copy c{.lce = e.inst, .grce = e.grce, .runlist = e.runlist, .pces = {}};
		for (const auto &[pce, lce] : lce_for_pce)
			if (lce >= 0 && static_cast<u32>(lce) == e.inst)
				c.pces.push_back(pce);
		by_lce[e.inst] = c;
	}
	// As in /proc/gpuX/copy_topology: an LCE with PCEs of its own shares none.
	for (auto &[lce, c] : by_lce) {
		if (!c.pces.empty() || lce >= shared_lce.size() || shared_lce[lce] == LENS_NONE)
			continue;
		c.shares_lce = shared_lce[lce];
		auto lender = by_lce.find(static_cast<u32>(c.shares_lce));
		if (lender != by_lce.end())
			c.pces = lender->second.pces;
	}
	std::vector<Copy> list;
	list.reserve(by_lce.size());
	for (auto &[lce, c] : by_lce)
		list.push_back(std::move(c));
	return list;
}

std::string Gpu::name() const
{
	return index == LENS_NONE ? source : fmt::format("gpu{}", index);
}

std::string Gpu::title() const
{
	return fmt::format("{}{}{}{}", index == LENS_NONE ? "" : name() + ": ",
			   chip.name.empty() ? "unknown chip" : fmt::format("{} ({})", chip.name, chip.architecture),
			   chip.device.empty() ? "" : ", ", chip.device);
}

std::string Process::text() const
{
	std::vector<std::string> more;

	if (memory_bytes.value_or(0))
		more.push_back(format_bytes(*memory_bytes));
	if (mig)
		more.push_back("MIG " + mig->text());
	return std::to_string(pid) + (name.empty() ? "" : ' ' + name) +
	       (more.empty() ? "" : fmt::format(" ({})", fmt::join(more, ", ")));
}

const char *target_name(u32 target)
{
	return lens_target_name(target);
}

Engine engine_of(const lens_gpu &gpu, const lens_engine &engine)
{
	char name[LENS_ENGINE_NAME];
	Engine e;

	lens_engine_format_name(&gpu, &engine, name);
	e.name = name;
	e.type = engine.type;
	e.inst = engine.inst;
	e.runlist = engine.runlist;
	e.engine_id = engine.engine_id;
	e.intr = engine.intr;
	e.reset = engine.reset;
	e.fault = engine.fault;
	e.pri_base = engine.pri_base;
	e.runlist_base = engine.runlist_base;
	e.grce = lens_engine_is_grce(&gpu, &engine);
	return e;
}

} // namespace tool
