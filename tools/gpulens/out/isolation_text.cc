// SPDX-License-Identifier: GPL-2.0
// Formats gpulens isolation: rules R1 to R8 of RTAS'24 with what this GPU has of each. Where channels or engines could not be read,
// no number of them and no "none" is true, and the rule says so.
#include "gpulens/out/text.hpp"
#include "lib/base/format.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tool {

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

class IsolationText {
public:
	IsolationText(const Gpu &gpu, const Isolation &isolation, const Style &style,
		      const std::vector<std::string> &accepted)
		: gpu_(gpu), isolation_(isolation), style_(style), accepted_(accepted), text_(headline(gpu, style))
	{
	}

	std::string format()
	{
		if (gpu_.has_runlists)
			add_channel_rules();
		add_engine_rules();
		add_copy_engine_rule();
		add_locks();
		return text_ + format_verdict(isolation_, style_);
	}

private:
	std::string wrap_rule(const std::string &text) const
	{
		return wrap_text(text, style_.width > 3 ? style_.width - 3 : 0, "   ") + '\n';
	}

	void add_rule(const char *id, const std::string &text)
	{
		text_ += style_.paint(Ink::Bold, id) + " " + wrap_rule(text);
	}

	// Returns whether there are any of this rule.
	bool add_hazards(const std::string &rule)
	{
		bool any = false;

		auto add = [&](const std::vector<Hazard> &list, const char *mark) {
			for (const Hazard &h : list)
				if (h.rule == rule) {
					text_ += format_hazard(h, mark, accepted_, style_);
					any = true;
				}
		};
		add(isolation_.hazards, "! ");
		add(isolation_.sharing, "! ");
		add(isolation_.unknown, "? ");
		return any;
	}

	void add_none(bool but_noted)
	{
		// R7: it is unknown which engines there are.
		bool known = std::none_of(isolation_.unknown.begin(), isolation_.unknown.end(),
					  [](const Hazard &h) { return h.rule == "R7"; });

		text_ += fmt::format("   {} {}\n", but_noted ? "no other" : "none",
				     known ? "on this GPU" : "among the engines that are known");
	}

	// R1 to R3.
	void add_channel_rules()
	{
		u32 channels = 0, disabled = 0;
		auto unread = std::count_if(gpu_.runlists.begin(), gpu_.runlists.end(),
					    [](const Runlist &rl) { return rl.err != 0; });

		if (unread && static_cast<size_t>(unread) == gpu_.runlists.size()) {
			add_rule("R1",
				 "All work goes through channels; they are unknown, because no runlist can be read.");
			return;
		}
		for (const TaskChannels &t : isolation_.tasks) {
			channels += t.channels;
			disabled += t.channels - t.enabled;
		}
		add_rule(
			"R1",
			fmt::format("All work goes through channels: {}{}, {} of them disabled (a task waits while its "
				    "channel is disabled).",
				    channels, unread ? " on the runlists that can be read" : "", disabled));
		add_rule(
			"R2",
			"A task can run at most as many streams at once as it has channels; a further stream waits for "
			"another stream's work:");
		text_ += format_tasks(gpu_, isolation_, style_);
		add_rule("R3",
			 unread ? fmt::format(
					  "Only channels on a runlist are scheduled: those above, and unknown ones on "
					  "{} of {} runlists, which cannot be read.",
					  unread, gpu_.runlists.size())
				: "Only channels on a runlist are scheduled: those above.");
	}

	// R4 to R7.
	void add_engine_rules()
	{
		add_rule("R4",
			 "At most one task of a runlist is active on an engine. On different engines of a runlist, two "
			 "may be active at once, one computing and one copying, but their time slices depend on each "
			 "other." +
				 (isolation_.runlists ? fmt::format(" {} of {} runlists serve more than one engine.",
								    isolation_.shared_runlists, isolation_.runlists)
						      : ""));
		if (isolation_.mps && !isolation_.mps->empty())
			text_ += "   " +
				 wrap_rule(fmt::format("MPS runs, by what NVIDIA's driver reports (process{} {}): its "
						       "clients share a context, and run at the same time.",
						       isolation_.mps->size() == 1 ? "" : "es",
						       fmt::join(*isolation_.mps, ", ")));
		add_hazards("R4");
		add_rule("R5", fmt::format("Tasks run independently only if they are on different runlists; {}.",
					   isolation_.runlists ? fmt::format("there are {}", isolation_.runlists)
							       : "how many there are is unknown"));
		add_rule("R6",
			 isolation_.notes.empty()
				 ? "Tasks on engines that share a runlist depend on each other's time slices:"
				 : fmt::format("Tasks on engines that share a runlist depend on each other's time "
					       "slices; {}.",
					       fmt::join(isolation_.notes, "; ")));
		if (!add_hazards("R6"))
			add_none(!isolation_.notes.empty());
		add_rule("R7", "Each engine is on one runlist only (the device table cannot express more).");
		add_hazards("R7");
	}

	// R8.
	void add_copy_engine_rule()
	{
		add_rule("R8", gpu_.has_copy
				       ? "Copy engines on different runlists may share physical copy engines:"
				       : "Shared physical copy engines are unknown: they cannot be read on this chip.");
		if (!add_hazards("R8") && gpu_.has_copy)
			add_none(false);
	}

	void add_locks()
	{
		text_ += style_.paint(Ink::Bold, "Locks") +
			 " that a per-engine locking scheme can treat as independent:\n";
		for (size_t i = 0; i < isolation_.locks.size(); i++)
			text_ += fmt::format("  {:>2}  {}\n", i + 1, fmt::join(isolation_.locks[i], ", "));
		if (isolation_.locks.empty())
			text_ += "   unknown\n";
	}

	const Gpu &gpu_;
	const Isolation &isolation_;
	const Style &style_;
	const std::vector<std::string> &accepted_;
	std::string text_;
};

} // namespace

std::string isolation_text(const Gpu &gpu, const Isolation &isolation, const Style &style,
			   const std::vector<std::string> &accepted)
{
	return IsolationText(gpu, isolation, style, accepted).format();
}

} // namespace tool
