// SPDX-License-Identifier: GPL-2.0
// Converts what the core decodes from an image to values.
#include "lib/source/image/from_image.hpp"

#include "hw/ptop.h"
#include "lib/base/errors.hpp"
#include "lib/source/image/decode.hpp"
#include "lib/source/snapshot/snapshot.hpp"

#include <fmt/format.h>

namespace tool {

namespace {

Chip chip_of(const lens_gpu &gpu, const Image &image)
{
	Chip c;

	c.name = gpu.name;
	c.architecture = gpu.chip->arch;
	c.device = image.device();
	if (const char *assumed = lens_chip_get_assumed(gpu.chip, gpu.id))
		c.assumed = assumed;
	c.id = gpu.chip_id;
	c.boot0 = gpu.boot0;
	c.boot42 = image.boot42;
	c.known = gpu.known;
	c.ids_per_runlist = gpu.chip->ids_per_runlist;
	c.memory_bytes = gpu.topo.memory_bytes;
	c.engines_dropped = gpu.topo.dropped_engines;
	return c;
}

Context context_of(const lens_context &context)
{
	Context c;

	c.err = context.err;
	c.image_err = context.image_err;
	if (c.err)
		return c;
	c.pdb = context.pdb;
	c.pdb_target = context.target;
	c.page_tables = context.mmu->name;
	c.veid = context.veid;
	c.subcontexts = context.subcontexts;
	if (c.image_err)
		return c;
	c.image_va = context.image_va;
	c.context_id = context.context_id;
	c.graphics = context.graphics;
	c.compute = context.compute;
	c.saves_wfi = context.saves_wfi;
	c.saves_cta = context.saves_cta;
	c.saves_gfxp = context.saves_gfxp;
	c.saves_cilp = context.saves_cilp;
	return c;
}

Channel channel_of(const lens_gpu &gpu, const lens_runlist_snap &snap, u32 i, const lens_entry &e, int tsg)
{
	Channel c;

	c.id = e.id;
	c.runlist = snap.rl->id;
	c.position = i;
	c.tsg = tsg;
	c.runqueue = e.runqueue;
	c.inst = e.inst;
	if (e.has_target)
		c.inst_target = e.inst_target;
	c.err = snap.err[i];
	if (!c.err)
		gpu.chip->host->decode_channel(&snap.state[size_t{2} * i], &c.state);
	if (c.state.pccsr) {
		c.inst = c.state.inst;
		c.inst_target = c.state.inst_target;
	}
	if (snap.context && !c.err)
		c.context = context_of(snap.context[i]);
	return c;
}

void add_entries(Runlist &runlist, const lens_gpu &gpu, const lens_runlist_snap &snap)
{
	u32 remaining = 0; // channels of the current TSG

	for (u32 i = 0; i < snap.n; i++) {
		lens_entry e;
		gpu.chip->host->decode_entry(&snap.entries[size_t{i} * gpu.chip->entry_words], &e);
		if (e.is_tsg) {
			runlist.tsgs.push_back({.id = e.id,
						.scale = e.scale,
						.timeout = e.timeout,
						.timeslice_ns = lens_timeslice_decode(e.timeout, e.scale),
						.length = e.length,
						.channels = {}});
			remaining = e.length;
		} else if (remaining) {
			remaining--;
			runlist.tsgs.back().channels.push_back(
				channel_of(gpu, snap, i, e, static_cast<int>(runlist.tsgs.back().id)));
		} else {
			runlist.outside.push_back(channel_of(gpu, snap, i, e, LENS_NONE));
		}
	}
}

void add_runlists(Gpu &result, Decoder &d)
{
	const lens_topology &topo = d.gpu().topo;

	result.has_runlists = d.has_runlists(result.runlist_failures);
	for (u32 i = 0; result.has_runlists && i < topo.n_runlists; i++) {
		size_t failures = result.runlist_failures.size();
		std::unique_ptr<RunlistSnap> list = d.runlist(topo.runlists[i].id, result.runlist_failures);
		Runlist rl;
		rl.id = topo.runlists[i].id;
		if (!list || list->err)
			rl.err = result.runlist_failures.size() > failures ? result.runlist_failures.back().err : -EIO;
		if (list) {
			rl.has_regs = true;
			rl.base = list->snap.regs.base;
			rl.target = list->snap.regs.target;
			rl.length = list->snap.regs.length;
			rl.pending = list->snap.regs.pending;
			rl.torn = list->snap.torn;
		}
		if (!rl.err)
			add_entries(rl, d.gpu(), list->snap);
		result.runlists.push_back(std::move(rl));
	}
}

void add_units(Gpu &result, const lens_gpu &gpu)
{
	const lens_topology &topo = gpu.topo;

	result.num_gpcs = topo.num_gpcs;
	result.num_tpc_per_gpc = topo.num_tpc_per_gpc;
	result.num_ces = topo.num_ces;
	result.has_gpcs = result.gpc_failures.empty();
	for (u32 i = 0; result.has_gpcs && i < topo.num_gpcs; i++) {
		Gpc g{.id = i, .tpc_mask = topo.tpc_mask[i]};
		if (topo.gpc_mask >> i & 1)
			continue;
		u32 first = 0;
		g.tpcs = lens_gpc_count_tpcs(&topo, i, &first);
		g.first_tpc = first;
		result.gpcs.push_back(g);
	}
	result.gpc_mask = topo.gpc_mask;
	result.tpc_order = gpu.chip->tpc_order;
	result.has_copy = !topo.ce_err;
	if (topo.ce_err)
		return;
	result.pce_map = topo.ce.pce_map;
	for (u32 i = 0; i < gpu.chip->ce.pces; i++)
		if (topo.ce.pce_map >> i & 1)
			result.lce_for_pce[i] =
				topo.ce.lce_for_pce[i] == gpu.chip->ce.lce_none ? LENS_NONE : topo.ce.lce_for_pce[i];
	for (u32 i = 0; i < topo.ce.n_grces; i++)
		result.shared_lce.push_back(topo.ce.shared_lce[i] == LENS_LCE_NONE ? LENS_NONE : topo.ce.shared_lce[i]);
}

void add_hardware_gpcs(Gpu &gpu, const lens_tpc_places &places)
{
	std::vector<HardwareGpc> gpcs;

	for (u32 logical = 0; logical < LENS_CWD_GPCS; logical++) {
		HardwareGpc gpc{.logical = logical, .tpcs{}};
		for (u32 tpc = 0; tpc < places.tpcs; tpc++)
			if (places.gpc[tpc] == logical)
				gpc.tpcs.push_back(tpc);
		if (!gpc.tpcs.empty())
			gpcs.push_back(std::move(gpc));
	}
	if (places.counted)
		gpu.set_counted_gpcs(std::move(gpcs));
	else
		gpu.hardware_gpcs = std::move(gpcs);
}

// Returns nothing if the image lacks the registers: older modules did not record them.
std::optional<EngineNow> engine_now_of(Decoder &d, const lens_engine &engine)
{
	std::optional<Decoder::EngineStatus> status = d.engine(engine);
	EngineNow now;

	if (!status)
		return std::nullopt;
	now.err = status->err;
	if (now.err)
		return now;
	now.state = status->now.state;
	if (now.state == LENS_ENGINE_UNKNOWN)
		return now;
	const lens_occupant *shown = lens_engine_get_occupant(&status->now);
	now.id = shown->id;
	now.bare = shown->is_channel;
	now.channel = shown->channel;
	now.busy = status->now.busy;
	now.faulted = status->now.faulted;
	now.reload = status->now.reload;
	return now;
}

} // namespace

Gpu from_image(const Image &image, const std::string &source)
{
	Decoder d(image);
	Gpu gpu;

	gpu.source = source;
	gpu.chip_failures = d.chip_failures();
	if (!d.identified())
		gpu.runlist_failures = gpu.engine_failures = gpu.gpc_failures = gpu.copy_failures = gpu.chip_failures;
	if (!d.identified())
		return gpu;
	gpu.chip = chip_of(d.gpu(), image);
	gpu.engine_failures = d.engine_failures();
	gpu.gpc_failures = d.gpc_failures();
	gpu.copy_failures = d.copy_failures();
	if (d.has_topology()) {
		for (u32 i = 0; i < d.gpu().topo.n_engines; i++)
			gpu.engines.push_back(engine_of(d.gpu(), d.gpu().topo.engines[i]));
		add_units(gpu, d.gpu());
		add_hardware_gpcs(gpu, d.tpc_places());
	}
	add_runlists(gpu, d);
	if (d.has_topology())
		for (u32 i = 0; i < d.gpu().topo.n_engines; i++)
			gpu.engines[i].now = engine_now_of(d, d.gpu().topo.engines[i]);
	return gpu;
}

Image image_of(const std::string &bytes, const std::string &name)
{
	ImageResult r = parse_image(bytes);

	if (!r.image)
		throw Error(Error::Source, r.error.line
						   ? fmt::format("{}: line {}: {}", name, r.error.line, r.error.text)
						   : name + ": " + r.error.text);
	return std::move(*r.image);
}

Gpu from_bytes(const std::string &bytes, const std::string &name)
{
	if (is_snapshot(bytes))
		return snapshot_of(bytes, name);
	if (bytes.empty())
		throw Error(
			Error::Source,
			name + ": the file is empty; an image begins with \"gpulens-image 1\", a snapshot with GPLS");
	return from_image(image_of(bytes, name), name);
}

} // namespace tool
