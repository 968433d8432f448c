// SPDX-License-Identifier: GPL-2.0
// See note_clock.hpp.
#include "lib/rm/note_clock.hpp"

#include <algorithm>
#include <numeric>

namespace tool::rm {

namespace {

constexpr int64_t MS = 1000000;
constexpr int64_t KNOWN = 1900000, USABLE = 2400000; // wide
constexpr u64 LOOKS = 300000;        // after a question's beginning and before its end: assumed, see note_clock.hpp
constexpr int64_t IN_A_ROW = 5 * MS; // from when on questions are not spaced
// Notes come 198.2 to 201.7 ms apart on H100s.
constexpr int64_t EVERY = 200 * MS, UNEVEN = 2 * MS;
constexpr u64 STILL = 2000000000;
constexpr u64 DRIFT_PPM = 100; // assumed: crystals are within 100 ppm of each other

// The mean of those that are not twice the median: there is a gap where the machine slept.
u64 usually_apart(const std::vector<u64> &notes)
{
	std::vector<u64> apart;

	for (size_t i = 1; i < notes.size(); i++)
		apart.push_back(notes[i] - notes[i - 1]);
	if (apart.empty())
		return 0;
	auto middle = apart.begin() + static_cast<std::ptrdiff_t>(apart.size() / 2);
	std::nth_element(apart.begin(), middle, apart.end());
	std::erase_if(apart, [most = 2 * *middle](u64 one) { return one > most; });
	return std::accumulate(apart.begin(), apart.end(), u64{0}) / apart.size();
}

int64_t ns(u64 time)
{
	return static_cast<int64_t>(time);
}

} // namespace

std::optional<NoteClock::Offset> NoteClock::offset() const
{
	if (!least_ || !most_ || *most_ - *least_ > USABLE)
		return std::nullopt;
	return Offset{*least_, *most_};
}

void NoteClock::asked(u64 began_ns, u64 ended_ns, const std::vector<u64> &notes)
{
	if (notes.empty()) {
		next_ns_ = ended_ns + STILL;
		return;
	}
	if (notes.back() < newest_) // that clock was set
		*this = {};
	// Between these the driver looked.
	u64 looks = std::min(LOOKS, (ended_ns - began_ns) / 2), after = began_ns + looks, before = ended_ns - looks;
	int64_t drift = ns((ended_ns - at_ns_) / 1000000 * DRIFT_PPM);
	int64_t told = ns(notes.back() - before), least = least_ ? std::max(told, *least_ - drift) : told;
	std::optional<int64_t> most = most_ ? std::optional(*most_ + drift) : std::nullopt;
	auto unseen = std::upper_bound(notes.begin(), notes.end(), newest_);

	if (newest_ && unseen != notes.end())
		most = std::min(most.value_or(INT64_MAX), ns(*unseen - after_ns_));
	if (most && *most < least) { // the other one was, or both
		least = told;
		most.reset();
	}
	least_ = least;
	most_ = most;
	period_ns_ = usually_apart(notes);
	newest_ = notes.back();
	after_ns_ = after;
	at_ns_ = ended_ns;
	next_ns_ = next(began_ns, ended_ns);
}

u64 NoteClock::next(u64 began_ns, u64 ended_ns) const
{
	int64_t period = period_ns_ ? ns(period_ns_) : EVERY, due = ns(newest_) + period;
	int64_t most = most_.value_or(due + UNEVEN - ns(began_ns)), wide = most_ ? most - *least_ : period;
	int64_t from = due - UNEVEN - most, to = due + UNEVEN - *least_;
	int64_t now = ns(ended_ns), apart = wide > IN_A_ROW ? wide / 8 : 0;

	if (most_ && wide <= KNOWN) // known: once more when a note is due in some seconds
		return static_cast<u64>(from + ns(STILL) / period * period);
	if (now > to + IN_A_ROW) // none comes
		return ended_ns + STILL;
	return static_cast<u64>(std::max(from, now + apart));
}

} // namespace tool::rm
