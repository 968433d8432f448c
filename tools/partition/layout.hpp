// SPDX-License-Identifier: GPL-2.0
// A GPU's TPCs by GPC, and sets of them. gpulens-partition.h says what numbers and errors mean.
#pragma once
#include "lib/tpc/gpc_map.hpp"
#include "lib/tpc/place.hpp"
#include "lib/tpc/tpc_mask.hpp"

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpulens {

using tool::plan::GpcMap;
using tool::plan::GpcTpcs;
using tool::plan::Placing;
using tool::plan::TpcMask;

struct Error : std::runtime_error {
	Error(int e, const std::string &why) : std::runtime_error(why), err(e) {}
	int err; // positive errno
};

// All of these throw Error.
struct Layout {
	GpcMap map;
	std::string device{};                // the GPU's PCI address or other name; empty: it is made up
	std::vector<unsigned> launch_bits{}; // of a launch descriptor's mask, by TPC; empty: not told

	size_t words() const { return (size_t{map.tpcs} + 63) / 64; }
	void put(const TpcMask &mask, uint64_t *to) const;
	TpcMask get(const uint64_t *from, const std::string &item = "") const;
	TpcMask gpc_mask(const GpcTpcs &gpc) const;
	TpcMask of_gpcs(const std::vector<unsigned> &ids) const;
	TpcMask complement(const TpcMask &mask) const;
	// Whole GPCs whose TPCs are nearest to half of all, the first of them among them; the lower half of the TPCs
	// where they are all in one.
	TpcMask first_half() const;
	std::vector<TpcMask> make(const std::vector<unsigned> &sizes, Placing how, const TpcMask &taken) const;
	TpcMask parse(const std::string &text) const;
	// All bits but those of the mask's TPCs.
	std::array<uint64_t, 2> launch_mask(const TpcMask &mask) const;
	// The TPCs of GPCs that more than one has TPCs of.
	TpcMask check(const std::vector<TpcMask> &masks) const;
};

// Throws tool::SourceError: its GPCs are not known.
Layout layout_of_gpu(const tool::Gpu &gpu);
Layout layout_from(const std::string &source, unsigned gpu);
Layout layout_of(const std::vector<unsigned> &tpcs_of_gpc);

} // namespace gpulens
