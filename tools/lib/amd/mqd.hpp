// SPDX-License-Identifier: GPL-2.0
// What the words of an MQD mean, and of the registers of a hardware queue (HQD), which hold part of an MQD while its queue
// is on the GPU. Tried on published files of real GPUs: GFX10.1.3 (BC-250), with its SDMA queue.
//
// Sources: torvalds/linux, drivers/gpu/drm/amd/include/{vi,v9,v10,v11,v12}_structs.h, structs vi_mqd, v9_mqd and
// v10_compute_mqd to v12_compute_mqd of 512 words, whose registers begin with cp_mqd_base_addr_lo, word 128; v9_sdma_mqd
// and v10_sdma_mqd, which are alike up to word 41; amdgpu/sdma_v5_0.c, sdma_v5_0_mqd_init(): shifts and sizes of the
// latter; amdkfd/kfd_mqd_manager_v9.c, update_mqd(): those of the former, assumed for the others;
// amdgpu/amdgpu_amdkfd_gfx_{v8,v9,v10,v10_3}.c and amdgpu_amdkfd_gc_9_4_3.c, hqd_dump() and hqd_sdma_dump(): which registers
// are dumped, assumed for GFX11 and GFX12. GFX7 and 12.1 were not read, so nothing of them is decoded.
#pragma once
#include "lib/amd/kfd_text.hpp"
#include "lib/amd/mqds.hpp"

#include <optional>
#include <vector>

namespace tool::amd {

// The positions of one generation.
struct MqdLayout {
	u32 first, end;            // gfx_target_version, half open
	bool sdma;                 // whether v9_sdma_mqd, or v10_sdma_mqd, is its SDMA queues' descriptor
	u32 skipped;               // registers before CP_MQD_BASE_ADDR in a dump of an HQD
	u32 registers;             // from there on
	u32 write_pointer;         // word
	bool wide;                 // the word after it has the upper half
	std::vector<u32> cu_masks; // words of compute_static_thread_mgmt_seN
	u32 doorbell_bits;
	bool packets_v9; // its runlist has the packets of kfd_pm4_headers_ai.h
};

// Returns nothing for a generation that is not known.
const MqdLayout *find_layout(const std::optional<u32> &gfx);

// A queue by its MQD or its HQD. Addresses are the GPU's.
struct QueueState {
	u64 mqd = 0;      // address of the MQD itself; of compute queues
	u32 doorbell = 0; // index in the doorbells of the GPU
	u64 ring = 0, ring_bytes = 0;
	u64 read_pointer = 0, write_pointer = 0; // as they stand there
	u64 read_report = 0, write_poll = 0;     // where the program sees and sets them
	u32 pipe_priority = 0, queue_priority = 0;
	u32 vmid = 0;
	bool active = false;

	// Returns how many words were written and not read: the read pointer is of the ring, and the write pointer counts on.
	u64 pending_words() const
	{
		return ring_bytes ? (write_pointer - read_pointer) % (ring_bytes / sizeof(u32)) : 0;
	}
};

// A compute queue (or DIQ) with its masks.
struct ComputeMqd {
	QueueState state{};
	std::vector<u32> cu_mask{}; // a word for each SE; fewer where no source has their positions
};
// Throws Error (Input) if the MQD does not have the layout's size. place: "FILE:LINE", for messages. ses: of a die.
ComputeMqd decode_compute_mqd(const MqdLayout &layout, const std::vector<u32> &words, u32 ses, u32 dies,
			      const std::string &place);

struct SdmaMqd {
	u32 doorbell = 0, engine = 0, queue = 0; // engine and queue as the driver chose them
	u64 ring = 0, ring_bytes = 0, read_pointer = 0, write_pointer = 0;
};
// The same of an SDMA queue; layout.sdma must be set.
SdmaMqd decode_sdma_mqd(const std::vector<u32> &words, const std::string &place);

// Decodes the registers of an HQD for compute queues. Throws Error (Input) if they are not those of the layout.
QueueState decode_hqd(const MqdLayout &layout, const std::vector<WordRow> &rows, const std::string &place);

struct SdmaHqd {
	bool active = false;
	u32 doorbell = 0;
};
// Decodes the registers of an SDMA queue. Throws Error (Input) as above; layout.sdma must be set.
SdmaHqd decode_sdma_hqd(const std::vector<WordRow> &rows, const std::string &place);

} // namespace tool::amd
