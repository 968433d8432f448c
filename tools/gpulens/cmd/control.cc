// SPDX-License-Identifier: GPL-2.0
// Writes control files, and undoes the changes.
#include "gpulens/cmd/control.hpp"

#include "gpulens/chip.h"
#include "gpulens/out/output.hpp"
#include "gpulens/out/text.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "lib/base/signals.hpp"
#include "lib/source/module/proc.hpp"
#include "lib/source/table/sources.hpp"
#include "parse.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <iterator>
#include <set>

namespace tool {

const Control CONTROLS[] = {
	{"disable", "disable_channel", "CHANNEL", true, true},
	{"enable", "enable_channel", "CHANNEL", true, true},
	{"preempt", "preempt_tsg", "TSG", false, false},
	{"switch-to", "switch_to_tsg", "TSG", true, false},
	{"resubmit", "resubmit_runlist", "RUNLIST", false, false},
	{"timeslice", "tsg_timeslice", "TSG", true, false},
	{"preempt --runlist", "preempt_runlist", "RUNLIST", false, false},
	{"preemption-mode", "_preempt_channel", "CHANNEL", false, true},
};

const size_t CONTROL_COUNT = std::size(CONTROLS);

namespace {

// A file of /proc/gpuX and what is written to it.
struct Write {
	std::string path, text;
};

// Parses an id with the module's parser, without the newline that it allows. Returns nothing for other text.
std::optional<lens_ref> parse_id(const std::string &text)
{
	lens_ref ref{};

	if (text.find('\n') != text.npos || lens_parse_ref(text.data(), text.size(), &ref))
		return std::nullopt;
	return ref;
}

// Returns whether a TSG or channel is on the runlist.
bool is_listed(const Runlist &rl, u32 id, bool tsg)
{
	for (const Tsg &t : rl.tsgs)
		if (tsg && t.id == id)
			return true;
	for (const Channel *c : rl.channels())
		if (!tsg && c->id == id)
			return true;
	return false;
}

// Returns the runlists that an id can refer to: the one that it names, or those that list it.
std::vector<const Runlist *> runlists_of(const Gpu &gpu, const lens_ref &ref, bool tsg)
{
	std::vector<const Runlist *> found;

	for (const Runlist &rl : gpu.runlists)
		if (ref.runlist != LENS_NONE ? rl.id == static_cast<u32>(ref.runlist) : is_listed(rl, ref.id, tsg))
			found.push_back(&rl);
	return found;
}

// Returns the only runlist that an id can refer to; nullptr if there are several or none.
const Runlist *runlist_of(const Gpu &gpu, const std::string &id, bool tsg)
{
	std::optional<lens_ref> ref = parse_id(id);
	std::vector<const Runlist *> found;

	if (ref)
		found = runlists_of(gpu, *ref, tsg);
	return found.size() == 1 ? found[0] : nullptr;
}

// Describes the runlists that an id without a runlist can refer to.
std::string describe_candidates(const Gpu &gpu, const lens_ref &ref, bool tsg)
{
	std::vector<const Runlist *> found = runlists_of(gpu, ref, tsg);
	std::string text = fmt::format("{} {} is on ", tsg ? "TSG" : "channel", ref.id), unread;

	for (const Runlist &rl : gpu.runlists)
		if (rl.err)
			unread += fmt::format("{}{}", unread.empty() ? "" : ", ", rl.id);
	if (found.empty())
		text += "no runlist";
	else
		text += found.size() == 1 ? "one runlist:" : "more than one runlist; name one of these:";
	for (const Runlist *rl : found)
		text += fmt::format("\n  {:<10} {}", qualified(gpu, rl->id, ref.id),
				    fmt::join(gpu.engine_names(rl->id), " "));
	if (!unread.empty())
		text += fmt::format("\n  runlist {} cannot be read and may list it, too", unread);
	return text;
}

// limit: which the id exceeds; empty: none.
int report_refusal(const Write &w, int err, const std::string &limit = "")
{
	std::fprintf(stderr, "gpulens: %s%s%s\n", explain(err, w.path, true, w.text).c_str(), limit.empty() ? "" : "; ",
		     limit.c_str());
	return EXIT_REFUSED;
}

// Describes the limit of ids that a refused id (ERANGE) exceeds; empty if it is unknown.
std::string describe_limit(const Options &options, unsigned index, const Control &control, const lens_ref &ref)
{
	const lens_chip_id *row = nullptr;
	std::string target = control.target;
	u32 channels = 0;
	bool known = false;

	try {
		Gpu gpu = load_permitted(options.sources.proc, index);
		const lens_chip *chip = lens_chip_find(gpu.chip.id, &row, &known);
		if (!chip)
			return "";
		u32 runlists = row && row->runlists ? row->runlists : chip->runlists;
		u32 runlist = target == "RUNLIST"        ? ref.id
			      : ref.runlist == LENS_NONE ? 0
							 : static_cast<u32>(ref.runlist);
		if (runlist >= runlists)
			return fmt::format("ids of runlists are below {}", runlists);
		for (const Runlist &rl : gpu.runlists)
			if (ref.runlist == LENS_NONE || rl.id == runlist)
				channels = std::max(channels, rl.channel_ids);
		if (target == "TSG")
			return fmt::format("ids of TSGs are below {}", chip->tsgs);
		return channels ? fmt::format("ids of channels are below {}", channels) : "";
	} catch (const Error &) {
		return "";
	}
}

int report_error(const std::string &text)
{
	std::fprintf(stderr, "gpulens: %s\n", text.c_str());
	return EXIT_REFUSED;
}

// From Ampere on, the module writes any id of a runlist (RUNLIST:ID), because no register says whether there is such a
// channel. Returns EXIT_REFUSED, after a message, if the runlist was read and does not list the channel or TSG. Ids beyond
// the limit are left to the module.
int refuse_unlisted(const Options &options, unsigned index, const Write &w, const std::string &id, bool tsg)
{
	std::optional<lens_ref> ref = parse_id(id);
	Gpu gpu;

	if (!ref || ref->runlist == LENS_NONE)
		return EXIT_DONE;
	try {
		gpu = load_permitted(options.sources.proc, index);
	} catch (const Error &) {
		return EXIT_DONE; // the module's answer says why
	}
	const Runlist *rl = gpu.runlist(static_cast<u32>(ref->runlist));
	if (!rl || rl->err || rl->torn || ref->id >= rl->channel_ids || is_listed(*rl, ref->id, tsg))
		return EXIT_DONE;
	if (tsg)
		return report_error(
			fmt::format("TSG {} is not on runlist {}; gpulens runlists lists those that are", id, rl->id));
	return report_error(fmt::format("channel {} is not on runlist {}; gpulens channels lists those that are (one "
					"that its driver has just taken off is disabled by: echo {} > {})",
					id, rl->id, w.text, w.path));
}

int report_write(const Write &w)
{
	return print_text(fmt::format("{} < {}\n", w.path, w.text)) ? EXIT_DONE : EXIT_PART;
}

/* -- undoing -- */

// The change of a channel or of a TSG's time slice by a write, and the write that undoes it.
struct Change {
	Write undo;
	std::string name; // "channel 0:8"
	bool slice;       // of a TSG's time slice
	u32 runlist, id;
	u64 inst;                    // of the channel; 0: unknown
	bool enabled;                // the written state
	std::optional<u64> slice_ns; // the resulting time slice; nothing: it could not be read
	bool failed = false;         // the write failed, and may have changed nothing
};

// Returns whether the change is still in effect.
bool is_in_effect(const Change &change, const Runlist &now)
{
	if (change.slice)
		return std::any_of(now.tsgs.begin(), now.tsgs.end(), [&](const Tsg &t) {
			return t.id == change.id && t.timeslice_ns == change.slice_ns.value_or(t.timeslice_ns);
		});
	for (const Channel *c : now.channels())
		if (c->id == change.id && !c->err && c->state.enable == change.enabled &&
		    (!c->inst || !change.inst ||
		     c->inst == change.inst)) // otherwise the id was reused for another channel
			return true;
	return false;
}

// Undoes changes that are still in effect, in reverse order. Leaves alone what was changed by others since.
int undo_changes(const Options &options, unsigned index, const std::vector<Change> &done)
{
	int status = EXIT_DONE;
	Gpu gpu;

	if (done.empty())
		return EXIT_DONE;
	try {
		gpu = load_live(options.sources.proc, index);
	} catch (const Error &error) {
		return report_error(fmt::format("nothing was undone: {}", error.what()));
	}
	for (auto change = done.rbegin(); change != done.rend(); ++change) {
		const Runlist *rl = gpu.runlist(change->runlist);
		if (!rl || rl->err) {
			status = report_error(fmt::format("{} was not restored: runlist {} cannot be read",
							  change->name, change->runlist));
			continue;
		}
		if (!is_in_effect(*change, *rl)) {
			if (change->failed)
				continue;
			report_error(fmt::format("{} was changed by another process or the driver; it is not undone",
						 change->name));
			continue;
		}
		int err = write_control(change->undo.path, change->undo.text);
		status = std::max(status, err ? report_refusal(change->undo, err) : report_write(change->undo));
	}
	return status;
}

Change channel_change(const Gpu &gpu, const std::string &folder, u32 runlist, const Channel &c, bool enable)
{
	std::string id = qualified(gpu, runlist, c.id);

	return {.undo = {folder + (enable ? "disable_channel" : "enable_channel"), id},
		.name = "channel " + id,
		.slice = false,
		.runlist = runlist,
		.id = c.id,
		.inst = c.inst,
		.enabled = enable,
		.slice_ns{}};
}

Change slice_change(const Gpu &gpu, const std::string &folder, u32 runlist, const Tsg &t)
{
	std::string id = qualified(gpu, runlist, t.id);

	return {.undo = {folder + "tsg_timeslice", fmt::format("{} {}", id, (t.timeslice_ns + 500) / 1000)},
		.name = fmt::format("the time slice of TSG {}", id),
		.slice = true,
		.runlist = runlist,
		.id = t.id,
		.inst = 0,
		.enabled = false,
		.slice_ns{}};
}

// Returns the changes that a command will make on a runlist; nothing, with a message, if they could not be undone.
std::optional<std::vector<Change>> plan_changes(const Gpu &gpu, const std::string &folder, const Runlist &rl,
						const std::string &command, u32 id)
{
	const bool single = command == "disable" || command == "enable";
	std::vector<Change> list;
	bool found = false;

	if (command == "switch-to" && rl.torn) {
		report_error(fmt::format("runlist {} is being replaced: it does not show all its channels; try again",
					 rl.id));
		return std::nullopt;
	}
	for (const Channel *c : rl.channels()) {
		bool changes = single ? c->id == id : command == "switch-to",
		     enable = single ? command == "enable" : c->tsg == static_cast<int>(id);
		if (!changes)
			continue;
		if (c->err) {
			report_error(
				fmt::format("channel {}: its state cannot be read, so the change could not be undone",
					    qualified(gpu, rl.id, c->id)));
			return std::nullopt;
		}
		found = true;
		if (c->state.enable != enable &&
		    std::none_of(list.begin(), list.end(), [c](const Change &l) { return l.id == c->id; }))
			list.push_back(channel_change(gpu, folder, rl.id, *c, enable));
	}
	for (const Tsg &t : rl.tsgs) {
		if (command != "timeslice" || t.id != id || found)
			continue;
		found = true;
		list.push_back(slice_change(gpu, folder, rl.id, t));
	}
	if (!found) {
		report_error(fmt::format("{} {} is not on runlist {}, so the change could not be undone",
					 single ? "channel" : "TSG", qualified(gpu, rl.id, id), rl.id));
		return std::nullopt;
	}
	return list;
}

// Called right after the write. Returns the changes that it made, with the resulting time slice of a TSG.
std::vector<Change> confirm_changes(const Options &options, unsigned index, const Runlist &rl, std::vector<Change> list)
{
	Gpu gpu;

	try {
		gpu = load_live(options.sources.proc, index);
	} catch (const Error &) {
		return list; // undo the planned ones
	}
	const Runlist *now = gpu.runlist(rl.id);
	if (!now || now->err)
		return list;
	for (Change &change : list)
		for (const Tsg &t : now->tsgs)
			if (change.slice && t.id == change.id)
				change.slice_ns = t.timeslice_ns;
	if (list.size() > 1)
		std::erase_if(list, [&](const Change &change) { return !is_in_effect(change, *now); });
	return list;
}

/* -- several channels at once -- */

// One of several writes, and its change; nothing: the channel already has that state, or it is not undone.
struct ChannelWrite {
	Write write;
	u32 channel;
	std::optional<Change> change;
};

// Returns the TSG with this id; nullptr, with a message, if there is none.
const Tsg *find_tsg(const Gpu &gpu, const std::string &id, const Runlist *&rl)
{
	std::optional<lens_ref> ref = parse_id(id);
	const Tsg *found = nullptr;

	rl = runlist_of(gpu, id, true);
	if (ref && ref->runlist != LENS_NONE && !gpu.chip.ids_per_runlist) {
		report_error(fmt::format("{}: ids are unique on the whole GPU of this chip; write {}", id, ref->id));
		return nullptr;
	}
	if (!rl) {
		report_error(ref->runlist == LENS_NONE ? describe_candidates(gpu, *ref, true)
						       : fmt::format("{}: no such runlist", id));
		return nullptr;
	}
	if (rl->err) {
		report_error(explain(-rl->err, fmt::format("runlist{}", rl->id), false));
		return nullptr;
	}
	for (const Tsg &t : rl->tsgs)
		if (t.id == ref->id && (!found || t.channels.size() > found->channels.size()))
			found = &t;
	if (!found)
		report_error(fmt::format("{}: there is no such TSG on runlist {}", id, rl->id));
	return found;
}

using ListedTsgs = std::vector<std::pair<const Runlist *, const Tsg *>>;

// Returns the TSGs that are known to be of a process; empty, with a message, if there are none. Says of how many the process
// is unknown.
ListedTsgs find_tsgs_of(const Gpu &gpu, u32 pid)
{
	ListedTsgs found;
	std::set<std::pair<u32, u32>> seen; // a runlist may list a TSG several times
	size_t unknown = 0;

	for (const Runlist &rl : gpu.runlists)
		for (const Tsg &t : rl.tsgs) {
			if (!seen.emplace(rl.id, t.id).second)
				continue;
			unknown += !t.owner;
			if (t.owner && t.owner->pid == pid)
				found.emplace_back(&rl, &t);
		}
	if (found.empty())
		report_error(fmt::format(
			"--pid {}: no TSG is known to be of this process; programs that gpulens run started "
			"report theirs. Name a TSG of gpulens runlists with --tsg",
			pid));
	else if (unknown)
		report_error(fmt::format("--pid {}: of {} more TSG{} it is unknown whose {}; {} left alone", pid,
					 unknown, unknown == 1 ? "" : "s", unknown == 1 ? "it is" : "they are",
					 unknown == 1 ? "it is" : "they are"));
	return found;
}

// Returns whether more than the process' own word says whose each TSG is; else a message for each.
bool confirm_owners(const Gpu &gpu, const ListedTsgs &targets)
{
	bool known = true;

	for (const auto &[rl, tsg] : targets) {
		if (!tsg->owner || tsg->owner->evidence != Evidence::Reported)
			continue;
		known = false;
		report_error(fmt::format("TSG {} on {}: only process {} (user {}) itself says that it is its own; "
					 "--yes if that is right",
					 tsg->id, fmt::join(gpu.engine_names(rl->id), ", "), tsg->owner->text(),
					 tsg->owner->user.empty() ? "unknown" : tsg->owner->user));
	}
	return known;
}

// Returns the TSGs that the command line names; empty, with a message, if there are none.
ListedTsgs find_tsgs(const Gpu &gpu, const ControlOptions &control_options)
{
	const Runlist *rl = nullptr;

	if (control_options.pid)
		return find_tsgs_of(gpu, *control_options.pid);
	if (const Tsg *tsg = find_tsg(gpu, control_options.tsg, rl))
		return {{rl, tsg}};
	return {};
}

// Returns a write for each channel of a TSG; empty, with a message, if they could not be undone. enable: the state that
// the file sets; nothing: another property, whose change is not undone.
std::vector<ChannelWrite> plan_writes(const Gpu &gpu, const std::string &folder, const std::string &file,
				      const Runlist &rl, const Tsg &tsg, std::optional<bool> enable)
{
	std::vector<ChannelWrite> writes;

	if (rl.torn || tsg.channels.size() < tsg.length) {
		report_error(
			fmt::format("runlist {} is being replaced: it does not show all channels of TSG {}; try again",
				    rl.id, tsg.id));
		return {};
	}
	for (const Channel &c : tsg.channels) {
		auto same = [&c](const ChannelWrite &p) { return p.channel == c.id; };
		std::string id = qualified(gpu, rl.id, c.id);
		if (enable && c.err) {
			report_error(fmt::format(
				"channel {}: its state cannot be read, so the change could not be undone", id));
			return {};
		}
		if (std::none_of(writes.begin(), writes.end(), same))
			writes.push_back({{folder + file, id},
					  c.id,
					  enable && c.state.enable != *enable
						  ? std::optional(channel_change(gpu, folder, rl.id, c, *enable))
						  : std::nullopt});
	}
	if (writes.empty())
		report_error(fmt::format("TSG {} has no channels", qualified(gpu, rl.id, tsg.id)));
	return writes;
}

// The line that --dry-run prints.
std::string describe_planned(const Write &w, u64 for_ns)
{
	return fmt::format("would write {} to {}{}\n", w.text, w.path,
			   for_ns ? ", and undo it after " + format_duration(for_ns) : "");
}

int control_several(const Options &options, unsigned index, const std::string &folder, const Control &control,
		    const ControlOptions &control_options)
{
	const std::string command = control.command;
	std::optional<bool> enable;
	std::vector<Change> done;
	std::vector<ChannelWrite> writes;
	int status = EXIT_DONE;

	if (command == "enable" || command == "disable")
		enable = command == "enable";
	Gpu gpu = control_options.pid ? machine_source(options.sources)->gpus({index}).at(0)
				      : load_live(options.sources.proc, index);
	ListedTsgs targets = find_tsgs(gpu, control_options);
	for (const auto &[rl, tsg] : targets) {
		auto more = plan_writes(gpu, folder, control_options.mode + control.file, *rl, *tsg, enable);
		if (more.empty())
			return EXIT_REFUSED;
		std::move(more.begin(), more.end(), std::back_inserter(writes));
	}
	if (writes.empty())
		return EXIT_REFUSED;
	if (!control_options.dry_run && !control_options.yes && !confirm_owners(gpu, targets))
		return EXIT_REFUSED;
	if (control_options.dry_run) {
		std::string text;
		for (const ChannelWrite &p : writes)
			text += describe_planned(p.write, control_options.for_ns);
		return print_text(text) ? EXIT_DONE : EXIT_PART;
	}
	// A signal ends the wait; then the changes are undone.
	StopSignals stop;
	for (const ChannelWrite &p : writes) {
		int err = write_control(p.write.path, p.write.text);
		// Undo failed writes, too: they may have reached the GPU.
		if (p.change) {
			done.push_back(*p.change);
			done.back().failed = err != 0;
		}
		if (err) {
			report_refusal(p.write, err);
			undo_changes(options, index, done);
			return EXIT_REFUSED;
		}
		status = std::max(status, report_write(p.write));
	}
	if (!control_options.for_ns)
		return status;
	stop.wait_until(std::chrono::steady_clock::now() + std::chrono::nanoseconds(control_options.for_ns));
	return std::max(status, undo_changes(options, index, done));
}

} // namespace

std::string qualified(const Gpu &gpu, u32 runlist, u32 id)
{
	return gpu.chip.ids_per_runlist ? fmt::format("{}:{}", runlist, id) : std::to_string(id);
}

bool is_id(const std::string &text, bool runlist_only)
{
	std::optional<lens_ref> ref = parse_id(text);

	return ref && !(runlist_only && ref->runlist != LENS_NONE);
}

int run_control(const Options &options, const Control &control, const ControlOptions &control_options)
{
	unsigned index = only_gpu(options.sources.proc, options.sources.gpus);
	std::string folder = fmt::format("{}/gpu{}/", options.sources.proc, index);
	Write w{folder + control_options.mode + control.file, control_options.id};
	std::optional<Gpu> before;
	const Runlist *rl = nullptr;

	if (!control_options.tsg.empty() || control_options.pid)
		return control_several(options, index, folder, control, control_options);
	if (control_options.slice_us)
		w.text += fmt::format(" {}", control_options.slice_us);
	const bool tsg = std::string(control.target) == "TSG";
	if (control_options.dry_run) {
		if (tsg || std::string(control.command) == "disable")
			if (int status = refuse_unlisted(options, index, w, control_options.id, tsg))
				return status;
		return print_text(describe_planned(w, control_options.for_ns)) ? EXIT_DONE : EXIT_PART;
	}
	// From here on, a signal ends the command after its changes are undone.
	StopSignals stop;
	std::vector<Change> changes;
	if (control_options.for_ns) {
		before = load_live(options.sources.proc, index);
		rl = runlist_of(*before, control_options.id, tsg);
		if (!rl || rl->err)
			return report_refusal(w, rl ? -rl->err : before->chip.ids_per_runlist ? EINVAL : ENOENT);
		auto list = plan_changes(*before, folder, *rl, control.command, parse_id(control_options.id)->id);
		if (!list)
			return EXIT_REFUSED;
		changes = *list;
	} else if (std::string(control.command) == "disable") {
		if (int status = refuse_unlisted(options, index, w, control_options.id, false))
			return status;
	}
	int err = write_control(w.path, w.text);
	// Undo failed writes, too: they may have reached the GPU.
	if (control_options.for_ns)
		changes = confirm_changes(options, index, *rl, changes);
	if (err) {
		std::optional<lens_ref> ref = parse_id(control_options.id);
		report_refusal(w, err, err == ERANGE && ref ? describe_limit(options, index, control, *ref) : "");
		if (rl)
			undo_changes(options, index, changes);
		if (err == EINVAL && ref && ref->runlist == LENS_NONE && std::string(control.target) != "RUNLIST")
			report_error(describe_candidates(load_live(options.sources.proc, index), *ref, tsg));
		return EXIT_REFUSED;
	}
	int status = report_write(w);
	if (!control_options.for_ns)
		return status;
	stop.wait_until(std::chrono::steady_clock::now() + std::chrono::nanoseconds(control_options.for_ns));
	// Undo even if standard output cannot be written.
	return std::max(status, undo_changes(options, index, changes));
}

} // namespace tool
