// SPDX-License-Identifier: GPL-2.0
// Integer types and bit fields: a field is written as in NVIDIA's manuals, hi:lo, both inclusive. Which bits a
// register has is stated at each register in the unit that owns it.
#pragma once
#include <cassert>
#include <cstdint>

namespace emu {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u64 bit_mask(unsigned hi, unsigned lo)
{
	assert(lo <= hi && hi < 64);
	return (~0ull >> (63 - (hi - lo))) << lo;
}

// The value v placed at bits hi:lo (excess bits are cut off, as hardware would).
constexpr u64 put_bits(unsigned hi, unsigned lo, u64 v)
{
	return (v << lo) & bit_mask(hi, lo);
}

constexpr u64 get_bits(u64 word, unsigned hi, unsigned lo)
{
	return (word & bit_mask(hi, lo)) >> lo;
}

constexpr bool get_bit(u64 word, unsigned n)
{
	return (word >> n) & 1;
}

} // namespace emu
