// SPDX-License-Identifier: GPL-2.0
// Formats the overview (gpulens without a command): a tree of runlists with engines, TSGs and channels, and a line for each
// hazard.
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

} // namespace tool
