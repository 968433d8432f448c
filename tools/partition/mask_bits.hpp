// SPDX-License-Identifier: GPL-2.0
// Which bits of a launch mask disable which SMs and TPCs, found by launching a probe kernel with each bit set in turn.
#pragma once
#include "lib/launch/launch_hook.hpp"
#include "partition/cuda.hpp"

#include <set>
#include <string>
#include <vector>

namespace gpulens {

// A bit that disables SMs. %smid of these.
struct MaskBit {
	unsigned bit;
	std::set<unsigned> sms;
};

// Runs the probe with this mask for one launch, and returns the SMs that it ran on. Throws Error.
std::set<unsigned> run_masked(Probe &probe, const LaunchBits &mask);
// Throws Error (Failed) unless the probe runs with the mask on as many SMs as that many TPCs have, of `per` each: all that %smid
// tells under MPS.
void check_sms(Probe &probe, const LaunchBits &mask, size_t tpcs, size_t per);

// Sets each of the bits 0 to bits - 1 in turn, twice, while the others are clear: at most one bit's SMs are disabled at a
// time, whatever a bit means. all: the SMs that the probe runs on without a mask. Returns the bits that disable an SM,
// ascending. Throws Error (Failed) unless each SM is disabled by exactly one bit, both times the same.
std::vector<MaskBit> discover_mask_bits(Probe &probe, unsigned bits, const std::set<unsigned> &all);

// Returns the bits of each TPC; TPC n has the SMs n * sms_per_tpc to (n + 1) * sms_per_tpc - 1. Throws Error (Failed) if a bit
// disables SMs of two TPCs.
std::vector<LaunchBits> bits_of_tpcs(const std::vector<MaskBit> &table, unsigned tpcs, unsigned sms_per_tpc);

// Returns a mask that disables all but the TPCs that are enabled (sorted), and has every bit without effect set.
LaunchBits mask_without(const std::vector<LaunchBits> &of_tpc, const std::vector<unsigned> &enabled);

// Enables every second TPC, and then the others. Throws Error (Failed) if the probe runs on other SMs than theirs: bits that
// were tried alone may act otherwise together.
void verify_halves(Probe &probe, const std::vector<LaunchBits> &of_tpc, unsigned sms_per_tpc);

// "66 of 128 bits disable 2 SMs each"
std::string describe_mask_bits(const std::vector<MaskBit> &table, unsigned bits);

} // namespace gpulens
