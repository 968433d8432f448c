// SPDX-License-Identifier: GPL-2.0
// PTOP: the design maxima (SCAL) and the device table, version 1 (up to Turing) and 2 (Ampere and later). Fields and
// sources: emulator/README.md, "Device table".
#include "model/chip_units.hpp"

#include "model/bits.hpp"

#include <stdexcept>

namespace emu {

Ptop::Ptop(const Profile &p) : profile_(p)
{
	for (const auto &table : profile_.ptop) {
		auto rows = profile_.traits.rows == DeviceRows::V2 ? build_v2(table) : build_v1(table);
		if (rows.size() > profile_.ptop_rows)
			throw std::invalid_argument(profile_.document +
						    ": ptop.order: needs more rows than the table has");
		rows.resize(profile_.ptop_rows, 0);
		tables_.push_back(std::move(rows));
	}
}

std::vector<Range> Ptop::ranges() const
{
	std::vector<Range> r = {{0x22400, 0x1000}};
	if (tables_.size() > 1)
		r.push_back({0x32400, 0x1000});
	return r;
}

std::vector<u32> Ptop::build_v1(const Profile::Table &table) const
{
	const u32 CHAIN = 1u << 31;
	std::vector<u32> rows;
	for (int index : table.order) {
		if (index < 0) {
			rows.push_back(0);
			continue;
		}
		const EngineInfo &e = profile_.engines[index];
		u32 enums = 2;
		if (e.reset >= 0)
			enums |= 1u << 2 | put_bits(13, 9, e.reset);
		if (e.intr >= 0)
			enums |= 1u << 3 | put_bits(19, 15, e.intr);
		if (e.runlist >= 0)
			enums |= 1u << 4 | put_bits(24, 21, e.runlist);
		if (e.engine_id >= 0)
			enums |= 1u << 5 | put_bits(29, 26, e.engine_id);
		u32 type = 3 | put_bits(30, 2, e.type), data = 0; // no row of its own: 0
		if (profile_.traits.rows == DeviceRows::V1)
			data = 1 | put_bits(23, 12, e.pri_base >> 12) | put_bits(29, 26, e.instance) |
			       (e.fault >= 0 ? 1u << 2 | put_bits(9, 3, e.fault) : 0);
		else if (profile_.traits.rows == DeviceRows::V1NoInstance)
			data = 1 | put_bits(22, 12, e.pri_base >> 12) |
			       (e.fault >= 0 ? 1u << 2 | put_bits(7, 3, e.fault) : 0);

		std::vector<u32> device;
		for (PtopRow row : profile_.ptop_row_order) {
			u32 word = row == PtopRow::Data ? data : row == PtopRow::Enum ? enums : type;
			if (word)
				device.push_back(word);
		}
		for (size_t i = 0; i + 1 < device.size(); i++)
			device[i] |= CHAIN; // the last row closes the device
		rows.insert(rows.end(), device.begin(), device.end());
	}
	return rows;
}

std::vector<u32> Ptop::build_v2(const Profile::Table &table) const
{
	const u32 CHAIN = 1u << 31;
	std::vector<u32> rows;
	for (int index : table.order) {
		if (index < 0) {
			rows.push_back(0);
			continue;
		}
		const EngineInfo &e = profile_.engines[index];
		bool host = e.runlist >= 0;
		u32 rl_base = 0;
		for (const auto &r : profile_.runlists)
			if (r.id == e.runlist)
				rl_base = r.pri_base;
		rows.push_back(put_bits(10, 0, e.fault < 0 ? 0 : e.fault) | put_bits(15, 11, e.group) |
			       put_bits(23, 16, e.instance) | put_bits(30, 24, e.type) | CHAIN);
		rows.push_back(put_bits(7, 0, e.reset < 0 ? 0 : e.reset) | (e.pri_base & 0x03ffff00) |
			       put_bits(30, 30, host) | (host ? CHAIN : 0));
		if (host)
			rows.push_back(put_bits(1, 0, e.rleng) | (rl_base & 0x03fffc00));
	}
	return rows;
}

bool Ptop::read(u32 off, u32 &v)
{
	const Profile &p = profile_;
	bool from_gm20x = p.traits.rows != DeviceRows::V1Bare,
	     from_gp = from_gm20x && p.traits.rows != DeviceRows::V1NoInstance;
	switch (off) {
	case 0x22430: v = p.num_gpcs; return true;
	case 0x22434: v = p.tpc_per_gpc; return true;
	case 0x22438: v = p.num_fbps; return true;
	case 0x2243c: v = p.num_fbpas; return from_gp;
	case 0x22444: v = p.num_ces; return from_gp;
	case 0x22450: v = p.ltc_per_fbp; return from_gm20x;
	case 0x22454: v = p.num_ltcs; return from_gm20x;
	case 0x2245c: v = p.slices_per_ltc; return from_gm20x;
	case 0x22460: v = p.pes_per_gpc; return p.traits.host_volta && p.pes_per_gpc;
	}
	u32 first = p.traits.rows == DeviceRows::V2 ? 0x22800 : 0x22700;
	for (size_t die = 0; die < tables_.size(); die++, off -= 0x10000) {
		const auto &rows = tables_[die];
		if (off == 0x224fc && p.traits.rows == DeviceRows::V2) {
			v = 2 | put_bits(15, 4, p.ptop_max_devices) | put_bits(19, 16, 3) |
			    put_bits(31, 20, rows.size());
			return true;
		}
		if (off >= first && off < first + 4 * rows.size() && !(off & 3)) {
			v = rows[(off - first) / 4];
			return true;
		}
	}
	return false;
}

bool Ptop::write(u32 off, u32)
{
	u32 v;
	return read(off, v); // read only
}

} // namespace emu
