// SPDX-License-Identifier: GPL-2.0
// Discovers and checks the bits of launch masks.
#include "partition/mask_bits.hpp"

#include "lib/base/errors.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <map>
#include <utility>

namespace gpulens {

namespace {

LaunchBits mask_of_bit(unsigned bit)
{
	LaunchBits mask{};

	mask[bit / 64] = uint64_t{1} << bit % 64;
	return mask;
}

std::string name_sms(const std::set<unsigned> &sms)
{
	return sms.empty() ? "no SM" : fmt::format("SMs {}", fmt::join(sms, ", "));
}

std::set<unsigned> disabled_by(Probe &probe, unsigned bit, const std::set<unsigned> &all)
{
	std::set<unsigned> ran = run_masked(probe, mask_of_bit(bit)), gone;

	std::set_difference(all.begin(), all.end(), ran.begin(), ran.end(), std::inserter(gone, gone.end()));
	return gone;
}

} // namespace

std::set<unsigned> run_masked(Probe &probe, const LaunchBits &mask)
{
	hook::set_next(LaunchMask{.bits = mask});
	try {
		return probe.run();
	} catch (const Error &) {
		hook::set_next(std::nullopt);
		throw;
	}
}

void check_sms(Probe &probe, const LaunchBits &mask, size_t tpcs, size_t per)
{
	if (size_t count = run_masked(probe, mask).size(); count != tpcs * per)
		throw Error(Error::Failed, fmt::format("under MPS, the probe ran on {} SMs of the {} of {} TPCs", count,
						       tpcs * per, tpcs));
}

std::vector<MaskBit> discover_mask_bits(Probe &probe, unsigned bits, const std::set<unsigned> &all)
{
	std::vector<std::set<unsigned>> gone(bits);
	std::map<unsigned, unsigned> bit_of; // by SM
	std::vector<MaskBit> table;

	for (unsigned bit = 0; bit < bits; bit++) {
		gone[bit] = disabled_by(probe, bit, all);
		for (unsigned sm : gone[bit])
			if (auto [at, first] = bit_of.emplace(sm, bit); !first)
				throw Error(Error::Failed,
					    fmt::format("bits {} and {} of the launch mask both disabled SM {}",
							at->second, bit, sm));
	}
	for (unsigned bit = 0; bit < bits; bit++) {
		std::set<unsigned> again = disabled_by(probe, bit, all);
		if (again != gone[bit])
			throw Error(Error::Failed,
				    fmt::format("bit {} of the launch mask disabled {}, and at the second try {}", bit,
						name_sms(gone[bit]), name_sms(again)));
		if (!gone[bit].empty())
			table.push_back({bit, gone[bit]});
	}
	for (unsigned sm : all)
		if (!bit_of.count(sm))
			throw Error(Error::Failed,
				    fmt::format("none of the {} bits of the launch mask disabled SM {}", bits, sm));
	return table;
}

std::vector<LaunchBits> bits_of_tpcs(const std::vector<MaskBit> &table, unsigned tpcs, unsigned sms_per_tpc)
{
	std::vector<LaunchBits> of_tpc(tpcs);

	for (const MaskBit &row : table) {
		unsigned tpc = *row.sms.begin() / sms_per_tpc, last = *row.sms.rbegin() / sms_per_tpc;
		if (tpc != last)
			throw Error(Error::Failed,
				    fmt::format("bit {} of the launch mask disabled {}, which are in TPCs {} and {}",
						row.bit, name_sms(row.sms), tpc, last));
		of_tpc.at(tpc)[row.bit / 64] |= uint64_t{1} << row.bit % 64;
	}
	return of_tpc;
}

LaunchBits mask_without(const std::vector<LaunchBits> &of_tpc, const std::vector<unsigned> &enabled)
{
	LaunchBits mask = {~uint64_t{0}, ~uint64_t{0}};

	for (unsigned tpc : enabled)
		for (size_t word = 0; word < mask.size(); word++)
			mask[word] &= ~of_tpc.at(tpc)[word];
	return mask;
}

void verify_halves(Probe &probe, const std::vector<LaunchBits> &of_tpc, unsigned sms_per_tpc)
{
	for (unsigned first : {0U, 1U}) {
		std::vector<unsigned> enabled;
		std::set<unsigned> expected;
		for (unsigned tpc = first; tpc < of_tpc.size(); tpc += 2) {
			enabled.push_back(tpc);
			for (unsigned i = 0; i < sms_per_tpc; i++)
				expected.insert(tpc * sms_per_tpc + i);
		}
		if (enabled.empty())
			continue;
		std::set<unsigned> ran = run_masked(probe, mask_without(of_tpc, enabled));
		if (ran != expected)
			throw Error(Error::Failed,
				    fmt::format("with every second TPC enabled the probe ran on {} instead of {}",
						name_sms(ran), name_sms(expected)));
	}
}

std::string describe_mask_bits(const std::vector<MaskBit> &table, unsigned bits)
{
	size_t sms = table.empty() ? 0 : table[0].sms.size();
	bool same = std::all_of(table.begin(), table.end(), [&](const MaskBit &row) { return row.sms.size() == sms; });

	return fmt::format("{} of {} bits disable {}", table.size(), bits,
			   !same      ? "different numbers of SMs"
			   : sms == 1 ? "1 SM each"
				      : fmt::format("{} SMs each", sms));
}

} // namespace gpulens
