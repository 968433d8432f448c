// SPDX-License-Identifier: GPL-2.0
// The quantiles of Student's t distribution for 97.5 % are those of the NIST/SEMATECH e-Handbook of Statistical Methods,
// section 1.3.6.7.2.
#include "gpulens/measure/interval.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace tool::measure {

namespace {

// For 1 degree of freedom and more. Beyond the table its last value counts, which is a little too large.
constexpr std::array<double, 30> QUANTILES{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
					   2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
					   2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};

} // namespace

Interval interval_of(const std::vector<double> &values)
{
	size_t n = values.size();
	Interval interval;
	double squares = 0;

	for (double value : values)
		interval.mean += value / double(n);
	if (n < LEAST_RUNS)
		return interval;
	for (double value : values)
		squares += (value - interval.mean) * (value - interval.mean);
	double quantile = QUANTILES[std::min(n - 1, QUANTILES.size()) - 1];
	interval.half_width = quantile * std::sqrt(squares / double(n - 1) / double(n));
	return interval;
}

} // namespace tool::measure
