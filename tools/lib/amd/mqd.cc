// SPDX-License-Identifier: GPL-2.0
// The registers of an HQD are part of an MQD, in the same order: decode_hqd() removes those before CP_MQD_BASE_ADDR and puts
// zeros in place of the words of the MQD before it, so that one decoder serves both.
#include "lib/amd/mqd.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <utility>

namespace tool::amd {

namespace {

constexpr u32 MQD_WORDS = 512;
// Words of the MQD; registers of an HQD follow each other in the same order.
constexpr u32 MQD_BASE = 128, ACTIVE = 130, VMID = 131, PIPE_PRIORITY = 133, QUEUE_PRIORITY = 134, PQ_BASE = 136,
	      PQ_RPTR = 138, RPTR_REPORT = 139, WPTR_POLL = 141, DOORBELL = 143, PQ_CONTROL = 145;
constexpr u32 DOORBELL_SHIFT = 2;     // CP_HQD_PQ_DOORBELL_CONTROL, DOORBELL_OFFSET
constexpr u32 QUEUE_SIZE_MASK = 0x3f; // CP_HQD_PQ_CONTROL; log2 of the words, less 1
constexpr u32 VMID_MASK = 0xf;        // CP_HQD_VMID; 11:8 is that of indirect buffers
constexpr u32 ADDRESS_SHIFT = 8;      // of the bases of rings
constexpr u32 DIE_SES = 4; // from GFX9.4.3 on words 39 to 42 have another meaning, and the driver sets 4 masks

// v9_sdma_mqd: 128 words; 130 in older kernels. The driver's own ids are its last two.
constexpr u32 SDMA_WORDS = 128, SDMA_WORDS_BEFORE = 130;
constexpr u32 RB_CNTL = 0, RB_BASE = 1, RB_RPTR = 3, RB_WPTR = 5, SDMA_DOORBELL = 22;
constexpr u32 RB_SIZE_SHIFT = 1, RB_SIZE_MASK = 0x1f; // log2 of the words
constexpr u32 SDMA_DOORBELL_BITS = 26;
// GFX9 and GFX10: kgd_hqd_sdma_dump(), 19 + 6 + 7 + 10 registers in the order of the MQD; kgd_gfx_v9_4_3_hqd_sdma_dump() and
// hqd_sdma_dump_v10_3(), 2 more at the end.
constexpr u32 SDMA_REGISTERS = 42, SDMA_REGISTERS_9_4_3 = 44;

// The layout of GFX9, of which later generations have other CU masks.
MqdLayout make_layout_v9(u32 first, u32 end, bool sdma, std::vector<u32> cu_masks)
{
	return {.first = first,
		.end = end,
		.sdma = sdma,
		.skipped = 0,
		.registers = 56,
		.write_pointer = 182,
		.wide = true,
		.cu_masks = std::move(cu_masks),
		.doorbell_bits = 26,
		.packets_v9 = true};
}

// Kept in the order of their versions.
const MqdLayout LAYOUTS[] = {
	{.first = 80000,
	 .end = 90000,
	 .sdma = false,
	 .skipped = 4,
	 .registers = 54,
	 .write_pointer = 144,
	 .wide = false,
	 .cu_masks = {23, 24, 26, 27},
	 .doorbell_bits = 21,
	 .packets_v9 = false},
	make_layout_v9(90000, 100000, true, {23, 24, 26, 27, 39, 40, 41, 42}),
	make_layout_v9(100000, 110000, true, {23, 24, 26, 27}),
	make_layout_v9(110000, 120000, false, {23, 24, 26, 27, 44, 45, 46, 47}),
	make_layout_v9(120000, 120100, false, {23, 24, 26, 27, 44, 45, 46, 47}),
};

u32 get_doorbell(u32 word, u32 bits)
{
	return word >> DOORBELL_SHIFT & ((1U << bits) - 1);
}

// words: of an MQD, or of an HQD, shifted so that the same positions hold.
QueueState decode_state(const MqdLayout &layout, const u32 *words)
{
	return {.mqd = join_words(&words[MQD_BASE]),
		.doorbell = get_doorbell(words[DOORBELL], layout.doorbell_bits),
		.ring = join_words(&words[PQ_BASE]) << ADDRESS_SHIFT,
		.ring_bytes = u64{2 * sizeof(u32)} << (words[PQ_CONTROL] & QUEUE_SIZE_MASK),
		.read_pointer = words[PQ_RPTR],
		.write_pointer = layout.wide ? join_words(&words[layout.write_pointer]) : words[layout.write_pointer],
		.read_report = join_words(&words[RPTR_REPORT]),
		.write_poll = join_words(&words[WPTR_POLL]),
		.pipe_priority = words[PIPE_PRIORITY],
		.queue_priority = words[QUEUE_PRIORITY],
		.vmid = words[VMID] & VMID_MASK,
		.active = (words[ACTIVE] & 1) != 0};
}

std::vector<u32> join_rows(const std::vector<WordRow> &rows)
{
	std::vector<u32> words;

	for (const WordRow &row : rows)
		words.insert(words.end(), row.words.begin(), row.words.end());
	return words;
}

[[noreturn]] void refuse_size(const std::string &place, const char *what, size_t is, const std::string &wanted)
{
	throw Error(Error::Input,
		    fmt::format("{}: {} {} words, not {}; the file was cut off, or is of a kernel that is not "
				"known",
				place, what, is, wanted));
}

} // namespace

const MqdLayout *find_layout(const std::optional<u32> &gfx)
{
	const MqdLayout *found = std::find_if(std::begin(LAYOUTS), std::end(LAYOUTS), [&](const MqdLayout &layout) {
		return gfx && *gfx >= layout.first && *gfx < layout.end;
	});

	return found == std::end(LAYOUTS) ? nullptr : found;
}

ComputeMqd decode_compute_mqd(const MqdLayout &layout, const std::vector<u32> &words, u32 ses, u32 dies,
			      const std::string &place)
{
	if (words.size() != MQD_WORDS)
		refuse_size(place, "the MQD has", words.size(), std::to_string(MQD_WORDS));
	ComputeMqd mqd{.state = decode_state(layout, words.data())};
	size_t known = dies > 1 ? std::min<size_t>(layout.cu_masks.size(), DIE_SES) : layout.cu_masks.size();
	for (u32 se = 0; se < ses && se < known; se++)
		mqd.cu_mask.push_back(words[layout.cu_masks[se]]);
	return mqd;
}

SdmaMqd decode_sdma_mqd(const std::vector<u32> &words, const std::string &place)
{
	if (words.size() != SDMA_WORDS && words.size() != SDMA_WORDS_BEFORE)
		refuse_size(place, "the MQD has", words.size(), fmt::format("{} or {}", SDMA_WORDS, SDMA_WORDS_BEFORE));
	return {.doorbell = get_doorbell(words[SDMA_DOORBELL], SDMA_DOORBELL_BITS),
		.engine = words[words.size() - 2],
		.queue = words[words.size() - 1],
		.ring = join_words(&words[RB_BASE]) << ADDRESS_SHIFT,
		.ring_bytes = u64{sizeof(u32)} << (words[RB_CNTL] >> RB_SIZE_SHIFT & RB_SIZE_MASK),
		.read_pointer = join_words(&words[RB_RPTR]),
		.write_pointer = join_words(&words[RB_WPTR])};
}

QueueState decode_hqd(const MqdLayout &layout, const std::vector<WordRow> &rows, const std::string &place)
{
	std::vector<u32> words = join_rows(rows);

	if (words.size() != layout.skipped + layout.registers)
		refuse_size(place, "the HQD has", words.size(), std::to_string(layout.skipped + layout.registers));
	words.erase(words.begin(), words.begin() + layout.skipped);
	words.insert(words.begin(), MQD_BASE, 0);
	return decode_state(layout, words.data());
}

SdmaHqd decode_sdma_hqd(const std::vector<WordRow> &rows, const std::string &place)
{
	std::vector<u32> words = join_rows(rows);

	if (words.size() != SDMA_REGISTERS && words.size() != SDMA_REGISTERS_9_4_3)
		refuse_size(place, "the SDMA queue has", words.size(),
			    fmt::format("{} or {}", SDMA_REGISTERS, SDMA_REGISTERS_9_4_3));
	return {.active = (words[RB_CNTL] & 1) != 0,
		.doorbell = get_doorbell(words[SDMA_DOORBELL], SDMA_DOORBELL_BITS)};
}

} // namespace tool::amd
