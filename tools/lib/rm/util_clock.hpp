// SPDX-License-Identifier: GPL-2.0
// The clock of the driver's notes of processes (UtilSamples) against CLOCK_MONOTONIC. It is the GPU's own: its times are
// multiples of 32 ns, and on H100s, driver 580, it stayed where %globaltimer is, which began with the host's time when
// the driver did and went 16 ppm slower from then on: a millisecond a minute. (On an H200 it went 6 ppm faster.) So the
// offset is found by asking often about when the next note is due. A note that is there was taken before the answer; one
// that was not there yet, after the question. Of 80 notes the driver still gave those that were up to 0.53 ms younger
// than the question, and none that was more than 0.67 ms younger, where questions took 1.2 ms and more. So it is assumed
// to look no sooner than 0.3 ms after a question's beginning, and no later than 0.3 ms before its end.
#pragma once
#include "gpulens/types.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tool::rm {

class NoteClock {
public:
	// ns that notes are ahead of CLOCK_MONOTONIC: no less and no more.
	struct Offset {
		int64_t least = 0, most = 0;
	};

	// A question began and was answered, ns of CLOCK_MONOTONIC: times of the notes that were told, ascending, also those
	// told before.
	void asked(u64 began_ns, u64 ended_ns, const std::vector<u64> &notes);
	// Nothing: not known to 2.4 ms.
	std::optional<Offset> offset() const;
	// When to ask again, ns of CLOCK_MONOTONIC: soon until it is known to 1.9 ms, and every 2 s to know it still. In a
	// row when a note is due: every answer that comes between two notes says how they lie.
	u64 next_ns() const { return next_ns_; }

private:
	u64 next(u64 began_ns, u64 ended_ns) const;

	std::optional<int64_t> least_, most_;
	u64 after_ns_ = 0, at_ns_ = 0; // when the driver looked last, at the earliest, and answered
	u64 newest_ = 0;               // the last note; 0: none yet
	u64 period_ns_ = 0;            // between notes
	u64 next_ns_ = 0;
};

} // namespace tool::rm
