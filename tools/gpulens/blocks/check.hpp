// SPDX-License-Identifier: GPL-2.0
// A log held against the rules A to D of Otterness (section 3.4.2) and R2 of RTAS'24: only what a log can show.
//
// Times have an error: a block is dispatched some time before its first instruction reads the clock, which differs by
// block; and launches are known by the CPU's clock. So one thing is before another only where it is by more than the
// tolerance (and the clocks' uncertainty, between launches and blocks), and kernels whose order in the primary queue is
// closer than that are of no order. docs/blocks.md says what is looked at for each rule.
#pragma once
#include "gpulens/blocks/log.hpp"

namespace tool::blocks {

// Decisions. A tolerance that covers Otterness' own log, in which a block ends 13.7 us after the host saw it end
// (Figure 3.8: 1.590273405 and 1.590259712 s); and how long a kernel may be idle where it could run: another process'
// time slice is some 2 ms, which is no violation to overlook.
constexpr u64 DEFAULT_TOLERANCE_NS = 50'000;
constexpr s64 IDLE_NS = 1'000'000;

struct Violation {
	std::string rule;   // "A", "B", "C", "D", "B2", "R2"
	std::string kernel; // whose block should not be there, or should
	std::optional<u32> block{}, sm{};
	s64 at = 0;
	std::string text; // names them all, and the other kernel
};

struct Verdict {
	u64 tolerance_ns = 0;
	bool order_checked = true;         // B and C; not where streams are more than channels, or launch times missing
	std::vector<Violation> violations; // in the order of launches
	std::vector<std::string> notes;    // what was not checked and why, and what R2 explains
};

Verdict check(const Log &log, u64 tolerance_ns);
std::string verdict_text(const Log &log, const Verdict &verdict);
nlohmann::ordered_json verdict_json(const Verdict &verdict);

} // namespace tool::blocks
