// SPDX-License-Identifier: GPL-2.0
// Reads a profile; refuses one that contradicts itself (an engine on a runlist that is not listed, and so on).
#include "model/profile.hpp"

#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

namespace emu {

namespace {

int read_number_or_none(const Entry &obj, const char *key)
{
	auto entry = obj.find(key);
	return !entry || entry->value().is_null() ? -1 : entry->number<int>();
}

std::vector<PtopRow> parse_row_order(const Entry &ptop)
{
	static const std::map<std::string, PtopRow> names = {
		{"data", PtopRow::Data}, {"enum", PtopRow::Enum}, {"type", PtopRow::Type}};
	auto entry = ptop.find("row_order");
	std::istringstream in(entry ? entry->text() : "data enum type");
	std::vector<PtopRow> order;
	for (std::string word; in >> word;) {
		auto row = names.find(word);
		if (row == names.end())
			entry->refuse("unknown row " + word + "; there are data, enum and type");
		order.push_back(row->second);
	}
	if (order.size() != 3 || std::set<PtopRow>(order.begin(), order.end()).size() != 3)
		entry->refuse("must name data, enum and type, once each");
	return order;
}

const Traits &read_family(const Entry &profile)
{
	Entry family = profile.at("family");
	if (const Traits *traits = find_traits(family.text()))
		return *traits;
	family.refuse("unknown family " + family.text() + "; emulator/model/traits.cc lists the known ones");
}

} // namespace

Profile::Profile(const nlohmann::json &json, const std::string &file)
	: Profile(Entry(json, file.empty() ? "profile" : "profile " + file))
{
}

Profile::Profile(const Entry &j) : traits(read_family(j))
{
	check_sources(j);
	document = j.document();
	name = j.at("name").text();
	marketing = j.text("marketing", name);
	entry_inst = traits.entry_inst;
	if (auto soc = j.find("soc")) {
		unified = soc->flag("unified_memory", true);
		vid_means_sysmem = soc->flag("vid_means_sysmem", false);
		entry_inst = soc->flag("entry_inst", false);
		channel_preempt = soc->flag("channel_preempt", true);
		image_magic_4 = soc->flag("image_magic_4", false);
	}
	tsg_headers = j.flag("tsg_headers", true);
	boot0 = j.at("boot0").number<u32>();
	boot42 = j.at("boot42").number<u32>();

	const Entry pci = j.at("pci");
	pci_vendor = pci.number<u16>("vendor", 0x10de);
	pci_device = pci.at("device").number<u16>();
	pci_subvendor = pci.number<u16>("subsystem_vendor", 0x10de);
	pci_subdevice = pci.number<u16>("subsystem_device", 0);
	pci_class = pci.number<u32>("class", 0x030000);
	pci_revision = pci.number<u8>("revision", 0xa1);
	static const unsigned older[3] = {0, 1, 3}, wide[3] = {0, 2, 4};
	for (int i = 0; i < 3; i++) {
		static const char *const keys[3] = {"bar0_size", "bar1_size", "bar2_size"};
		bar_index[i] = (traits.pci64 ? wide : older)[i];
		bar_size[i] = pci.number<u64>(keys[i], 16u << 20);
		if (bar_size[i] & (bar_size[i] - 1) || bar_size[i] > (1u << 31))
			pci.at(keys[i]).refuse("not a power of two up to 2 GiB");
	}
	memory_bytes = j.at("memory").at("bytes").number<u64>();

	const Entry scal = j.at("scal");
	num_gpcs = scal.at("gpcs").number<unsigned>();
	tpc_per_gpc = scal.at("tpc_per_gpc").number<unsigned>();
	num_fbps = scal.number<unsigned>("fbps", 0);
	num_fbpas = scal.number<unsigned>("fbpas", num_fbps);
	num_ces = scal.number<unsigned>("ces", 0);
	ltc_per_fbp = scal.number<unsigned>("ltc_per_fbp", 0);
	num_ltcs = scal.number<unsigned>("ltcs", 0);
	slices_per_ltc = scal.number<unsigned>("slices_per_ltc", 0);
	pes_per_gpc = scal.number<unsigned>("pes_per_gpc", 0);

	const Entry fuses = j.at("fuses"); // Kepler: not readable, but the units are off all the same
	gpc_disabled = fuses.at("gpc").number<u32>();
	if (auto fbps = fuses.find("fbp"))
		fbp_disabled = fbps->number<u32>();
	for (const Entry &m : fuses.at("tpc_gpc").items())
		tpc_disabled.push_back(m.number<u32>());
	if (tpc_disabled.size() != num_gpcs)
		fuses.at("tpc_gpc").refuse("needs one mask for each of the " + std::to_string(num_gpcs) +
					   " GPCs of scal.gpcs");

	pce_map = 0;
	if (traits.copy != CopyMap::None && traits.copy != CopyMap::Locked) {
		const Entry copy = j.at("copy");
		pce_map = copy.at("pce_map").number<u32>();
		for (const Entry &l : copy.at("pce2lce").items())
			pce2lce.push_back(l.number<unsigned>());
		for (const Entry &g : copy.at("grce_config").items())
			grce_config.push_back(g.number<u32>());
	}

	const Entry host = j.at("host");
	channels = host.number<unsigned>("channels", 0);
	max_runlists = host.number<unsigned>("max_runlists", 0);
	max_engines = host.number<unsigned>("max_engines", 0);
	num_pbdma = host.number<unsigned>("num_pbdma", 0);
	host_class = host.number<u32>("class", 0);
	pbdma_fault_id = host.number<u32>("pbdma_fault_id", 0);

	for (const Entry &r : j.at("runlists").at("list").items()) {
		RunlistInfo info;
		info.id = r.at("id").number<int>();
		info.pri_base = r.number<u32>("pri_base", 0);
		info.chram_base = r.number<u32>("chram_base", 0);
		info.channels = r.number<unsigned>("channels", pfifo() ? 0 : 2048);
		for (const Entry &p : r.at("pbdmas").items())
			info.pbdmas.push_back(p.number<unsigned>());
		if (info.pbdmas.empty() || info.pbdmas.size() > 2)
			r.at("pbdmas").refuse("a runlist has one or two PBDMAs");
		runlists.push_back(info);
	}
	for (const Entry &e : j.at("engines").at("list").items()) {
		EngineInfo info;
		info.name = e.at("name").text();
		info.type = e.at("type").number<unsigned>();
		info.instance = e.number<unsigned>("instance", 0);
		info.runlist = read_number_or_none(e, "runlist");
		info.engine_id = read_number_or_none(e, "engine_id");
		info.intr = read_number_or_none(e, "intr");
		info.reset = read_number_or_none(e, "reset");
		info.fault = read_number_or_none(e, "fault");
		info.die = e.number<unsigned>("die", 0);
		info.group = e.number<unsigned>("group", 0);
		info.pri_base = e.number<u32>("pri_base", 0);
		info.rleng = e.number<unsigned>("rleng", 0);
		bool known = info.runlist < 0;
		for (const RunlistInfo &r : runlists)
			known |= r.id == info.runlist;
		if (!known)
			e.at("runlist").refuse(std::to_string(info.runlist) + " of engine " + info.name +
					       " is not in runlists.list");
		engines.push_back(info);
	}
	const Entry table = j.at("ptop");
	ptop_rows = table.number<unsigned>("rows", 64);
	ptop_max_devices = table.number<unsigned>("max_devices", engines.size());
	ptop_row_order = parse_row_order(table);
	for (const char *key : {"order", "order_die1"}) {
		auto order = table.find(key);
		if (!order)
			continue;
		ptop.emplace_back();
		for (const Entry &o : order->items())
			ptop.back().order.push_back(o.value().is_string() ? find_engine_index(o) : -1);
	}
	if (ptop.empty())
		table.at("order");

	if (auto t = j.find("timing")) {
		timing.runlist_fetch = t->number("runlist_fetch_ns", timing.runlist_fetch);
		timing.switch_request = t->number("switch_request_ns", timing.switch_request);
		timing.save_wfi = t->number("save_wfi_ns", timing.save_wfi);
		timing.save_cta = t->number("save_cta_ns", timing.save_cta);
		timing.save_gfxp = t->number("save_gfxp_ns", timing.save_gfxp);
		timing.save_cilp = t->number("save_cilp_ns", timing.save_cilp);
		timing.load = t->number("load_ns", timing.load);
		timing.idle_gap = t->number("idle_gap_ns", timing.idle_gap);
		timing.preempt_absent = t->number("preempt_absent_ns", timing.preempt_absent);
	}
}

int Profile::find_engine_index(const Entry &wanted) const
{
	for (size_t i = 0; i < engines.size(); i++)
		if (engines[i].name == wanted.text())
			return int(i);
	wanted.refuse("there is no engine " + wanted.text() + " in engines.list");
}

const EngineInfo *Profile::find_engine(const std::string &wanted) const
{
	for (const auto &e : engines)
		if (e.name == wanted)
			return &e;
	return nullptr;
}

} // namespace emu
