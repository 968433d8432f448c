// SPDX-License-Identifier: GPL-2.0
// Parts of check(): the rules of masks, priorities, task slots and processes.
#pragma once
#include "lab/blocks/check.hpp"

namespace tool::blocks {

// Bounds of the time when a kernel came to the head of its stream, and so entered the primary queue.
struct Head {
	s64 from, to;
};
struct Span {
	s64 from, to;
};

// Returns for each kernel when it came to the head of its stream, and did not have to wait for the NULL stream. If it has no
// launch times, that is INT64_MIN or the end of the kernel ahead.
std::vector<Head> find_heads(const Log &log);
// Whether more kernels are in streams that the NULL stream orders than can be compared with each other.
bool has_too_many_ordered(const Log &log);
// Returns the first kernel that does not say how many of its blocks fit on an SM; or nullptr.
const Ran *find_kernel_of_unknown_size(const Log &log);
// Rules N1 and N2 of RTSS'17, for the log of one process: a kernel of the NULL stream starts when all that was launched earlier
// in blocking streams has ended, and a kernel of a blocking stream when all that was launched earlier in the NULL stream has.
// Rule D for kernels of several benchmarks in the NULL stream.
std::vector<Violation> check_null_stream(const Log &log, s64 tolerance);

// Whether two masks have a common TPC. nullopt: all TPCs, as in is_within().
bool overlap(const std::optional<TpcSet> &a, const std::optional<TpcSet> &b);
// Whether all TPCs of a mask are in another one.
bool is_within(const std::optional<TpcSet> &mask, const std::optional<TpcSet> &other);
int priority_of(const Log &log, const Ran &kernel);

// Texts for violations: "0.250000 s" and "K2:0 starts on SM 3 at 0.250000 s".
std::string time_text(s64 ns);
std::string start_text(const Ran &k, size_t block);

// Returns what of a span is in none of the others, which need no order.
std::vector<Span> subtract(Span span, std::vector<Span> others);

// Rule S. Whether more kernels than there are task slots may be on the GPU at once, at any time. False for logs of too many
// kernels to compare them with each other.
bool can_fill(const Log &log, const std::vector<Head> &heads);
// Rule S. Returns when kernels before the given one hold all task slots (Machine::grids). heads: by kernel. certain: only
// times when they do for certain; otherwise all times when they may. Kernels of a higher priority are before it, and those of
// its own that came earlier.
std::vector<Span> find_full(const Log &log, const std::vector<Head> &heads, size_t kernel, bool certain, s64 tolerance);

// Returns when processes other than that one have work, from launch to end.
std::vector<Span> busy_spans(const Log &log, u32 process);

// Rule M: a kernel's blocks run on SMs of its mask.
std::vector<Violation> check_masks(const Log &log);
// Rule P, for the log of one process: no block starts while a kernel of a higher priority, whose mask has all its TPCs, has
// blocks to start.
std::vector<Violation> check_priorities(const Log &log, const std::vector<Head> &heads, s64 tolerance);
// Rule R4: one process has the GPU at a time, and while it does, no block of another one starts or ends. A process that has
// blocks to run gives up its turn only when its time slice ends, so a turn is never shorter than the tolerance. The first
// violation only.
std::vector<Violation> check_turns(const Log &log, s64 tolerance);

} // namespace tool::blocks
