// SPDX-License-Identifier: GPL-2.0
// Formats the tables of the show commands. The overview is in overview.cc, gpulens isolation in isolation_text.cc.
#include "gpulens/out/text.hpp"

#include "lib/base/format.hpp"
#include "lib/tpc/gpc_map.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace tool {

namespace {

// Formats an id; "-" if it is unknown.
std::string id_or_dash(int id)
{
	return id == LENS_NONE ? "-" : std::to_string(id);
}

std::string hex_or_dash(u64 v)
{
	return v ? fmt::format("{:#x}", v) : "-";
}

std::string yes_if(bool b)
{
	return b ? "yes" : "-";
}

// owners: the table has columns of owners.
void add_channel(Table &t, const Channel &c, bool owners = false)
{
	std::string rest;

	if (c.state.next)
		rest += " next";
	if (c.state.ctx_reload)
		rest += " reload";
	if (c.state.pbdma_faulted)
		rest += " pbdma-fault";
	if (c.state.eng_faulted)
		rest += " engine-fault";
	if (c.state.acquire_fail)
		rest += " acquire-fail";
	std::vector<Cell> cells = {std::to_string(c.runlist),
				   id_or_dash(c.tsg),
				   std::to_string(c.id),
				   Cell(name_of(c.activity()), ink_of(c.activity())),
				   c.status(),
				   c.err ? "?" : yes_if(c.state.enable),
				   c.err ? "?" : yes_if(c.state.busy),
				   std::to_string(c.runqueue),
				   hex_or_dash(c.inst),
				   c.inst_target ? target_name(*c.inst_target) : "-",
				   rest.empty() ? "-" : rest.substr(1)};
	if (owners && c.owner)
		cells.insert(cells.end(), {c.owner->text(), c.owner->user.empty() ? "-" : c.owner->user,
					   name_of(c.owner->evidence)});
	else if (owners)
		cells.insert(cells.end(), {"unknown", "-", "-"});
	t.add(std::move(cells));
}

Table channel_table(bool owners = false)
{
	std::vector<std::string> titles = {"Runlist", "TSG",       "Channel",    "<State",     "<Status", "~<Enabled",
					   "~<Busy",  "~Runqueue", "~<Instance", "~<Aperture", "<Flags"};

	if (owners)
		titles.insert(titles.end(), {"<Process", "~<User", "~<Evidence"});
	return Table(titles);
}

// The gaps in the numbers of runlists, as RTAS'24 lists them: no row of the device table tells more of them.
std::string unused_runlists_text(const Gpu &gpu)
{
	std::vector<u32> unused;
	int last = LENS_NONE;

	for (const Engine &e : gpu.engines)
		last = std::max(last, e.runlist);
	for (int id = 0; id < last; id++)
		if (gpu.engines_of(static_cast<u32>(id)).empty())
			unused.push_back(static_cast<u32>(id));
	if (unused.empty() || !gpu.engine_failures.empty())
		return "";
	return fmt::format("N/A: no known engine has runlist{} {}\n", unused.size() == 1 ? "" : "s",
			   format_ranges(unused));
}

std::string processes_text(const Gpu &gpu)
{
	Table t({"Process", "<Name", "Memory", "<MIG", "<Uses"});

	if (!gpu.processes)
		return "";
	for (const Process &p : *gpu.processes)
		t.add({std::to_string(p.pid), p.name.empty() ? "unknown" : p.name,
		       p.memory_bytes ? format_bytes(*p.memory_bytes) : "-", p.mig ? p.mig->text() : "-",
		       fmt::format("{}", fmt::join(p.uses, ", "))});
	return t.empty() ? "no process uses this GPU\n" : t.str({});
}

// Formats the SMs of each GPC; empty if the source does not report them.
std::string sms_text(const Gpu &gpu, const Style &style)
{
	std::map<u32, std::vector<u32>> by_gpc, by_virtual;
	Table gpcs({"Logical GPC", "GPC", "SMs", "<SM ids (%smid)"}),
		clusters({"Virtual GPC", "SMs", "<SM ids (%smid)"});

	if (gpu.sms.empty())
		return "";
	for (const Sm &s : gpu.sms) {
		by_gpc[s.gpc].push_back(s.id);
		by_virtual[s.virtual_gpc].push_back(s.id);
	}
	for (const auto &[logical, sms] : by_gpc) {
		auto physical = std::find_if(gpu.gpcs.begin(), gpu.gpcs.end(), [&, n = logical](const Gpc &g) {
			return g.logical != LENS_NONE && static_cast<u32>(g.logical) == n;
		});
		gpcs.add({std::to_string(logical), physical == gpu.gpcs.end() ? "-" : std::to_string(physical->id),
			  std::to_string(sms.size()), format_ranges(sms)});
	}
	for (const auto &[id, sms] : by_virtual)
		clusters.add({std::to_string(id), std::to_string(sms.size()), format_ranges(sms)});
	return gpcs.str(style) + "SMs of one virtual GPC can run one thread-block cluster:\n" + clusters.str(style);
}

constexpr const char *BY_SMID = "<TPCs by %smid";

// The hardware's own table of TPCs, if it could be read.
std::string hardware_gpcs_text(const Gpu &gpu, const Style &style)
{
	Table t({"Logical GPC", "TPCs", BY_SMID});

	if (gpu.hardware_gpcs.empty())
		return "";
	for (const HardwareGpc &g : gpu.hardware_gpcs)
		t.add({std::to_string(g.logical), std::to_string(g.tpcs.size()), format_ranges(g.tpcs)});
	return wrap_text("from the hardware (CWD_GPC_TPC_ID): TPCs in the order of %smid, as gpulens run takes them; "
			 "GPCs as the driver numbers them (run takes physical ones):",
			 style.width, "  ") +
	       '\n' + t.str(style);
}

// The hardware's counts of TPCs, where no fuses are published.
std::string counted_gpcs_text(const Gpu &gpu, const Style &style)
{
	Table t({"Logical GPC", "TPCs", "<TPCs by turns (assumed)"});
	size_t tpcs = 0;

	if (gpu.counted_gpcs.empty())
		return "";
	for (const HardwareGpc &g : gpu.counted_gpcs) {
		t.add({std::to_string(g.logical), std::to_string(g.tpcs.size()), format_ranges(g.tpcs)});
		tpcs += g.tpcs.size();
	}
	return wrap_text(fmt::format("{} of {} GPCs, {} of {} TPCs, as the hardware counts them (FECS_FS, GPC_FS); "
				     "GPCs are logical ones, and that their TPCs are numbered by turns is assumed:",
				     gpu.counted_gpcs.size(), gpu.num_gpcs, tpcs, gpu.num_gpcs * gpu.num_tpc_per_gpc),
			 style.width, "  ") +
	       '\n' + t.str(style);
}

std::string runlist_text(const Gpu &gpu, const Runlist &rl, const Style &style)
{
	std::string out = style.paint(Ink::Bold, fmt::format("runlist {}", rl.id)) +
			  fmt::format(": {}; {} entries", engine_list(gpu, rl.id), rl.length);

	if (rl.base)
		out += fmt::format(" at {:#x} ({})", rl.base, target_name(rl.target));
	if (rl.pending)
		out += style.paint(Ink::Magenta, ", submitted, not yet committed");
	if (rl.torn)
		out += style.paint(Ink::Magenta, ", changed while it was read");
	if (rl.err)
		out += style.paint(Ink::Red, ", cannot be read");
	out += '\n';
	for (const Tsg &tsg : rl.tsgs) {
		Table t = channel_table();
		out += fmt::format("  TSG {}: time slice {} ({} << {} x 1.024 us), {}{}{}\n", tsg.id,
				   format_duration(tsg.timeslice_ns), tsg.timeout, tsg.scale,
				   tsg.length == 1 ? "1 channel" : fmt::format("{} channels", tsg.length),
				   tsg.channels.size() < tsg.length
					   ? fmt::format(", of which only {} are on the runlist", tsg.channels.size())
					   : "",
				   tsg.owner ? fmt::format("; {} ({})", tsg.owner->text(), name_of(tsg.owner->evidence))
					     : "");
		for (const Channel &c : tsg.channels)
			add_channel(t, c);
		if (!t.empty())
			out += t.str(style, "    ");
	}
	Table t = channel_table();
	for (const Channel &c : rl.outside)
		add_channel(t, c);
	if (!t.empty())
		out += "  in no TSG\n" + t.str(style, "    ");
	return out;
}

} // namespace

Ink ink_of(Activity activity)
{
	switch (activity) {
	case Activity::Runs: return Ink::Green;
	case Activity::RunsOff:
	case Activity::Off: return Ink::Magenta;
	case Activity::Faulted:
	case Activity::Unreadable: return Ink::Red;
	default: return Ink::None;
	}
}

std::string headline(const Gpu &gpu, const Style &style)
{
	return style.paint(Ink::Bold, gpu.title()) + style.paint(Ink::Dim, ", from " + gpu.source) + '\n';
}

std::string engine_list(const Gpu &gpu, u32 runlist)
{
	std::vector<std::string> names = gpu.engine_names(runlist);

	return names.empty() ? "no engine" : fmt::format("{}", fmt::join(names, ", "));
}

std::string format_item(const std::string &mark, const std::string &text, const Style &style, const std::string &indent)
{
	size_t before = indent.size() + 2;

	return indent + mark + wrap_text(text, style.width > before ? style.width - before : 0, indent + "  ") + '\n';
}

std::string chip_text(const Gpu &gpu, const Style &style)
{
	const Chip &c = gpu.chip;
	std::string out = headline(gpu, style);
	auto line = [&](const char *label, const std::string &value) {
		out += fmt::format("  {:<13} {}\n", label, value);
	};

	if (c.name.empty())
		return out;
	line("Chip", fmt::format("{} ({:#x})", c.name, c.id));
	if (!c.product.empty())
		line("Product", c.product);
	line("Architecture", c.architecture);
	line("Device", c.device.empty() ? "unknown" : c.device);
	if (c.boot0)
		line("BOOT_0", fmt::format("{:#010x}", *c.boot0));
	if (c.boot42)
		line("BOOT_42", fmt::format("{:#010x}", *c.boot42));
	if (!c.known)
		line("Support", "unknown chip: only its device table is read");
	if (!c.driver.empty())
		line("Driver", c.driver);
	line("Memory", c.memory_bytes ? format_bytes(c.memory_bytes) : "unknown");
	if (gpu.num_gpcs)
		line("Units",
		     fmt::format("{} GPCs of {} TPCs{} (including disabled ones)", gpu.num_gpcs, gpu.num_tpc_per_gpc,
				 gpu.num_ces ? fmt::format(", {} copy engines", gpu.num_ces) : ""));
	line("Ids", c.ids_per_runlist ? "of channels and TSGs: unique per runlist; commands take RUNLIST:ID"
				      : "of channels and TSGs: unique on the whole GPU");
	if (std::string assumed = gpu.assumed(); !assumed.empty())
		line("Assumed", wrap_text(assumed + " (not published for this chip)",
					  style.width ? style.width - 16 : 0, std::string(16, ' ')));
	return out;
}

std::string engines_text(const Gpu &gpu, const Style &style)
{
	Table t({"<Engine", "~<Type", "~Inst", "Runlist", "~Id", "~Intr", "~Reset", "~Fault", "~Registers",
		 "~Runlist base", "<Now"});

	for (const Engine &e : gpu.engines)
		t.add({e.name, fmt::format("{:#04x}", e.type), std::to_string(e.inst), id_or_dash(e.runlist),
		       id_or_dash(e.engine_id), id_or_dash(e.intr), id_or_dash(e.reset), id_or_dash(e.fault),
		       hex_or_dash(e.pri_base), hex_or_dash(e.runlist_base), e.now ? e.now->text() : "unknown"});
	return headline(gpu, style) + (t.empty() ? "" : t.str(style) + unused_runlists_text(gpu));
}

std::string runlists_text(const Gpu &gpu, std::optional<u32> id, const Style &style)
{
	std::string out = headline(gpu, style);
	std::vector<std::string> empty;

	for (const Runlist &rl : gpu.runlists) {
		if ((id && rl.id != *id) || !rl.has_regs)
			continue;
		if (!id && !rl.err && rl.tsgs.empty() && rl.outside.empty())
			empty.push_back(fmt::format("{} ({})", rl.id, engine_list(gpu, rl.id)));
		else
			out += runlist_text(gpu, rl, style);
	}
	if (!empty.empty())
		out += wrap_text(fmt::format("empty: {}", fmt::join(empty, ", ")), style.width, "  ") + '\n';
	return out;
}

std::string channels_text(const Gpu &gpu, const Style &style)
{
	bool owners = gpu.processes && !gpu.runlists.empty();
	Table t = channel_table(owners);

	for (const Runlist &rl : gpu.runlists)
		for (const Channel *c : rl.channels())
			add_channel(t, *c, owners);
	std::string out = headline(gpu, style);
	bool unread = std::any_of(gpu.runlists.begin(), gpu.runlists.end(), [](const Runlist &rl) { return rl.err; });
	if (!t.empty())
		out += t.str(style);
	else if (!unread && (gpu.has_runlists || gpu.reports_runlists))
		out += "no channels\n";
	if (gpu.allocated)
		out += wrap_text(fmt::format("{} channels are allocated: {}", gpu.allocated->size(),
					     format_ranges(*gpu.allocated)),
				 style.width, "  ") +
		       '\n';
	return out + processes_text(gpu);
}

std::string copy_text(const Gpu &gpu, const Style &style)
{
	Table t({"<Copy engine", "Runlist", "<Physical copy engines", "<Shared with"});
	std::vector<u32> unused;

	for (const Copy &c : gpu.copies()) {
		std::string pces = c.pces.empty() ? "none" : fmt::format("PCE {}", fmt::join(c.pces, ", "));
		bool shares_grce = c.shares_lce >= 0 && static_cast<size_t>(c.shares_lce) < gpu.shared_lce.size();
		t.add({fmt::format("{}{}", c.grce ? "GRCE" : "LCE", c.lce), id_or_dash(c.runlist), pces,
		       c.shares_lce == LENS_NONE
			       ? Cell("-")
			       : Cell(fmt::format("{}{}", shares_grce ? "GRCE" : "LCE", c.shares_lce), Ink::Magenta)});
	}
	for (const auto &[pce, lce] : gpu.lce_for_pce)
		if (lce == LENS_NONE)
			unused.push_back(pce);
	std::string out = headline(gpu, style) + (t.empty() ? "" : t.str(style));
	if (!unused.empty())
		out += fmt::format("unused PCEs: {}\n", fmt::join(unused, ", "));
	return out;
}

std::string gpcs_text(const Gpu &gpu, const Style &style)
{
	const bool by_sms =
		!gpu.sms.empty() && std::ranges::none_of(gpu.gpcs, [](const Gpc &g) { return g.logical < 0; });
	const bool by_gpc = !gpu.has_smid_order();
	std::vector<std::string> titles = {"GPC", "TPCs", "<Disabled TPCs (mask)"};
	std::string out = headline(gpu, style);
	plan::GpcMap map;
	u32 tpcs = 0;

	if (!gpu.has_gpcs)
		return out + counted_gpcs_text(gpu, style) + sms_text(gpu, style);
	if (by_sms)
		map = plan::gpc_map(gpu);
	if (by_sms || by_gpc)
		titles.emplace_back(by_sms ? BY_SMID : "<Logical TPCs");
	Table t(titles);
	for (const Gpc &g : gpu.gpcs) {
		const plan::GpcTpcs *found = map.find(g.id);
		std::string logical =
			g.tpcs && g.first_tpc ? fmt::format("{}-{}", *g.first_tpc, *g.first_tpc + g.tpcs - 1) : "-";
		t.add({std::to_string(g.id), std::to_string(g.tpcs),
		       g.tpc_mask ? fmt::format("{:#x}", g.tpc_mask) : "-",
		       found ? format_ranges(found->tpcs) : logical});
		tpcs += g.tpcs;
	}
	out += fmt::format("{} of {} GPCs, {} of {} TPCs; disabled GPCs (mask): {}\n", gpu.gpcs.size(), gpu.num_gpcs,
			   tpcs, gpu.num_gpcs * gpu.num_tpc_per_gpc, hex_or_dash(gpu.gpc_mask));
	out += t.str(style);
	if (by_gpc && gpu.numbers_tpcs() && gpu.tpc_order != LENS_TPC_ORDER_PUBLISHED)
		out += wrap_text(
			       gpu.tpc_order == LENS_TPC_ORDER_WRONG
				       ? "! logical TPC numbers are known to be wrong: this chip does not number TPCs "
					 "GPC by "
					 "GPC"
				       : "logical TPC numbers are assumed: their order is not published for this chip",
			       style.width, "  ") +
		       '\n';
	return out + (by_sms ? "" : hardware_gpcs_text(gpu, style)) + sms_text(gpu, style);
}

} // namespace tool
