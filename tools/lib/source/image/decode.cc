// SPDX-License-Identifier: GPL-2.0
// Runs the core over an image, and attributes missing words to the parts that need them.
#include "lib/source/image/decode.hpp"

#include "hw/fb.h"
#include "hw/pmc.h"
#include "hw/ptop.h"
#include "hw/runlist.h"

namespace tool {

RunlistSnap::RunlistSnap(lens_gpu &gpu, const lens_runlist &rl)
{
	snap.rl = &rl;
	err = lens_runlist_begin(&gpu, &snap);
	if (err)
		return;
	// An image does not change: the length needs to be read only once.
	allocate(gpu);
	err = lens_runlist_collect(&gpu, &snap);
	if (!err && snap.n)
		err = lens_contexts_collect(&gpu, &snap);
}

void RunlistSnap::allocate(const lens_gpu &gpu)
{
	size_t cap = snap.regs.length;

	entries_.assign(cap * gpu.chip->entry_words / 2 + 1, 0);
	state_.assign(cap * 2 + 1, 0);
	errs_.assign(cap + 1, 0);
	context_.assign(cap + 1, lens_context{});
	cache_ = std::make_unique<lens_walk_cache>();
	snap.cap = static_cast<u32>(cap);
	snap.entries = reinterpret_cast<u32 *>(entries_.data());
	snap.state = state_.data();
	snap.err = errs_.data();
	snap.context = context_.data();
	snap.cache = cache_.get();
}

Decoder::Decoder(const Image &image) : image_(image), replay_(image)
{
	identify_err_ = lens_gpu_identify(gpu_.get(), replay_.io());
	identified_ = !identify_err_;
	if (!identified_)
		return;
	replay_.take_missing();
	topology_err_ = lens_gpu_read_topology(gpu_.get());
	topology_missing_ = replay_.take_missing();
}

// Returns the part of the topology that a register belongs to; nothing if it belongs to none.
std::optional<Part> Decoder::part_of(uint32_t reg) const
{
	const lens_chip &chip = *gpu_->chip;

	if (reg == NV_PTOP_SCAL_NUM_GPCS || reg == NV_PTOP_SCAL_NUM_TPC_PER_GPC)
		return Part::Gpcs;
	if (chip.fuse_gpc && (reg == chip.fuse_gpc || reg - chip.fuse_tpc_gpc < 4 * LENS_MAX_GPCS))
		return Part::Gpcs;
	if (reg == NV_PTOP_SCAL_NUM_CES)
		return Part::Copy;
	if (chip.ce.pces && (reg == chip.ce.pce_map || reg - chip.ce.pce2lce < 4U * chip.ce.pces ||
			     reg - chip.ce.grce < 4U * LENS_MAX_GRCES))
		return Part::Copy;
	if (reg == NV_PFB_PRI_MMU_LOCAL_MEMORY_RANGE || reg == NV_USABLE_FB_SIZE_IN_MB)
		return Part::Memory;
	// Older images lack these; whether Host is enabled is then taken for granted, and interrupt ids are unknown.
	if (reg == NV_PMC_ENABLE)
		return std::nullopt;
	for (u32 i = 0; i < gpu_->topo.n_engines; i++) {
		const lens_engine &e = gpu_->topo.engines[i];
		if (e.runlist_base && reg == e.runlist_base + NV_RUNLIST_ENGINE_STATUS1(e.rleng))
			return std::nullopt;
	}
	return Part::Engines;
}

void Decoder::add_failure(std::vector<Failure> &failures, Part part, int err) const
{
	Failure f{part, err, {}};

	for (const Missing &m : topology_missing_)
		if (m.kind == 'r' && part_of(static_cast<uint32_t>(m.addr)) == part)
			f.missing.push_back(m);
	// The core continues without some registers, such as those of a second die; the failure is still reported.
	if (!f.missing.empty() && !f.err)
		f.err = -EIO;
	if (f.err)
		failures.push_back(std::move(f));
}

std::vector<Failure> Decoder::chip_failures() const
{
	std::vector<Failure> list;

	if (identify_err_)
		list.push_back({Part::Chip, identify_err_, {}});
	return list;
}

std::vector<Failure> Decoder::engine_failures() const
{
	std::vector<Failure> list = chip_failures();

	if (!identified_)
		return list;
	const lens_topology &topo = gpu_->topo;
	add_failure(list, Part::Engines, topology_err_ ? topology_err_ : topo.devices_err);
	if (!list.empty())
		list.back().reason = describe_dropped_engines(list.back().err, topo.dropped_engines);
	return list;
}

std::vector<Failure> Decoder::gpc_failures() const
{
	// Without a device table the core does not read them.
	std::vector<Failure> list = topology_err_ || !identified_ ? engine_failures() : std::vector<Failure>();

	if (list.empty())
		add_failure(list, Part::Gpcs, gpu_->topo.gpcs_err);
	return list;
}

std::vector<Failure> Decoder::copy_failures() const
{
	std::vector<Failure> list = engine_failures();

	if (identified_ && !topology_err_)
		add_failure(list, Part::Copy, gpu_->topo.ce_err);
	return list;
}

bool Decoder::has_runlists(std::vector<Failure> &failures) const
{
	std::vector<Failure> list = engine_failures();

	failures.insert(failures.end(), list.begin(), list.end());
	if (!identified_ || topology_err_)
		return false;
	if (lens_gpu_has_host(gpu_.get()))
		return true;
	failures.push_back({Part::Runlists, -EOPNOTSUPP, {}});
	return false;
}

std::vector<Failure> Decoder::memory_failures() const
{
	std::vector<Failure> list = chip_failures();

	if (identified_)
		add_failure(list, Part::Memory, gpu_->topo.memory_bytes ? 0 : -EOPNOTSUPP);
	return list;
}

std::optional<Decoder::EngineStatus> Decoder::engine(const lens_engine &engine)
{
	EngineStatus s{};

	replay_.take_missing();
	s.err = lens_engine_read(gpu_.get(), &engine, &s.now);
	if (!replay_.take_missing().empty())
		return std::nullopt;
	return s;
}

lens_tpc_places Decoder::counted_places(std::vector<Failure> &failures)
{
	lens_tpc_places places{};
	Failure f{{Part::Gpcs}, 0, {}};

	replay_.take_missing();
	f.err = lens_gpc_read_counts(gpu_.get(), &places);
	f.missing = replay_.take_missing();
	if (!f.err && f.missing.empty())
		return places;
	if (f.err == -ENODATA)
		f.reason = "the graphics engine was not enabled (NV_PMC_ENABLE), as before a driver runs";
	failures.push_back(std::move(f));
	return {};
}

lens_tpc_places Decoder::tpc_places()
{
	lens_tpc_places places{};
	std::vector<Failure> ignored;

	if (has_counts())
		return counted_places(ignored);
	replay_.take_missing();
	bool read = has_topology() && !lens_cwd_check_context(gpu_.get()) && !lens_cwd_read_places(gpu_.get(), &places);
	if (!replay_.take_missing().empty() || !read)
		return {};
	return places;
}

std::optional<u32> Decoder::cwd_word(u32 reg, u32 i, std::vector<Failure> &failures)
{
	Failure f{{Part::Gpcs}, 0, {}};
	u32 word = 0;

	replay_.take_missing();
	f.err = lens_cwd_read_word(gpu_.get(), reg, i, &word);
	f.missing = replay_.take_missing();
	if (!f.err && f.missing.empty())
		return word;
	failures.push_back(std::move(f));
	return std::nullopt;
}

std::unique_ptr<lens_bars> Decoder::bars(std::vector<Failure> &failures)
{
	std::unique_ptr<lens_bars> bars = std::make_unique<lens_bars>();
	std::unique_ptr<lens_mmu_scan> scan = std::make_unique<lens_mmu_scan>();
	Failure f{Part::Bars, 0, {}};

	failures = engine_failures();
	if (!failures.empty())
		return nullptr;
	replay_.take_missing();
	f.err = lens_bars_collect(gpu_.get(), bars.get(), scan.get(), LENS_BARS_WORDS);
	f.missing = replay_.take_missing();
	if (!f.err && !f.missing.empty())
		f.err = -EIO;
	if (!f.err)
		return bars;
	failures.push_back(std::move(f));
	return nullptr;
}

std::unique_ptr<RunlistSnap> Decoder::runlist(u32 id, std::vector<Failure> &failures)
{
	const lens_runlist *rl = lens_gpu_find_runlist(gpu_.get(), id);
	Failure f{{Part::Runlist, id}, -ENOENT, {}};
	std::unique_ptr<RunlistSnap> list;

	if (rl) {
		replay_.take_missing();
		list = std::make_unique<RunlistSnap>(*gpu_, *rl);
		f.err = list->err;
		f.missing = replay_.take_missing();
		if (f.err && !lens_entries_are_unreadable(&list->snap, f.err))
			list = nullptr;
		if (!f.err && !f.missing.empty())
			f.err = -EIO;
	}
	if (f.err)
		failures.push_back(std::move(f));
	return list;
}

} // namespace tool
