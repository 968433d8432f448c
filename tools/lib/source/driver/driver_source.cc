// SPDX-License-Identifier: GPL-2.0
// A GPU as NVIDIA's resource manager tells of it. See driver_source.hpp.
#include "lib/source/driver/driver_source.hpp"

#include "lib/base/errors.hpp"
#include "lib/rm/client.hpp"
#include "lib/rm/engine_type.hpp"
#include "lib/rm/processes.hpp"
#include "lib/rm/run_tsg.hpp"
#include "lib/source/driver/driver_samples.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <strings.h>
#include <tuple>
#include <utility>

namespace tool {

namespace {

constexpr const char *NOT_HERE = "not available from this source";

struct Known {
	u32 nv2080;
	lens_engine engine;
};

// One GPU's answers become values; what is refused becomes a failure of who asks for it.
class Reader {
public:
	Reader(rm::Client &client, const rm::Attached &gpu) : client_(client), subdevice_(client.open(gpu))
	{
		to_.source = fmt::format("{} (driver {}{})", rm::NODE, client.version(),
					 client.compared() ? "" : ", whose layouts were not compared");
		to_.chip.device = gpu.pci;
		to_.tells_runlists = false;
	}

	Gpu read()
	{
		chip();
		engines();
		gpcs();
		sms();
		copies();
		channels();
		processes();
		to_.runlist_failures.push_back({Part::Runlists, -EOPNOTSUPP, {}, NOT_HERE});
		return std::move(to_);
	}

private:
	// False: refused, which is noted.
	template <typename Params> bool ask(Params &params, const Subject &item, std::vector<Failure> &failures)
	{
		u32 status = client_.ask(subdevice_, params);

		if (status != rm::NV_OK)
			refused(Params::NAME, status, item, failures);
		return status == rm::NV_OK;
	}

	void refused(const char *question, u32 status, const Subject &item, std::vector<Failure> &failures) const
	{
		int err = status == rm::NV_ERR_INSUFFICIENT_PERMISSIONS ? -EPERM : -EOPNOTSUPP;

		failures.push_back({item, err, {}, rm::refusal(question, status, client_.version())});
	}

	void chip()
	{
		const lens_chip_id *row = nullptr;
		rm::ArchInfo arch;

		if (!ask(arch, Part::Chip, to_.chip_failures))
			return;
		to_.chip.id = arch.architecture | arch.implementation;
		chip_ = lens_chip_find(to_.chip.id, &row, &to_.chip.known);
		to_.chip.name = row ? row->name : fmt::format("chip {:#x}", to_.chip.id);
		to_.chip.architecture = chip_ ? chip_->arch : "unknown";
		// Of the driver's ids: its answer below, where it gives one.
		to_.chip.ids_per_runlist = chip_ && chip_->ids_per_runlist;
		to_.chip.driver = client_.version();
		rm::NameString name;
		if (ask(name, Part::ProductName, to_.chip_failures))
			to_.chip.product.assign(name.ascii, strnlen(name.ascii, 64));
		rm::FbInfo memory{.count = 1};
		memory.list[0].index = rm::FbInfo::TOTAL_RAM_SIZE;
		if (ask(memory, Part::MemorySize, to_.chip_failures))
			to_.chip.memory_bytes = u64{memory.list[0].value} << 10;
	}

	void engines()
	{
		rm::Engines list;
		std::vector<Known> known;

		if (!ask(list, Part::Engines, to_.engine_failures))
			return;
		for (u32 i = 0; i < std::min(list.count, rm::MAX_ENGINES); i++) {
			const rm::EngineType *row = rm::engine_type(list.types[i]);
			lens_engine e{};
			if (!row)
				continue;
			e.type = row->type;
			e.inst = static_cast<u16>(row->inst + list.types[i] - row->first);
			e.runlist = e.engine_id = e.intr = e.reset = e.fault = LENS_NONE;
			known.push_back({list.types[i], e});
		}
		add_runlists(known);
		add_ids(known);
		// As the module has them: by runlist, those without one last.
		std::sort(known.begin(), known.end(), [](const Known &a, const Known &b) {
			auto key = [](const lens_engine &e) {
				return std::make_tuple(static_cast<u16>(e.runlist), e.type, e.inst);
			};
			return key(a.engine) < key(b.engine);
		});
		name(known);
	}

	void add_runlists(std::vector<Known> &known)
	{
		rm::EngineRunlists lists;

		for (size_t i = 0; i < known.size(); i++)
			lists.types[i] = known[i].nv2080;
		if (!ask(lists, Part::EngineRunlists, to_.engine_failures))
			return;
		for (size_t i = 0; i < known.size(); i++) {
			if (lists.runlist[i] < rm::NOT_TOLD)
				known[i].engine.runlist = static_cast<s16>(lists.runlist[i]);
			if (lists.pri_base[i] < rm::NOT_TOLD)
				known[i].engine.runlist_base = lists.pri_base[i];
		}
	}

	void add_ids(std::vector<Known> &known)
	{
		rm::HwEngineIds ids;

		for (size_t i = 0; i < known.size(); i++)
			ids.types[i] = known[i].nv2080;
		bool told = ask(ids, Part::EngineIds, to_.engine_failures), said = false;
		for (size_t i = 0; i < known.size(); i++) {
			rm::FaultInfo fault{.type = known[i].nv2080};
			if (told && ids.ids[i] < rm::NOT_TOLD)
				known[i].engine.engine_id = static_cast<s16>(ids.ids[i]);
			u32 status = client_.ask(subdevice_, fault);
			if (status == rm::NV_OK)
				known[i].engine.fault = static_cast<s16>(fault.mmu_fault_id);
			else if (!std::exchange(said, true))
				refused(rm::FaultInfo::NAME, status, Part::FaultIds, to_.engine_failures);
		}
	}

	// As /proc/gpuX/device_info names them.
	void name(const std::vector<Known> &known)
	{
		static const lens_chip no_chip{};
		std::unique_ptr<lens_gpu> gpu = std::make_unique<lens_gpu>();

		gpu->chip = chip_ ? chip_ : &no_chip;
		for (const Known &k : known)
			gpu->topo.engines[gpu->topo.n_engines++] = k.engine;
		for (u32 i = 0; i < gpu->topo.n_engines; i++)
			to_.engines.push_back(engine_of(*gpu, gpu->topo.engines[i]));
	}

	void gpcs()
	{
		rm::GpcMask enabled;
		rm::GrInfo info;

		info.count = 2;
		info.list[0].index = rm::GrInfo::LITTER_NUM_GPCS;
		info.list[1].index = rm::GrInfo::LITTER_NUM_TPC_PER_GPC;
		if (!ask(enabled, Part::GpcMask, to_.gpc_failures) || !ask(info, Part::GpcCounts, to_.gpc_failures))
			return;
		to_.num_gpcs = std::min<u32>(info.list[0].value, LENS_MAX_GPCS);
		to_.num_tpc_per_gpc = std::min<u32>(info.list[1].value, 31);
		to_.gpc_mask = ~enabled.mask & all(to_.num_gpcs);
		for (u32 i = 0; i < to_.num_gpcs; i++) {
			rm::TpcMask tpcs;
			tpcs.gpc = i;
			if (to_.gpc_mask >> i & 1)
				continue;
			if (!ask(tpcs, {Part::TpcMask, i}, to_.gpc_failures))
				continue;
			to_.gpcs.push_back({.id = i,
					    .tpc_mask = ~tpcs.mask & all(to_.num_tpc_per_gpc),
					    .tpcs = static_cast<u32>(__builtin_popcount(tpcs.mask))});
		}
		to_.has_gpcs = true;
		logical_gpcs();
	}

	void logical_gpcs()
	{
		rm::FsInfo map;

		map.count = static_cast<u16>(to_.gpcs.size());
		for (u32 i = 0; i < map.count; i++) {
			map.queries[i].type = rm::FsInfo::CHIPLET_GPC_MAP;
			map.queries[i].in = i;
		}
		if (!ask(map, Part::LogicalGpcs, to_.gpc_failures))
			return;
		for (u32 i = 0; i < map.count; i++)
			for (Gpc &g : to_.gpcs)
				if (map.queries[i].status == rm::NV_OK && map.queries[i].out == g.id)
					g.logical = static_cast<int>(i);
	}

	void sms()
	{
		std::unique_ptr<rm::GlobalSmOrder> order = std::make_unique<rm::GlobalSmOrder>();

		if (!ask(*order, Part::Sms, to_.gpc_failures))
			return;
		for (u32 i = 0; i < std::min<u32>(order->count, rm::GlobalSmOrder::MAX); i++) {
			const auto &from = order->sms[i];
			to_.sms.push_back({.id = i,
					   .gpc = from.gpc,
					   .tpc = from.local_tpc,
					   .sm = from.local_sm,
					   .cpc = from.physical_cpc,
					   .virtual_gpc = from.virtual_gpc,
					   .ugpu = from.ugpu});
		}
	}

	static u32 all(u32 n) { return static_cast<u32>((u64{1} << n) - 1); }

	// A GRCE and the LCE that lends it PCEs have the same of them.
	void copies()
	{
		std::vector<std::pair<u32, u32>> grces; // LCE, PCEs

		for (const Engine &e : to_.engines) {
			if (e.type != NV_PTOP_DEVICE_INFO_TYPE_ENUM_LCE)
				continue;
			u32 nv2080 = rm::nv2080_of(e.type, e.inst);
			rm::PceMask pces{.type = nv2080};
			rm::CopyCaps caps{.type = nv2080};
			Subject item(Part::Pces, e.inst);
			if (!ask(pces, item, to_.copy_failures) || !ask(caps, item, to_.copy_failures))
				continue;
			to_.has_copy = true;
			to_.pce_map |= pces.mask;
			if (caps.table[0] & rm::CopyCaps::GRCE && caps.table[0] & rm::CopyCaps::SHARED)
				grces.emplace_back(e.inst, pces.mask);
			else
				serve(e.inst, pces.mask);
		}
		for (auto [lce, pces] : grces) {
			u32 pce = pces ? static_cast<u32>(__builtin_ctz(pces)) : 32;
			to_.shared_lce.resize(std::max<size_t>(to_.shared_lce.size(), lce + 1), LENS_NONE);
			if (to_.lce_for_pce.count(pce))
				to_.shared_lce[lce] = to_.lce_for_pce[pce];
			else
				serve(lce, pces);
		}
	}

	void serve(u32 lce, u32 pces)
	{
		for (u32 i = 0; i < 32; i++)
			if (pces >> i & 1)
				to_.lce_for_pce[i] = static_cast<int>(lce);
	}

	// Asked for runlist 0: where ids count over the whole GPU, those of all; others are then out of range.
	void channels()
	{
		rm::AllocatedChannels all, other{.runlist = 1};

		if (!ask(all, Part::AllocatedChannels, to_.channel_failures))
			return;
		to_.chip.ids_per_runlist = client_.ask(subdevice_, other) == rm::NV_OK;
		if (to_.chip.ids_per_runlist) {
			to_.channel_failures.push_back({Part::AllocatedChannels,
							-EOPNOTSUPP,
							{},
							"they count per runlist here, which is not made yet"});
			return;
		}
		to_.allocated.emplace();
		for (u32 i = 0; i < rm::AllocatedChannels::MAX; i++)
			if (all.mask[i / 32] >> i % 32 & 1)
				to_.allocated->push_back(i);
	}

	void processes()
	{
		std::vector<Process> list =
			rm::processes(client_, subdevice_, [this](const char *question, u32 status) {
				refused(question, status, Part::Processes, to_.channel_failures);
			});

		if (to_.channel_failures.empty() || !list.empty())
			to_.processes = std::move(list);
	}

	rm::Client &client_;
	rm::Subdevice subdevice_;
	const lens_chip *chip_ = nullptr;
	Gpu to_;
};

} // namespace

namespace {

// What is left of a GPU that cannot be asked about: its number, its address, and why.
Gpu closed_gpu(const rm::Attached &gpu, int err, const std::string &why)
{
	Gpu closed;
	Failure all{{Part::Gpu, gpu.pci.empty() ? "GPU" : gpu.pci}, -err, {}, why};

	closed.source = rm::NODE;
	closed.closed = true;
	closed.tells_runlists = false;
	closed.chip.device = gpu.pci;
	// Channels are asked together with runlists.
	for (std::vector<Failure> *part : {&closed.chip_failures, &closed.engine_failures, &closed.gpc_failures,
					   &closed.copy_failures, &closed.runlist_failures})
		part->push_back(all);
	return closed;
}

Gpu read_gpu(rm::Client &client, const rm::Attached &gpu)
{
	Gpu read;

	try {
		read = Reader(client, gpu).read();
	} catch (const rm::GpuError &e) {
		read = closed_gpu(gpu, e.err, e.what());
	} catch (const Error &e) {
		read = closed_gpu(gpu, EIO, e.what());
	}
	read.index = static_cast<int>(gpu.place);
	return read;
}

// Never empty.
std::vector<rm::Attached> attached(rm::Client &client)
{
	std::vector<rm::Attached> there = client.gpus();

	if (there.empty())
		throw Error(Error::Source,
			    fmt::format("{}: driver {} has no GPU in use now; while a program uses it there is one",
					rm::NODE, client.version()));
	return there;
}

} // namespace

std::vector<unsigned> DriverSource::numbers() const
{
	rm::Client client;
	std::vector<unsigned> list;

	for (const rm::Attached &one : attached(client))
		list.push_back(one.place);
	return list;
}

std::vector<Gpu> DriverSource::gpus(const std::vector<unsigned> &numbers) const
{
	rm::Client client;
	std::vector<rm::Attached> there = attached(client);
	std::vector<Gpu> list;

	for (unsigned x : numbers)
		rm::the_one(there, x);
	for (const rm::Attached &one : there)
		if (numbers.empty() || std::find(numbers.begin(), numbers.end(), one.place) != numbers.end())
			list.push_back(read_gpu(client, one));
	if (std::all_of(list.begin(), list.end(), [](const Gpu &gpu) { return gpu.closed; }))
		throw Error(Error::Source, list[0].chip_failures[0].why());
	return list;
}

std::unique_ptr<SampleStream> DriverSource::samples(const std::vector<unsigned> &numbers,
						    const SampleOptions &how) const
{
	if (numbers.size() > 1)
		throw Error(Error::Source, "one GPU at a time: say -g X");
	if (std::any_of(how.runlists.begin(), how.runlists.end(), [](u32 id) { return id != 0; }))
		throw Error(Error::Source,
			    "through the driver only the graphics engine can be sampled, which is on runlist 0");
	return std::make_unique<DriverSamples>(numbers.empty() ? 0 : numbers[0], how.period_us,
					       how.tsgs.empty() ? std::vector<RunTsg>() : run_tsgs(how.tsgs));
}

Gpu DriverSource::gpu_at(const std::string &pci)
{
	rm::Client client;

	for (const rm::Attached &one : client.gpus())
		if (strcasecmp(one.pci.c_str(), pci.c_str()) == 0)
			return Reader(client, one).read();
	throw Error(Error::Source, fmt::format("NVIDIA's driver tells of no GPU at {}", pci));
}

} // namespace tool
