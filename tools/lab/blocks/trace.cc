// SPDX-License-Identifier: GPL-2.0
// Writes a log as trace events.
#include "lab/blocks/trace.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace tool::blocks {

using json = nlohmann::ordered_json;

namespace {

// The tracks of a stream, which are threads of a trace's process.
enum Track { CPU, KERNELS, COPIES, TRACKS };

json make_event(const Log &log, u32 stream, Track track, const std::string &name, s64 from, s64 to)
{
	return {{"name", name},
		{"ph", "X"},
		{"pid", log.streams[stream].process + 1},
		{"tid", stream * TRACKS + track + 1},
		{"ts", static_cast<double>(from) / 1e3},
		{"dur", static_cast<double>(to - from) / 1e3}};
}

json make_name(const char *what, u32 pid, u32 tid, const std::string &name)
{
	return {{"name", what}, {"ph", "M"}, {"pid", pid}, {"tid", tid}, {"args", {{"name", name}}}};
}

json kernel_event(const Log &log, const Ran &k)
{
	json event = make_event(log, k.stream, KERNELS, k.name, k.first_start(), k.last_end());

	event["args"] = {{"blocks", k.blocks.size()}, {"threads", k.threads}, {"iteration", k.iteration + 1}};
	return event;
}

} // namespace

std::vector<CpuSpan> cpu_spans(const Log &log, u32 stream)
{
	std::vector<CpuSpan> spans;
	const Ran *last = nullptr; // of the iteration

	auto end_iteration = [&] {
		if (last && (*last->launched)[2] > last->calls()[1])
			spans.push_back({last, "wait", last->calls()[1], (*last->launched)[2]});
	};
	for (const Ran &k : log.kernels) {
		if (k.stream != stream || !k.launched)
			continue;
		if (last && last->iteration != k.iteration)
			end_iteration();
		if (k.copy_in)
			spans.push_back({&k, "copy in", k.copy_in->called[0], k.copy_in->called[1]});
		spans.push_back({&k, "launch", (*k.launched)[0], (*k.launched)[1]});
		if (k.copy_out)
			spans.push_back({&k, "copy out", k.copy_out->called[0], k.copy_out->called[1]});
		last = &k;
	}
	end_iteration();
	return spans;
}

std::string trace_json(const Log &log)
{
	json events = json::array();

	for (u32 process = 0; process < log.processes(); process++)
		events.push_back(make_name("process_name", process + 1, 0, fmt::format("Process {}", process + 1)));
	for (u32 i = 0; i < log.streams.size(); i++) {
		const Stream &s = log.streams[i];
		std::string label = s.label.empty() ? fmt::format("Stream {}", i + 1) : s.label;
		const char *what[] = {"CPU", "kernels", "copies"};
		for (u32 track = CPU; track < TRACKS; track++)
			events.push_back(make_name("thread_name", s.process + 1, i * TRACKS + track + 1,
						   fmt::format("{}: {}", label, what[track])));
		for (const CpuSpan &c : cpu_spans(log, i))
			events.push_back(
				make_event(log, i, CPU, fmt::format("{} {}", c.what, c.kernel->name), c.from, c.to));
	}
	for (const Ran &k : log.kernels) {
		events.push_back(kernel_event(log, k));
		if (k.copy_in)
			events.push_back(
				make_event(log, k.stream, COPIES, k.name + " in", k.copy_in->start, k.copy_in->end));
		if (k.copy_out)
			events.push_back(
				make_event(log, k.stream, COPIES, k.name + " out", k.copy_out->start, k.copy_out->end));
	}
	return json({{"traceEvents", events}, {"displayTimeUnit", "ms"}})
		       .dump(-1, ' ', false, json::error_handler_t::replace) +
	       '\n';
}

} // namespace tool::blocks
