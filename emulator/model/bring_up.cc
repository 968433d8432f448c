// SPDX-License-Identifier: GPL-2.0
// Interrupt trees and PTIMER's alarm; see bring_up.hpp.
#include "model/bring_up.hpp"

#include <utility>

namespace emu {

// NV_PMC_INTR(i) 0x100, INTR_EN(i) 0x140, both read only, INTR_EN_SET(i) 0x160, INTR_EN_CLEAR(i) 0x180: OGK pascal/
// gp100/dev_boot.h, DOC pascal/gp100-msi-intr.txt. Before: INTR_EN(i) is written (OGK maxwell/gm107/dev_boot.h), a one
// enables all lines, and 0x640 + 4i has a bit for each (nouveau mc/gf100.c), at reset those of a K80
// (syntheticChemistry/hotSpring data/k80). Word 1 is that of a unit's second enables (linux-nvgpu
// fifo_intr_gk20a_fusa.c: without a stall); a Titan V's is 0 while PTIMER's alarm is pending in word 0.
u32 InterruptTree::pending(unsigned word) const
{
	u32 v = 0;
	for (const InterruptLine &line : lines_)
		v |= u32(line.pending(word)) << line.bit;
	return v;
}

bool InterruptTree::read(u32 off, u32 &v)
{
	unsigned i = off >> 2 & 1;
	switch (off) {
	case 0x100:
	case 0x104: v = pending(i); return true;
	case 0x140:
	case 0x144: v = kind_ != BringUp::Pascal ? on_[i] : enabled_[i]; return true;
	case 0x160:
	case 0x164:
	case 0x180:
	case 0x184: v = 0; return kind_ == BringUp::Pascal; // write only
	case 0x640:
	case 0x644: v = enabled_[i]; return kind_ != BringUp::Pascal;
	}
	return false;
}

bool InterruptTree::raised() const
{
	return (on_[0] && (pending(0) & enabled_[0])) || (on_[1] && (pending(1) & enabled_[1]));
}

bool InterruptTree::write(u32 off, u32 v)
{
	unsigned i = off >> 2 & 1;
	if (kind_ != BringUp::Pascal) {
		switch (off) {
		case 0x140:
		case 0x144: on_[i] = get_bit(v, 0); return true;
		case 0x640:
		case 0x644: enabled_[i] = v; return true;
		}
		return read(off, v); // read only
	}
	switch (off) {
	case 0x160:
	case 0x164: enabled_[i] |= v; return true;
	case 0x180:
	case 0x184: enabled_[i] &= ~v; return true;
	}
	return read(off, v); // read only
}

void InterruptTree::reset()
{
	bool older = kind_ != BringUp::Pascal;
	enabled_[0] = older ? 0xffbfb1e1 : 0;
	enabled_[1] = older ? 0x7fbfb1e1 : 0;
	on_[0] = on_[1] = !older;
}

VectorTree::VectorTree(std::vector<InterruptVector> vectors) : vectors_(std::move(vectors))
{
	// a profile may number its engines as it likes
	std::erase_if(vectors_, [](const InterruptVector &v) { return v.number >= 32 * LEAVES; });
	VectorTree::reset();
}

void VectorTree::reset()
{
	levels_.assign(vectors_.size(), false);
	for (unsigned i = 0; i < LEAVES; i++)
		leaf_[i] = leaf_enabled_[i] = 0;
	top_enabled_ = 0;
}

void VectorTree::collect()
{
	for (size_t i = 0; i < vectors_.size(); i++) {
		const InterruptVector &v = vectors_[i];
		bool level = v.level && v.level();
		bool message = v.message && std::exchange(*v.message, false);
		if (message || (level && !levels_[i]))
			leaf_[v.number / 32] |= 1u << v.number % 32;
		levels_[i] = level;
	}
}

// A subtree is two leaves.
u32 VectorTree::top()
{
	u32 v = 0;
	for (unsigned i = 0; i < LEAVES; i++)
		v |= u32((leaf_[i] & leaf_enabled_[i]) != 0) << i / 2;
	return v;
}

bool VectorTree::raised()
{
	collect();
	return (top() & top_enabled_) != 0;
}

// LEAF(i) 0x1000, LEAF_EN_SET(i) 0x1200, LEAF_EN_CLEAR(i) 0x1400, TOP 0x1600, TOP_EN_SET 0x1608, TOP_EN_CLEAR 0x1610 from
// 0xb80000 on: DOC ampere/ga102/dev_vm.ref.txt. That TOP does not show what a leaf does not enable is nouveau's use of it
// (subdev/vfn/tu102.c).
bool VectorTree::read(u32 abs, u32 &v)
{
	u32 off = abs - BASE, i = off % 0x200 / 4;
	collect();
	if (off < 0x600 && i < LEAVES && !(off & 3)) {
		v = off < 0x200 ? leaf_[i] : leaf_enabled_[i];
		return true;
	}
	switch (off) {
	case 0x600: v = top(); return true;
	case 0x608:
	case 0x610: v = top_enabled_; return true;
	}
	return false;
}

bool VectorTree::write(u32 abs, u32 v)
{
	u32 off = abs - BASE, i = off % 0x200 / 4;
	collect();
	if (off < 0x600 && i < LEAVES && !(off & 3)) {
		if (off < 0x200)
			leaf_[i] &= ~v;
		else if (off < 0x400)
			leaf_enabled_[i] |= v;
		else
			leaf_enabled_[i] &= ~v;
		return true;
	}
	switch (off) {
	case 0x600: return true; // read only
	case 0x608: top_enabled_ |= v; return true;
	case 0x610: top_enabled_ &= ~v; return true;
	}
	return false;
}

namespace {

// After power-up: PDISP 30, and PRIV_RING 5 on GV100, whose card reads so after POST; before Volta what a K80 reads
// (syntheticChemistry/hotSpring data/k80/cold_bar0_die1.json), of which gm107's header has PDISP and PWR 13.
u32 units_on(const Traits &t)
{
	if (!t.host_volta)
		return 0xc0002020;
	return t.vf ? 0x40000000 : 0x40000020;
}

} // namespace

// NV_PMC_ENABLE PFIFO 8, PGRAPH 12: OGK maxwell/gm107/dev_boot.h, DOC gk104-disable-graphics-power-gating.txt (PGRAPH),
// volta/gv100 and turing/tu104 dev_master.ref.txt. nouveau resets PFIFO so when it starts and ends (subdev/mc/gk104.c),
// and does not expect an interrupt of before.
MasterEnable::MasterEnable(Pfifo &pfifo, const Traits &t)
	: pfifo_(pfifo), bits_(t.bring_up == BringUp::Pascal ? ~0u : OLDER_BITS), cold_(units_on(t)), enabled_(cold_)
{
}

bool MasterEnable::read(u32 off, u32 &v)
{
	v = enabled_;
	return off == 0x200;
}

bool MasterEnable::write(u32 off, u32 v)
{
	if (off != 0x200)
		return false;
	enabled_ = v & bits_;
	pfifo_.set_on(get_bit(v, 8));
	return true;
}

// NV_PTIMER_INTR_0 0x9100 ALARM 0, INTR_EN_0 0x9140 ALARM 0, ALARM_0 0x9420 NSEC 31:5: DOC
// volta/gv100/dev_timer.ref.txt.
bool Alarm::check()
{
	if (host_.now() >= due_)
		rang_ = true, due_ = NEVER;
	return rang_;
}

bool Alarm::read(u32 off, u32 &v)
{
	switch (off) {
	case 0x9100: v = check(); return true;
	case 0x9140: v = enabled_; return true;
	case 0x9420: v = alarm_; return true;
	}
	return false;
}

bool Alarm::write(u32 off, u32 v)
{
	switch (off) {
	case 0x9100:
		if (check() && get_bit(v, 0))
			rang_ = false;
		return true;
	case 0x9140: enabled_ = get_bit(v, 0); return true;
	case 0x9420: // at the next time whose lower 32 bits are these
		alarm_ = v & ~0x1fu;
		due_ = host_.now() + u32(alarm_ - u32(host_.now()));
		return true;
	}
	return false;
}

void Alarm::reset()
{
	alarm_ = 0, due_ = NEVER;
	rang_ = enabled_ = false;
}

// Units that faulted 0x259c, a one clears; of unit i INST 0x2800 + 16*i, VA_LO, VA_HI, and REASON 4:0, CLIENT 14:8,
// ACCESS 18:16, HUB 20: nouveau engine/fifo/gp100.c, gk104.c (reason 2: a page table entry; client 7: Host; access 0
// read, 1 write). Before Pascal: REASON 3:0, HUB 6, ACCESS 7, CLIENT 12:8, 6: Host (gf100.c, gk104.c). The client of an
// engine is assumed to be the same one.
bool FaultReports::read(u32 off, u32 &v)
{
	if (off == 0x259c) {
		v = host_.mmu_faults;
		return true;
	}
	if (off < 0x2800 || off >= 0x2a00 || off & 3)
		return false;
	const Host::MmuFault &f = host_.mmu_fault[(off - 0x2800) / 16];
	switch (off & 0xc) {
	case 0x0: v = u32(f.inst.addr >> 12); break;
	case 0x4: v = u32(f.fault.va); break;
	case 0x8: v = u32(f.fault.va >> 32); break;
	case 0xc:
		v = wide_ ? 2 | put_bits(14, 8, 7) | put_bits(18, 16, f.fault.write) | put_bits(20, 20, 1)
			  : 2 | put_bits(6, 6, 1) | put_bits(7, 7, f.fault.write) | put_bits(12, 8, 6);
		break;
	}
	return true;
}

bool FaultReports::write(u32 off, u32 v)
{
	if (off == 0x259c)
		host_.mmu_faults &= ~v;
	u32 ignored;
	return read(off, ignored);
}

KeptRegisters::KeptRegisters(std::vector<KeptRegister> table) : table_(std::move(table))
{
	KeptRegisters::reset();
}

void KeptRegisters::reset()
{
	words_.clear();
	for (const KeptRegister &row : table_)
		for (u32 i = 0; i < row.count; i++)
			words_[row.offset + i * row.stride] = {row.reset, &row};
}

std::vector<Range> KeptRegisters::ranges() const
{
	std::vector<Range> r;
	for (const auto &[offset, word] : words_)
		if (r.empty() || r.back().base != (offset & ~0xfffu))
			r.push_back({offset & ~0xfffu, 0x1000});
	return r;
}

bool KeptRegisters::read(u32 off, u32 &v)
{
	auto at = words_.find(off);
	if (at == words_.end())
		return false;
	v = at->second.value;
	return true;
}

bool KeptRegisters::write(u32 off, u32 v)
{
	auto at = words_.find(off);
	if (at == words_.end())
		return false;
	Word &word = at->second;
	word.value = (word.value & ~word.row->writable) | (v & word.row->writable);
	return true;
}

} // namespace emu
