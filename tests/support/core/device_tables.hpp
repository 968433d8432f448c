// SPDX-License-Identifier: GPL-2.0
// Device tables of both layouts in a map of registers, and the rows of two devices in each layout. Bit fields:
// ptop_test.cc.
#pragma once
#include "support/core/fake.hpp"

namespace test {

constexpr u32 V1 = 0x22700, V2 = 0x22800, V2_CFG = 0x224fc;

struct V1Table : Fake {
	explicit V1Table(const std::vector<u32> &words) : Fake(lens_chip_tu10x)
	{
		set_rows(V1, words);
		err = lens_chip_tu10x.read_devices(gpu.get());
	}
	const lens_topology &topo() { return gpu->topo; }
	int err;
};

// Graphics: TYPE 0; reset 12, interrupt 12, runlist 0, engine 0; fault id 64, base 0x400000.
#define GRAPHICS 0x80000003, 0x8006183e, 0x00400205
// LCE 2: TYPE 19; reset 21, interrupt 9, runlist 5, engine 5; fault id 19, base 0x104000, instance 2.
#define LCE2 0x8000004f, 0x94a4aa3e, 0x0810409d

struct V2Table : Fake {
	explicit V2Table(const std::vector<u32> &words, u32 cfg = 0) : Fake(lens_chip_gh100)
	{
		set_rows(V2, words);
		// VERSION 3:0 = 2, NUM_ROWS 31:20
		regs[V2_CFG] = cfg ? cfg : u32(words.size()) << 20 | 2;
		err = lens_chip_gh100.read_devices(gpu.get());
	}
	const lens_topology &topo() { return gpu->topo; }
	int err;
};

// LCE 2: fault id 0x2d, reset 5, base 0x104000, second engine of the runlist at 0xc00400.
#define V2_LCE2 0x9302002d, 0xc0104005, 0x00c00401
// GSP: fault id 449, base 0x110000, reset 60, no runlist: a record of two rows.
#define V2_GSP 0x940001c1, 0x0011003c

} // namespace test
