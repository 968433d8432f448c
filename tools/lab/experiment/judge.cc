// SPDX-License-Identifier: GPL-2.0
// The judge of each experiment. Its thresholds are decisions of this project: what a GPU that keeps to the rule shows and what
// one that breaks it shows are far apart, and between both nothing is claimed.
#include "lab/experiment/judge.hpp"

#include "lib/base/errors.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tool::experiment {

using json = nlohmann::ordered_json;

namespace {

constexpr double HARDLY = 0.05, CLEARLY = 0.2; // shares of a time: below this none, from this on some
constexpr size_t LEAST_SLICES = 5;             // of each task
constexpr double LEAST_WINDOW_MS = 5;
constexpr double WAIT_MS = 50, SLACK_MS = 1;     // Fig. 5: a wait for a channel; error of times
constexpr double SLOWED = 1.5, NOT_SLOWED = 1.2; // Fig. 10
constexpr size_t LEAST_COPIES = 5;               // Fig. 10
constexpr s64 GRACE_NS = 20'000'000;             // R1: a channel that is running leaves its engine at the next switch
constexpr double LEAST_HELD_MS = 50;             // R1

double share_of(s64 part, s64 whole)
{
	return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::string percent_text(double value)
{
	return fmt::format("{:.1f} %", 100 * value);
}

// "1.044 +/- 0.087"; error: of a copy, one chunk; 0: none is known.
std::string length_text(double ms, double error)
{
	return fmt::format("{:.3f}", ms) + (error > 0 ? fmt::format(" +/- {:.3f}", error) : "");
}

// Three decimals, for JSON.
double round_number(double value)
{
	return std::round(value * 1000) / 1000;
}

// Two tracks that want the same engine.
struct Pair {
	double window_ms = 0, shared = 0; // shared: of the time of the less active one
	size_t slices[2] = {};
	double slice_ms[2] = {}, chunk_ms[2] = {};

	Pair(const Track &a, const Track &b)
	{
		Spans both[2] = {active_spans(a), active_spans(b)};
		Span window = common_window({both[0], both[1]});

		window_ms = to_ms(window.to - window.from);
		for (size_t i = 0; i < 2; i++) {
			both[i] = clip(both[i], window);
			slices[i] = both[i].size();
			chunk_ms[i] = slices[i] > 1 ? to_ms(chunk_ns(i ? b : a)) : 0;
			slice_ms[i] = median_of(lengths_ms(both[i])) + chunk_ms[i];
		}
		shared = share_of(overlap(both[0], both[1]), std::min(total_length(both[0]), total_length(both[1])));
	}

	bool is_long_enough() const { return window_ms >= LEAST_WINDOW_MS && slices[0] && slices[1]; }
	Finding exclusive() const
	{
		return !is_long_enough()                                                    ? Finding::Unknown
		       : shared >= CLEARLY                                                  ? Finding::NotSeen
		       : shared <= HARDLY && std::min(slices[0], slices[1]) >= LEAST_SLICES ? Finding::Seen
											    : Finding::Unknown;
	}
	json numbers() const
	{
		return {{"window_ms", round_number(window_ms)},
			{"both_active_share", round_number(shared)},
			{"slices", {slices[0], slices[1]}},
			{"median_slice_ms", {round_number(slice_ms[0]), round_number(slice_ms[1])}},
			{"slice_error_ms", {round_number(chunk_ms[0]), round_number(chunk_ms[1])}}};
	}
};

const Track *find_track(const Trace &trace, const std::string &task, bool copies)
{
	for (const Track &t : trace.tracks)
		if (t.task == task && (t.work != Work::Kernel) == copies)
			return &t;
	return nullptr;
}

// Returns the track at that place. Throws Error (Failed) if the trace has fewer.
const Track &track_at(const Trace &trace, size_t i)
{
	if (i >= trace.tracks.size())
		throw Error(Error::Failed,
			    fmt::format("{}: {} tracks are too few", trace.experiment, trace.tracks.size()));
	return trace.tracks[i];
}

// Fig. 6 and 7: two tasks that want one engine.
Verdict judge_pair(const Trace &trace)
{
	const Track &a = track_at(trace, 0), &b = track_at(trace, 1);
	Pair pair(a, b);
	Verdict v{.finding = pair.exclusive(), .rule = "R4", .sentence = {}, .numbers = pair.numbers()};
	std::string what = trace.experiment == "fig6" ? "kernels of two tasks" : "copies of two tasks";

	if (trace.processes == 1) {
		what = trace.experiment == "fig6" ? "kernels of one task in two streams"
						  : "copies of one task in two streams";
		v.finding = Finding::Unknown;
	}
	if (trace.experiment == "fig6" && trace.processes == 2) {
		Spans of_a = active_spans(a);
		Spans before = of_a.empty() || b.spans.empty()
				       ? Spans{}
				       : clip(gaps_of(of_a), {of_a.front().from, active_spans(b).front().from});
		v.numbers["interruptions_during_initialization"] = before.size();
		v.numbers["interrupted_during_initialization_ms"] = round_number(to_ms(total_length(before)));
	}
	std::string seen = fmt::format(
		"in {:.1f} ms {} had the engine at the same time for {} of the time, in {} and {} slices "
		"with medians of {} and {} ms",
		pair.window_ms, what, percent_text(pair.shared), pair.slices[0], pair.slices[1],
		length_text(pair.slice_ms[0], pair.chunk_ms[0]), length_text(pair.slice_ms[1], pair.chunk_ms[1]));
	v.sentence = !pair.is_long_enough()       ? fmt::format("{} did not run in the same time long enough", what)
		     : trace.processes == 1       ? seen + "; R4 is about several tasks, and one process is one task"
		     : v.finding == Finding::Seen ? "the tasks take turns: " + seen
		     : v.finding == Finding::NotSeen
			     ? "the tasks do not take turns: " + seen +
				       (trace.experiment == "fig7"
						? "; R4 allows it if the driver gave them different copy engines"
						: "; R4 allows it under MPS")
			     : "turns are not clear: " + seen;
	return v;
}

// Fig. 8: a task's copies beside another task's kernel.
Verdict judge_independence(const Trace &trace)
{
	const Track &other = track_at(trace, 0);
	const std::string &name = track_at(trace, 1).task;
	const Track *own = find_track(trace, name, false), *copy = find_track(trace, name, true);
	Verdict v{.finding = Finding::Unknown, .rule = "R5", .sentence = {}};

	if (!own || !copy) {
		v.sentence = "the task that computes and copies is missing";
		return v;
	}
	Pair pair(other, *own);
	Spans of_other = active_spans(other), copies = active_spans(*copy);
	Span window = common_window({of_other, active_spans(*own), copies});
	of_other = clip(of_other, window);
	copies = clip(copies, window);
	double beside = share_of(overlap(of_other, copies), total_length(copies));

	v.numbers = pair.numbers();
	v.numbers["copy_ms"] = round_number(to_ms(total_length(copies)));
	v.numbers["copy_beside_other_kernel_share"] = round_number(beside);
	std::string seen =
		fmt::format("of {:.1f} ms in which the copies of {} advanced, {} were while the kernel of {} had "
			    "the compute engine",
			    to_ms(total_length(copies)), name, percent_text(beside), other.task);
	if (!pair.is_long_enough() || to_ms(total_length(copies)) < LEAST_WINDOW_MS)
		v.sentence = "the tasks did not run in the same time long enough";
	else if (pair.exclusive() != Finding::Seen)
		v.sentence =
			fmt::format("the two kernels were active at the same time for {} of the time, so that turns of "
				    "the compute engine are not clear; {}",
				    percent_text(pair.shared), seen);
	else {
		v.finding = beside >= CLEARLY ? Finding::Seen : beside <= HARDLY ? Finding::NotSeen : Finding::Unknown;
		v.sentence = choose_text(v.finding, "runlists are independent: ",
					 "copies follow the turns of kernels: ", "independence is not clear: ") +
			     seen;
	}
	return v;
}

// Fig. 9: a kernel and a copy of two tasks, at best on one runlist.
Verdict judge_shared_runlist(const Trace &trace)
{
	Spans kernel = active_spans(track_at(trace, 0)), copy = active_spans(track_at(trace, 1));
	Span window = common_window({kernel, copy});
	Verdict v{.finding = Finding::Unknown, .rule = "R5", .sentence = {}};

	kernel = clip(kernel, window);
	copy = clip(copy, window);
	Spans gaps = gaps_of(copy);
	s64 length = window.to - window.from, chunk = gaps.empty() ? 0 : chunk_ns(track_at(trace, 1)),
	    copied = total_length(copy) + chunk * static_cast<s64>(gaps.size());
	double copy_idle = 1 - share_of(copied, length), chunk_ms = to_ms(chunk),
	       gap_ms = median_of(lengths_ms(gaps)) - chunk_ms,
	       kernel_idle = 1 - share_of(total_length(kernel), length),
	       both = share_of(overlap(kernel, copy), total_length(copy));
	v.numbers = {{"window_ms", round_number(to_ms(length))},
		     {"copy_interrupted_share", round_number(copy_idle)},
		     {"copy_interruptions", gaps.size()},
		     {"median_copy_slice_ms", round_number(median_of(lengths_ms(copy)) + chunk_ms)},
		     {"median_interruption_ms", round_number(gap_ms)},
		     {"slice_error_ms", round_number(chunk_ms)},
		     {"kernel_interrupted_share", round_number(kernel_idle)},
		     {"both_active_share", round_number(both)},
		     {"shared_runlist", trace.shared_runlist ? json(*trace.shared_runlist) : json(nullptr)}};
	if (to_ms(length) < LEAST_WINDOW_MS) {
		v.sentence = "kernel and copy did not run in the same time long enough";
		return v;
	}
	std::string seen = fmt::format("in {:.1f} ms the copy was interrupted {} times, for {} of the time (median {} "
				       "ms), and the kernel for {} of the time",
				       to_ms(length), gaps.size(), percent_text(copy_idle),
				       length_text(gap_ms, chunk_ms), percent_text(kernel_idle));
	if (copy_idle >= CLEARLY && gaps.size() >= LEAST_SLICES && kernel_idle <= HARDLY) {
		v.finding = Finding::Seen;
		v.sentence = "copies of one task depend on kernels of another: " + seen;
	} else if (copy_idle >= CLEARLY && kernel_idle >= CLEARLY && both <= HARDLY) {
		v.finding = Finding::NotSeen;
		v.sentence = "kernel and copy take turns, as if they were one engine: " + seen;
	} else if (copy_idle <= HARDLY && kernel_idle <= HARDLY && trace.shared_runlist.value_or(false)) {
		v.finding = Finding::NotSeen;
		v.sentence = "copies do not depend on kernels of the same runlist: " + seen;
	} else if (copy_idle <= HARDLY && kernel_idle <= HARDLY) {
		v.sentence =
			"kernel and copy do not depend on each other, as on separate runlists, and no copy of CUDA is "
			"known to be on the runlist of kernels here: " +
			seen;
	} else
		v.sentence = "neither is clear: " + seen;
	return v;
}

// Fig. 10: times of copies alone and beside uploads of textures.
Verdict judge_uploads(const Trace &trace)
{
	Verdict v{.finding = Finding::Unknown, .rule = "R8", .sentence = {}};
	std::vector<double> ms[2];

	for (const Track &t : trace.tracks)
		if (t.task == "alone" || t.task == "beside")
			ms[t.task == "beside"] = lengths_ms(t.spans);
	double alone = median_of(ms[0]), beside = median_of(ms[1]), factor = alone > 0 ? beside / alone : 0;
	v.numbers = {{"copies_alone", ms[0].size()},
		     {"median_alone_ms", round_number(alone)},
		     {"copies_beside", ms[1].size()},
		     {"median_beside_ms", round_number(beside)},
		     {"slow_down", round_number(factor)}};
	if (!trace.missing.empty()) {
		v.sentence = trace.missing;
		return v;
	}
	if (std::min(ms[0].size(), ms[1].size()) < LEAST_COPIES) {
		v.sentence = fmt::format("{} and {} copies are too few", ms[0].size(), ms[1].size());
		return v;
	}
	v.finding = factor >= SLOWED ? Finding::Seen : factor <= NOT_SLOWED ? Finding::NotSeen : Finding::Unknown;
	v.sentence = fmt::format(
		"{}: copies to the host took {:.3f} ms beside uploads of textures, and {:.3f} ms alone "
		"(medians; {:.2f} times as long)",
		choose_text(v.finding, "texture uploads and copies share copy hardware",
			    "texture uploads do not disturb copies", "sharing of copy hardware is not clear"),
		beside, alone, factor);
	return v;
}

// The stream whose first kernel waits longest, in a log of Fig. 5.
struct Wait {
	u32 stream = 0;
	double ms = 0, until_ms = 0; // until: when it ended
	double free_ms = 0;          // when another stream was the first to have started all its kernels

	explicit Wait(const blocks::Log &log)
	{
		std::vector<const blocks::Ran *> first(log.streams.size()), last(log.streams.size());

		for (const blocks::Ran &k : log.kernels) {
			first[k.stream] = first[k.stream] ? first[k.stream] : &k;
			last[k.stream] = &k;
		}
		for (u32 i = 0; i < first.size(); i++)
			if (first[i] && first[i]->launched &&
			    to_ms(first[i]->first_start() - (*first[i]->launched)[0]) > ms) {
				stream = i;
				ms = to_ms(first[i]->first_start() - (*first[i]->launched)[0]);
				until_ms = to_ms(first[i]->first_start());
			}
		free_ms = 1e9;
		for (u32 i = 0; i < last.size(); i++)
			if (i != stream && last[i])
				free_ms = std::min(free_ms, to_ms(last[i]->last_start()));
	}
};

Verdict judge_channels(const Trace &trace)
{
	Verdict v{.finding = Finding::Unknown, .rule = "R2", .sentence = {}};

	if (trace.logs.size() != 2)
		throw Error(Error::Failed, "fig5: two logs are needed");
	const blocks::Log &few = trace.logs[0], &many = trace.logs[1];
	Wait waited(few), with_more(many);
	v.numbers = {{"streams", few.streams.size()},
		     {"channels", {few.machine.channels, many.machine.channels}},
		     {"longest_wait_ms", {round_number(waited.ms), round_number(with_more.ms)}},
		     {"waiting_stream", waited.stream + 1},
		     {"wait_ended_ms", round_number(waited.until_ms)},
		     {"first_stream_dispatched_ms", round_number(waited.free_ms)}};
	std::string seen =
		fmt::format("of {} streams, stream {} waited {:.3f} ms with {} channels, and none longer than "
			    "{:.3f} ms with {}",
			    few.streams.size(), waited.stream + 1, waited.ms, few.machine.channels, with_more.ms,
			    many.machine.channels);
	bool dispatched = waited.until_ms >= waited.free_ms - SLACK_MS;
	if (waited.ms >= WAIT_MS && with_more.ms < WAIT_MS && dispatched) {
		v.finding = Finding::Seen;
		v.sentence =
			fmt::format("channels limit parallelism: {}; its wait ended at {:.3f} ms, when all kernels of "
				    "another stream had started (at {:.3f} ms)",
				    seen, waited.until_ms, waited.free_ms);
	} else if (waited.ms < WAIT_MS && with_more.ms < WAIT_MS) {
		v.finding = Finding::NotSeen;
		v.sentence = "no stream waits for a channel: " + seen;
	} else
		v.sentence = with_more.ms >= WAIT_MS
				     ? "streams wait with as many channels as streams, too, so something else delays "
				       "them: " +
					       seen
				     : "the wait ended before another stream had started all its kernels: " + seen;
	return v;
}

// R1: calls of a task whose channels are disabled for a time.
Verdict judge_disabled(const Trace &trace)
{
	Verdict v{.finding = Finding::Unknown, .rule = "R1", .sentence = {}};
	size_t inside = 0;
	std::string too_few;

	if (!trace.held || !trace.missing.empty()) {
		v.sentence = trace.missing.empty() ? "no channel was disabled" : trace.missing;
		return v;
	}
	Span held = *trace.held;
	v.numbers["disabled_ms"] = round_number(to_ms(held.to - held.from));
	for (const Track &t : trace.tracks) {
		size_t before = 0, during = 0, after = 0;
		for (const Span &s : t.spans)
			(s.to < held.from ? before : s.to < held.to ? during : after) += 1;
		size_t late = std::count_if(t.spans.begin(), t.spans.end(), [&](const Span &s) {
			return s.to > held.from + GRACE_NS && s.to < held.to;
		});
		inside += late;
		if (!before || !after)
			too_few = work_name(t.work);
		v.numbers["completed"][work_name(t.work)] = {
			{"before", before}, {"while_disabled", during}, {"later_than_20ms", late}, {"after", after}};
	}
	if (to_ms(held.to - held.from) < LEAST_HELD_MS || trace.tracks.empty())
		v.sentence = "the channels were not disabled long enough";
	else if (inside) {
		v.finding = Finding::NotSeen;
		v.sentence = fmt::format("{} calls completed more than 20 ms after all known channels of the task were "
					 "disabled, and before they were enabled again {:.1f} ms later",
					 inside, to_ms(held.to - held.from));
	} else if (!too_few.empty())
		v.sentence = fmt::format("no {} completed both before and after the channels were disabled", too_few);
	else {
		v.finding = Finding::Seen;
		v.sentence = fmt::format(
			"no call of the task ({}) completed while its channels were disabled, for {:.1f} ms "
			"less 20 ms in which running work may end; all went on afterwards",
			trace.tracks.size() == 3 ? "kernels, copies, allocations" : "of any kind",
			to_ms(held.to - held.from));
	}
	return v;
}

} // namespace

const char *choose_text(Finding finding, const char *seen, const char *not_seen, const char *unknown)
{
	return finding == Finding::Seen ? seen : finding == Finding::NotSeen ? not_seen : unknown;
}

const char *finding_name(Finding finding)
{
	return choose_text(finding, "seen", "not seen", "cannot be told");
}

std::string verdict_line(const Verdict &verdict)
{
	return fmt::format("{}, {}: {}", verdict.rule, finding_name(verdict.finding), verdict.sentence);
}

const std::vector<Kind> &kinds()
{
	static const std::vector<Kind> all = {
		{"r1", "R1", "disable all channels of a task while it runs kernels, copies and allocates memory"},
		{"fig5", "R2", "nine streams with eight channels, and with nine"},
		{"fig6", "R4", "kernels of two tasks on the compute engine"},
		{"fig7", "R4", "copies of two tasks in one direction"},
		{"fig8", "R5", "a kernel, a kernel with copies, and two copies, of four tasks"},
		{"fig9", "R5", "a kernel and a copy of two tasks, which the paper shows for one runlist"},
		{"fig10", "R8", "copies to the host, alone and beside uploads of textures by OpenGL"},
	};
	return all;
}

Verdict judge(const Trace &trace)
{
	if (trace.experiment == "r1")
		return judge_disabled(trace);
	if (trace.experiment == "fig5")
		return judge_channels(trace);
	if (trace.experiment == "fig6" || trace.experiment == "fig7")
		return judge_pair(trace);
	if (trace.experiment == "fig8")
		return judge_independence(trace);
	if (trace.experiment == "fig9")
		return judge_shared_runlist(trace);
	return judge_uploads(trace);
}

} // namespace tool::experiment
