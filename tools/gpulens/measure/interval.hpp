// SPDX-License-Identifier: GPL-2.0
// Confidence intervals of mean times.
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

namespace tool::measure {

constexpr size_t LEAST_RUNS = 3; // for an interval

struct Interval {
	double mean = 0;
	std::optional<double> half_width; // of the 95 % interval, by Student's t; nothing: fewer than LEAST_RUNS values

	// Whether the half width is at most this share of the mean.
	bool is_within(double share) const { return half_width && *half_width <= share * mean; }
};

// values: not empty.
Interval interval_of(const std::vector<double> &values);

} // namespace tool::measure
