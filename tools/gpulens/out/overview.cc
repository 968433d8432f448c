// SPDX-License-Identifier: GPL-2.0
// gpulens without a command: a GPU on one screen. Runlists with their engines as a tree, what is on each, what runs,
// and a line for each hazard. And the isolation command, which says all of the latter.
#include "gpulens/out/text.hpp"
#include "lib/base/format.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tool {

namespace {

struct Lines {
	const char *child, *last, *down;
};

const Lines &lines_of(const Style &style)
{
	static const Lines drawn = {"├─ ", "└─ ", "│  "}, plain = {"|- ", "`- ", "|  "};

	return style.utf8 ? drawn : plain;
}

// "3", "3-9"
std::string range(u32 first, u32 last)
{
	return first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
}

// "8, 9 run"-like: neighbours in the same state become a range.
std::string channels_inline(const std::vector<Channel> &channels, const Style &style)
{
	std::string out;

	for (size_t i = 0; i < channels.size();) {
		Activity activity = channels[i].activity();
		Ink ink = activity == Activity::RunsOff ? Ink::Green : ink_of(activity);
		size_t j = i;
		while (j + 1 < channels.size() && channels[j + 1].id == channels[j].id + 1 &&
		       channels[j + 1].activity() == activity)
			j++;
		out += (i ? ", " : "") + range(channels[i].id, channels[j].id) + " " +
		       style.paint(ink, name_of(activity));
		i = j + 1;
	}
	return out;
}

// The engines of a runlist; whose TSG is on one stands behind it. One without is idle or does not say.
std::string engines_now(const Gpu &gpu, u32 runlist)
{
	std::vector<std::string> names;

	for (const Engine *e : gpu.engines_of(runlist)) {
		bool told = e->now && !e->now->err && e->now->id != LENS_NONE && e->now->state != LENS_ENGINE_IDLE;
		names.push_back(e->short_name() + (told ? fmt::format(" [{}]", e->now->text()) : ""));
	}
	return names.empty() ? "no engine" : fmt::format("{}", fmt::join(names, ", "));
}

void add_runlist(std::string &out, const Gpu &gpu, const Runlist &rl, bool last, const Style &style)
{
	const Lines &l = lines_of(style);
	std::string below = last ? "   " : l.down;
	size_t items = rl.tsgs.size() + !rl.outside.empty(), n = 0;

	out += fmt::format("{}{}  {}", last ? l.last : l.child,
			   style.paint(Ink::Bold, fmt::format("runlist {}", rl.id)), engines_now(gpu, rl.id));
	if (rl.err)
		out += "  " + style.paint(Ink::Red, Failure{Part::Runlist, rl.err, {}}.why());
	if (rl.pending)
		out += style.paint(Ink::Yellow, "  submitted, not yet taken up");
	if (rl.torn)
		out += style.paint(Ink::Yellow, "  moved while it was read");
	out += '\n';
	for (const Tsg &tsg : rl.tsgs) {
		std::string mark = tsg.running() ? style.paint(Ink::Green, "runs") : "    ";
		out += fmt::format("{}{}TSG {:<4} {:>11} {}  {}\n", below, ++n == items ? l.last : l.child, tsg.id,
				   duration(tsg.timeslice_ns), mark, channels_inline(tsg.channels, style));
	}
	if (!rl.outside.empty())
		out += fmt::format("{}{}in no TSG: {}\n", below, l.last, channels_inline(rl.outside, style));
}

std::string units(const Gpu &gpu)
{
	std::vector<std::string> parts;
	u32 tpcs = 0;

	for (const Gpc &g : gpu.gpcs)
		tpcs += g.tpcs;
	if (gpu.chip.memory_bytes)
		parts.push_back(bytes_text(gpu.chip.memory_bytes));
	if (gpu.has_gpcs)
		parts.push_back(fmt::format("{} GPCs, {} TPCs", gpu.gpcs.size(), tpcs));
	if (gpu.has_copy)
		parts.push_back(fmt::format("{} copy engines", gpu.copies().size()));
	return fmt::format("{}", fmt::join(parts, ", "));
}

bool idle(const Runlist &rl)
{
	return !rl.err && rl.tsgs.empty() && rl.outside.empty() && !rl.pending && !rl.torn;
}

std::string bullet(const std::string &mark, const std::string &text, const Style &style)
{
	return mark + wrapped(text, style.width > mark.size() ? style.width - 2 : 0, "  ") + '\n';
}

} // namespace

std::string overview_text(const Gpu &gpu, const Style &style)
{
	std::string out = headline(gpu, style), what = units(gpu);
	std::vector<const Runlist *> busy;
	std::vector<std::string> empty;

	if (!what.empty())
		out += what + '\n';
	for (const Runlist &rl : gpu.runlists) {
		if (idle(rl))
			empty.push_back(fmt::format("{} ({})", rl.id, engine_list(gpu, rl.id)));
		else
			busy.push_back(&rl);
	}
	for (size_t i = 0; i < busy.size(); i++)
		add_runlist(out, gpu, *busy[i], i + 1 == busy.size() && empty.empty(), style);
	if (!empty.empty())
		out += fmt::format("{}{}\n", lines_of(style).last,
				   wrapped(fmt::format("empty: {}", fmt::join(empty, ", ")),
					   style.width > 3 ? style.width - 3 : 0, "   "));
	if (gpu.runlists.empty() && !gpu.engines.empty())
		out += fmt::format("engines: {}; no runlist can be read {}\n", gpu.engines.size(),
				   gpu.tells_runlists ? "on this chip" : "through the driver");
	for (const Hazard &h : isolation_of(gpu).hazards)
		out += bullet(style.paint(Ink::Red, "! "), h.text + " (" + h.rule + ")", style);
	return out;
}

namespace {

// R2 by task: a TSG, or all TSGs of an address space where that is known.
std::string streams_text(const Gpu &gpu, const Isolation &from, const Style &style)
{
	Table t({"TSG", "<Engines", "Channels", "Enabled", "<Address space"});

	for (const TaskChannels &c : from.tasks)
		t.add({c.tsg == LENS_NONE ? fmt::format("{}:-", c.runlist) : fmt::format("{}:{}", c.runlist, c.tsg),
		       engine_list(gpu, c.runlist), std::to_string(c.channels),
		       Cell(std::to_string(c.enabled), c.enabled < c.channels ? Ink::Yellow : Ink::None),
		       c.page_directory ? fmt::format("{:#x}", c.page_directory) : "not told"});
	bool unread = std::any_of(gpu.runlists.begin(), gpu.runlists.end(), [](const Runlist &rl) { return rl.err; });
	if (t.empty())
		return unread ? "    unknown\n" : "    no channels\n";
	return t.str(style, "    ");
}

} // namespace

std::string isolation_text(const Gpu &gpu, const Isolation &from, const Style &style)
{
	std::string out = headline(gpu, style);
	u32 channels = 0, off = 0;
	size_t unread = 0;

	for (const Runlist &rl : gpu.runlists)
		unread += rl.err != 0;
	for (const TaskChannels &t : from.tasks) {
		channels += t.channels;
		off += t.channels - t.enabled;
	}
	auto rule = [&](const char *id, const std::string &text) {
		out += style.paint(Ink::Bold, id) + " " + wrapped(text, style.width > 3 ? style.width - 3 : 0, "   ") +
		       '\n';
	};
	if (gpu.has_runlists && unread == gpu.runlists.size() && unread) {
		rule("R1",
		     "Every operation goes through a channel; which there are is unknown: no runlist can be read.");
	} else if (gpu.has_runlists) {
		rule("R1",
		     fmt::format("Every operation goes through a channel: {} of them{}, {} disabled (whose tasks stand "
				 "still when they use one).",
				 channels, unread ? " where runlists can be read" : "", off));
		rule("R2",
		     "A task runs at most as many streams at once as it has channels; one more waits for work that is "
		     "none of its own:");
		out += streams_text(gpu, from, style);
		rule("R3",
		     unread ? fmt::format("Only channels on a runlist are scheduled; the ones above are, and those "
					  "of {} of {} runlists are unknown, which cannot be read.",
					  unread, gpu.runlists.size())
			    : "Only channels on a runlist are scheduled; the ones above are.");
	}
	rule("R4", fmt::format("A runlist has at most one task active per engine; {} of {} serve more than one engine.",
			       from.shared_runlists, from.runlists));
	rule("R5", fmt::format("Tasks run independently of each other on different runlists only: there are {}.",
			       from.runlists));
	rule("R6", from.notes.empty()
			   ? "Engines that share a runlist depend on each other's time slices:"
			   : fmt::format("Engines that share a runlist depend on each other's time slices; {}.",
					 fmt::join(from.notes, "; ")));
	for (const char *id : {"R6", "R8"}) {
		bool any = false;
		if (std::string("R8") == id) {
			rule("R7", "Each engine is on one runlist only (the device table has no other form).");
			rule("R8", gpu.has_copy
					   ? "Copy engines may share physical copy engines all the same:"
					   : "Which physical copy engines are shared cannot be read on this chip.");
			any = !gpu.has_copy;
		}
		for (const Hazard &h : from.hazards) {
			if (h.rule != id)
				continue;
			out += "   " + bullet(style.paint(Ink::Red, "! "), h.text, style);
			any = true;
		}
		if (!any)
			out += "   none here\n";
	}
	out += style.paint(Ink::Bold, "Locks") + " that a per-engine scheme may treat as independent:\n";
	for (size_t i = 0; i < from.locks.size(); i++)
		out += fmt::format("  {:>2}  {}\n", i + 1, fmt::join(from.locks[i], ", "));
	out += from.hazards.empty()
		       ? "no hazards found\n"
		       : style.paint(Ink::Red, fmt::format("{} {} found", from.hazards.size(),
							   from.hazards.size() == 1 ? "hazard" : "hazards")) +
				 '\n';
	return out;
}

} // namespace tool
