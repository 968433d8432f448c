// SPDX-License-Identifier: GPL-2.0
// PTOP: the design maxima (SCAL) and the device table, version 1 (up to Turing) and 2 (Ampere and later).
//
//   v1  64 rows at 0x22700, CHAIN 31, ENTRY 1:0 (1 DATA, 2 ENUM, 3 ENGINE_TYPE)
//       DATA  FAULT_ID valid 2, id 9:3; PRI_BASE 23:12; INST_ID 29:26
//       ENUM  valid bits RESET 2, INTR 3, RUNLIST 4, ENGINE 5; RESET 13:9, INTR 19:15, RUNLIST 24:21, ENGINE 29:26
//       TYPE  30:2
//   v2  CFG 0x224fc VERSION 3:0, MAX_DEVICES 15:4, MAX_ROWS_PER_DEVICE 19:16, NUM_ROWS 31:20; rows at 0x22800
//       row 0  FAULT_ID 10:0, INSTANCE_ID 23:16, TYPE_ENUM 30:24; row 1  RESET_ID 7:0, PRI_BASE 25:8 in place,
//       IS_ENGINE 30; row 2  RLENG_ID 1:0, RUNLIST_PRI_BASE 25:10 in place; CHAIN 31 in all
// Sources: DOC turing/tu104/dev_top.ref.txt NV_PTOP_*; linux-nvgpu hw_top_gp106.h, hw_top_ga100.h, hw_top_ga10b.h.
#include "model/chip_units.hpp"

#include "model/bits.hpp"

#include <stdexcept>

namespace emu {

Ptop::Ptop(const Profile &p) : profile_(p)
{
	if (profile_.pfifo())
		build_v1();
	else
		build_v2();
	if (rows_.size() > profile_.ptop_rows)
		throw std::invalid_argument("profile: ptop.order needs more rows than the table has");
	rows_.resize(profile_.ptop_rows, 0);
}

void Ptop::build_v1()
{
	const uint32_t CHAIN = 1u << 31;
	for (int index : profile_.ptop_order) {
		if (index < 0) {
			rows_.push_back(0);
			continue;
		}
		const EngineInfo &e = profile_.engines[index];
		uint32_t data = 1 | put(23, 12, e.pri_base >> 12) | put(29, 26, e.instance) | CHAIN;
		if (e.fault >= 0)
			data |= 1u << 2 | put(9, 3, e.fault);
		uint32_t enums = 2 | CHAIN;
		if (e.reset >= 0)
			enums |= 1u << 2 | put(13, 9, e.reset);
		if (e.intr >= 0)
			enums |= 1u << 3 | put(19, 15, e.intr);
		if (e.runlist >= 0)
			enums |= 1u << 4 | put(24, 21, e.runlist);
		if (e.engine_id >= 0)
			enums |= 1u << 5 | put(29, 26, e.engine_id);
		uint32_t type = 3 | put(30, 2, e.type);
		rows_.insert(rows_.end(), {data, enums, type}); // the type row closes the device
	}
}

void Ptop::build_v2()
{
	const uint32_t CHAIN = 1u << 31;
	for (int index : profile_.ptop_order) {
		if (index < 0) {
			rows_.push_back(0);
			continue;
		}
		const EngineInfo &e = profile_.engines[index];
		bool host = e.runlist >= 0;
		uint32_t rl_base = 0;
		for (const auto &r : profile_.runlists)
			if (r.id == e.runlist)
				rl_base = r.pri_base;
		rows_.push_back(put(10, 0, e.fault < 0 ? 0 : e.fault) | put(23, 16, e.instance) | put(30, 24, e.type) |
				CHAIN);
		rows_.push_back(put(7, 0, e.reset < 0 ? 0 : e.reset) | (e.pri_base & 0x03ffff00) | put(30, 30, host) |
				(host ? CHAIN : 0));
		if (host)
			rows_.push_back(put(1, 0, e.rleng) | (rl_base & 0x03fffc00));
	}
}

bool Ptop::read(uint32_t off, uint32_t &v)
{
	const Profile &p = profile_;
	switch (off) {
	case 0x22430: v = p.num_gpcs; return true;
	case 0x22434: v = p.tpc_per_gpc; return true;
	case 0x22438: v = p.num_fbps; return true;
	case 0x2243c: v = p.num_fbpas; return true;
	case 0x22444: v = p.num_ces; return true;
	case 0x22450: v = p.ltc_per_fbp; return true;
	case 0x22454: v = p.num_ltcs; return true;
	case 0x2245c: v = p.slices_per_ltc; return true;
	case 0x22460: v = p.pes_per_gpc; return p.family != Family::Pascal;
	case 0x224fc:
		v = 2 | put(15, 4, p.engines.size()) | put(19, 16, 3) | put(31, 20, rows_.size());
		return !p.pfifo();
	}
	uint32_t first = p.pfifo() ? 0x22700 : 0x22800;
	if (off >= first && off < first + 4 * rows_.size() && !(off & 3)) {
		v = rows_[(off - first) / 4];
		return true;
	}
	return false;
}

bool Ptop::write(uint32_t off, uint32_t)
{
	uint32_t v;
	return read(off, v); // read only
}

} // namespace emu
