// SPDX-License-Identifier: GPL-2.0
// Reads a profile; refuses one that contradicts itself (an engine on a runlist that is not listed, and so on).
#include "model/profile.hpp"

#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

namespace emu {

using nlohmann::json;

u64 read_number(const json &v)
{
	if (v.is_string()) {
		const auto &s = v.get_ref<const std::string &>();
		size_t used = 0;
		u64 n = std::stoull(s, &used, 0);
		if (used != s.size())
			throw std::invalid_argument("not a number: " + s);
		return n;
	}
	if (v.is_number_integer() && v.get<int64_t>() < 0 && !v.is_number_unsigned())
		throw std::invalid_argument("negative number: " + v.dump());
	if (!v.is_number_integer())
		throw std::invalid_argument("not a number: " + v.dump());
	return v.get<u64>();
}

u64 read_number(const json &obj, const char *key, u64 otherwise)
{
	auto it = obj.find(key);
	return it == obj.end() ? otherwise : read_number(*it);
}

namespace {

int read_number_or_none(const json &obj, const char *key)
{
	auto it = obj.find(key);
	return it == obj.end() || it->is_null() ? -1 : int(read_number(*it));
}

std::vector<PtopRow> parse_row_order(const std::string &text)
{
	static const std::map<std::string, PtopRow> names = {
		{"data", PtopRow::Data}, {"enum", PtopRow::Enum}, {"type", PtopRow::Type}};
	std::istringstream in(text);
	std::vector<PtopRow> order;
	for (std::string word; in >> word;)
		order.push_back(names.contains(word) ? names.at(word)
						     : throw std::invalid_argument("profile: ptop.row_order: " + word));
	if (order.size() != 3 || std::set<PtopRow>(order.begin(), order.end()).size() != 3)
		throw std::invalid_argument("profile: ptop.row_order names data, enum and type, once each");
	return order;
}

} // namespace

Profile::Profile(const json &j) : traits(traits_of(j.at("family")))
{
	check_sources(j);
	name = j.at("name");
	marketing = j.value("marketing", name);
	entry_inst = traits.entry_inst;
	if (auto soc = j.find("soc"); soc != j.end()) {
		unified = soc->value("unified_memory", true);
		vid_means_sysmem = soc->value("vid_means_sysmem", false);
		entry_inst = soc->value("entry_inst", false);
		channel_preempt = soc->value("channel_preempt", true);
		image_magic_4 = soc->value("image_magic_4", false);
	}
	tsg_headers = j.value("tsg_headers", true);
	boot0 = read_number(j.at("boot0"));
	boot42 = read_number(j.at("boot42"));

	const json &pci = j.at("pci");
	pci_vendor = read_number(pci, "vendor", 0x10de);
	pci_device = read_number(pci.at("device"));
	pci_subvendor = read_number(pci, "subsystem_vendor", 0x10de);
	pci_subdevice = read_number(pci, "subsystem_device", 0);
	pci_class = read_number(pci, "class", 0x030000);
	pci_revision = read_number(pci, "revision", 0xa1);
	static const unsigned older[3] = {0, 1, 3}, wide[3] = {0, 2, 4};
	for (int i = 0; i < 3; i++) {
		static const char *const keys[3] = {"bar0_size", "bar1_size", "bar2_size"};
		bar_index[i] = (traits.pci64 ? wide : older)[i];
		bar_size[i] = read_number(pci, keys[i], 16u << 20);
		if (bar_size[i] & (bar_size[i] - 1) || bar_size[i] > (1u << 31))
			throw std::invalid_argument("profile: bad BAR size");
	}
	memory_bytes = read_number(j.at("memory").at("bytes"));

	const json &scal = j.at("scal");
	num_gpcs = read_number(scal.at("gpcs"));
	tpc_per_gpc = read_number(scal.at("tpc_per_gpc"));
	num_fbps = read_number(scal, "fbps", 0);
	num_fbpas = read_number(scal, "fbpas", num_fbps);
	num_ces = read_number(scal, "ces", 0);
	ltc_per_fbp = read_number(scal, "ltc_per_fbp", 0);
	num_ltcs = read_number(scal, "ltcs", 0);
	slices_per_ltc = read_number(scal, "slices_per_ltc", 0);
	pes_per_gpc = read_number(scal, "pes_per_gpc", 0);

	const json &fuses = j.at("fuses"); // Kepler: not readable, but the units are off all the same
	gpc_disabled = read_number(fuses.at("gpc"));
	for (const auto &m : fuses.at("tpc_gpc"))
		tpc_disabled.push_back(read_number(m));
	if (tpc_disabled.size() != num_gpcs)
		throw std::invalid_argument("profile: fuses.tpc_gpc needs one mask for each physical GPC");

	pce_map = 0;
	if (traits.copy != CopyMap::None && traits.copy != CopyMap::Locked) {
		const json &copy = j.at("copy");
		pce_map = read_number(copy.at("pce_map"));
		for (const auto &l : copy.at("pce2lce"))
			pce2lce.push_back(read_number(l));
		for (const auto &g : copy.at("grce_config"))
			grce_config.push_back(read_number(g));
	}

	const json &host = j.at("host");
	channels = read_number(host, "channels", 0);
	max_runlists = read_number(host, "max_runlists", 0);
	max_engines = read_number(host, "max_engines", 0);
	num_pbdma = read_number(host, "num_pbdma", 0);
	host_class = read_number(host, "class", 0);
	pbdma_fault_id = read_number(host, "pbdma_fault_id", 0);

	for (const auto &r : j.at("runlists").at("list")) {
		RunlistInfo info;
		info.id = read_number(r.at("id"));
		info.pri_base = read_number(r, "pri_base", 0);
		info.chram_base = read_number(r, "chram_base", 0);
		info.channels = read_number(r, "channels", pfifo() ? 0 : 2048);
		for (const auto &p : r.at("pbdmas"))
			info.pbdmas.push_back(read_number(p));
		if (info.pbdmas.empty() || info.pbdmas.size() > 2)
			throw std::invalid_argument("profile: a runlist has one or two PBDMAs");
		runlists.push_back(info);
	}
	for (const auto &e : j.at("engines").at("list")) {
		EngineInfo info;
		info.name = e.at("name");
		info.type = read_number(e.at("type"));
		info.instance = read_number(e, "instance", 0);
		info.runlist = read_number_or_none(e, "runlist");
		info.engine_id = read_number_or_none(e, "engine_id");
		info.intr = read_number_or_none(e, "intr");
		info.reset = read_number_or_none(e, "reset");
		info.fault = read_number_or_none(e, "fault");
		info.die = read_number(e, "die", 0);
		info.group = read_number(e, "group", 0);
		info.pri_base = read_number(e, "pri_base", 0);
		info.rleng = read_number(e, "rleng", 0);
		bool known = info.runlist < 0;
		for (const auto &r : runlists)
			known |= r.id == info.runlist;
		if (!known)
			throw std::invalid_argument("profile: engine " + info.name +
						    " is on a runlist that is not listed");
		engines.push_back(info);
	}
	const json &table = j.at("ptop");
	ptop_rows = read_number(table, "rows", 64);
	ptop_max_devices = read_number(table, "max_devices", engines.size());
	ptop_row_order = parse_row_order(table.value("row_order", "data enum type"));
	for (const char *key : {"order", "order_die1"}) {
		auto order = table.find(key);
		if (order == table.end())
			continue;
		ptop.emplace_back();
		for (const auto &o : *order)
			ptop.back().order.push_back(o.is_string() ? find_engine_index(o) : -1);
	}
	if (ptop.empty())
		throw std::invalid_argument("profile: ptop.order is missing");

	if (auto t = j.find("timing"); t != j.end()) {
		timing.runlist_fetch = read_number(*t, "runlist_fetch_ns", timing.runlist_fetch);
		timing.switch_request = read_number(*t, "switch_request_ns", timing.switch_request);
		timing.save_wfi = read_number(*t, "save_wfi_ns", timing.save_wfi);
		timing.save_cta = read_number(*t, "save_cta_ns", timing.save_cta);
		timing.save_gfxp = read_number(*t, "save_gfxp_ns", timing.save_gfxp);
		timing.save_cilp = read_number(*t, "save_cilp_ns", timing.save_cilp);
		timing.load = read_number(*t, "load_ns", timing.load);
		timing.idle_gap = read_number(*t, "idle_gap_ns", timing.idle_gap);
		timing.preempt_absent = read_number(*t, "preempt_absent_ns", timing.preempt_absent);
	}
}

int Profile::find_engine_index(const std::string &wanted) const
{
	for (size_t i = 0; i < engines.size(); i++)
		if (engines[i].name == wanted)
			return int(i);
	throw std::invalid_argument("profile: ptop.order names " + wanted);
}

const EngineInfo *Profile::find_engine(const std::string &wanted) const
{
	for (const auto &e : engines)
		if (e.name == wanted)
			return &e;
	return nullptr;
}

} // namespace emu
