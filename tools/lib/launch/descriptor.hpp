// SPDX-License-Identifier: GPL-2.0
// The versions of launch descriptors whose masks NVIDIA's headers define: where the version is, and the mask. Header only,
// as it is also part of what gpulens run preloads. docs/partition.md says which versions were seen on a GPU.
#pragma once
#include "hw/drf.h"
#include "lib/launch/qmd.h"

#include <cstddef>
#include <cstdint>

#define MW(field) field

namespace gpulens {

// Offsets are bytes from the begin of a descriptor.
struct DescriptorFormat {
	// Version (major << 4 | minor), and 0x100 for the format of Ada's 3.0. It identifies the row between programs.
	uint32_t id;
	const char *name;   // "4.0"
	const char *header; // its source in open-gpu-doc
	bool seen;          // masks of this version had effect on a GPU, and not only by the manual
	// Compute capabilities (major * 10 + minor) of GPUs that this row is for; 0: also an unknown one.
	unsigned least, most;

	size_t version_at;  // a byte
	size_t mask_at;     // first of 64 bits, or of 128
	unsigned bits;      // of the mask: 64, 72 or 128. Bits from 64 of 72 are in the word at ext_at
	size_t ext_at;      // word with the bits EXT_LOWER and EXT_UPPER, if bits is 72
	size_t flags_at;    // word with VALID and the type of the launch
	uint32_t valid;     // set in flags_at with the mask; 0: the mask has no such bit, and the word is not read
	uint32_t type_mask; // of flags_at: the bits that have a meaning as a type, with CLUSTERS
	size_t cooperative; // grid of a cooperative launch: u16 x, y, z; 0: such launches cannot be recognized
	size_t cluster;     // blocks of a cluster: u8 x, y, z, of which 6 bits each; 0: there are no clusters
	bool has_large;     // the next byte has x - 1 and y - 1 of a large cluster, 4 bits each

	constexpr uint8_t version() const { return static_cast<uint8_t>(id); }
};

// Of EXT_LOWER, 6 bits, and EXT_UPPER, 2 bits, in their word.
constexpr unsigned EXT_LOWER_SHIFT = DRF_LO(NVC9C0_QMDV03_00_SM_DISABLE_MASK_EXT_LOWER) % 32,
		   EXT_UPPER_SHIFT = DRF_LO(NVC9C0_QMDV03_00_SM_DISABLE_MASK_EXT_UPPER) % 32, EXT_LOWER_BITS = 6,
		   EXT_UPPER_BITS = 2;
static_assert(DRF_HI(NVC9C0_QMDV03_00_SM_DISABLE_MASK_EXT_LOWER) ==
		      DRF_LO(NVC9C0_QMDV03_00_SM_DISABLE_MASK_EXT_LOWER) + EXT_LOWER_BITS - 1 &&
	      DRF_HI(NVC9C0_QMDV03_00_SM_DISABLE_MASK_EXT_UPPER) ==
		      DRF_LO(NVC9C0_QMDV03_00_SM_DISABLE_MASK_EXT_UPPER) + EXT_UPPER_BITS - 1);

namespace descriptor {

constexpr size_t byte_of(unsigned bit)
{
	return bit / 8;
}

constexpr size_t word_of(unsigned bit)
{
	return bit / 32 * 4;
}

// Whether the fields are a byte, with the minor version in its lower half.
constexpr bool is_byte(unsigned minor_low, unsigned minor_high, unsigned major_low, unsigned major_high)
{
	return minor_low % 8 == 0 && minor_high == minor_low + 3 && major_low == minor_low + 4 &&
	       major_high == minor_low + 7;
}

} // namespace descriptor

// QMD_TYPE without its lowest bit, which is that of clusters: 1 GRID_CTA and GRID_GPC_CGA, 2 GRID_GPU_CGA and
// GRID_GPU_GPC_CGA. An H200 has the latter two for cooperative launches (docs/results/2026-11-23-h200-cooperative.md).
constexpr uint32_t TYPE_SHIFT = DRF_LO(NVCBC0_QMDV04_00_QMD_TYPE) + 1,
		   TYPE_GRID = NVCBC0_QMDV04_00_QMD_TYPE_GRID_CTA >> 1,
		   TYPE_COOPERATIVE = NVCBC0_QMDV04_00_QMD_TYPE_GRID_GPU_CGA >> 1,
		   CLUSTERS = uint32_t{1} << DRF_LO(NVCBC0_QMDV04_00_QMD_TYPE);

// A row of a version with SM_DISABLE_MASK_LOWER and _UPPER, which have no bit VALID.
#define LENS_SM_MASK(number, text, file, prefix)                                                                       \
	{                                                                                                              \
		.id = number, .name = text, .header = "classes/compute/" file, .seen = false, .least = 0, .most = ~0U, \
		.version_at = descriptor::byte_of(DRF_LO(prefix##_QMD_VERSION)),                                       \
		.mask_at = descriptor::byte_of(DRF_LO(prefix##_SM_DISABLE_MASK_LOWER)), .bits = 64, .ext_at = 0,       \
		.flags_at = 0, .valid = 0, .type_mask = 0, .cooperative = 0, .cluster = 0, .has_large = false          \
	}
// A row of a version with TPC_DISABLE_MASK(i). The headers do not say how many words i counts: four are used.
#define LENS_TPC_MASK(number, text, file, prefix, was_seen, from, types, large)                                        \
	{                                                                                                              \
		.id = number, .name = text, .header = "classes/compute/" file, .seen = was_seen, .least = from,        \
		.most = ~0U, .version_at = descriptor::byte_of(DRF_LO(prefix##_QMD_MINOR_VERSION)),                    \
		.mask_at = descriptor::byte_of(DRF_LO(prefix##_TPC_DISABLE_MASK(0))), .bits = 128, .ext_at = 0,        \
		.flags_at = descriptor::word_of(DRF_LO(prefix##_TPC_DISABLE_MASK_VALID)),                              \
		.valid = uint32_t{1} << DRF_LO(prefix##_TPC_DISABLE_MASK_VALID) % 32,                                  \
		.type_mask = types << TYPE_SHIFT | CLUSTERS,                                                           \
		.cooperative = descriptor::byte_of(DRF_LO(prefix##_GPU_CGA_WIDTH)),                                    \
		.cluster = descriptor::byte_of(DRF_LO(prefix##_GPC_CGA_WIDTH)), .has_large = large                     \
	}

constexpr unsigned ADA = 89, BLACKWELL = 100; // compute capabilities

// 0.6 and 5.1 are in the headers, too, but without words of a mask.
constexpr DescriptorFormat DESCRIPTORS[] = {
	LENS_SM_MASK(0x16, "1.6", "cla0c0qmd.h", NVA0C0_QMDV01_06),
	LENS_SM_MASK(0x17, "1.7", "cla0c0qmd.h", NVA0C0_QMDV01_07),
	LENS_SM_MASK(0x20, "2.0", "clc0c0qmd.h", NVC0C0_QMDV02_00),
	LENS_SM_MASK(0x21, "2.1", "clc0c0qmd.h", NVC0C0_QMDV02_01),
	LENS_SM_MASK(0x22, "2.2", "clc3c0qmd.h", NVC3C0_QMDV02_02),
	LENS_SM_MASK(0x23, "2.3", "clc5c0qmd.h", NVC5C0_QMDV02_03),
	LENS_SM_MASK(0x24, "2.4", "clc6c0qmd.h", NVC6C0_QMDV02_04),
	// Ada's header alone names the bits EXT, which are reserved in the 3.0 of Ampere.
	{.id = 0x130,
	 .name = "3.0 of Ada",
	 .header = "classes/compute/clc9c0qmd.h",
	 .seen = false,
	 .least = ADA,
	 .most = ADA,
	 .version_at = descriptor::byte_of(DRF_LO(NVC9C0_QMDV03_00_QMD_VERSION)),
	 .mask_at = descriptor::byte_of(DRF_LO(NVC9C0_QMDV03_00_SM_DISABLE_MASK_LOWER)),
	 .bits = 72,
	 .ext_at = descriptor::word_of(DRF_LO(NVC9C0_QMDV03_00_SM_DISABLE_MASK_EXT_LOWER)),
	 .flags_at = 0,
	 .valid = 0,
	 .type_mask = 0,
	 .cooperative = 0,
	 .cluster = 0,
	 .has_large = false},
	LENS_SM_MASK(0x30, "3.0", "clc6c0qmd.h", NVC6C0_QMDV03_00),
	LENS_TPC_MASK(0x40, "4.0", "clcbc0qmd.h", NVCBC0_QMDV04_00, true, 0, 0xf, false),
	LENS_TPC_MASK(0x41, "4.1", "clcdc0qmd.h", NVCDC0_QMDV04_01, false, 0, 0xf, true),
	// Its version is in a byte that other versions use otherwise. Bits 154 to 157 are NUM_SUB_TASKS_PER_TASK.
	LENS_TPC_MASK(0x50, "5.0", "clcdc0qmd.h", NVCDC0_QMDV05_00, false, BLACKWELL, 0x3, true),
};

#undef LENS_SM_MASK
#undef LENS_TPC_MASK

// A version has the same fields in every header that has it.
#define LENS_SAME_SM_MASK(a, b)                                                                                        \
	static_assert(descriptor::is_byte(DRF_LO(b##_QMD_VERSION), DRF_HI(b##_QMD_VERSION),                            \
					  DRF_LO(b##_QMD_MAJOR_VERSION), DRF_HI(b##_QMD_MAJOR_VERSION)) &&             \
		      DRF_LO(a##_QMD_VERSION) == DRF_LO(b##_QMD_VERSION) &&                                            \
		      DRF_LO(a##_SM_DISABLE_MASK_LOWER) == DRF_LO(b##_SM_DISABLE_MASK_LOWER) &&                        \
		      DRF_LO(b##_SM_DISABLE_MASK_LOWER) % 8 == 0 &&                                                    \
		      DRF_HI(b##_SM_DISABLE_MASK_LOWER) == DRF_LO(b##_SM_DISABLE_MASK_LOWER) + 31 &&                   \
		      DRF_LO(b##_SM_DISABLE_MASK_UPPER) == DRF_LO(b##_SM_DISABLE_MASK_LOWER) + 32 &&                   \
		      DRF_HI(b##_SM_DISABLE_MASK_UPPER) == DRF_LO(b##_SM_DISABLE_MASK_LOWER) + 63)
LENS_SAME_SM_MASK(NVA0C0_QMDV01_06, NVA0C0_QMDV01_06);
LENS_SAME_SM_MASK(NVA0C0_QMDV01_07, NVA1C0_QMDV01_07);
LENS_SAME_SM_MASK(NVA0C0_QMDV01_07, NVB0C0_QMDV01_07);
LENS_SAME_SM_MASK(NVA0C0_QMDV01_07, NVB1C0_QMDV01_07);
LENS_SAME_SM_MASK(NVA0C0_QMDV01_07, NVC0C0_QMDV01_07);
LENS_SAME_SM_MASK(NVA0C0_QMDV01_07, NVC1C0_QMDV01_07);
LENS_SAME_SM_MASK(NVC0C0_QMDV02_00, NVC1C0_QMDV02_00);
LENS_SAME_SM_MASK(NVC0C0_QMDV02_01, NVC1C0_QMDV02_01);
LENS_SAME_SM_MASK(NVC3C0_QMDV02_02, NVC4C0_QMDV02_02);
LENS_SAME_SM_MASK(NVC5C0_QMDV02_03, NVC6C0_QMDV02_03);
LENS_SAME_SM_MASK(NVC5C0_QMDV02_03, NVC7C0_QMDV02_03);
LENS_SAME_SM_MASK(NVC6C0_QMDV02_04, NVC7C0_QMDV02_04);
LENS_SAME_SM_MASK(NVC6C0_QMDV02_04, NVC9C0_QMDV02_04);
LENS_SAME_SM_MASK(NVC6C0_QMDV03_00, NVC7C0_QMDV03_00);
LENS_SAME_SM_MASK(NVC6C0_QMDV03_00, NVC9C0_QMDV03_00);
LENS_SAME_SM_MASK(NVC6C0_QMDV03_00, NVCBC0_QMDV03_00);
#undef LENS_SAME_SM_MASK

#define LENS_SAME_TPC_MASK(a, b)                                                                                       \
	static_assert(descriptor::is_byte(DRF_LO(b##_QMD_MINOR_VERSION), DRF_HI(b##_QMD_MINOR_VERSION),                \
					  DRF_LO(b##_QMD_MAJOR_VERSION), DRF_HI(b##_QMD_MAJOR_VERSION)) &&             \
		      DRF_LO(a##_QMD_MINOR_VERSION) == DRF_LO(b##_QMD_MINOR_VERSION) &&                                \
		      DRF_LO(a##_TPC_DISABLE_MASK_VALID) == DRF_LO(b##_TPC_DISABLE_MASK_VALID) &&                      \
		      DRF_LO(a##_TPC_DISABLE_MASK(0)) == DRF_LO(b##_TPC_DISABLE_MASK(0)) &&                            \
		      DRF_LO(b##_TPC_DISABLE_MASK(0)) % 8 == 0 &&                                                      \
		      DRF_HI(b##_TPC_DISABLE_MASK(3)) == DRF_LO(b##_TPC_DISABLE_MASK(0)) + 127 &&                      \
		      DRF_LO(b##_QMD_TYPE) / 32 == DRF_LO(b##_TPC_DISABLE_MASK_VALID) / 32 &&                          \
		      DRF_LO(b##_QMD_TYPE) % 32 == 23 && DRF_HI(b##_QMD_TYPE) % 32 == 25 &&                            \
		      DRF_LO(a##_GPU_CGA_WIDTH) == DRF_LO(b##_GPU_CGA_WIDTH) &&                                        \
		      DRF_LO(b##_GPU_CGA_HEIGHT) == DRF_LO(b##_GPU_CGA_WIDTH) + 16 &&                                  \
		      DRF_LO(b##_GPU_CGA_DEPTH) == DRF_LO(b##_GPU_CGA_WIDTH) + 32 &&                                   \
		      DRF_LO(a##_GPC_CGA_WIDTH) == DRF_LO(b##_GPC_CGA_WIDTH) && DRF_LO(b##_GPC_CGA_WIDTH) % 8 == 0 &&  \
		      DRF_HI(b##_GPC_CGA_WIDTH) == DRF_LO(b##_GPC_CGA_WIDTH) + 5 &&                                    \
		      DRF_LO(b##_GPC_CGA_HEIGHT) == DRF_LO(b##_GPC_CGA_WIDTH) + 8 &&                                   \
		      DRF_LO(b##_GPC_CGA_DEPTH) == DRF_LO(b##_GPC_CGA_WIDTH) + 16)
LENS_SAME_TPC_MASK(NVCBC0_QMDV04_00, NVCBC0_QMDV04_00);
LENS_SAME_TPC_MASK(NVCDC0_QMDV04_01, NVCEC0_QMDV04_01);
LENS_SAME_TPC_MASK(NVCDC0_QMDV05_00, NVCEC0_QMDV05_00);
#undef LENS_SAME_TPC_MASK

#define LENS_SAME_LARGE_CLUSTER(v)                                                                                     \
	static_assert(DRF_LO(v##_LARGE_GPC_CGA_WIDTH_MINUS_ONE) == DRF_LO(v##_GPC_CGA_WIDTH) + 24 &&                   \
		      DRF_HI(v##_LARGE_GPC_CGA_WIDTH_MINUS_ONE) == DRF_LO(v##_GPC_CGA_WIDTH) + 27 &&                   \
		      DRF_LO(v##_LARGE_GPC_CGA_HEIGHT_MINUS_ONE) == DRF_LO(v##_GPC_CGA_WIDTH) + 28 &&                  \
		      DRF_HI(v##_LARGE_GPC_CGA_HEIGHT_MINUS_ONE) == DRF_LO(v##_GPC_CGA_WIDTH) + 31)
LENS_SAME_LARGE_CLUSTER(NVCDC0_QMDV04_01);
LENS_SAME_LARGE_CLUSTER(NVCEC0_QMDV04_01);
LENS_SAME_LARGE_CLUSTER(NVCDC0_QMDV05_00);
LENS_SAME_LARGE_CLUSTER(NVCEC0_QMDV05_00);
#undef LENS_SAME_LARGE_CLUSTER

constexpr unsigned SMS_PER_TPC = 2; // assumed in formats with cooperative launches, and verified before a mask is set

// Bytes in which some version has its number.
constexpr size_t VERSION_AT = descriptor::byte_of(DRF_LO(NVCBC0_QMDV04_00_QMD_MINOR_VERSION)),
		 VERSION_5_AT = descriptor::byte_of(DRF_LO(NVCDC0_QMDV05_00_QMD_MINOR_VERSION));

#undef MW

// Returns the row of a number as DescriptorFormat::id; nullptr if there is none.
constexpr const DescriptorFormat *find_descriptor(uint32_t id)
{
	for (const DescriptorFormat &row : DESCRIPTORS)
		if (row.id == id)
			return &row;
	return nullptr;
}

// Returns the row of a descriptor with these two bytes on a GPU of this compute capability (0: unknown). nullptr: there is
// none, or two rows fit.
constexpr const DescriptorFormat *find_descriptor(uint8_t at_version, uint8_t at_version_5, unsigned capability)
{
	const DescriptorFormat *found = nullptr;

	for (const DescriptorFormat &row : DESCRIPTORS) {
		bool fits = row.version() == (row.version_at == VERSION_AT ? at_version : at_version_5) &&
			    (!row.least || capability >= row.least) && capability <= row.most;
		if (!fits || (found && found->version() == row.version()))
			continue;
		if (found)
			return nullptr;
		found = &row;
	}
	return found;
}

} // namespace gpulens
