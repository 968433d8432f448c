// SPDX-License-Identifier: GPL-2.0
// Formats the overview (gpulens without a command): a tree of runlists with engines, TSGs and channels, and a line for each
// hazard. And gpulens isolation.
#include "gpulens/out/text.hpp"
#include "lib/base/format.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tool {

namespace {

struct TreeLines {
	const char *child, *last, *down;
};

const TreeLines &tree_lines(const Style &style)
{
	static const TreeLines drawn = {"├─ ", "└─ ", "│  "}, plain = {"|- ", "`- ", "|  "};

	return style.utf8 ? drawn : plain;
}

// "3", "3-9"
std::string format_range(u32 first, u32 last)
{
	return first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
}

// Returns "8-9 runs, 12 idle": adjacent channels in the same state become a range. left: of Gpu::left_engine().
std::string describe_channels(const std::vector<Channel> &channels, const std::set<TaskId> &left, const Style &style)
{
	std::string out;
	auto state_of = [&](const Channel &c) {
		std::string state = name_of(c.activity());
		return left.contains(c.task()) && state.starts_with("runs") ? state.replace(0, 4, "ran") : state;
	};

	for (size_t i = 0; i < channels.size();) {
		Activity activity = channels[i].activity();
		std::string state = state_of(channels[i]);
		Ink ink = activity == Activity::RunsOff ? Ink::Green : ink_of(activity);
		size_t j = i;
		while (j + 1 < channels.size() && channels[j + 1].id == channels[j].id + 1 &&
		       state_of(channels[j + 1]) == state)
			j++;
		out += (i ? ", " : "") + format_range(channels[i].id, channels[j].id) + " " +
		       style.paint(state.starts_with("ran") ? Ink::None : ink, state);
		i = j + 1;
	}
	return out;
}

// Returns the engines of a runlist, with the TSG on each if it is known.
std::string engines_now(const Gpu &gpu, u32 runlist)
{
	std::vector<std::string> names;

	for (const Engine *e : gpu.engines_of(runlist)) {
		bool occupied = e->now && !e->now->err && e->now->id != LENS_NONE && e->now->state != LENS_ENGINE_IDLE;
		names.push_back(e->short_name() + (occupied ? fmt::format(" [{}]", e->now->text()) : ""));
	}
	return names.empty() ? "no engine" : fmt::format("{}", fmt::join(names, ", "));
}

void add_runlist(std::string &out, const Gpu &gpu, const Runlist &rl, bool last, const Style &style)
{
	const TreeLines &l = tree_lines(style);
	std::string below = last ? "   " : l.down;
	size_t items = rl.tsgs.size() + !rl.outside.empty(), n = 0;
	const std::set<TaskId> left = gpu.left_engine(rl);
	std::vector<std::string> names;

	out += fmt::format("{}{}  {}", last ? l.last : l.child,
			   style.paint(Ink::Bold, fmt::format("runlist {}", rl.id)), engines_now(gpu, rl.id));
	if (rl.err)
		out += "  " + style.paint(Ink::Red, Failure{Part::Runlist, rl.err, {}}.text());
	if (rl.pending)
		out += style.paint(Ink::Magenta, "  submitted, not yet committed");
	if (rl.torn)
		out += style.paint(Ink::Magenta, "  changed while it was read");
	names.reserve(left.size());
	for (const TaskId &task : left)
		names.push_back(name_task(task.bare, task.id));
	if (!left.empty())
		out += style.paint(Ink::Magenta,
				   fmt::format("  switched from {} while it was read", fmt::join(names, ", ")));
	out += '\n';
	for (const Tsg &tsg : rl.tsgs) {
		const bool ran = left.contains(rl.task(tsg));
		std::string mark = ran ? "ran " : tsg.running() ? style.paint(Ink::Green, "runs") : "    ";
		out += fmt::format("{}{}TSG {:<4} {:>11} {}  {}{}\n", below, ++n == items ? l.last : l.child, tsg.id,
				   format_duration(tsg.timeslice_ns), mark,
				   describe_channels(tsg.channels, left, style),
				   tsg.owner ? fmt::format("  of {}", tsg.owner->text()) : "");
	}
	if (!rl.outside.empty())
		out += fmt::format("{}{}in no TSG: {}\n", below, l.last, describe_channels(rl.outside, left, style));
}

std::string describe_units(const Gpu &gpu)
{
	std::vector<std::string> parts;
	u32 tpcs = 0;
	size_t counted = 0;

	for (const Gpc &g : gpu.gpcs)
		tpcs += g.tpcs;
	for (const HardwareGpc &g : gpu.counted_gpcs)
		counted += g.tpcs.size();
	if (gpu.chip.memory_bytes)
		parts.push_back(format_bytes(gpu.chip.memory_bytes));
	if (gpu.has_gpcs)
		parts.push_back(fmt::format("{} GPCs, {} TPCs", gpu.gpcs.size(), tpcs));
	else if (!gpu.counted_gpcs.empty())
		parts.push_back(fmt::format("{} GPCs, {} TPCs (counted)", gpu.counted_gpcs.size(), counted));
	if (gpu.has_copy)
		parts.push_back(fmt::format("{} copy engines", gpu.copies().size()));
	return fmt::format("{}", fmt::join(parts, ", "));
}

std::string format_item(const std::string &mark, const std::string &text, const Style &style,
			const std::string &indent = "")
{
	size_t before = indent.size() + 2;

	return indent + mark + wrap_text(text, style.width > before ? style.width - before : 0, indent + "  ") + '\n';
}

} // namespace

namespace {

// Which processes use the GPU, and of how many TSGs it is unknown whose they are.
std::string describe_processes(const Gpu &gpu, const Style &style)
{
	std::vector<std::string> names;
	size_t unknown = 0;

	for (const Process &p : *gpu.processes)
		names.push_back(p.text());
	for (const Runlist &rl : gpu.runlists)
		unknown += static_cast<size_t>(
			std::count_if(rl.tsgs.begin(), rl.tsgs.end(), [](const Tsg &tsg) { return !tsg.owner; }));
	std::string text = names.empty() ? "no process uses this GPU"
					 : fmt::format("processes that use it: {}", fmt::join(names, ", "));
	if (unknown)
		text += fmt::format("; of {} TSG{} it is unknown whose {}: gpulens top finds out for those that run",
				    unknown, unknown == 1 ? "" : "s", unknown == 1 ? "it is" : "they are");
	return wrap_text(text, style.width, "  ") + '\n';
}

} // namespace

std::string overview_text(const Gpu &gpu, const Style &style)
{
	std::string out = headline(gpu, style), units = describe_units(gpu);
	std::vector<const Runlist *> busy;
	std::map<std::string, std::vector<std::string>> others; // by what is said of them

	if (!units.empty())
		out += units + '\n';
	for (const Runlist &rl : gpu.runlists) {
		if (!rl.tsgs.empty() || !rl.outside.empty() || rl.pending || rl.torn)
			busy.push_back(&rl);
		else
			others[rl.err ? Failure{Part::Runlist, rl.err, {}}.text() : "empty"].push_back(
				fmt::format("{} ({})", rl.id, engine_list(gpu, rl.id)));
	}
	for (size_t i = 0; i < busy.size(); i++)
		add_runlist(out, gpu, *busy[i], i + 1 == busy.size() && others.empty(), style);
	for (const auto &[text, runlists] : others)
		out += fmt::format("{}{}\n",
				   text == others.rbegin()->first ? tree_lines(style).last : tree_lines(style).child,
				   wrap_text(fmt::format("{}: {}", text, fmt::join(runlists, ", ")),
					     style.width > 3 ? style.width - 3 : 0, "   "));
	if (gpu.runlists.empty() && !gpu.engines.empty())
		out += fmt::format("engines: {}; runlists cannot be read {}\n", gpu.engines.size(),
				   gpu.reports_runlists ? "on this chip" : "through the driver");
	if (gpu.processes)
		out += describe_processes(gpu, style);
	for (const Hazard &h : isolation_of(gpu).hazards)
		out += format_item(style.paint(Ink::Red, "! "), h.text + " (" + h.rule + ")", style);
	return out;
}

namespace {

// Formats the channels of each TSG, for rule R2.
std::string format_tasks(const Gpu &gpu, const Isolation &isolation, const Style &style)
{
	Table t({"TSG", "<Engines", "Channels", "Enabled", "<Address space"});

	for (const TaskChannels &c : isolation.tasks)
		t.add({c.tsg == LENS_NONE ? fmt::format("{}:-", c.runlist) : fmt::format("{}:{}", c.runlist, c.tsg),
		       engine_list(gpu, c.runlist), std::to_string(c.channels),
		       Cell(std::to_string(c.enabled), c.enabled < c.channels ? Ink::Magenta : Ink::None),
		       c.page_directory ? fmt::format("{:#x}", c.page_directory) : "unknown"});
	bool unread = std::any_of(gpu.runlists.begin(), gpu.runlists.end(), [](const Runlist &rl) { return rl.err; });
	if (t.empty())
		return unread ? "    unknown\n" : "    no channels\n";
	return t.str(style, "    ");
}

// "! " before what is shared, "? " before what is unknown; the id is what --accept takes.
std::string format_hazard(const Hazard &hazard, const char *mark, const std::vector<std::string> &accepted,
			  const Style &style)
{
	bool is_accepted = std::find(accepted.begin(), accepted.end(), hazard.id()) != accepted.end();

	return format_item(style.paint(is_accepted    ? Ink::None
				       : *mark == '!' ? Ink::Red
						      : Ink::Magenta,
				       mark),
			   fmt::format("{} ({}{})", hazard.text, hazard.id(), is_accepted ? ", accepted" : ""), style,
			   "   ");
}

// "no hazards found", "2 hazards found, 1 unknown"
std::string format_verdict(const Isolation &isolation, const Style &style)
{
	size_t found = isolation.hazards.size() + isolation.sharing.size();
	std::string text =
		!found ? "no hazards found"
		       : style.paint(Ink::Red, fmt::format("{} hazard{} found", found, found == 1 ? "" : "s"));

	return text + (isolation.unknown.empty() ? "" : fmt::format(", {} unknown", isolation.unknown.size())) + '\n';
}

} // namespace

std::string isolation_text(const Gpu &gpu, const Isolation &isolation, const Style &style,
			   const std::vector<std::string> &accepted)
{
	std::string out = headline(gpu, style);
	u32 channels = 0, disabled = 0;
	size_t unread = 0;

	for (const Runlist &rl : gpu.runlists)
		unread += rl.err != 0;
	for (const TaskChannels &t : isolation.tasks) {
		channels += t.channels;
		disabled += t.channels - t.enabled;
	}
	auto add_rule = [&](const char *id, const std::string &text) {
		out += style.paint(Ink::Bold, id) + " " +
		       wrap_text(text, style.width > 3 ? style.width - 3 : 0, "   ") + '\n';
	};
	if (gpu.has_runlists && unread == gpu.runlists.size() && unread) {
		add_rule("R1", "All work goes through channels; they are unknown, because no runlist can be read.");
	} else if (gpu.has_runlists) {
		add_rule(
			"R1",
			fmt::format("All work goes through channels: {}{}, {} of them disabled (a task waits while its "
				    "channel is disabled).",
				    channels, unread ? " on the runlists that can be read" : "", disabled));
		add_rule(
			"R2",
			"A task can run at most as many streams at once as it has channels; a further stream waits for "
			"another stream's work:");
		out += format_tasks(gpu, isolation, style);
		add_rule("R3",
			 unread ? fmt::format(
					  "Only channels on a runlist are scheduled: those above, and unknown ones on "
					  "{} of {} runlists, which cannot be read.",
					  unread, gpu.runlists.size())
				: "Only channels on a runlist are scheduled: those above.");
	}
	// Returns whether there are any of this rule.
	auto add_hazards = [&](const std::string &rule) {
		bool any = false;
		auto add = [&](const std::vector<Hazard> &list, const char *mark) {
			for (const Hazard &h : list)
				if (h.rule == rule) {
					out += format_hazard(h, mark, accepted, style);
					any = true;
				}
		};
		add(isolation.hazards, "! ");
		add(isolation.sharing, "! ");
		add(isolation.unknown, "? ");
		return any;
	};
	// Where it is unknown which engines there are, no number of runlists and no "none" is true.
	const bool engines_known = std::none_of(isolation.unknown.begin(), isolation.unknown.end(),
						[](const Hazard &h) { return h.rule == "R7"; });
	auto none = [&](bool but_noted) {
		return fmt::format("   {} {}\n", but_noted ? "no other" : "none",
				   engines_known ? "on this GPU" : "among the engines that are known");
	};
	add_rule("R4",
		 "At most one task of a runlist is active on an engine. On different engines of a runlist, two may be "
		 "active at once, one computing and one copying, but their time slices depend on each other." +
			 (isolation.runlists ? fmt::format(" {} of {} runlists serve more than one engine.",
							   isolation.shared_runlists, isolation.runlists)
					     : ""));
	if (isolation.mps && !isolation.mps->empty())
		out += "   " +
		       wrap_text(
			       fmt::format(
				       "MPS runs, by what NVIDIA's driver reports (process{} {}): its clients share a "
				       "context, and run at the same time.",
				       isolation.mps->size() == 1 ? "" : "es", fmt::join(*isolation.mps, ", ")),
			       style.width > 3 ? style.width - 3 : 0, "   ") +
		       '\n';
	add_hazards("R4");
	add_rule("R5", fmt::format("Tasks run independently only if they are on different runlists; {}.",
				   isolation.runlists ? fmt::format("there are {}", isolation.runlists)
						      : "how many there are is unknown"));
	add_rule("R6",
		 isolation.notes.empty()
			 ? "Tasks on engines that share a runlist depend on each other's time slices:"
			 : fmt::format("Tasks on engines that share a runlist depend on each other's time slices; {}.",
				       fmt::join(isolation.notes, "; ")));
	if (!add_hazards("R6"))
		out += none(!isolation.notes.empty());
	add_rule("R7", "Each engine is on one runlist only (the device table cannot express more).");
	add_hazards("R7");
	add_rule("R8", gpu.has_copy ? "Copy engines on different runlists may share physical copy engines:"
				    : "Shared physical copy engines are unknown: they cannot be read on this chip.");
	if (!add_hazards("R8") && gpu.has_copy)
		out += none(false);
	out += style.paint(Ink::Bold, "Locks") + " that a per-engine locking scheme can treat as independent:\n";
	for (size_t i = 0; i < isolation.locks.size(); i++)
		out += fmt::format("  {:>2}  {}\n", i + 1, fmt::join(isolation.locks[i], ", "));
	if (isolation.locks.empty())
		out += "   unknown\n";
	return out + format_verdict(isolation, style);
}

} // namespace tool
