// SPDX-License-Identifier: GPL-2.0
// Layouts of the controls of abi.hpp that other drivers than 580 have: for each of them where the fields are. Of
// open-gpu-kernel-modules; every published version of a series has the same (docs/rm.md names them). scripts/check-rm
// compares sizes and offsets with the headers of a version.
#pragma once
#include "gpulens/types.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tool::rm {

// A part of the parameters that the other layout has elsewhere: count times size bytes.
struct Moved {
	u32 theirs = 0, ours = 0, size = 0; // bytes
	u32 count = 1;                      // 0: none
	u32 their_step = 0, our_step = 0;   // bytes from one to the next
};

struct OtherLayout {
	const char *series[3]; // of drivers: "535"; nullptr: no more
	u32 cmd = 0, size = 0; // size: bytes
	Moved moved[10];
	u32 absent = 0,
	    absent_size = 0; // what is not reported: bytes of ours that become 0xff. Inside sms: see absent_step
	u32 absent_count = 1, absent_step = 0;
	u32 length_at = 0, length = 0; // a field of ours and theirs that has the size of their array; 0: none
};

// Returns the layout of a control in this version of the driver ("535.261.03"); nullptr: that of abi.hpp, or the version is not
// known.
const OtherLayout *find_layout(u32 cmd, const std::string &version);

// Returns all layouts of a control, nullptr: that of abi.hpp, for a version that is not known: that of the newest known one first,
// which newer ones mostly keep.
std::vector<const OtherLayout *> list_layouts(u32 cmd);

// Copies parameters to their layout, and back. theirs: layout.size bytes.
void convert_to(const OtherLayout &layout, const void *ours, void *theirs);
void convert_from(const OtherLayout &layout, const void *theirs, void *ours);

// Returns where a byte of ours is in theirs; a number beyond layout.size if it is not there.
u32 their_offset(const OtherLayout &layout, u32 ours);

} // namespace tool::rm
