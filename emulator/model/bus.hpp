// SPDX-License-Identifier: GPL-2.0
// The bus interface: the PRAMIN window, the BAR1/BAR2 instance block registers, the doorbell, and the memory seen
// through PRAMIN, BAR1 and BAR2. Page tables are read by mmu.hpp.
//
//   window   gk..ad 0x1700: BASE 23:0 = address >> 16, TARGET 25:24
//            gh, gb 0x10fd40: BASE 21:0 (gh) or 22:0 (gb100, gb202), always video memory
//   BAR1/2   gk..gv 0x1704, 0x1714: PTR 27:0, TARGET 29:28, MODE 31 (1 virtual); BIND_STATUS 0x1710
//            tu..ad 0xb80f40, 0xb80f48, BIND_STATUS 0xb80f50, same fields; 0x1704/0x1714 without storage
//            gh, gb 0xb80f60/64, 0xb80f70/74: LOW MODE 9, TARGET 11:10, PTR 31:12 in place; HIGH PTR; writing HIGH binds
//   doorbell gv 0x810090: channel id; tu.. 0xbb0090: VECTOR 11:0, RUNLIST_ID 22:16; tu also 0x810090
//   time     copies at 0x810080, 0x810084 (gv, tu); 0xbb0080, 0xbb0084 (tu..)
// Sources: open-gpu-kernel-modules maxwell/gm107/dev_bus.h, turing/tu102/dev_vm.h, hopper/gh100/dev_vm.h,
// hopper/gh100/dev_nv_xal_ep_zb.h, blackwell/gb100/dev_nv_xal_ep_zb.h; DOC volta/gv100/dev_usermode.ref.txt,
// turing/tu104/dev_vm.ref.txt, ampere/ga100/dev_bus.ref.txt.
#pragma once
#include "model/host.hpp"
#include "model/unit.hpp"

namespace emu {

class Bus : public Unit {
public:
	Bus(const Profile &profile, Memories &mem, Host &host) : profile_(profile), mem_(mem), host_(host) {}
	std::vector<Range> ranges() const override;
	bool read(u32 offset, u32 &value) override;
	bool write(u32 offset, u32 value) override;
	void reset() override;

	// Offset inside the 1 MiB PRAMIN view.
	u64 pramin_read(u32 offset, unsigned size);
	void pramin_write(u32 offset, unsigned size, u64 value);
	// bar: 1 or 2
	u64 bar_read(int bar, u64 offset, unsigned size);
	void bar_write(int bar, u64 offset, unsigned size, u64 value);
	// Where an access through PRAMIN (bar 0), BAR1 or BAR2 ends up.
	std::optional<Phys> target(int bar, u64 offset) const;
	// Video memory that PRAMIN, BAR1 and BAR2 do not reach: reads give a code, writes vanish. bytes 0: none.
	void protect(u64 addr, u64 bytes) { protected_ = {addr, bytes}; }

private:
	struct Block { // one BAR's instance block
		Phys inst;
		bool is_virtual = false;
		u32 low = 0, high = 0;
	};
	bool older_block_read(const Block &b, u32 &v) const;
	void older_block_write(Block &b, u32 v);
	bool is_protected(Phys p) const;
	u64 read_at(std::optional<Phys> p, unsigned size) const;
	void write_at(std::optional<Phys> p, unsigned size, u64 v);

	const Profile &profile_;
	Memories &mem_;
	Host &host_;
	u32 window_ = 0;
	std::pair<u64, u64> protected_; // first byte, bytes
	Block bar_[3];
};

} // namespace emu
