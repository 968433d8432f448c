// SPDX-License-Identifier: GPL-2.0
// Narrows the bounds of the offset with each answer, and schedules the next query.
#include "lib/rm/util_clock.hpp"

#include <algorithm>
#include <numeric>

namespace tool::rm {

namespace {

constexpr int64_t MS = 1000000;
constexpr int64_t PRECISE_NS = 1900000, USABLE_NS = 2400000; // distance of the bounds
// The driver reads its samples no sooner than this after a query's beginning and before its end: assumed, docs/rm.md.
constexpr u64 READ_MARGIN_NS = 300000;
constexpr int64_t BURST_NS = 5 * MS; // within this distance of the expected sample, queries follow each other directly
// Seen on H100s: samples are 198.2 to 201.7 ms apart.
constexpr int64_t PERIOD_NS = 200 * MS, JITTER_NS = 2 * MS;
constexpr int64_t PREDICTED_SAMPLES = 4; // after the newest; later ones may be too far from where they are expected
constexpr u64 REFRESH_NS = 2000000000;
constexpr u64 DRIFT_PPM = 100; // assumed: crystals are within 100 ppm of each other

// Returns the mean distance without those of more than twice the median: the machine was suspended meanwhile.
u64 usual_period(const std::vector<u64> &samples)
{
	std::vector<u64> distances;

	for (size_t i = 1; i < samples.size(); i++)
		distances.push_back(samples[i] - samples[i - 1]);
	if (distances.empty())
		return 0;
	auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
	std::nth_element(distances.begin(), middle, distances.end());
	std::erase_if(distances, [limit = 2 * *middle](u64 distance) { return distance > limit; });
	return std::accumulate(distances.begin(), distances.end(), u64{0}) / distances.size();
}

int64_t to_signed(u64 time_ns)
{
	return static_cast<int64_t>(time_ns);
}

} // namespace

std::optional<UtilClock::Offset> UtilClock::offset() const
{
	if (!min_ || !max_ || *max_ - *min_ > USABLE_NS)
		return std::nullopt;
	return Offset{*min_, *max_};
}

void UtilClock::add_answer(u64 began_ns, u64 ended_ns, const std::vector<u64> &samples)
{
	if (samples.empty()) {
		next_query_ns_ = ended_ns + REFRESH_NS;
		calm_query_ns_ = ended_ns + calm_ns_;
		return;
	}
	if (samples.back() < newest_) // the GPU's clock was set back
		*this = UtilClock(calm_ns_);
	// The driver read its samples between these times.
	u64 margin = std::min(READ_MARGIN_NS, (ended_ns - began_ns) / 2);
	u64 read_after = began_ns + margin, read_before = ended_ns - margin;
	int64_t drift = to_signed((ended_ns - answered_ns_) / 1000000 * DRIFT_PPM);
	int64_t bound = to_signed(samples.back() - read_before), min = min_ ? std::max(bound, *min_ - drift) : bound;
	std::optional<int64_t> max = max_ ? std::optional(*max_ + drift) : std::nullopt;
	auto unseen = std::upper_bound(samples.begin(), samples.end(), newest_);

	if (newest_ && unseen != samples.end())
		max = std::min(max.value_or(INT64_MAX), to_signed(*unseen - read_after_ns_));
	if (max && *max < min) { // a clock was set
		min = bound;
		max.reset();
	}
	min_ = min;
	max_ = max;
	period_ns_ = usual_period(samples);
	newest_ = samples.back();
	read_after_ns_ = read_after;
	answered_ns_ = ended_ns;
	next_query_ns_ = schedule_query(began_ns, ended_ns, REFRESH_NS);
	calm_query_ns_ = schedule_query(began_ns, ended_ns, calm_ns_);
}

std::optional<UtilClock::Window> UtilClock::next_sample(u64 after_ns) const
{
	std::optional<Offset> known = offset();

	for (int64_t k = 1; known && period_ns_ && k <= PREDICTED_SAMPLES; k++) {
		int64_t due = to_signed(newest_) + k * to_signed(period_ns_);
		int64_t min = due - k * JITTER_NS - known->max, max = due + k * JITTER_NS - known->min;
		if (min > 0 && max > to_signed(after_ns))
			return Window{static_cast<u64>(min), static_cast<u64>(max), static_cast<unsigned>(k)};
	}
	return std::nullopt;
}

// refresh_ns: until the next query once the bounds are narrow, or if no sample came.
u64 UtilClock::schedule_query(u64 began_ns, u64 ended_ns, u64 refresh_ns) const
{
	int64_t period = period_ns_ ? to_signed(period_ns_) : PERIOD_NS, due = to_signed(newest_) + period;
	int64_t max = max_.value_or(due + JITTER_NS - to_signed(began_ns)), width = max_ ? max - *min_ : period;
	int64_t first = due - JITTER_NS - max, last = due + JITTER_NS - *min_; // when the sample is expected
	int64_t now = to_signed(ended_ns), pause = width > BURST_NS ? width / 8 : 0;

	if (max_ && width <= PRECISE_NS) // refresh when a sample is due in some seconds
		return static_cast<u64>(first + to_signed(refresh_ns) / period * period);
	if (now > last + BURST_NS) // the expected sample did not come
		return ended_ns + refresh_ns;
	return static_cast<u64>(std::max(first, now + pause));
}

} // namespace tool::rm
