// SPDX-License-Identifier: GPL-2.0
// Parses the records of include/uapi/gpulens.h.
#include "lib/source/snapshot/snapshot.hpp"

#include "hw/ptop.h"
#include "lib/base/errors.hpp"
#include "uapi/gpulens.h"

#include <cstring>
#include <endian.h>
#include <fmt/format.h>

namespace tool {

namespace {

constexpr u32 MAX_TPCS_OF_GPC = 32; // bits of a TPC mask

// Converts a field that ends with a zero or fills its array. Other than printable ASCII becomes '?'.
template <size_t n> std::string text_of(const char (&field)[n])
{
	std::string s(field, strnlen(field, n));

	for (char &c : s)
		if (c < ' ' || c > '~')
			c = '?';
	return s;
}

class Reader {
public:
	Reader(Gpu &gpu, unsigned version) : gpu_(gpu), version_(version) {}

	// Parses 64 bytes. Unknown types are ignored.
	void read_record(const char *bytes)
	{
		uint16_t type;

		std::memcpy(&type, bytes, sizeof(type));
		switch (le16toh(type)) {
		case GPULENS_RECORD_CHIP: return read_chip(as<gpulens_chip>(bytes));
		case GPULENS_RECORD_ENGINE: return read_engine(as<gpulens_engine>(bytes));
		case GPULENS_RECORD_ENGINE_NOW: return read_engine_now(as<gpulens_engine_now>(bytes));
		case GPULENS_RECORD_RUNLIST: return read_runlist(as<gpulens_runlist>(bytes));
		case GPULENS_RECORD_TSG: return read_tsg(as<gpulens_tsg>(bytes));
		case GPULENS_RECORD_CHANNEL: return read_channel(as<gpulens_channel>(bytes));
		case GPULENS_RECORD_GPC: return read_gpc(as<gpulens_gpc>(bytes));
		case GPULENS_RECORD_PCE: return read_pce(as<gpulens_pce>(bytes));
		case GPULENS_RECORD_GRCE: return read_grce(as<gpulens_grce>(bytes));
		default: return;
		}
	}

private:
	template <class Record> static Record as(const char *bytes)
	{
		Record r;

		static_assert(sizeof(r) == GPULENS_RECORD_BYTES);
		std::memcpy(&r, bytes, sizeof(r));
		return r;
	}

	void read_chip(const gpulens_chip &r)
	{
		Chip &c = gpu_.chip;
		const lens_chip_id *row;
		bool known;

		c.id = le16toh(r.chip_id);
		c.name = text_of(r.name);
		c.device = text_of(r.device);
		c.boot0 = le32toh(r.boot0);
		c.ids_per_runlist = r.ids_per_runlist;
		c.memory_bytes = le64toh(r.local_memory);
		// Constants of a chip come from the core's tables, which the tool is built with.
		if (const lens_chip *found = lens_chip_find(c.id, &row, &known)) {
			c.architecture = found->arch;
			if (const char *assumed = lens_chip_get_assumed(found, row))
				c.assumed = assumed;
			c.known = known;
			gpu_.has_runlists = known && found->host;
			gpu_.tpc_order = found->tpc_order;
		}
		gpu_.num_gpcs = r.num_gpcs;
		gpu_.num_tpc_per_gpc = r.num_tpc_per_gpc;
		gpu_.num_ces = r.num_ces;
		gpu_.gpc_mask = le32toh(r.gpc_mask);
		gpu_.pce_map = le32toh(r.pce_map);
		c.engines_dropped = r.engines_dropped;
		check_part(r.engines_error, Part::Engines, gpu_.engine_failures);
		for (Failure &f : gpu_.engine_failures)
			f.reason = describe_dropped_engines(f.err, c.engines_dropped);
		gpu_.has_gpcs = check_part(r.gpcs_error, Part::Gpcs, gpu_.gpc_failures);
		gpu_.has_copy = check_part(r.copy_error, Part::Copy, gpu_.copy_failures);
		if (!gpu_.has_runlists)
			gpu_.runlist_failures.push_back({Part::Runlists, -EOPNOTSUPP, {}});
	}

	// Returns whether the part was read. err: positive errno.
	static bool check_part(u8 err, Part item, std::vector<Failure> &failures)
	{
		if (err)
			failures.push_back({item, -err, {}});
		return !err;
	}

	// The module writes at most the core's limit; later steps may take time quadratic in the number.
	static void check_limit(size_t count, size_t limit, const char *items)
	{
		if (count >= limit)
			throw Error(Error::Source,
				    fmt::format("the snapshot has more than {} {}, which no GPU has", limit, items));
	}

	void read_engine(const gpulens_engine &r)
	{
		check_limit(gpu_.engines.size(), LENS_MAX_ENGINES, "engines");
		gpu_.engines.push_back(engine_from_record(r, version_));
	}

	void read_engine_now(const gpulens_engine_now &r)
	{
		u32 i = le16toh(r.engine);
		EngineNow now;

		if (i >= gpu_.engines.size())
			throw Error(Error::Source,
				    fmt::format("the snapshot has the state of engine {}, but not that engine", i));
		now.err = -r.error;
		if (!now.err) {
			now.state = r.kind <= GPULENS_SAMPLE_SWITCH ? static_cast<lens_engine_state>(r.kind)
								    : LENS_ENGINE_UNKNOWN;
			now.id = id_of_record(r.id);
			now.bare = r.flags & GPULENS_SAMPLE_BARE_CHANNEL;
			now.channel = id_of_record(r.channel);
			now.busy = r.flags & GPULENS_SAMPLE_BUSY;
			now.faulted = r.flags & GPULENS_SAMPLE_FAULTED;
			now.reload = r.flags & GPULENS_SAMPLE_RELOAD;
		}
		gpu_.engines[i].now = now;
	}

	void read_runlist(const gpulens_runlist &r)
	{
		Runlist rl;

		check_limit(gpu_.runlists.size(), LENS_MAX_RUNLISTS, "runlists");
		rl.id = le16toh(r.id);
		rl.err = -static_cast<int>(le16toh(r.error));
		rl.base = le64toh(r.base);
		rl.target = r.target;
		// Version 1 wrote zeros for a runlist that could not be read.
		rl.channel_ids = le32toh(r.channels);
		rl.has_regs = version_ < 2 ? !rl.err : le32toh(r.flags) & GPULENS_RUNLIST_REGS;
		rl.length = version_ < 2 ? le16toh(r.entries) : le32toh(r.length);
		rl.pending = le32toh(r.flags) & GPULENS_RUNLIST_PENDING;
		rl.torn = le32toh(r.flags) & GPULENS_RUNLIST_TORN;
		if (rl.err)
			gpu_.runlist_failures.push_back({{Part::Runlist, rl.id}, rl.err, {}});
		gpu_.addresses |= rl.base != 0;
		gpu_.runlists.push_back(std::move(rl));
		position_ = 0;
	}

	void read_tsg(const gpulens_tsg &r)
	{
		if (gpu_.runlists.empty())
			throw Error(Error::Source, "a TSG comes before any runlist");
		gpu_.runlists.back().tsgs.push_back({.id = le16toh(r.id),
						     .scale = r.timeslice_scale,
						     .timeout = r.timeslice_timeout,
						     .timeslice_ns = le64toh(r.timeslice_ns),
						     .length = le16toh(r.length),
						     .channels = {}});
		position_++;
	}

	static lens_channel_state state_of(const gpulens_channel &r, bool chram)
	{
		u32 f = le32toh(r.flags);
		lens_channel_state s{};

		s.enable = f & GPULENS_CHANNEL_ENABLED;
		s.next = f & GPULENS_CHANNEL_NEXT;
		s.ctx_reload = f & GPULENS_CHANNEL_CTX_RELOAD;
		s.pbdma_faulted = f & GPULENS_CHANNEL_PBDMA_FAULTED;
		s.eng_faulted = f & GPULENS_CHANNEL_ENG_FAULTED;
		s.busy = f & GPULENS_CHANNEL_BUSY;
		s.status = r.status;
		s.chram = chram;
		s.on_pbdma = f & GPULENS_CHANNEL_ON_PBDMA;
		s.on_eng = f & GPULENS_CHANNEL_ON_ENG;
		s.pending = f & GPULENS_CHANNEL_PENDING;
		s.pbdma_busy = f & GPULENS_CHANNEL_PBDMA_BUSY;
		s.eng_busy = f & GPULENS_CHANNEL_ENG_BUSY;
		s.acquire_fail = f & GPULENS_CHANNEL_ACQUIRE_FAIL;
		s.pccsr = !chram;
		s.bound = f & GPULENS_CHANNEL_BOUND;
		return s;
	}

	void read_channel(const gpulens_channel &r)
	{
		Channel c;

		if (gpu_.runlists.empty())
			throw Error(Error::Source, "a channel comes before any runlist");
		Runlist &rl = gpu_.runlists.back();
		c.id = le16toh(r.id);
		c.runlist = rl.id;
		c.position = position_++;
		c.tsg = id_of_record(r.tsg);
		c.runqueue = r.runqueue;
		c.inst = le64toh(r.inst);
		// Version 1 wrote 0 for an unknown target.
		if (!(le32toh(r.flags) & GPULENS_CHANNEL_NO_TARGET || (version_ < 2 && r.error)))
			c.inst_target = r.inst_target;
		c.err = -r.error;
		if (!c.err)
			// Chips with channel RAM are those that count ids per runlist.
			c.state = state_of(r, gpu_.chip.ids_per_runlist);
		else
			gpu_.runlist_failures.push_back({{Part::Channel, rl.id, c.id}, c.err, {}});
		if (c.tsg == LENS_NONE || rl.tsgs.empty())
			rl.outside.push_back(c);
		else
			rl.tsgs.back().channels.push_back(c);
	}

	void read_gpc(const gpulens_gpc &r)
	{
		check_limit(gpu_.gpcs.size(), LENS_MAX_GPCS, "GPCs");
		if (le16toh(r.tpcs) > MAX_TPCS_OF_GPC || le16toh(r.first_tpc) >= LENS_MAX_GPCS * MAX_TPCS_OF_GPC)
			throw Error(Error::Source,
				    fmt::format("the snapshot has {} TPCs from TPC {} on in GPC {}, which no GPU has",
						le16toh(r.tpcs), le16toh(r.first_tpc), le16toh(r.id)));
		gpu_.gpcs.push_back({.id = le16toh(r.id),
				     .tpc_mask = le32toh(r.tpc_mask),
				     .tpcs = le16toh(r.tpcs),
				     .first_tpc = le16toh(r.first_tpc)});
	}

	void read_pce(const gpulens_pce &r)
	{
		if (le16toh(r.id) >= LENS_MAX_PCES)
			throw Error(Error::Source, fmt::format("PCE {} is beyond what chips have", le16toh(r.id)));
		gpu_.lce_for_pce[le16toh(r.id)] = id_of_record(r.lce);
	}

	void read_grce(const gpulens_grce &r)
	{
		size_t id = le16toh(r.id);

		if (id >= LENS_MAX_GRCES)
			throw Error(Error::Source,
				    fmt::format("graphics copy engine {} is beyond what chips have", id));
		if (gpu_.shared_lce.size() <= id)
			gpu_.shared_lce.resize(id + 1, LENS_NONE);
		gpu_.shared_lce[id] = id_of_record(r.shared_lce);
	}

	Gpu &gpu_;
	unsigned version_;
	u32 position_ = 0;
};

gpulens_header header_of(std::string_view bytes)
{
	gpulens_header h;

	if (bytes.size() < sizeof(h))
		throw Error(Error::Source, fmt::format("not a snapshot: {} bytes, and its header alone has {}",
						       bytes.size(), sizeof(h)));
	std::memcpy(&h, bytes.data(), sizeof(h));
	if (le32toh(h.magic) != GPULENS_MAGIC)
		throw Error(Error::Source, "not a snapshot: it does not begin with GPLS");
	if (le16toh(h.record_bytes) != GPULENS_RECORD_BYTES)
		throw Error(Error::Source,
			    fmt::format("a snapshot of a newer layout: records of {} bytes", le16toh(h.record_bytes)));
	size_t expected = GPULENS_RECORD_BYTES * (size_t{le32toh(h.records)} + 1);
	if (bytes.size() < expected)
		throw Error(Error::Source,
			    fmt::format("the snapshot is cut short: {} of {} bytes", bytes.size(), expected));
	return h;
}

} // namespace

int id_of_record(uint16_t le)
{
	return static_cast<int16_t>(le16toh(le));
}

Engine engine_from_record(const gpulens_engine &r, unsigned version)
{
	Engine e;

	e.type = le16toh(r.engine_type);
	e.inst = le16toh(r.inst);
	e.runlist = id_of_record(r.runlist);
	e.engine_id = id_of_record(r.engine_id);
	e.intr = id_of_record(r.intr);
	e.reset = id_of_record(r.reset);
	e.fault = id_of_record(r.fault);
	e.pri_base = le32toh(r.pri_base);
	e.runlist_base = le32toh(r.runlist_base);
	e.name = text_of(r.name);
	// Version 1 marked a GRCE by its name only.
	e.grce = version < 2 ? e.type == NV_PTOP_DEVICE_INFO_TYPE_ENUM_LCE && e.name.starts_with("[Graphics] ")
			     : r.flags & GPULENS_ENGINE_GRCE;
	return e;
}

Gpu from_records(std::string_view records, unsigned version)
{
	Gpu gpu;
	Reader reader(gpu, version);

	gpu.addresses = false;
	for (size_t i = 0; i < records.size(); i += GPULENS_RECORD_BYTES)
		reader.read_record(records.data() + i);
	if (gpu.chip.name.empty())
		throw Error(Error::Source, "the snapshot has no chip record");
	return gpu;
}

Gpu from_snapshot(std::string_view bytes, const std::string &source)
{
	gpulens_header h = header_of(bytes);
	Gpu gpu = from_records(bytes.substr(sizeof(h), size_t{le32toh(h.records)} * GPULENS_RECORD_BYTES),
			       le16toh(h.version));

	gpu.source = source;
	gpu.index = static_cast<int>(le32toh(h.gpu));
	gpu.time_ns = le64toh(h.time_ns);
	gpu.took_ns = le64toh(h.took_ns);
	return gpu;
}

bool is_snapshot(std::string_view bytes)
{
	return bytes.starts_with("GPLS");
}

Gpu snapshot_of(std::string_view bytes, const std::string &source)
{
	try {
		return from_snapshot(bytes, source);
	} catch (const Error &e) {
		throw Error(Error::Source, source + ": " + e.what());
	}
}

} // namespace tool
