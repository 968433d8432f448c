// SPDX-License-Identifier: GPL-2.0
// What CPU threads and the GPU did, on one time line, as trace events (the JSON that chrome://tracing and ui.perfetto.dev open:
// "Trace Event Format"): calls and waits by stream, and its kernels and copies.
#pragma once
#include "gpulens/blocks/log.hpp"

#include <string>

namespace tool::blocks {

// What the CPU did for a stream: a call, or waiting for the stream to be idle.
struct CpuSpan {
	const Ran *kernel;
	const char *what; // "launch", "copy in", "copy out", "wait"
	s64 from, to;
};

// Returns the CPU's times of a stream, in the order of the log's kernels. A wait is from an iteration's last call to when its
// last kernel was found done.
std::vector<CpuSpan> cpu_spans(const Log &log, u32 stream);

// Returns a JSON document. Times are microseconds since the scenario began.
std::string trace_json(const Log &log);

} // namespace tool::blocks
