// SPDX-License-Identifier: GPL-2.0
// The TPCs of each GPC of a GPU, and masks of them: what the C interface (gpulens-partition.h) is built on. That header
// defines how TPCs and GPCs are numbered.
#pragma once
#include "lib/base/errors.hpp"
#include "lib/tpc/gpc_map.hpp"
#include "lib/tpc/place.hpp"
#include "lib/tpc/tpc_mask.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace gpulens {

using tool::Error;
using tool::plan::GpcMap;
using tool::plan::GpcTpcs;
using tool::plan::Placing;
using tool::plan::TpcMask;

// Where a TPC is on the die.
struct TpcPlace {
	unsigned gpc, tpc; // physical GPC; number among its enabled TPCs

	auto operator<=>(const TpcPlace &) const = default; // NOLINT(modernize-use-nullptr): means the 0 in <=>
};

struct Layout {
	GpcMap map;                           // no GPCs: unknown, and partitions are chosen by TPC numbers
	std::string device{};                 // PCI address or other name of the GPU; empty: an imaginary GPU
	std::string evidence{};               // how the numbers of TPCs are known
	std::vector<TpcPlace> places{};       // by TPC; empty: not known
	std::vector<unsigned> virtual_gpcs{}; // by TPC; one holds a whole thread-block cluster; empty: not known
	std::vector<unsigned> launch_bits{};  // by TPC: its bit in a launch descriptor's mask; empty: not known

	// Length of a mask, in 64-bit words.
	size_t word_count() const { return (size_t{map.tpcs} + 63) / 64; }
	// Writes a mask as word_count() words, bit n of which is TPC n.
	void write_words(const TpcMask &mask, uint64_t *words) const;
	// Reads a mask of word_count() words. Throws Error (Absent) for a TPC that does not exist; item begins the
	// message.
	TpcMask read_words(const uint64_t *words, const std::string &item = "") const;
	TpcMask gpc_mask(const GpcTpcs &gpc) const;
	// Throws Error (Unknown), with what to do, unless TPCs have the numbers of masks, those of %smid.
	void require_mask_numbers() const;
	// Throws Error (Unknown) if the GPCs are unknown.
	void require_gpcs() const;
	// All TPCs of these GPCs. Throws Error: Absent for an unknown GPC, Input for none or for a duplicate.
	TpcMask mask_of_gpcs(const std::vector<unsigned> &ids) const;
	TpcMask complement(const TpcMask &mask) const;
	// Whole GPCs, with the first GPC, whose TPC count is closest to half of all; with a single GPC the lower half
	// of the TPCs. Throws Error (Range) for more than 20 GPCs.
	TpcMask first_half() const;
	// Disjoint masks of these sizes, in TPCs, without the taken TPCs. Throws Error: Input for a size of 0, NoRoom
	// for too few TPCs.
	std::vector<TpcMask> make_masks(const std::vector<unsigned> &sizes, Placing placing,
					const TpcMask &taken) const;
	// Parses the text forms of gpulens_mask_parse(). Throws Error: Input or Absent.
	TpcMask parse_mask(const std::string &text) const;
	// The 128-bit mask of a launch descriptor: a set bit disables, and all bits are set but those of the mask's
	// TPCs. Throws Error: Input for an empty mask, Unknown for unknown launch_bits, Range for a bit beyond 127.
	std::array<uint64_t, 2> launch_mask(const TpcMask &mask) const;
	// Checks that no mask is empty (Input) and none overlap (Taken); throws Error. Returns all TPCs of the GPCs
	// that more than one mask has TPCs of.
	TpcMask check_masks(const std::vector<TpcMask> &masks) const;
};

// Converts a mask to the numbers of another layout of the same GPU. Throws Error: Input if it is another GPU's; Unknown, with
// what to do, if the numbers differ and one of the layouts does not tell the places of its TPCs.
TpcMask convert_mask(const Layout &from, const Layout &to, const TpcMask &mask);
// Throws Error (Source) if the GPU's GPCs are not known.
Layout layout_of_gpu(const tool::Gpu &gpu);
// As gpulens_layout_open(). Throws Error.
Layout layout_from(const std::string &source, unsigned gpu);
// As gpulens_layout_make(). Throws Error.
Layout layout_of(const std::vector<unsigned> &tpcs_of_gpc);

} // namespace gpulens
