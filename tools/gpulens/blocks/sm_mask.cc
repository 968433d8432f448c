// SPDX-License-Identifier: GPL-2.0
// Parses and formats masks.
#include "gpulens/blocks/scenario.hpp"

#include "lib/tpc/tpc_mask.hpp"

#include <fmt/format.h>

namespace tool::blocks {

std::optional<TpcSet> parse_sm_mask(const std::string &text)
{
	constexpr size_t NARROW_BITS = 64, DIGIT_BITS = 4, PREFIX = 2; // "0x"
	bool inverted = text.starts_with('~');
	std::string digits = text.substr(inverted);
	std::optional<std::vector<u32>> set = plan::parse_mask(digits);
	TpcSet bits;

	if (!set || digits.size() - PREFIX > MAX_TPCS / DIGIT_BITS)
		return std::nullopt;
	for (u32 bit : *set)
		bits.set(bit);
	if (inverted)
		return bits;
	if (digits.size() - PREFIX <= NARROW_BITS / DIGIT_BITS)
		return ~bits << NARROW_BITS >> NARROW_BITS;
	return ~bits;
}

std::string sm_mask_text(const TpcSet &tpcs)
{
	const TpcSet low(~0ULL);
	u64 high = (tpcs >> 64).to_ullong();

	return high ? fmt::format("~{:#x}{:016x}", high, (tpcs & low).to_ullong())
		    : fmt::format("~{:#x}", tpcs.to_ullong());
}

} // namespace tool::blocks
