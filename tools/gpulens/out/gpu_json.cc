// SPDX-License-Identifier: GPL-2.0
// Converts a GPU's values to JSON.
#include "gpulens/out/gpu_json.hpp"

#include "gpulens/out/output.hpp"
#include "format.h"

#include <fmt/format.h>

namespace tool {

using json = nlohmann::ordered_json;

namespace {

json hex_json(u64 v)
{
	return fmt::format("{:#x}", v);
}

// Returns null for an unknown id.
json id_or_null(int id)
{
	return id == LENS_NONE ? json(nullptr) : json(id);
}

json hex_or_null(u64 v)
{
	return v ? hex_json(v) : json(nullptr);
}

json count_or_null(u64 v)
{
	return v ? json(v) : json(nullptr);
}

// "EIO"
json error_or_null(int err)
{
	return err ? json(Failure{Part::Gpu, err, {}}.errno_name()) : json(nullptr);
}

json chip_json(const Gpu &gpu)
{
	const Chip &c = gpu.chip;
	json j;

	if (c.name.empty())
		return nullptr;
	j["name"] = c.name;
	j["id"] = hex_json(c.id);
	j["architecture"] = c.architecture;
	j["boot0"] = c.boot0 ? hex_json(*c.boot0) : json(nullptr);
	j["boot42"] = c.boot42 ? hex_json(*c.boot42) : json(nullptr);
	j["known"] = c.known;
	j["ids_per_runlist"] = c.ids_per_runlist;
	j["memory_bytes"] = count_or_null(c.memory_bytes);
	j["assumed"] = text_or_null(gpu.assumed());
	j["engines_dropped"] = c.engines_dropped;
	j["product"] = text_or_null(c.product);
	j["driver"] = text_or_null(c.driver);
	return j;
}

json context_json(const Context &c)
{
	json j;

	j["error"] = error_or_null(c.err);
	if (c.err)
		return j;
	j["page_directory"] = hex_json(c.pdb);
	j["page_directory_target"] = target_name(c.pdb_target);
	j["page_tables"] = c.page_tables;
	j["veid"] = c.veid;
	j["subcontexts"] = hex_json(c.subcontexts);
	j["image_error"] = error_or_null(c.image_err);
	if (c.image_err)
		return j;
	j["image"] = hex_json(c.image_va);
	j["context_id"] = hex_json(c.context_id);
	j["graphics_preemption"] = c.graphics;
	j["compute_preemption"] = c.compute;
	j["saves_wfi"] = c.saves_wfi;
	j["saves_cta"] = c.saves_cta;
	j["saves_gfxp"] = c.saves_gfxp;
	j["saves_cilp"] = c.saves_cilp;
	return j;
}

json state_json(const Channel &c)
{
	const lens_channel_state &s = c.state;
	json j;

	j["enabled"] = s.enable;
	j["next"] = s.next;
	j["ctx_reload"] = s.ctx_reload;
	j["pbdma_faulted"] = s.pbdma_faulted;
	j["eng_faulted"] = s.eng_faulted;
	j["busy"] = s.busy;
	j["status"] = s.status;
	j["status_name"] = c.status();
	j["running"] = c.on_engine();
	if (s.chram) {
		j["on_pbdma"] = s.on_pbdma;
		j["on_eng"] = s.on_eng;
		j["pending"] = s.pending;
		j["pbdma_busy"] = s.pbdma_busy;
		j["eng_busy"] = s.eng_busy;
		j["acquire_fail"] = s.acquire_fail;
	}
	if (s.pccsr)
		j["bound"] = s.bound;
	return j;
}

json owner_json(const Owner *owner)
{
	if (!owner)
		return nullptr;
	return {{"pid", owner->pid},
		{"name", text_or_null(owner->name)},
		{"user", text_or_null(owner->user)},
		{"container", text_or_null(owner->container)},
		{"pod", text_or_null(owner->pod)},
		{"slurm_job", text_or_null(owner->job)},
		{"slurm_step", text_or_null(owner->step)},
		{"evidence", name_of(owner->evidence)}};
}

json channel_json(const Channel &c)
{
	json j;

	j["runlist"] = c.runlist;
	j["tsg"] = id_or_null(c.tsg);
	j["id"] = c.id;
	j["runqueue"] = c.runqueue;
	j["instance"] = hex_or_null(c.inst);
	j["instance_target"] = c.inst_target ? json(target_name(*c.inst_target)) : json(nullptr);
	j["error"] = error_or_null(c.err);
	j["state"] = c.err ? json(nullptr) : state_json(c);
	j["context"] = c.context ? context_json(*c.context) : json(nullptr);
	j["owner"] = owner_json(c.owner.get());
	return j;
}

json channels_list_json(const std::vector<Channel> &channels)
{
	json list = json::array();

	for (const Channel &c : channels)
		list.push_back(channel_json(c));
	return list;
}

json now_json(const EngineNow &now)
{
	json j;

	j["error"] = error_or_null(now.err);
	if (now.err)
		return j;
	j["state"] = now.state_name();
	j["tsg"] = id_or_null(now.bare ? LENS_NONE : now.id);
	j["channel"] = id_or_null(now.bare ? now.id : now.channel);
	j["busy"] = now.busy;
	j["faulted"] = now.faulted;
	j["reload"] = now.reload;
	return j;
}

json runlist_json(const Gpu &gpu, const Runlist &rl)
{
	json j;

	j["id"] = rl.id;
	j["error"] = error_or_null(rl.err);
	j["engines"] = gpu.engine_names(rl.id);
	j["base"] = hex_or_null(rl.base);
	j["target"] = rl.has_regs ? json(target_name(rl.target)) : json(nullptr);
	j["length"] = rl.has_regs ? json(rl.length) : json(nullptr);
	j["pending"] = rl.has_regs ? json(rl.pending) : json(nullptr);
	j["torn"] = rl.torn;
	j["tsgs"] = json::array();
	const std::set<TaskId> left = gpu.left_engine(rl);
	for (const Tsg &t : rl.tsgs)
		j["tsgs"].push_back({{"id", t.id},
				     {"scale", t.scale},
				     {"timeout", t.timeout},
				     {"timeslice_ns", t.timeslice_ns},
				     {"length", t.length},
				     {"running", t.running() && !left.contains(rl.task(t))},
				     {"left_engine", left.contains(rl.task(t))},
				     {"owner", owner_json(t.owner.get())},
				     {"channels", channels_list_json(t.channels)}});
	j["channels_outside"] = channels_list_json(rl.outside);
	return j;
}

} // namespace

json gpu_json(const Gpu &gpu)
{
	json j;

	j["source"] = gpu.source;
	j["gpu"] = id_or_null(gpu.index);
	j["device"] = text_or_null(gpu.chip.device);
	j["time_ns"] = count_or_null(gpu.time_ns);
	j["chip"] = chip_json(gpu);
	return j;
}

json engines_json(const Gpu &gpu)
{
	json list = json::array();

	for (const Engine &e : gpu.engines)
		list.push_back({{"name", e.name},
				{"short_name", e.short_name()},
				{"type", e.type},
				{"instance", e.inst},
				{"runlist", id_or_null(e.runlist)},
				{"engine", id_or_null(e.engine_id)},
				{"interrupt", id_or_null(e.intr)},
				{"reset", id_or_null(e.reset)},
				{"fault", id_or_null(e.fault)},
				{"registers", hex_or_null(e.pri_base)},
				{"runlist_registers", hex_or_null(e.runlist_base)},
				{"now", e.now ? now_json(*e.now) : json(nullptr)}});
	return list;
}

json runlists_json(const Gpu &gpu, std::optional<u32> id)
{
	json list = json::array();

	for (const Runlist &rl : gpu.runlists)
		if (!id || rl.id == *id)
			list.push_back(runlist_json(gpu, rl));
	return list;
}

json channels_json(const Gpu &gpu)
{
	json list = json::array();

	for (const Runlist &rl : gpu.runlists)
		for (const Channel *c : rl.channels())
			list.push_back(channel_json(*c));
	return list;
}

json allocated_json(const Gpu &gpu)
{
	return gpu.allocated ? json(*gpu.allocated) : json(nullptr);
}

json processes_json(const Gpu &gpu)
{
	json list = json::array();

	if (!gpu.processes)
		return nullptr;
	for (const Process &p : *gpu.processes)
		list.push_back({{"pid", p.pid},
				{"name", text_or_null(p.name)},
				{"uses", p.uses},
				{"memory_bytes", p.memory_bytes ? json(*p.memory_bytes) : json(nullptr)},
				{"mig", p.mig ? json{{"gpu_instance", p.mig->gpu}, {"compute_instance", p.mig->compute}}
					      : json(nullptr)}});
	return list;
}

json copy_json(const Gpu &gpu)
{
	json j;

	j["pce_map"] = gpu.has_copy ? hex_json(gpu.pce_map) : json(nullptr);
	j["engines"] = json::array();
	for (const Copy &c : gpu.copies())
		j["engines"].push_back({{"lce", c.lce},
					{"graphics", c.grce},
					{"runlist", id_or_null(c.runlist)},
					{"shares_lce", id_or_null(c.shares_lce)},
					{"pces", c.pces}});
	return j;
}

json gpcs_json(const Gpu &gpu)
{
	json j;

	j["num_gpcs"] = count_or_null(gpu.num_gpcs);
	j["num_tpc_per_gpc"] = count_or_null(gpu.num_tpc_per_gpc);
	j["gpc_mask"] = gpu.has_gpcs ? hex_json(gpu.gpc_mask) : json(nullptr);
	static const char *const orders[] = {"published", "assumed", "wrong"};
	j["tpc_order"] = gpu.numbers_tpcs() ? json(orders[gpu.tpc_order]) : json(nullptr);
	j["gpcs"] = json::array();
	for (const Gpc &g : gpu.gpcs)
		j["gpcs"].push_back({{"gpc", g.id},
				     {"tpc_mask", hex_json(g.tpc_mask)},
				     {"tpcs", g.tpcs},
				     {"first_tpc", g.tpcs && g.first_tpc ? json(*g.first_tpc) : json(nullptr)},
				     {"logical", id_or_null(g.logical)}});
	j["hardware_gpcs"] = gpu.hardware_gpcs.empty() ? json(nullptr) : json::array();
	for (const HardwareGpc &g : gpu.hardware_gpcs)
		j["hardware_gpcs"].push_back({{"logical_gpc", g.logical}, {"tpcs", g.tpcs}});
	j["counted_gpcs"] = gpu.counted_gpcs.empty() ? json(nullptr) : json::array();
	for (const HardwareGpc &g : gpu.counted_gpcs)
		j["counted_gpcs"].push_back({{"logical_gpc", g.logical}, {"tpcs", g.tpcs.size()}});
	j["sms"] = gpu.sms.empty() ? json(nullptr) : json::array();
	for (const Sm &s : gpu.sms)
		j["sms"].push_back({{"sm", s.id},
				    {"logical_gpc", s.gpc},
				    {"tpc", s.tpc},
				    {"sm_in_tpc", s.sm},
				    {"cpc", id_or_null(s.cpc)},
				    {"virtual_gpc", s.virtual_gpc},
				    {"ugpu", id_or_null(s.ugpu)}});
	return j;
}

json errors_json(const std::vector<Failure> &failures)
{
	json list = json::array();

	for (const Failure &f : failures) {
		json missing = json::array();
		for (const Missing &m : f.missing)
			missing.push_back(to_string(m));
		list.push_back({{"item", f.item.text()},
				{"error", f.errno_name()},
				{"message", f.text()},
				{"missing", missing}});
	}
	return list;
}

json isolation_json(const Isolation &from, const std::vector<std::string> &accepted)
{
	json j;

	for (const auto &[key, hazards] :
	     {std::pair("hazards", &from.hazards), {"sharing", &from.sharing}, {"unknown", &from.unknown}}) {
		j[key] = json::array();
		for (const Hazard &h : *hazards)
			j[key].push_back({{"rule", h.rule},
					  {"name", h.name},
					  {"text", h.text},
					  {"engines", h.engines},
					  {"runlists", h.runlists}});
	}
	j["accepted"] = accepted;
	j["notes"] = from.notes;
	j["mps_processes"] = from.mps ? json(*from.mps) : json(nullptr);
	j["runlists"] = from.runlists;
	j["shared_runlists"] = from.shared_runlists;
	j["tasks"] = json::array();
	for (const TaskChannels &t : from.tasks)
		j["tasks"].push_back({{"runlist", t.runlist},
				      {"tsg", t.tsg == LENS_NONE ? json(nullptr) : json(t.tsg)},
				      {"channels", t.channels},
				      {"enabled", t.enabled},
				      {"page_directory", t.page_directory ? json(fmt::format("{:#x}", t.page_directory))
									  : json(nullptr)}});
	j["locks"] = from.locks;
	return j;
}

} // namespace tool
