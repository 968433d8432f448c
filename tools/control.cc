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
	{"disable", "disable_channel", "CHANNEL", "the scheduler skips this channel", true},
	{"enable", "enable_channel", "CHANNEL", "it no longer does", true},
	{"preempt", "preempt_tsg", "TSG", "this TSG is saved and leaves the engine", false},
	{"switch-to", "switch_to_tsg", "TSG", "only this TSG of its runlist may run", true},
	{"resubmit", "resubmit_runlist", "RUNLIST", "the GPU reads this runlist again", false},
	{"timeslice", "tsg_timeslice", "TSG", "gives this TSG another time slice, at once", true},
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

// The runlist that an id names, by itself or because no other one has it.
const Runlist *runlist_of(const Gpu &gpu, const std::string &id, bool tsg)
{
	const Runlist *found = nullptr;
	std::optional<lens_ref> ref = parse_id(id);

	if (!ref || ref->runlist != LENS_NONE)
		return ref ? gpu.runlist(static_cast<u32>(ref->runlist)) : nullptr;
	for (const Runlist &rl : gpu.runlists) {
		bool here = false;
		for (const Tsg &t : rl.tsgs)
			here |= tsg && t.id == ref->id;
		for (const Channel *c : rl.channels())
			here |= !tsg && c->id == ref->id;
		if (here && found)
			return nullptr;
		if (here)
			found = &rl;
	}
	return found;
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
	if (err)
		return refused(w, err);
	int status = said(w);
	if (!how.for_ns)
		return status;
	stop.wait_until(std::chrono::steady_clock::now() + std::chrono::nanoseconds(how.for_ns));
	// Whether anybody reads what is said or not.
	return std::max(status, undo(options, index, folder, *before, *rl));
}

} // namespace tool
