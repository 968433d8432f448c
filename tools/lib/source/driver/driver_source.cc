// SPDX-License-Identifier: GPL-2.0
// Fills in a Gpu from queries to NVIDIA's resource manager.
#include "lib/source/driver/driver_source.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "lib/rm/client.hpp"
#include "lib/rm/engine_type.hpp"
#include "lib/rm/processes.hpp"
#include "lib/rm/run_tsg.hpp"
#include "lib/source/background.hpp"
#include "lib/source/driver/driver_samples.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

namespace tool {

namespace {

// Of samples: each wakes a thread up, as each sample does.
constexpr std::chrono::milliseconds PIECE{10}, LONG_PIECE{50}, BACKGROUND_PIECE{200};
constexpr u32 LONG_PERIOD_US = 10000;
constexpr const char *NO_RUNLISTS = "NVIDIA's driver does not report them, the module of gpulens does: --source module";

struct KnownEngine {
	u32 nv2080; // NV2080_ENGINE_TYPE_*
	lens_engine engine;
};

// Reads one GPU. A refused query becomes a failure of the part that it was for.
class Reader {
public:
	Reader(rm::Client &client, const rm::Attached &gpu) : client_(client), subdevice_(client.open(gpu))
	{
		gpu_.source = fmt::format("{} (driver {}{})", rm::NODE, client.version(),
					  client.layouts_compared() ? "" : ", whose layouts were not compared");
		gpu_.chip.device = gpu.pci;
		gpu_.reports_runlists = false;
	}

	// What does not change while the driver is loaded, for read_changes().
	void read_names()
	{
		read_chip();
		read_engines();
		read_copy_engines();
		read_classes();
	}

	// The same, with what changes.
	Gpu read_changes()
	{
		Gpu names = gpu_;

		read_channels();
		read_processes();
		return std::exchange(gpu_, std::move(names));
	}

	// What read_names() has read, with processes. Throws Error if the GPU no longer answers.
	Gpu reread_names()
	{
		Gpu names = gpu_;
		rm::ArchInfo arch;
		u32 status = client_.query(subdevice_, arch);

		if (status != rm::NV_OK)
			throw Error(Error::Source,
				    fmt::format("{}: {}", gpu_.chip.device,
						rm::explain_refusal(rm::ArchInfo::NAME, status, client_.version())));
		read_processes();
		return std::exchange(gpu_, std::move(names));
	}

	Gpu read()
	{
		read_chip();
		read_engines();
		read_gpcs();
		read_sms();
		read_copy_engines();
		read_channels();
		read_classes();
		read_processes();
		gpu_.runlist_failures.push_back({Part::Runlists, -EOPNOTSUPP, {}, NO_RUNLISTS});
		return std::move(gpu_);
	}

private:
	// Returns false and adds a failure if the driver refuses.
	template <typename Params> bool query(Params &params, const Subject &item, std::vector<Failure> &failures)
	{
		u32 status = client_.query(subdevice_, params);

		if (status != rm::NV_OK)
			add_refusal(Params::NAME, status, item, failures);
		return status == rm::NV_OK;
	}

	void add_refusal(const char *control, u32 status, const Subject &item, std::vector<Failure> &failures) const
	{
		int err = status == rm::NV_ERR_INSUFFICIENT_PERMISSIONS ? -EPERM : -EOPNOTSUPP;

		failures.push_back({item, err, {}, rm::explain_refusal(control, status, client_.version())});
	}

	void read_chip()
	{
		const lens_chip_id *row = nullptr;
		rm::ArchInfo arch;

		if (!query(arch, Part::Chip, gpu_.chip_failures))
			return;
		gpu_.chip.id = arch.architecture | arch.implementation;
		chip_ = lens_chip_find(gpu_.chip.id, &row, &gpu_.chip.known);
		gpu_.chip.name = row->name ? row->name : fmt::format("chip {:#x}", gpu_.chip.id);
		gpu_.chip.architecture = chip_ ? chip_->arch : "unknown";
		// read_channels() replaces this by the driver's answer, if it gives one.
		gpu_.chip.ids_per_runlist = chip_ && chip_->ids_per_runlist;
		gpu_.chip.driver = client_.version();
		rm::NameString name;
		if (query(name, Part::ProductName, gpu_.chip_failures))
			gpu_.chip.product.assign(name.ascii, strnlen(name.ascii, 64));
		rm::FbInfo memory{.count = 1};
		memory.list[0].index = rm::FbInfo::TOTAL_RAM_SIZE;
		if (query(memory, Part::MemorySize, gpu_.chip_failures))
			gpu_.chip.memory_bytes = u64{memory.list[0].value} << 10;
	}

	void read_engines()
	{
		rm::Engines list;
		std::vector<KnownEngine> known;

		if (!query(list, Part::Engines, gpu_.engine_failures))
			return;
		for (u32 i = 0; i < std::min(list.count, rm::MAX_ENGINES); i++) {
			const rm::EngineType *row = rm::find_engine_type(list.types[i]);
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
		// In the order of the module: by runlist, engines without a runlist last.
		std::sort(known.begin(), known.end(), [](const KnownEngine &a, const KnownEngine &b) {
			auto key = [](const lens_engine &e) {
				return std::make_tuple(static_cast<u16>(e.runlist), e.type, e.inst);
			};
			return key(a.engine) < key(b.engine);
		});
		name_engines(known);
	}

	void add_runlists(std::vector<KnownEngine> &known)
	{
		rm::EngineRunlists lists;

		for (size_t i = 0; i < known.size(); i++)
			lists.types[i] = known[i].nv2080;
		if (!query(lists, Part::EngineRunlists, gpu_.engine_failures))
			return;
		for (size_t i = 0; i < known.size(); i++) {
			if (lists.runlist[i] < rm::NO_VALUE)
				known[i].engine.runlist = static_cast<s16>(lists.runlist[i]);
			if (lists.pri_base[i] < rm::NO_VALUE)
				known[i].engine.runlist_base = lists.pri_base[i];
		}
	}

	void add_ids(std::vector<KnownEngine> &known)
	{
		rm::HwEngineIds ids;

		for (size_t i = 0; i < known.size(); i++)
			ids.types[i] = known[i].nv2080;
		bool has_ids = query(ids, Part::EngineIds, gpu_.engine_failures), refused = false;
		for (size_t i = 0; i < known.size(); i++) {
			rm::FaultInfo fault{.type = known[i].nv2080};
			if (has_ids && ids.ids[i] < rm::NO_VALUE)
				known[i].engine.engine_id = static_cast<s16>(ids.ids[i]);
			u32 status = client_.query(subdevice_, fault);
			if (status == rm::NV_OK)
				known[i].engine.fault = static_cast<s16>(fault.mmu_fault_id);
			else if (!std::exchange(refused, true))
				add_refusal(rm::FaultInfo::NAME, status, Part::FaultIds, gpu_.engine_failures);
		}
	}

	// Gives engines the names of /proc/gpuX/device_info.
	void name_engines(const std::vector<KnownEngine> &known)
	{
		static const lens_chip no_chip{};
		std::unique_ptr<lens_gpu> gpu = std::make_unique<lens_gpu>();

		gpu->chip = chip_ ? chip_ : &no_chip;
		for (const KnownEngine &k : known)
			gpu->topo.engines[gpu->topo.n_engines++] = k.engine;
		for (u32 i = 0; i < gpu->topo.n_engines; i++)
			gpu_.engines.push_back(engine_of(*gpu, gpu->topo.engines[i]));
	}

	void read_gpcs()
	{
		rm::GpcMask enabled;
		rm::GrInfo info;

		info.count = 2;
		info.list[0].index = rm::GrInfo::LITTER_NUM_GPCS;
		info.list[1].index = rm::GrInfo::LITTER_NUM_TPC_PER_GPC;
		if (!query(enabled, Part::GpcMask, gpu_.gpc_failures) ||
		    !query(info, Part::GpcCounts, gpu_.gpc_failures))
			return;
		gpu_.num_gpcs = std::min<u32>(info.list[0].value, LENS_MAX_GPCS);
		gpu_.num_tpc_per_gpc = std::min<u32>(info.list[1].value, 31);
		gpu_.gpc_mask = ~enabled.mask & low_bits(gpu_.num_gpcs);
		for (u32 i = 0; i < gpu_.num_gpcs; i++) {
			rm::TpcMask tpcs;
			tpcs.gpc = i;
			if (gpu_.gpc_mask >> i & 1)
				continue;
			if (!query(tpcs, {Part::TpcMask, i}, gpu_.gpc_failures))
				continue;
			gpu_.gpcs.push_back({.id = i,
					     .tpc_mask = ~tpcs.mask & low_bits(gpu_.num_tpc_per_gpc),
					     .tpcs = static_cast<u32>(__builtin_popcount(tpcs.mask))});
		}
		gpu_.has_gpcs = true;
		read_logical_gpcs();
	}

	void read_logical_gpcs()
	{
		rm::FsInfo map;

		map.count = static_cast<u16>(gpu_.gpcs.size());
		for (u32 i = 0; i < map.count; i++) {
			map.queries[i].type = rm::FsInfo::CHIPLET_GPC_MAP;
			map.queries[i].in = i;
		}
		if (!query(map, Part::LogicalGpcs, gpu_.gpc_failures))
			return;
		for (u32 i = 0; i < map.count; i++)
			for (Gpc &g : gpu_.gpcs)
				if (map.queries[i].status == rm::NV_OK && map.queries[i].out == g.id)
					g.logical = static_cast<int>(i);
	}

	void read_sms()
	{
		std::unique_ptr<rm::GlobalSmOrder> order = std::make_unique<rm::GlobalSmOrder>();

		if (!query(*order, Part::Sms, gpu_.gpc_failures))
			return;
		for (u32 i = 0; i < std::min<u32>(order->count, rm::GlobalSmOrder::MAX); i++) {
			const auto &sm = order->sms[i];
			gpu_.sms.push_back({.id = i,
					    .gpc = sm.gpc,
					    .tpc = sm.local_tpc,
					    .sm = sm.local_sm,
					    .cpc = id_or_none(sm.physical_cpc),
					    .virtual_gpc = sm.virtual_gpc,
					    .ugpu = id_or_none(sm.ugpu)});
		}
	}

	static int id_or_none(u16 value) { return value == rm::GlobalSmOrder::ABSENT ? LENS_NONE : value; }

	static u32 low_bits(u32 n) { return static_cast<u32>((u64{1} << n) - 1); }

	// A GRCE that shares PCEs reports the same mask as the LCE that lends them.
	void read_copy_engines()
	{
		std::vector<std::pair<u32, u32>> grces; // LCE, PCEs

		for (const Engine &e : gpu_.engines) {
			if (e.type != NV_PTOP_DEVICE_INFO_TYPE_ENUM_LCE)
				continue;
			u32 nv2080 = rm::nv2080_of(e.type, e.inst);
			rm::PceMask pces{.type = nv2080};
			rm::CopyCaps caps{.type = nv2080};
			Subject item(Part::Pces, e.inst);
			if (!query(pces, item, gpu_.copy_failures) || !query(caps, item, gpu_.copy_failures))
				continue;
			gpu_.has_copy = true;
			gpu_.pce_map |= pces.mask;
			if (caps.table[0] & rm::CopyCaps::GRCE && caps.table[0] & rm::CopyCaps::SHARED)
				grces.emplace_back(e.inst, pces.mask);
			else
				assign_pces(e.inst, pces.mask);
		}
		for (auto [lce, pces] : grces) {
			u32 pce = pces ? static_cast<u32>(__builtin_ctz(pces)) : 32;
			gpu_.shared_lce.resize(std::max<size_t>(gpu_.shared_lce.size(), lce + 1), LENS_NONE);
			if (gpu_.lce_for_pce.count(pce))
				gpu_.shared_lce[lce] = gpu_.lce_for_pce[pce];
			else
				assign_pces(lce, pces);
		}
	}

	void assign_pces(u32 lce, u32 pces)
	{
		for (u32 i = 0; i < 32; i++)
			if (pces >> i & 1)
				gpu_.lce_for_pce[i] = static_cast<int>(lce);
	}

	// Where ids count over the whole GPU, runlist 0 reports all channels, and other runlists are out of range.
	void read_channels()
	{
		rm::AllocatedChannels all, other{.runlist = 1};

		if (!query(all, Part::AllocatedChannels, gpu_.channel_failures))
			return;
		if (!ids_per_runlist_)
			ids_per_runlist_ = client_.query(subdevice_, other) == rm::NV_OK;
		gpu_.chip.ids_per_runlist = *ids_per_runlist_;
		if (gpu_.chip.ids_per_runlist) {
			gpu_.channel_failures.push_back(
				{Part::AllocatedChannels,
				 -EOPNOTSUPP,
				 {},
				 "this GPU counts channels per runlist, which gpulens does not support yet"});
			return;
		}
		gpu_.allocated.emplace();
		for (u32 i = 0; i < rm::AllocatedChannels::MAX; i++)
			if (all.mask[i / 32] >> i % 32 & 1)
				gpu_.allocated->push_back(i);
	}

	rm::OnRefusal on_refused_processes()
	{
		return [this](const char *control, u32 status) {
			add_refusal(control, status, Part::Processes, gpu_.channel_failures);
		};
	}

	void read_classes() { classes_ = rm::list_used_classes(client_, subdevice_, on_refused_processes()); }

	void read_processes()
	{
		std::vector<Process> list = rm::list_processes(client_, subdevice_, classes_, on_refused_processes());

		if (gpu_.channel_failures.empty() || !list.empty())
			gpu_.processes = std::move(list);
	}

	rm::Client &client_;
	rm::Subdevice subdevice_;
	const lens_chip *chip_ = nullptr;
	std::optional<bool> ids_per_runlist_; // as the driver answers
	std::vector<rm::UsedClass> classes_;  // of the processes' objects
	Gpu gpu_;
};

} // namespace

namespace {

// Returns a GPU that cannot be queried: its address and the reason. err: positive errno.
Gpu inaccessible_gpu(const rm::Attached &gpu, int err, const std::string &reason)
{
	Gpu unread;
	Failure all{{Part::Gpu, gpu.pci.empty() ? "GPU" : gpu.pci}, -err, {}, reason};

	unread.source = rm::NODE;
	unread.inaccessible = true;
	unread.reports_runlists = false;
	unread.chip.device = gpu.pci;
	// Channels and runlists are shown by the same commands: one failure is enough.
	for (std::vector<Failure> *part : {&unread.chip_failures, &unread.engine_failures, &unread.gpc_failures,
					   &unread.copy_failures, &unread.runlist_failures})
		part->push_back(all);
	return unread;
}

Gpu read_gpu(rm::Client &client, const rm::Attached &gpu)
{
	Gpu read;

	try {
		read = Reader(client, gpu).read();
	} catch (const rm::GpuError &e) {
		read = inaccessible_gpu(gpu, e.err, e.what());
	} catch (const Error &e) {
		read = inaccessible_gpu(gpu, EIO, e.what());
	}
	read.index = static_cast<int>(gpu.index);
	return read;
}

// Returns at least one GPU. Throws Error.
std::vector<rm::Attached> list_attached(rm::Client &client)
{
	std::vector<rm::Attached> attached = client.gpus();

	if (attached.empty())
		throw Error(Error::Source,
			    fmt::format("{}: driver {} has initialised no GPU; it does so when a program uses one, or "
					"with nvidia-persistenced",
					rm::NODE, client.version()));
	return attached;
}

} // namespace

std::vector<unsigned> DriverSource::numbers() const
{
	rm::Client client;
	std::vector<unsigned> list;

	for (const rm::Attached &gpu : list_attached(client))
		list.push_back(gpu.index);
	return list;
}

std::vector<Gpu> DriverSource::gpus(const std::vector<unsigned> &numbers) const
{
	rm::Client client;
	std::vector<rm::Attached> attached = list_attached(client);
	std::vector<Gpu> list;

	for (unsigned x : numbers)
		rm::find_attached(attached, x);
	for (const rm::Attached &gpu : attached)
		if (numbers.empty() || std::find(numbers.begin(), numbers.end(), gpu.index) != numbers.end())
			list.push_back(read_gpu(client, gpu));
	if (std::all_of(list.begin(), list.end(), [](const Gpu &gpu) { return gpu.inaccessible; }))
		throw Error(Error::Source, list[0].chip_failures[0].text());
	return list;
}

class DriverSource::Watched {
public:
	explicit Watched(unsigned number)
		: reader_(client_, rm::find_attached(list_attached(client_), number)), number_(number)
	{
		reader_.read_names();
	}

	Gpu reread_names()
	{
		Gpu gpu = reader_.reread_names();

		gpu.index = static_cast<int>(number_);
		return gpu;
	}

	// period: until processes and channels are read again.
	const Gpu &read(std::chrono::seconds period)
	{
		clock::time_point now = clock::now();

		if (!gpu_ || now >= read_ + period) {
			gpu_ = reader_.read_changes();
			gpu_->index = static_cast<int>(number_);
			read_ = now;
		}
		return *gpu_;
	}

private:
	using clock = std::chrono::steady_clock;
	rm::Client client_;
	Reader reader_;
	unsigned number_;
	std::optional<Gpu> gpu_;
	clock::time_point read_;
};

// A query took 0.7 ms of a processor where one H200 was sampled, and 1.1 to 1.3 ms where four were. So 33 samples a second of
// one GPU took 2.5 % of a processor, as did 12 of four H100s, with the other queries.
u32 DriverSource::modest_period_us(size_t gpus) const
{
	constexpr size_t ONE_US = 30000, EACH_US = 80000, MAX_US = 1000000;

	return static_cast<u32>(gpus > 1 ? std::min(EACH_US * gpus, MAX_US) : ONE_US);
}

// Four samples a second of all GPUs up to eight; of more, one of each in two seconds.
u32 DriverSource::background_period_us(size_t gpus) const
{
	constexpr size_t EACH_US = 250000, MAX_US = 2000000;

	return static_cast<u32>(std::min(EACH_US * std::max<size_t>(gpus, 1), MAX_US));
}

DriverSource::DriverSource() = default;
DriverSource::~DriverSource() = default;

Gpu DriverSource::snapshot(unsigned number) const
{
	return read_watched(number, [this](Watched &watched) {
		return watched.read(std::chrono::seconds(watched_.size() > 2 ? 10 : 5));
	});
}

Gpu DriverSource::reread_gpu(unsigned number) const
{
	return read_watched(number, [](Watched &watched) { return watched.reread_names(); });
}

Gpu DriverSource::read_watched(unsigned number, const std::function<Gpu(Watched &)> &read) const
{
	std::lock_guard lock(mutex_);
	std::unique_ptr<Watched> &watched = watched_[number];

	try {
		if (!watched)
			watched = std::make_unique<Watched>(number);
		return read(*watched);
	} catch (const Error &) {
		watched.reset(); // the driver may have been loaded again
		throw;
	}
}

std::unique_ptr<SampleStream> DriverSource::samples(const std::vector<unsigned> &numbers,
						    const SampleOptions &options) const
{
	if (numbers.size() > 1)
		throw Error(Error::Source, "one GPU at a time: use -g X");
	if (std::any_of(options.runlists.begin(), options.runlists.end(), [](u32 id) { return id != 0; }))
		throw Error(Error::Source, "the driver reports only the graphics engine, which is on runlist 0");
	return std::make_unique<BackgroundSamples>(
		std::make_unique<DriverSamples>(numbers.empty() ? 0 : numbers[0], options.period_us,
						options.tsgs.empty() ? std::vector<RunTsg>()
								     : read_run_file(options.tsgs),
						options.background ? rm::Search::Background : rm::Search::Screen),
		options.period_us < LONG_PERIOD_US ? PIECE
		: options.background               ? BACKGROUND_PIECE
						   : LONG_PIECE);
}

Gpu DriverSource::gpu_at(const std::string &pci)
{
	rm::Client client;

	for (const rm::Attached &gpu : client.gpus())
		if (is_same_address(gpu.pci, pci)) {
			Gpu read = Reader(client, gpu).read();
			read.index = static_cast<int>(gpu.index);
			return read;
		}
	throw Error(Error::Source, fmt::format("NVIDIA's driver reports no GPU at {}", pci));
}

// Returns whether both have the same GPCs with the same TPCs.
static bool has_same_gpcs(const Gpu &a, const Gpu &b)
{
	return a.has_gpcs && b.has_gpcs &&
	       std::equal(a.gpcs.begin(), a.gpcs.end(), b.gpcs.begin(), b.gpcs.end(),
			  [](const Gpc &x, const Gpc &y) { return x.id == y.id && x.tpc_mask == y.tpc_mask; });
}

bool add_driver_sms(Gpu &gpu)
{
	Gpu reported;

	if (!rm::Client::has_node())
		return false;
	try {
		reported = DriverSource::gpu_at(gpu.chip.device);
	} catch (const Error &) { // the driver does not have this GPU, or refuses
		return false;
	}
	if (reported.sms.empty() || !has_same_gpcs(gpu, reported))
		return false;
	gpu.sms = std::move(reported.sms);
	for (size_t i = 0; i < gpu.gpcs.size(); i++)
		gpu.gpcs[i].logical = reported.gpcs[i].logical;
	return true;
}

} // namespace tool
