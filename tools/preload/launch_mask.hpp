// SPDX-License-Identifier: GPL-2.0
// GPULENS_LAUNCH_MASK: "VERSION:LOW:HIGH:UUID", lower-case hexadecimal without prefixes or signs; the UUID has 32 digits.
#pragma once
#include "lib/launch/launch_hook.hpp"

#include <charconv>
#include <string_view>

namespace gpulens {

struct ConfineMask {
	unsigned version; // of launch descriptors
	LaunchMask bits;
	GpuUuid gpu;
};

// The number before end of text, which is taken off with it. Nothing else than 1 to digits of lower-case hexadecimal.
template <typename T> bool take_hex(std::string_view &text, size_t digits, bool last, T &to)
{
	size_t end = last ? text.size() : text.find(':');

	if (end == text.npos || !end || end > digits || text.find_first_not_of("0123456789abcdef") < end)
		return false;
	std::from_chars(text.data(), text.data() + end, to, 16);
	text.remove_prefix(last ? end : end + 1);
	return true;
}

// False: not exactly that, or a mask that leaves no TPC.
inline bool parse(std::string_view text, ConfineMask &to)
{
	if (!take_hex(text, 8, false, to.version) || !take_hex(text, 16, false, to.bits[0]) ||
	    !take_hex(text, 16, false, to.bits[1]) || text.size() != 2 * to.gpu.size() ||
	    (to.bits[0] & to.bits[1]) == ~uint64_t{0})
		return false;
	for (unsigned char &byte : to.gpu) {
		std::string_view digits = text.substr(0, 2);
		if (!take_hex(digits, 2, true, byte))
			return false;
		text.remove_prefix(2);
	}
	return true;
}

} // namespace gpulens
