// SPDX-License-Identifier: GPL-2.0
// Reads a profile; refuses one that contradicts itself (an engine on a runlist that is not listed, and so on).
#include "model/profile.hpp"

#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

namespace emu {

using nlohmann::json;

uint64_t number(const json &v)
{
	if (v.is_string()) {
		const auto &s = v.get_ref<const std::string &>();
		size_t used = 0;
		uint64_t n = std::stoull(s, &used, 0);
		if (used != s.size())
			throw std::invalid_argument("not a number: " + s);
		return n;
	}
	if (v.is_number_integer() && v.get<int64_t>() < 0 && !v.is_number_unsigned())
		throw std::invalid_argument("negative number: " + v.dump());
	if (!v.is_number_integer())
		throw std::invalid_argument("not a number: " + v.dump());
	return v.get<uint64_t>();
}

uint64_t number(const json &obj, const char *key, uint64_t otherwise)
{
	auto it = obj.find(key);
	return it == obj.end() ? otherwise : number(*it);
}

static int number_or_none(const json &obj, const char *key)
{
	auto it = obj.find(key);
	return it == obj.end() || it->is_null() ? -1 : int(number(*it));
}

static std::vector<PtopRow> row_order(const std::string &text)
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

Profile::Profile(const json &j) : is(traits_of(j.at("family")))
{
	check_sources(j);
	name = j.at("name");
	marketing = j.value("marketing", name);
	entry_inst = is.entry_inst;
	if (auto soc = j.find("soc"); soc != j.end()) {
		unified = soc->value("unified_memory", true);
		vid_means_sysmem = soc->value("vid_means_sysmem", false);
		entry_inst = soc->value("entry_inst", false);
		channel_preempt = soc->value("channel_preempt", true);
		image_magic_4 = soc->value("image_magic_4", false);
	}
	tsg_headers = j.value("tsg_headers", true);
	boot0 = number(j.at("boot0"));
	boot42 = number(j.at("boot42"));

	const json &pci = j.at("pci");
	pci_vendor = number(pci, "vendor", 0x10de);
	pci_device = number(pci.at("device"));
	pci_subvendor = number(pci, "subsystem_vendor", 0x10de);
	pci_subdevice = number(pci, "subsystem_device", 0);
	pci_class = number(pci, "class", 0x030000);
	pci_revision = number(pci, "revision", 0xa1);
	static const unsigned older[3] = {0, 1, 3}, wide[3] = {0, 2, 4};
	for (int i = 0; i < 3; i++) {
		static const char *const keys[3] = {"bar0_size", "bar1_size", "bar2_size"};
		bar_index[i] = (is.pci64 ? wide : older)[i];
		bar_size[i] = number(pci, keys[i], 16u << 20);
		if (bar_size[i] & (bar_size[i] - 1) || bar_size[i] > (1u << 31))
			throw std::invalid_argument("profile: bad BAR size");
	}
	memory_bytes = number(j.at("memory").at("bytes"));

	const json &scal = j.at("scal");
	num_gpcs = number(scal.at("gpcs"));
	tpc_per_gpc = number(scal.at("tpc_per_gpc"));
	num_fbps = number(scal, "fbps", 0);
	num_fbpas = number(scal, "fbpas", num_fbps);
	num_ces = number(scal, "ces", 0);
	ltc_per_fbp = number(scal, "ltc_per_fbp", 0);
	num_ltcs = number(scal, "ltcs", 0);
	slices_per_ltc = number(scal, "slices_per_ltc", 0);
	pes_per_gpc = number(scal, "pes_per_gpc", 0);

	const json &fuses = j.at("fuses"); // Kepler: not readable, but the units are off all the same
	gpc_disabled = number(fuses.at("gpc"));
	for (const auto &m : fuses.at("tpc_gpc"))
		tpc_disabled.push_back(number(m));
	if (tpc_disabled.size() != num_gpcs)
		throw std::invalid_argument("profile: fuses.tpc_gpc needs one mask for each physical GPC");

	pce_map = 0;
	if (is.copy != CopyMap::None && is.copy != CopyMap::Locked) {
		const json &copy = j.at("copy");
		pce_map = number(copy.at("pce_map"));
		for (const auto &l : copy.at("pce2lce"))
			pce2lce.push_back(number(l));
		for (const auto &g : copy.at("grce_config"))
			grce_config.push_back(number(g));
	}

	const json &host = j.at("host");
	channels = number(host, "channels", 0);
	max_runlists = number(host, "max_runlists", 0);
	max_engines = number(host, "max_engines", 0);
	num_pbdma = number(host, "num_pbdma", 0);
	host_class = number(host, "class", 0);
	pbdma_fault_id = number(host, "pbdma_fault_id", 0);

	for (const auto &r : j.at("runlists").at("list")) {
		RunlistInfo info;
		info.id = number(r.at("id"));
		info.pri_base = number(r, "pri_base", 0);
		info.chram_base = number(r, "chram_base", 0);
		info.channels = number(r, "channels", pfifo() ? 0 : 2048);
		for (const auto &p : r.at("pbdmas"))
			info.pbdmas.push_back(number(p));
		if (info.pbdmas.empty() || info.pbdmas.size() > 2)
			throw std::invalid_argument("profile: a runlist has one or two PBDMAs");
		runlists.push_back(info);
	}
	for (const auto &e : j.at("engines").at("list")) {
		EngineInfo info;
		info.name = e.at("name");
		info.type = number(e.at("type"));
		info.instance = number(e, "instance", 0);
		info.runlist = number_or_none(e, "runlist");
		info.engine_id = number_or_none(e, "engine_id");
		info.intr = number_or_none(e, "intr");
		info.reset = number_or_none(e, "reset");
		info.fault = number_or_none(e, "fault");
		info.die = number(e, "die", 0);
		info.group = number(e, "group", 0);
		info.pri_base = number(e, "pri_base", 0);
		info.rleng = number(e, "rleng", 0);
		bool known = info.runlist < 0;
		for (const auto &r : runlists)
			known |= r.id == info.runlist;
		if (!known)
			throw std::invalid_argument("profile: engine " + info.name +
						    " is on a runlist that is not listed");
		engines.push_back(info);
	}
	const json &table = j.at("ptop");
	ptop_rows = number(table, "rows", 64);
	ptop_max_devices = number(table, "max_devices", engines.size());
	ptop_row_order = row_order(table.value("row_order", "data enum type"));
	for (const char *key : {"order", "order_die1"}) {
		auto order = table.find(key);
		if (order == table.end())
			continue;
		ptop.emplace_back();
		for (const auto &o : *order)
			ptop.back().order.push_back(o.is_string() ? engine_index(o) : -1);
	}
	if (ptop.empty())
		throw std::invalid_argument("profile: ptop.order is missing");

	if (auto t = j.find("timing"); t != j.end()) {
		timing.runlist_fetch = number(*t, "runlist_fetch_ns", timing.runlist_fetch);
		timing.switch_request = number(*t, "switch_request_ns", timing.switch_request);
		timing.save_wfi = number(*t, "save_wfi_ns", timing.save_wfi);
		timing.save_cta = number(*t, "save_cta_ns", timing.save_cta);
		timing.save_gfxp = number(*t, "save_gfxp_ns", timing.save_gfxp);
		timing.save_cilp = number(*t, "save_cilp_ns", timing.save_cilp);
		timing.load = number(*t, "load_ns", timing.load);
		timing.idle_gap = number(*t, "idle_gap_ns", timing.idle_gap);
		timing.preempt_absent = number(*t, "preempt_absent_ns", timing.preempt_absent);
	}
}

int Profile::engine_index(const std::string &wanted) const
{
	for (size_t i = 0; i < engines.size(); i++)
		if (engines[i].name == wanted)
			return int(i);
	throw std::invalid_argument("profile: ptop.order names " + wanted);
}

const EngineInfo *Profile::engine(const std::string &wanted) const
{
	for (const auto &e : engines)
		if (e.name == wanted)
			return &e;
	return nullptr;
}

} // namespace emu
