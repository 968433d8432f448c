// SPDX-License-Identifier: GPL-2.0
// The offset of the clock of the driver's utilisation samples (UtilSamples) from CLOCK_MONOTONIC. It is the GPU's clock:
// times are multiples of 32 ns, and on H100s with driver 580 they equalled %globaltimer, which started at the host's time
// when the driver was loaded and then lost 16 ppm, a millisecond a minute (on an H200 it gained 6 ppm).
//
// The offset is bounded by querying often around the time at which the next sample is due: a sample that is in an answer
// is older than the answer, one that is not in it is younger than the query. docs/rm.md gives the measurements.
#pragma once
#include "gpulens/types.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tool::rm {

class UtilClock {
public:
	// Bounds of the GPU's clock minus CLOCK_MONOTONIC, ns.
	struct Offset {
		int64_t min = 0, max = 0;
	};

	// Bounds of the time at which a utilisation sample is taken, ns of CLOCK_MONOTONIC.
	struct Window {
		u64 min_ns = 0, max_ns = 0;
		unsigned ahead = 0; // how many samples after the newest known one
	};

	// calm_ns: from query to query where calm is set.
	explicit UtilClock(u64 calm_ns = 8000000000) : calm_ns_(calm_ns) {}

	// Takes the answer to a query that was sent and answered at these times of CLOCK_MONOTONIC, ns. samples: the times
	// of all samples in it, ascending, including those of earlier answers.
	void add_answer(u64 began_ns, u64 ended_ns, const std::vector<u64> &samples);
	// Returns nothing while the bounds are more than 2.4 ms apart.
	std::optional<Offset> offset() const;
	// Returns when to query next, ns of CLOCK_MONOTONIC: soon until the bounds are within 1.9 ms, then every 2 s, or every
	// calm_ns if calm is set. When a sample is due, queries follow each other directly, because each answer between two
	// samples narrows the bounds.
	u64 next_query_ns(bool calm = false) const { return calm ? calm_query_ns_ : next_query_ns_; }

	// Returns the first of the next utilisation samples whose time may be after this one; nothing if none can be
	// predicted, as the distance between samples varies.
	std::optional<Window> next_sample(u64 after_ns) const;

private:
	u64 schedule_query(u64 began_ns, u64 ended_ns, u64 refresh_ns) const;

	u64 calm_ns_;
	std::optional<int64_t> min_, max_;
	u64 read_after_ns_ = 0, answered_ns_ = 0; // last query: earliest time of the driver's read, and its answer
	u64 newest_ = 0;                          // time of the newest sample; 0: none yet
	u64 period_ns_ = 0;                       // between samples
	u64 next_query_ns_ = 0, calm_query_ns_ = 0;
};

} // namespace tool::rm
