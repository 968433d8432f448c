// SPDX-License-Identifier: GPL-2.0
// See control.hpp.
#include "control.hpp"

#include "parse.h"
#include "signals.hpp"
#include "text.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace tool {

const Steering STEERING[] = {
	{"disable", "disable_channel", "CHANNEL", "the scheduler skips this channel", true, true},
	{"enable", "enable_channel", "CHANNEL", "it no longer does", true, true},
	{"preempt", "preempt_tsg", "TSG", "this TSG is saved and leaves the engine", false, false},
	{"switch-to", "switch_to_tsg", "TSG", "only this TSG of its runlist may run", true, false},
	{"resubmit", "resubmit_runlist", "RUNLIST", "the GPU reads this runlist again", false, false},
	{"timeslice", "tsg_timeslice", "TSG", "gives this TSG another time slice, at once", true, false},
};

const size_t STEERING_COUNT = std::size(STEERING);

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

// What makes one runlist be as it was: channels' states and time slices that have changed since.
std::vector<Write> differences(const std::string &folder, const Gpu &gpu, const Runlist &before, const Runlist &after)
{
	std::map<u32, const Channel *> now;
	std::vector<Write> list;

	for (const Channel *c : after.channels())
		now[c->id] = c;
	for (const Channel *c : before.channels()) {
		auto at = now.find(c->id);
		if (at == now.end() || c->err || at->second->err || at->second->state.enable == c->state.enable)
			continue;
		list.push_back({folder + (c->state.enable ? "enable_channel" : "disable_channel"),
				qualified(gpu, before.id, c->id)});
	}
	for (const Tsg &t : before.tsgs)
		for (const Tsg &n : after.tsgs)
			if (t.id == n.id && t.timeslice_ns != n.timeslice_ns)
				list.push_back(
					{folder + "tsg_timeslice", fmt::format("{} {}", qualified(gpu, before.id, t.id),
									       (t.timeslice_ns + 500) / 1000)});
	return list;
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

int undo(const Options &options, unsigned index, const std::string &folder, const Gpu &before, const Runlist &rl)
{
	Gpu after = load_live(options.sources.proc, index);
	const Runlist *now = after.runlist(rl.id);
	int status = EXIT_DONE;

	if (!now || now->err)
		return refused({folder + fmt::format("runlist{}", rl.id), ""}, now ? -now->err : ENOENT);
	for (const Write &w : differences(folder, before, rl, *now)) {
		int err = write_control(w.path, w.text);
		status = std::max(status, err ? refused(w, err) : said(w));
	}
	return status;
}

/* -- several channels at once -- */

// A write that is one of several, and what it undoes itself with.
struct Part {
	Write write, back;
	u32 channel;
	bool changes; // it was not so already
};

int say(const std::string &text)
{
	std::fprintf(stderr, "gpulens: %s\n", text.c_str());
	return EXIT_REFUSED;
}

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
std::vector<Part> parts_of(const Gpu &gpu, const std::string &folder, const Runlist &rl, const Tsg &tsg, bool enable)
{
	std::vector<Part> parts;

	if (rl.torn || tsg.channels.size() < tsg.length) {
		say(fmt::format("runlist {} is being replaced: it does not show all channels of TSG {}; try again",
				rl.id, tsg.id));
		return {};
	}
	for (const Channel &c : tsg.channels) {
		auto same = [&c](const Part &p) { return p.channel == c.id; };
		std::string id = qualified(gpu, rl.id, c.id);
		if (c.err) {
			say(fmt::format("channel {}: its state cannot be read, so that it could not be put back", id));
			return {};
		}
		if (std::none_of(parts.begin(), parts.end(), same))
			parts.push_back({{folder + (enable ? "enable_channel" : "disable_channel"), id},
					 {folder + (enable ? "disable_channel" : "enable_channel"), id},
					 c.id,
					 c.state.enable != enable});
	}
	if (parts.empty())
		say(fmt::format("TSG {} has no channels", qualified(gpu, rl.id, tsg.id)));
	return parts;
}

// Last first, what these have changed and nobody else has changed since: a channel that is gone is left alone.
int put_back(const Options &options, unsigned index, u32 runlist, const std::vector<Part> &done, bool enabled)
{
	int status = EXIT_DONE;
	Gpu gpu;

	if (std::none_of(done.begin(), done.end(), [](const Part &p) { return p.changes; }))
		return EXIT_DONE;
	try {
		gpu = load_live(options.sources.proc, index);
	} catch (const SourceError &error) {
		return say(fmt::format("nothing could be put back: {}", error.what()));
	}
	const Runlist *rl = gpu.runlist(runlist);
	if (!rl || rl->err)
		return say(fmt::format("nothing could be put back: runlist {} cannot be read", runlist));
	for (auto p = done.rbegin(); p != done.rend(); ++p) {
		bool as_left = false;
		for (const Channel *c : rl->channels())
			as_left |= c->id == p->channel && !c->err && c->state.enable == enabled;
		if (!p->changes || !as_left)
			continue;
		int err = write_control(p->back.path, p->back.text);
		status = std::max(status, err ? refused(p->back, err) : said(p->back));
	}
	return status;
}

int control_several(const Options &options, unsigned index, const std::string &folder, const Steering &steering,
		    const ControlOptions &how)
{
	const bool enable = std::string(steering.command) == "enable";
	const Runlist *rl = nullptr;
	std::vector<Part> done;
	int status = EXIT_DONE;

	if (how.pid)
		return say(
			fmt::format("--pid {}: the module does not know which process a channel is of; name channels, "
				    "or a TSG with --tsg",
				    *how.pid));
	Gpu gpu = load_live(options.sources.proc, index);
	const Tsg *tsg = tsg_of(gpu, how.tsg, rl);
	std::vector<Part> parts;
	if (tsg)
		parts = parts_of(gpu, folder, *rl, *tsg, enable);
	if (parts.empty())
		return EXIT_REFUSED;
	if (how.dry_run) {
		std::string text;
		for (const Part &p : parts)
			text += fmt::format("would write {} to {}{}\n", p.write.text, p.write.path,
					    how.for_ns ? ", and undo it after " + duration(how.for_ns) : "");
		return print(text) ? EXIT_DONE : EXIT_PART;
	}
	// A signal ends the wait; what was begun is put back.
	StopSignals stop;
	for (const Part &p : parts) {
		int err = write_control(p.write.path, p.write.text);
		// Also one that failed: it may have come as far as the GPU.
		done.push_back(p);
		if (err) {
			refused(p.write, err);
			put_back(options, index, rl->id, done, enable);
			return EXIT_REFUSED;
		}
		status = std::max(status, said(p.write));
	}
	if (!how.for_ns)
		return status;
	stop.wait_until(std::chrono::steady_clock::now() + std::chrono::nanoseconds(how.for_ns));
	return std::max(status, put_back(options, index, rl->id, done, enable));
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

int control(const Options &options, const Steering &steering, const ControlOptions &how)
{
	unsigned index = only_gpu(options.sources);
	std::string folder = fmt::format("{}/gpu{}/", options.sources.proc, index);
	Write w{folder + steering.file, how.id};
	std::optional<Gpu> before;
	const Runlist *rl = nullptr;

	if (!how.tsg.empty() || how.pid)
		return control_several(options, index, folder, steering, how);
	if (how.slice_us)
		w.text += fmt::format(" {}", how.slice_us);
	if (how.dry_run) {
		bool shown = print(fmt::format("would write {} to {}{}\n", w.text, w.path,
					       how.for_ns ? ", and undo it after " + duration(how.for_ns) : ""));
		return shown ? EXIT_DONE : EXIT_PART;
	}
	// From here on a signal is a wish to end it, which is granted after what was begun is put back.
	StopSignals stop;
	if (how.for_ns) {
		before = load_live(options.sources.proc, index);
		rl = runlist_of(*before, how.id, std::string(steering.what) == "TSG");
		if (!rl || rl->err)
			return refused(w, rl ? -rl->err : before->chip.ids_per_runlist ? EINVAL : ENOENT);
	}
	int err = write_control(w.path, w.text);
	if (err) {
		refused(w, err);
		std::optional<lens_ref> ref = parse_id(how.id);
		if (err == EINVAL && ref && ref->runlist == LENS_NONE && std::string(steering.what) != "RUNLIST")
			say(candidates(load_live(options.sources.proc, index), *ref,
				       std::string(steering.what) == "TSG"));
		return EXIT_REFUSED;
	}
	int status = said(w);
	if (!how.for_ns)
		return status;
	stop.wait_until(std::chrono::steady_clock::now() + std::chrono::nanoseconds(how.for_ns));
	// Whether anybody reads what is said or not.
	return std::max(status, undo(options, index, folder, *before, *rl));
}

} // namespace tool
