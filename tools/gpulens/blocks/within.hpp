// SPDX-License-Identifier: GPL-2.0
// Compares the SMs on which the blocks of a log ran with a mask: the partition that its kernels were limited to.
#pragma once
#include "gpulens/blocks/log.hpp"

namespace tool::blocks {

// An SM outside of the mask that ran blocks.
struct Outside {
	u32 sm = 0, blocks = 0;
	std::vector<std::string> kernels; // in the order of launches
	s64 first_start = 0, last_end = 0;
};

struct Within {
	std::string mask;          // "TPCs 0-9" or "SMs 0-19"
	std::vector<bool> allowed; // by SM, as many as the log's machine has
	u32 sms_per_tpc = 2;
	u32 used = 0, blocks = 0; // SMs that ran blocks, and all blocks
	std::vector<Outside> outside;
};

// mask: TPCs ("0-9,12" or "0x3ff") or SMs ("sm:0-19"). TPC n has the SMs sms_per_tpc * n on, as
// gpulens-partition.h numbers them.
// Throws Error (Input): another text, an empty mask, or an SM that the log's GPU does not have.
Within check_within(const Log &log, const std::string &mask);
std::string within_text(const Within &within);
nlohmann::ordered_json within_json(const Within &within);

} // namespace tool::blocks
