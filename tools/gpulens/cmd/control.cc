// SPDX-License-Identifier: GPL-2.0
// See control.hpp.
#include "gpulens/cmd/control.hpp"

#include "gpulens/cmd/signals.hpp"
#include "gpulens/out/output.hpp"
#include "gpulens/out/text.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "lib/source/module/proc.hpp"
#include "parse.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace tool {

const Control CONTROLS[] = {
	{"disable", "disable_channel", "CHANNEL", true, true},     {"enable", "enable_channel", "CHANNEL", true, true},
	{"preempt", "preempt_tsg", "TSG", false, false},           {"switch-to", "switch_to_tsg", "TSG", true, false},
	{"resubmit", "resubmit_runlist", "RUNLIST", false, false}, {"timeslice", "tsg_timeslice", "TSG", true, false},
};

const size_t CONTROL_COUNT = std::size(CONTROLS);

namespace {

// A file of /proc/gpuX and what is written to it.
struct Write {
	std::string path, text;
};

// As the module's own parser has it, without the newline that it allows. Nothing: not an id.
std::optional<lens_ref> parse_id(const std::string &text)
{
	lens_ref ref{};

	if (text.find('\n') != text.npos || lens_parse_ref(text.data(), text.size(), &ref))
		return std::nullopt;
	return ref;
}

bool lists(const Runlist &rl, u32 id, bool tsg)
{
	for (const Tsg &t : rl.tsgs)
		if (tsg && t.id == id)
			return true;
	for (const Channel *c : rl.channels())
		if (!tsg && c->id == id)
			return true;
	return false;
}

// The runlists that an id can mean: the one that it names, or those that list it.
std::vector<const Runlist *> runlists_of(const Gpu &gpu, const lens_ref &ref, bool tsg)
{
	std::vector<const Runlist *> found;

	for (const Runlist &rl : gpu.runlists)
		if (ref.runlist != LENS_NONE ? rl.id == static_cast<u32>(ref.runlist) : lists(rl, ref.id, tsg))
			found.push_back(&rl);
	return found;
}

// The one that it does mean, or none.
const Runlist *runlist_of(const Gpu &gpu, const std::string &id, bool tsg)
{
	std::optional<lens_ref> ref = parse_id(id);
	std::vector<const Runlist *> found;

	if (ref)
		found = runlists_of(gpu, *ref, tsg);
	return found.size() == 1 ? found[0] : nullptr;
}

// What a bare id may mean, for somebody who has to choose.
std::string candidates(const Gpu &gpu, const lens_ref &ref, bool tsg)
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
		text += fmt::format("\n  and perhaps on runlist {}, which cannot be read", unread);
	return text;
}

int refused(const Write &w, int err)
{
	std::fprintf(stderr, "gpulens: %s\n", explain(err, w.path, true).c_str());
	return EXIT_REFUSED;
}

int said(const Write &w)
{
	return print(fmt::format("{} < {}\n", w.path, w.text)) ? EXIT_DONE : EXIT_PART;
}

int say(const std::string &text)
{
	std::fprintf(stderr, "gpulens: %s\n", text.c_str());
	return EXIT_REFUSED;
}

/* -- putting back -- */

// What a write makes of a channel, or of a TSG's time slice, and the write that undoes it.
struct Change {
	Write back;
	std::string name; // "channel 0:8"
	bool slice;       // it is a TSG's
	u32 id;
	u64 inst;                    // of the channel; 0: not told
	bool enabled;                // as it was written
	std::optional<u64> slice_ns; // as it became; nothing: that could not be read
	bool failed = false;         // the write failed, and may have changed nothing
};

bool stands(const Change &change, const Runlist &now)
{
	if (change.slice)
		return std::any_of(now.tsgs.begin(), now.tsgs.end(), [&](const Tsg &t) {
			return t.id == change.id && t.timeslice_ns == change.slice_ns.value_or(t.timeslice_ns);
		});
	for (const Channel *c : now.channels())
		if (c->id == change.id && !c->err && c->state.enable == change.enabled &&
		    (!c->inst || !change.inst || c->inst == change.inst)) // else another channel has its id
			return true;
	return false;
}

// Last first, what is still as it was written: what somebody else has changed since, or is gone, is left alone.
int put_back(const Options &options, unsigned index, u32 runlist, const std::vector<Change> &done)
{
	int status = EXIT_DONE;
	Gpu gpu;

	if (done.empty())
		return EXIT_DONE;
	try {
		gpu = load_live(options.sources.proc, index);
	} catch (const Error &error) {
		return say(fmt::format("nothing could be put back: {}", error.what()));
	}
	const Runlist *rl = gpu.runlist(runlist);
	if (!rl || rl->err)
		return say(fmt::format("nothing could be put back: runlist {} cannot be read", runlist));
	for (auto change = done.rbegin(); change != done.rend(); ++change) {
		if (!stands(*change, *rl)) {
			if (change->failed)
				continue;
			say(fmt::format("{} is not as this command left it; it is not put back", change->name));
			continue;
		}
		int err = write_control(change->back.path, change->back.text);
		status = std::max(status, err ? refused(change->back, err) : said(change->back));
	}
	return status;
}

Change change_of(const Gpu &gpu, const std::string &folder, u32 runlist, const Channel &c, bool enable)
{
	std::string id = qualified(gpu, runlist, c.id);

	return {.back = {folder + (enable ? "disable_channel" : "enable_channel"), id},
		.name = "channel " + id,
		.slice = false,
		.id = c.id,
		.inst = c.inst,
		.enabled = enable,
		.slice_ns{}};
}

Change slice_change(const Gpu &gpu, const std::string &folder, u32 runlist, const Tsg &t)
{
	std::string id = qualified(gpu, runlist, t.id);

	return {.back = {folder + "tsg_timeslice", fmt::format("{} {}", id, (t.timeslice_ns + 500) / 1000)},
		.name = fmt::format("the time slice of TSG {}", id),
		.slice = true,
		.id = t.id,
		.inst = 0,
		.enabled = false,
		.slice_ns{}};
}

// What a command is about to change on a runlist. Nothing, with the reason told, where it could not be put back.
std::optional<std::vector<Change>> changes_of(const Gpu &gpu, const std::string &folder, const Runlist &rl,
					      const std::string &command, u32 id)
{
	const bool one = command == "disable" || command == "enable";
	std::vector<Change> list;
	bool found = false;

	if (command == "switch-to" && rl.torn) {
		say(fmt::format("runlist {} is being replaced: it does not show all its channels; try again", rl.id));
		return std::nullopt;
	}
	for (const Channel *c : rl.channels()) {
		bool meant = one ? c->id == id : command == "switch-to",
		     enable = one ? command == "enable" : c->tsg == static_cast<int>(id);
		if (!meant)
			continue;
		if (c->err) {
			say(fmt::format("channel {}: its state cannot be read, so that it could not be put back",
					qualified(gpu, rl.id, c->id)));
			return std::nullopt;
		}
		found = true;
		if (c->state.enable != enable &&
		    std::none_of(list.begin(), list.end(), [c](const Change &l) { return l.id == c->id; }))
			list.push_back(change_of(gpu, folder, rl.id, *c, enable));
	}
	for (const Tsg &t : rl.tsgs) {
		if (command != "timeslice" || t.id != id || found)
			continue;
		found = true;
		list.push_back(slice_change(gpu, folder, rl.id, t));
	}
	if (!found) {
		say(fmt::format("{} {} is not on runlist {} now, so that it could not be put back",
				one ? "channel" : "TSG", qualified(gpu, rl.id, id), rl.id));
		return std::nullopt;
	}
	return list;
}

// Right after the write: which of several it has made, and the time slice that a TSG has now.
std::vector<Change> made(const Options &options, unsigned index, const Runlist &rl, std::vector<Change> list)
{
	Gpu gpu;

	try {
		gpu = load_live(options.sources.proc, index);
	} catch (const Error &) {
		return list; // the named ones are put back nevertheless
	}
	const Runlist *now = gpu.runlist(rl.id);
	if (!now || now->err)
		return list;
	for (Change &change : list)
		for (const Tsg &t : now->tsgs)
			if (change.slice && t.id == change.id)
				change.slice_ns = t.timeslice_ns;
	if (list.size() > 1)
		std::erase_if(list, [&](const Change &change) { return !stands(change, *now); });
	return list;
}

/* -- several channels at once -- */

// A write that is one of several, and what it changes; nothing: it was so already.
struct ChannelWrite {
	Write write;
	u32 channel;
	std::optional<Change> change;
};

// The TSG that is meant, or nothing with the reason on standard error.
const Tsg *tsg_of(const Gpu &gpu, const std::string &id, const Runlist *&rl)
{
	std::optional<lens_ref> ref = parse_id(id);
	const Tsg *found = nullptr;

	rl = runlist_of(gpu, id, true);
	if (ref && ref->runlist != LENS_NONE && !gpu.chip.ids_per_runlist) {
		say(fmt::format("{}: ids are of the whole GPU on this chip; write {}", id, ref->id));
		return nullptr;
	}
	if (!rl) {
		say(ref->runlist == LENS_NONE ? candidates(gpu, *ref, true) : fmt::format("{}: no such runlist", id));
		return nullptr;
	}
	if (rl->err) {
		say(explain(-rl->err, fmt::format("runlist{}", rl->id), false));
		return nullptr;
	}
	for (const Tsg &t : rl->tsgs)
		if (t.id == ref->id && (!found || t.channels.size() > found->channels.size()))
			found = &t;
	if (!found)
		say(fmt::format("{}: there is no such TSG on runlist {} now", id, rl->id));
	return found;
}

// The writes for each channel of a TSG, once. Nothing, with the reason told, where they could not be put back.
std::vector<ChannelWrite> parts_of(const Gpu &gpu, const std::string &folder, const Runlist &rl, const Tsg &tsg,
				   bool enable)
{
	std::vector<ChannelWrite> parts;

	if (rl.torn || tsg.channels.size() < tsg.length) {
		say(fmt::format("runlist {} is being replaced: it does not show all channels of TSG {}; try again",
				rl.id, tsg.id));
		return {};
	}
	for (const Channel &c : tsg.channels) {
		auto same = [&c](const ChannelWrite &p) { return p.channel == c.id; };
		std::string id = qualified(gpu, rl.id, c.id);
		if (c.err) {
			say(fmt::format("channel {}: its state cannot be read, so that it could not be put back", id));
			return {};
		}
		if (std::none_of(parts.begin(), parts.end(), same))
			parts.push_back({{folder + (enable ? "enable_channel" : "disable_channel"), id},
					 c.id,
					 c.state.enable != enable
						 ? std::optional(change_of(gpu, folder, rl.id, c, enable))
						 : std::nullopt});
	}
	if (parts.empty())
		say(fmt::format("TSG {} has no channels", qualified(gpu, rl.id, tsg.id)));
	return parts;
}

int control_several(const Options &options, unsigned index, const std::string &folder, const Control &which,
		    const ControlOptions &how)
{
	const bool enable = std::string(which.command) == "enable";
	const Runlist *rl = nullptr;
	std::vector<Change> done;
	int status = EXIT_DONE;

	if (how.pid)
		return say(
			fmt::format("--pid {}: the module does not know which process a channel is of; name channels, "
				    "or a TSG with --tsg",
				    *how.pid));
	Gpu gpu = load_live(options.sources.proc, index);
	const Tsg *tsg = tsg_of(gpu, how.tsg, rl);
	std::vector<ChannelWrite> parts;
	if (tsg)
		parts = parts_of(gpu, folder, *rl, *tsg, enable);
	if (parts.empty())
		return EXIT_REFUSED;
	if (how.dry_run) {
		std::string text;
		for (const ChannelWrite &p : parts)
			text += fmt::format("would write {} to {}{}\n", p.write.text, p.write.path,
					    how.for_ns ? ", and undo it after " + duration(how.for_ns) : "");
		return print(text) ? EXIT_DONE : EXIT_PART;
	}
	// A signal ends the wait; what was begun is put back.
	StopSignals stop;
	for (const ChannelWrite &p : parts) {
		int err = write_control(p.write.path, p.write.text);
		// Also one that failed: it may have come as far as the GPU.
		if (p.change) {
			done.push_back(*p.change);
			done.back().failed = err != 0;
		}
		if (err) {
			refused(p.write, err);
			put_back(options, index, rl->id, done);
			return EXIT_REFUSED;
		}
		status = std::max(status, said(p.write));
	}
	if (!how.for_ns)
		return status;
	stop.wait_until(std::chrono::steady_clock::now() + std::chrono::nanoseconds(how.for_ns));
	return std::max(status, put_back(options, index, rl->id, done));
}

} // namespace

std::string qualified(const Gpu &gpu, u32 runlist, u32 id)
{
	return gpu.chip.ids_per_runlist ? fmt::format("{}:{}", runlist, id) : std::to_string(id);
}

int write_control(const std::string &path, const std::string &text)
{
	int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return errno;
	if (::write(fd, text.data(), text.size()) < 0)
		err = errno;
	close(fd);
	return err;
}

bool is_id(const std::string &text, bool runlist_only)
{
	std::optional<lens_ref> ref = parse_id(text);

	return ref && !(runlist_only && ref->runlist != LENS_NONE);
}

int control(const Options &options, const Control &which, const ControlOptions &how)
{
	unsigned index = only_gpu(options.sources.proc, options.sources.gpus);
	std::string folder = fmt::format("{}/gpu{}/", options.sources.proc, index);
	Write w{folder + which.file, how.id};
	std::optional<Gpu> before;
	const Runlist *rl = nullptr;

	if (!how.tsg.empty() || how.pid)
		return control_several(options, index, folder, which, how);
	if (how.slice_us)
		w.text += fmt::format(" {}", how.slice_us);
	if (how.dry_run) {
		bool shown = print(fmt::format("would write {} to {}{}\n", w.text, w.path,
					       how.for_ns ? ", and undo it after " + duration(how.for_ns) : ""));
		return shown ? EXIT_DONE : EXIT_PART;
	}
	// From here on a signal is a wish to end it, which is granted after what was begun is put back.
	StopSignals stop;
	std::vector<Change> changes;
	if (how.for_ns) {
		before = load_live(options.sources.proc, index);
		rl = runlist_of(*before, how.id, std::string(which.target) == "TSG");
		if (!rl || rl->err)
			return refused(w, rl ? -rl->err : before->chip.ids_per_runlist ? EINVAL : ENOENT);
		auto list = changes_of(*before, folder, *rl, which.command, parse_id(how.id)->id);
		if (!list)
			return EXIT_REFUSED;
		changes = *list;
	}
	int err = write_control(w.path, w.text);
	// Also one that failed: it may have come as far as the GPU.
	if (how.for_ns)
		changes = made(options, index, *rl, changes);
	if (err) {
		refused(w, err);
		if (rl)
			put_back(options, index, rl->id, changes);
		std::optional<lens_ref> ref = parse_id(how.id);
		if (err == EINVAL && ref && ref->runlist == LENS_NONE && std::string(which.target) != "RUNLIST")
			say(candidates(load_live(options.sources.proc, index), *ref,
				       std::string(which.target) == "TSG"));
		return EXIT_REFUSED;
	}
	int status = said(w);
	if (!how.for_ns)
		return status;
	stop.wait_until(std::chrono::steady_clock::now() + std::chrono::nanoseconds(how.for_ns));
	// Whether anybody reads what is said or not.
	return std::max(status, put_back(options, index, rl->id, changes));
}

} // namespace tool
