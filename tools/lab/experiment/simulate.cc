// SPDX-License-Identifier: GPL-2.0
// Time slices, chunks and times are those of RTAS'24 where the paper has them: about 2 ms for kernels and 1 ms for copies (Fig.
// 6 and 7), 1.024 ms and 1.000 ms on the TX2 (Fig. 9), twice the time beside uploads (Fig. 10). The others are chosen here.
#include "lab/experiment/simulate.hpp"

#include "lab/blocks/predict.hpp"
#include "lib/base/errors.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tool::experiment {

namespace {

constexpr s64 US = 1000, MS = 1000 * US;
constexpr s64 KERNEL_SLICE = 2 * MS, COPY_SLICE = 1049 * US;
constexpr s64 MIB_TIME = 87 * US; // 12 GB/s, about PCI Express 3.0 with 16 lanes

// The spans of task number task of count tasks that take turns.
Spans take_turns(s64 from, s64 to, s64 slice, u32 task, u32 count)
{
	Spans spans;

	for (s64 at = from + slice * task; at < to; at += slice * count)
		spans.push_back({at, std::min(at + slice, to)});
	return spans;
}

// Cuts the times in which a copy advances into chunks. The first chunk after an interruption includes the interruption.
Track copy_track(const std::string &task, u64 chunk_bytes, const Spans &advances)
{
	Track track{.task = task, .work = Work::CopyToHost, .bytes = chunk_bytes};
	const s64 chunk = MIB_TIME * static_cast<s64>(chunk_bytes) >> 20;
	s64 left = chunk, begin = advances.empty() ? 0 : advances.front().from;

	for (const Span &s : advances)
		for (s64 at = s.from; at < s.to;) {
			s64 step = std::min(left, s.to - at);
			at += step;
			left -= step;
			if (left)
				continue;
			track.spans.push_back({begin, at});
			begin = at;
			left = chunk;
		}
	return track;
}

Spans intersect_spans(const Spans &a, const Spans &b)
{
	Spans both;

	for (const Span &s : a) {
		Spans part = clip(b, s);
		both.insert(both.end(), part.begin(), part.end());
	}
	return both;
}

// The second task's initialization interrupts the first one's kernel (Fig. 6: several times within 100 ms).
void simulate_kernels(Trace &t, const Simulation &s)
{
	const s64 begin = 100 * MS, ready = 200 * MS, end = 500 * MS;
	Spans first{{0, begin}}, second;

	for (s64 at = begin + KERNEL_SLICE; at < ready; at += 10 * MS)
		first.push_back({at, std::min(at + 8 * MS, ready)});
	if (s.processes == 1)
		first = {{0, ready}};
	if (s.without == "R4" || s.processes == 1) {
		first.push_back({ready, end});
		second = {{ready, end}};
	} else {
		for (const Span &slice : take_turns(ready, end, KERNEL_SLICE, 1, 2))
			first.push_back(slice);
		second = take_turns(ready, end, KERNEL_SLICE, 0, 2);
	}
	t.tracks = {{.task = "logger 1", .spans = first},
		    {.task = s.processes == 1 ? "logger 1" : "logger 2", .spans = second}};
}

void simulate_copies(Trace &t, const Simulation &s)
{
	const s64 end = 60 * MS;
	bool both = s.without == "R4" || s.processes == 1;

	for (u32 i = 0; i < 2; i++)
		t.tracks.push_back(copy_track(fmt::format("copy {}", s.processes == 1 ? 1 : i + 1), s.chunk_bytes,
					      both ? Spans{{0, end}} : take_turns(0, end, COPY_SLICE, i, 2)));
}

// Each runlist takes turns among its tasks; without R5, copies advance only while their task has the compute engine.
void simulate_four(Trace &t, const Simulation &s)
{
	const s64 end = 100 * MS;
	bool all = s.without == "R4";
	Spans kernels[2], copies[3];

	for (u32 i = 0; i < 2; i++)
		kernels[i] = all ? Spans{{0, end}} : take_turns(0, end, KERNEL_SLICE, i, 2);
	for (u32 i = 0; i < 3; i++)
		copies[i] = all ? Spans{{0, end}} : take_turns(0, end, COPY_SLICE, i, 3);
	if (s.without == "R5")
		copies[0] = intersect_spans(copies[0], kernels[1]);
	t.tracks = {{.task = "task 1", .spans = kernels[0]},
		    {.task = "task 2", .spans = kernels[1]},
		    copy_track("task 2", s.chunk_bytes, copies[0]),
		    copy_track("task 3", s.chunk_bytes, copies[1]),
		    copy_track("task 4", s.chunk_bytes, copies[2])};
}

void simulate_one_runlist(Trace &t, const Simulation &s)
{
	const s64 end = 60 * MS, slice = 1024 * US, gap = 1000 * US;
	Spans copy;

	for (s64 at = 0; at < end; at += slice + gap)
		copy.push_back({at, std::min(at + slice, end)});
	Spans kernel = s.without == "R4" ? gaps_of(copy) : Spans{{0, end}};
	t.shared_runlist = true;
	t.tracks = {{.task = "logger", .spans = kernel},
		    copy_track("copy", s.chunk_bytes, s.without == "R5" ? Spans{{0, end}} : copy)};
}

void simulate_uploads(Trace &t, const Simulation &s)
{
	const s64 alone = 10 * MS, beside = s.without == "R8" ? 10300 * US : 20 * MS;

	for (bool other : {false, true}) {
		Track track{.task = other ? "beside" : "alone", .work = Work::CopyToHost, .bytes = UPLOAD_COPY};
		for (s64 i = 0; i < 20; i++)
			track.spans.push_back({i * (other ? beside : alone), (i + 1) * (other ? beside : alone)});
		t.tracks.push_back(track);
	}
}

void simulate_disabled(Trace &t, const Simulation &s)
{
	const s64 off = 100 * MS, on = 300 * MS, end = 400 * MS;

	t.held = Span{off, on};
	for (Work work : {Work::Kernel, Work::CopyToHost, Work::Allocation}) {
		Track track{.task = "task", .work = work};
		s64 took = work == Work::Allocation ? 300 * US : MS;
		for (s64 at = 0; at < end;) {
			s64 to = at + took;
			// Without R1 copies need no channel.
			if (to > off && to < on && !(s.without == "R1" && work == Work::CopyToHost))
				to = on + took;
			track.spans.push_back({at, to});
			at = to;
		}
		t.tracks.push_back(track);
	}
}

} // namespace

blocks::Scenario channels_scenario(const blocks::Machine &machine)
{
	for (const blocks::Builtin &builtin : blocks::builtins())
		if (std::string(builtin.name) == "r2")
			return builtin.make(machine);
	throw Error(Error::Failed, "there is no scenario r2");
}

std::vector<std::string> breakable_rules(const std::string &experiment)
{
	if (experiment == "fig8" || experiment == "fig9")
		return {"R4", "R5"};
	if (experiment == "r1")
		return {"R1"};
	if (experiment == "fig5")
		return {"R2"};
	return {experiment == "fig10" ? "R8" : "R4"};
}

Trace simulate(const Simulation &s)
{
	Trace t{.experiment = s.experiment, .simulated = true, .without = s.without, .processes = s.processes};
	std::vector<std::string> rules = breakable_rules(s.experiment);

	if (!s.without.empty() && !std::count(rules.begin(), rules.end(), s.without))
		throw Error(Error::Input, fmt::format("--without {}: {} does not depend on it, but on {}", s.without,
						      s.experiment, fmt::join(rules, " and ")));
	if (s.experiment == "r1")
		simulate_disabled(t, s);
	else if (s.experiment == "fig5")
		for (u32 channels : {8U, 9U}) {
			// The GTX 1060 3GB of Fig. 5.
			blocks::Machine gpu{.name = {}, .sms = 9, .threads_per_sm = 2048, .blocks_per_sm = 32};
			gpu.channels = s.without == "R2" ? 9 : channels;
			t.logs.push_back(blocks::predict(channels_scenario(gpu), gpu));
			t.logs.back().machine.channels = channels;
		}
	else if (s.experiment == "fig6")
		simulate_kernels(t, s);
	else if (s.experiment == "fig7")
		simulate_copies(t, s);
	else if (s.experiment == "fig8")
		simulate_four(t, s);
	else if (s.experiment == "fig9")
		simulate_one_runlist(t, s);
	else
		simulate_uploads(t, s);
	return t;
}

} // namespace tool::experiment
