// SPDX-License-Identifier: GPL-2.0
// Bit field helpers of the emulated GPU: a field is written as in NVIDIA's manuals, hi:lo, both inclusive.
// They only move bits; which bits a register has is said beside each register in the unit that owns it.
#pragma once
#include <cassert>
#include <cstdint>

namespace emu {

constexpr uint64_t mask(unsigned hi, unsigned lo)
{
	assert(lo <= hi && hi < 64);
	return (~0ull >> (63 - (hi - lo))) << lo;
}

// The value v placed at bits hi:lo (excess bits are cut off, as hardware would).
constexpr uint64_t put(unsigned hi, unsigned lo, uint64_t v)
{
	return (v << lo) & mask(hi, lo);
}

constexpr uint64_t get(uint64_t word, unsigned hi, unsigned lo)
{
	return (word & mask(hi, lo)) >> lo;
}

constexpr bool bit(uint64_t word, unsigned n)
{
	return (word >> n) & 1;
}

} // namespace emu
