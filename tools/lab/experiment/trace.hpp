// SPDX-License-Identifier: GPL-2.0
// What an experiment of RTAS'24 (J. Bakita and J. H. Anderson, "Demystifying NVIDIA GPU Internals to Enable Reliable GPU
// Management") saw: when each engine worked for which task. Times are nanoseconds since the experiment began.
#pragma once
#include "gpulens/blocks/log.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tool::experiment {

// Bytes of copies, measured and simulated: each chunk of one that is timed, unless another size is asked for, and one beside an
// upload (fig10).
constexpr u64 COPY_CHUNK = u64{1} << 20, UPLOAD_COPY = 128 * COPY_CHUNK;

using blocks::s64;

struct Span {
	s64 from = 0, to = 0; // from <= to
};
using Spans = std::vector<Span>; // in order; disjoint

enum class Work { Kernel, CopyToGpu, CopyToHost, Allocation };
const char *work_name(Work work); // "kernel", "copy to the GPU", "copy to the host", "allocation"

// The work of a task on one engine.
struct Track {
	std::string task; // one task is one process
	Work work = Work::Kernel;
	u64 bytes = 0; // of the copy of each span; 0: it copies nothing
	// Kernels: the intervals in which the kernel ran. Copies: from the end of the previous chunk, or its start, to the
	// end of each chunk. Allocations, and all works of R1: from the call to its end.
	Spans spans{};
};

struct Trace {
	std::string experiment; // "fig6"
	std::string gpu{};      // name
	bool simulated = false;
	std::string without{}; // the rule that the simulated GPU breaks; empty: none
	u32 processes = 2;
	std::vector<Track> tracks{};
	std::vector<blocks::Log> logs{};      // Fig. 5: with fewer channels than streams, and with as many
	std::optional<Span> held{};           // R1: when the channels of the task were disabled
	std::optional<bool> shared_runlist{}; // whether kernels and copies are on one runlist
	std::string missing{};                // why a part could not be run; empty: nothing is missing
	std::vector<std::string> notes{};
};

double to_ms(s64 ns);
// Returns "fig6, NVIDIA H100, simulated without R4", with what is not empty.
std::string title_of(const std::string &experiment, const std::string &gpu, bool simulated, const std::string &without);
// The times in which chunks of a copy followed one another. A chunk that took over three times the median, and 100 us more, was
// interrupted at an unknown time, and is left out. Other works: all spans.
Spans active_spans(const Track &track);
// The median time of a copy's chunk; 0 of other works. The part of an interrupted chunk that was copied before the interruption is
// unknown: on average a half, so that a slice of active_spans() is a chunk short, half at each end, and a gap a chunk long.
s64 chunk_ns(const Track &track);
Spans clip(const Spans &spans, Span window);
s64 total_length(const Spans &spans);
// Length of the times in both.
s64 overlap(const Spans &a, const Spans &b);
// From the last begin of all to the first end of all; empty (from == to) if they do not meet.
Span common_window(const std::vector<Spans> &all);
// values: any order; 0 for none.
double median_of(std::vector<double> values);
// Lengths in ms.
std::vector<double> lengths_ms(const Spans &spans);
// The times between the spans.
Spans gaps_of(const Spans &spans);

} // namespace tool::experiment
