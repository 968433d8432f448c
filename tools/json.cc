// SPDX-License-Identifier: GPL-2.0
// The JSON of the gpulens tool. Keys stay as they are within "version": 1; new ones may be added. Ids, counts and
// flags are numbers and booleans; addresses, masks and raw registers are strings of 0x and digits, because JSON's
// readers keep only 53 bits of a number; what is not known is null.
#include "commands.hpp"

#include "format.h"
#include "hw/ptop.h"

#include <cinttypes>
#include <cstdio>

namespace tool {

using json = nlohmann::ordered_json;

namespace {

json hex(u64 v)
{
	char buf[24];

	std::snprintf(buf, sizeof(buf), "0x%" PRIx64, v);
	return buf;
}

// An id that the device table may not give.
json id_or_null(int id)
{
	return id == LENS_NONE ? json(nullptr) : json(id);
}

json hex_or_null(u64 v)
{
	return v ? hex(v) : json(nullptr);
}

// "EIO"
json error_or_null(int err)
{
	return err ? json(Failure{"", err, {}}.errno_name()) : json(nullptr);
}

json chip_json(Decoder &d)
{
	lens_gpu &gpu = d.gpu();
	const Image &image = d.image();
	json j;

	j["name"] = gpu.name;
	j["id"] = hex(gpu.chip_id);
	j["architecture"] = gpu.chip->arch;
	j["device"] = image.where().empty() ? json(nullptr) : json(image.where());
	j["boot0"] = hex(gpu.boot0);
	j["boot42"] = image.boot42 ? hex(*image.boot42) : json(nullptr);
	j["known"] = gpu.known;
	j["ids_per_runlist"] = gpu.chip->ids_per_runlist;
	lens_readable r{};
	bool asked = d.has_topology() && lens_gpu_has_host(&gpu) && !lens_runlists_readable(&gpu, &r);
	j["runlists_readable"] =
		asked ? json(gpu.topo.n_runlists + gpu.topo.unnamed_runlists - r.no_regs - r.no_entries) : json(0);
	j["memory_bytes"] = gpu.topo.memory_bytes ? json(gpu.topo.memory_bytes) : json(nullptr);
	j["assumed"] = gpu.chip->assumed ? json(gpu.chip->assumed) : json(nullptr);
	return j;
}

json engine_json(const lens_gpu &gpu, const lens_engine &e)
{
	char name[LENS_ENGINE_NAME];
	json j;

	lens_engine_name(&gpu, &e, name);
	j["name"] = name;
	j["type"] = e.type;
	j["instance"] = e.inst;
	j["runlist"] = id_or_null(e.runlist);
	j["engine"] = id_or_null(e.engine_id);
	j["interrupt"] = id_or_null(e.intr);
	j["reset"] = id_or_null(e.reset);
	j["fault"] = id_or_null(e.fault);
	j["registers"] = hex_or_null(e.pri_base);
	j["runlist_registers"] = hex_or_null(e.runlist_base);
	return j;
}

json engines_json(Decoder &d, std::vector<Failure> &failures)
{
	json list = json::array();

	failures = d.engine_failures();
	if (d.has_topology())
		for (u32 i = 0; i < d.gpu().topo.n_engines; i++)
			list.push_back(engine_json(d.gpu(), d.gpu().topo.engines[i]));
	return list;
}

json pces_json(u32 mask)
{
	json list = json::array();

	for (u32 i = 0; i < LENS_MAX_PCES; i++)
		if (mask >> i & 1)
			list.push_back(i);
	return list;
}

json copy_json(Decoder &d, std::vector<Failure> &failures)
{
	const lens_topology &topo = d.gpu().topo;
	json j;

	failures = d.copy_failures();
	j["engines"] = json::array();
	if (!d.has_topology() || topo.ce_err)
		return j;
	j["pce_map"] = hex(topo.pce_map);
	for (u32 inst = 0; inst < LENS_MAX_PCES; inst++) {
		for (u32 i = 0; i < topo.n_engines; i++) {
			const lens_engine &e = topo.engines[i];
			if (e.type != NV_PTOP_DEVICE_INFO_TYPE_ENUM_LCE || e.inst != inst)
				continue;
			u32 own = lens_lce_pces(&d.gpu(), inst);
			bool shares = !own && inst < topo.n_grces && topo.shared_lce[inst] != LENS_LCE_NONE;
			json c;
			c["lce"] = inst;
			c["graphics"] = lens_engine_is_grce(&d.gpu(), &e);
			c["runlist"] = id_or_null(e.runlist);
			c["shares_lce"] = shares ? json(topo.shared_lce[inst]) : json(nullptr);
			c["pces"] = pces_json(shares ? lens_lce_pces(&d.gpu(), topo.shared_lce[inst]) : own);
			j["engines"].push_back(c);
		}
	}
	return j;
}

json gpcs_json(Decoder &d, std::vector<Failure> &failures)
{
	const lens_topology &topo = d.gpu().topo;
	json j;

	failures = d.gpc_failures();
	j["num_gpcs"] = topo.num_gpcs ? json(topo.num_gpcs) : json(nullptr);
	j["num_tpc_per_gpc"] = topo.num_tpc_per_gpc ? json(topo.num_tpc_per_gpc) : json(nullptr);
	j["gpc_mask"] = failures.empty() ? hex(topo.gpc_mask) : json(nullptr);
	j["gpcs"] = json::array();
	if (!failures.empty())
		return j;
	for (u32 i = 0; i < topo.num_gpcs; i++) {
		u32 first, n;
		if (topo.gpc_mask >> i & 1)
			continue;
		n = lens_gpc_tpcs(&topo, i, &first);
		json g;
		g["gpc"] = i;
		g["tpc_mask"] = hex(topo.tpc_mask[i]);
		g["tpcs"] = n;
		g["first_tpc"] = n ? json(first) : json(nullptr);
		j["gpcs"].push_back(g);
	}
	return j;
}

json context_json(const lens_context &c)
{
	json j;

	j["error"] = error_or_null(c.err);
	if (c.err)
		return j;
	j["page_directory"] = hex(c.pdb);
	j["page_directory_target"] = target_name(c.target);
	j["page_tables"] = c.mmu->name;
	j["veid"] = c.veid;
	j["subcontexts"] = hex(c.subcontexts);
	j["image_error"] = error_or_null(c.image_err);
	if (c.image_err)
		return j;
	j["image"] = hex(c.image_va);
	j["context_id"] = hex(c.context_id);
	j["graphics_preemption"] = c.graphics;
	j["compute_preemption"] = c.compute;
	j["saves_wfi"] = c.saves_wfi;
	j["saves_cta"] = c.saves_cta;
	j["saves_gfxp"] = c.saves_gfxp;
	j["saves_cilp"] = c.saves_cilp;
	return j;
}

json channel_json(const ChannelRow &c)
{
	const lens_channel_state &s = c.state;
	json j;

	j["id"] = c.entry.id;
	j["tsg"] = id_or_null(c.tsg);
	j["runqueue"] = c.entry.runqueue;
	j["instance"] = hex(c.inst);
	j["instance_target"] = target_name(c.inst_target);
	j["error"] = error_or_null(c.err);
	if (c.err)
		return j;
	json st;
	st["enabled"] = s.enable;
	st["next"] = s.next;
	st["ctx_reload"] = s.ctx_reload;
	st["pbdma_faulted"] = s.pbdma_faulted;
	st["eng_faulted"] = s.eng_faulted;
	st["busy"] = s.busy;
	st["status"] = s.status;
	st["status_name"] = lens_status_name(s.status);
	if (s.chram) {
		st["on_pbdma"] = s.on_pbdma;
		st["on_eng"] = s.on_eng;
		st["pending"] = s.pending;
		st["pbdma_busy"] = s.pbdma_busy;
		st["eng_busy"] = s.eng_busy;
		st["acquire_fail"] = s.acquire_fail;
	}
	if (s.pccsr)
		st["bound"] = s.bound;
	j["state"] = st;
	j["context"] = c.context ? context_json(*c.context) : json(nullptr);
	return j;
}

json runlist_json(const lens_gpu &gpu, const Runlist &list)
{
	const lens_runlist_snap &snap = list.snap;
	json j;

	j["id"] = snap.rl->id;
	j["base"] = hex(snap.regs.base);
	j["target"] = target_name(snap.regs.target);
	j["length"] = snap.regs.length;
	j["pending"] = snap.regs.pending;
	j["torn"] = snap.torn;
	j["tsgs"] = json::array();
	j["channels_outside"] = json::array();
	for (const RunlistRow &row : runlist_rows(gpu, snap)) {
		if (!row.is_tsg) {
			(row.channel.tsg == LENS_NONE ? j["channels_outside"] : j["tsgs"].back()["channels"])
				.push_back(channel_json(row.channel));
			continue;
		}
		json t;
		t["id"] = row.tsg.id;
		t["scale"] = row.tsg.scale;
		t["timeout"] = row.tsg.timeout;
		t["timeslice_ns"] = lens_timeslice_ns(row.tsg.timeout, row.tsg.scale);
		t["length"] = row.tsg.length;
		t["channels"] = json::array();
		j["tsgs"].push_back(t);
	}
	return j;
}

json channels_json(Decoder &d, std::vector<Failure> &failures)
{
	const lens_topology &topo = d.gpu().topo;
	json all = json::array();

	if (!d.has_runlists(failures))
		return all;
	for (u32 i = 0; i < topo.n_runlists; i++) {
		std::unique_ptr<Runlist> list = d.runlist(topo.runlists[i].id, failures);
		if (!list)
			continue;
		for (const RunlistRow &row : runlist_rows(d.gpu(), list->snap)) {
			if (row.is_tsg)
				continue;
			json c;
			c["runlist"] = topo.runlists[i].id;
			c.update(channel_json(row.channel));
			all.push_back(c);
		}
	}
	return all;
}

json error_json(const Failure &f)
{
	json j;

	j["item"] = f.item;
	j["error"] = f.errno_name();
	j["message"] = f.why();
	j["missing"] = json::array();
	for (const Missing &m : f.missing)
		j["missing"].push_back(to_string(m));
	return j;
}

} // namespace

Output json_output(Decoder &d, const Command &command)
{
	std::unique_ptr<Runlist> list;
	Output out;
	json j;

	j["version"] = 1;
	j["chip"] = nullptr;
	if (!d.identified()) {
		out.failures = d.chip_failures();
	} else {
		j["chip"] = chip_json(d);
		switch (command.what) {
		case What::Chip: break;
		case What::Engines: j["engines"] = engines_json(d, out.failures); break;
		case What::Copy: j["copy"] = copy_json(d, out.failures); break;
		case What::Gpcs: j["gpcs"] = gpcs_json(d, out.failures); break;
		case What::Runlist:
			if (d.has_runlists(out.failures))
				list = d.runlist(command.runlist, out.failures);
			j["runlist"] = list ? runlist_json(d.gpu(), *list) : json(nullptr);
			break;
		case What::Channels: j["channels"] = channels_json(d, out.failures); break;
		}
	}
	j["errors"] = json::array();
	for (const Failure &f : out.failures)
		j["errors"].push_back(error_json(f));
	out.text = j.dump(1, '\t') + '\n';
	return out;
}

} // namespace tool
