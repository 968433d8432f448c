// SPDX-License-Identifier: GPL-2.0
// Converts what the core decodes from an image to values.
#include "lib/source/image/from_image.hpp"

#include "gpulens/snapshot.h"
#include "lib/base/errors.hpp"
#include "lib/source/image/decode.hpp"
#include "lib/source/snapshot/snapshot.hpp"
#include "uapi/gpulens.h"

#include <fmt/format.h>

namespace tool {

namespace {

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

// Adds what no record has.
void add_contexts(Runlist &runlist, const lens_runlist_snap &snap)
{
	auto add = [&](std::vector<Channel> &channels) {
		for (Channel &c : channels)
			if (!c.err && snap.context)
				c.context = context_of(snap.context[c.position]);
	};

	for (Tsg &tsg : runlist.tsgs)
		add(tsg.channels);
	add(runlist.outside);
}

// Reads the runlists into the snapshot, which then points into the result, by index. nullptr: not even the registers.
std::vector<std::unique_ptr<RunlistSnap>> read_runlists(lens_snapshot &s, Decoder &d, std::vector<Failure> &failures)
{
	const lens_topology &topo = d.gpu().topo;
	std::vector<std::unique_ptr<RunlistSnap>> lists(topo.n_runlists);

	for (u32 i = 0; i < topo.n_runlists; i++) {
		const size_t before = failures.size();
		lists[i] = d.runlist(topo.runlists[i].id, failures);
		if (lists[i])
			s.snap[i] = lists[i]->snap;
		s.snap[i].rl = &topo.runlists[i];
		if (!lists[i] || lists[i]->err)
			s.err[i] = failures.size() > before ? failures.back().err : -EIO;
	}
	return lists;
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

Gpu parse_encoded(const lens_gpu &gpu, const lens_snapshot &s)
{
	const size_t n = lens_snapshot_encode(&gpu, &s, nullptr, 0);
	std::vector<gpulens_chip> records(n); // of any type: each has this size

	lens_snapshot_encode(&gpu, &s, records.data(), static_cast<u32>(n));
	return from_records({reinterpret_cast<const char *>(records.data()), n * sizeof(gpulens_chip)},
			    GPULENS_VERSION);
}

// Sets what no record has: all of the chip, missing words, contexts, the hardware's order of TPCs.
void add_details(Gpu &gpu, Decoder &d, const Image &image)
{
	gpu.addresses = true;
	gpu.chip.device = image.device();
	gpu.chip.boot42 = image.boot42;
	gpu.engine_failures = d.engine_failures();
	gpu.gpc_failures = d.gpc_failures();
	gpu.copy_failures = d.copy_failures();
	gpu.has_gpcs = d.has_topology() && gpu.gpc_failures.empty();
	gpu.has_copy = d.has_topology() && gpu.has_copy;
	if (!gpu.has_gpcs)
		gpu.gpcs.clear();
	if (d.has_topology())
		add_hardware_gpcs(gpu, d.tpc_places());
}

} // namespace

Gpu from_image(const Image &image, const std::string &source)
{
	Decoder d(image);
	std::unique_ptr<lens_snapshot> s = std::make_unique<lens_snapshot>();
	std::vector<Failure> failures; // of runlists
	std::vector<u32> unknown;      // engines whose registers the image lacks: older modules did not record them
	Gpu gpu;

	gpu.source = source;
	gpu.chip_failures = d.chip_failures();
	gpu.runlist_failures = gpu.engine_failures = gpu.gpc_failures = gpu.copy_failures = gpu.chip_failures;
	if (!d.identified())
		return gpu;
	lens_topology &topo = d.gpu().topo;
	s->where = "";
	s->memory_bytes = topo.memory_bytes;
	if (!d.has_topology())
		topo = {};
	s->ce = topo.ce;
	s->ce_err = topo.ce_err;
	s->engines_read = true;
	for (u32 i = 0; i < topo.n_engines; i++) {
		std::optional<Decoder::EngineStatus> status = d.engine(topo.engines[i]);
		if (!status)
			unknown.push_back(i);
		s->now_err[i] = status ? status->err : 0;
		s->now[i] = status ? status->now : lens_engine_status{};
	}
	const bool has_runlists = d.has_runlists(failures);
	if (!has_runlists)
		topo.n_runlists = 0;
	std::vector<std::unique_ptr<RunlistSnap>> lists = read_runlists(*s, d, failures);
	gpu = parse_encoded(d.gpu(), *s);
	gpu.source = source;
	gpu.has_runlists = has_runlists;
	gpu.runlist_failures = std::move(failures);
	for (u32 i : unknown)
		gpu.engines[i].now = std::nullopt;
	for (size_t i = 0; i < gpu.runlists.size(); i++)
		if (lists[i])
			add_contexts(gpu.runlists[i], lists[i]->snap);
	add_details(gpu, d, image);
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
