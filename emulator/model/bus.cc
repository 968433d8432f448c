// SPDX-License-Identifier: GPL-2.0
// Windows into memory; registers and sources in bus.hpp.
#include "model/bus.hpp"

#include "model/bits.hpp"

namespace emu {

namespace {

constexpr u32 VF = 0xb80000;

} // namespace

void Bus::reset()
{
	window_ = 0;
	bar_[1] = bar_[2] = Block{};
}

std::vector<Range> Bus::ranges() const
{
	std::vector<Range> r;
	if (profile_.traits.xal_window)
		r.push_back({0x10f000, 0x1000});
	else
		r.push_back({0x1000, 0x1000});
	if (profile_.traits.usermode)
		r.push_back({0x810000, 0x1000});
	if (profile_.traits.vf) {
		r.push_back({VF, 0x1000});
		r.push_back({VF + 0x30000, 0x1000});
	}
	return r;
}

bool Bus::older_block_read(const Block &b, u32 &v) const
{
	v = put_bits(27, 0, b.inst.addr >> 12) | put_bits(29, 28, unsigned(b.inst.ap)) | put_bits(31, 31, b.is_virtual);
	return true;
}

void Bus::older_block_write(Block &b, u32 v)
{
	b.inst = {Aperture(get_bits(v, 29, 28)), get_bits(v, 27, 0) << 12};
	b.is_virtual = get_bit(v, 31);
}

bool Bus::read(u32 off, u32 &v)
{
	bool hopper = profile_.traits.bars == BarBlocks::VfWide, pascal = profile_.traits.bars == BarBlocks::Pbus;
	v = 0;
	switch (off) {
	case 0x1700: v = window_; return true;
	case 0x10fd40: v = window_; return true;
	case 0x1704:
	case 0x1714: return pascal ? older_block_read(bar_[off == 0x1704 ? 1 : 2], v) : true;
	case 0x1710: return true; // BIND_STATUS: binds are done at once
	case 0x810080:
	case VF + 0x30080: v = u32(host_.now()) & ~0x1fu; return true;
	case 0x810084:
	case VF + 0x30084: v = u32(host_.now() >> 32) & 0x1fffffff; return true;
	case 0x810090:
	case VF + 0x30090: return true; // write only
	}
	if (!hopper) {
		switch (off) {
		case VF + 0xf40: return older_block_read(bar_[1], v);
		case VF + 0xf48: return older_block_read(bar_[2], v);
		case VF + 0xf50: return true;
		}
		return false;
	}
	switch (off) {
	case VF + 0xf60: v = bar_[1].low; return true;
	case VF + 0xf64: v = bar_[1].high; return true;
	case VF + 0xf70: v = bar_[2].low; return true;
	case VF + 0xf74: v = bar_[2].high; return true;
	}
	return false;
}

bool Bus::write(u32 off, u32 v)
{
	bool hopper = profile_.traits.bars == BarBlocks::VfWide;
	auto hopper_high = [&](Block &b, u32 high) {
		b.high = high;
		b.inst = {Aperture(get_bits(b.low, 11, 10)), u64(high) << 32 | (b.low & bit_mask(31, 12))};
		b.is_virtual = get_bit(b.low, 9);
	};
	switch (off) {
	case 0x1700: window_ = v & 0x03ffffff; return true;
	case 0x10fd40: window_ = v & profile_.traits.xal_window; return true;
	case 0x1704:
	case 0x1714:
		if (profile_.traits.bars == BarBlocks::Pbus)
			older_block_write(bar_[off == 0x1704 ? 1 : 2], v);
		return true;
	case 0x810090: // gv: the channel id alone; tu: channel and runlist as in the other doorbell
		if (!profile_.traits.vf) {
			if (v < host_.pccsr_channels().size()) {
				if (!host_.work().enabled) // otherwise USERD says it
					host_.pccsr_channels()[v].ring_doorbell();
				host_.channel_changed();
			}
			return true;
		}
		[[fallthrough]];
	case VF + 0x30090: {
		Runlist *rl = host_.runlist(int(get_bits(v, 22, 16)));
		if (Channel *c = rl ? host_.channel(*rl, get_bits(v, 11, 0)) : nullptr) {
			if (!host_.work().enabled)
				c->ring_doorbell();
			host_.channel_changed();
		}
		return true;
	}
	}
	if (!hopper && off == VF + 0xf40) {
		older_block_write(bar_[1], v);
		return true;
	}
	if (!hopper && off == VF + 0xf48) {
		older_block_write(bar_[2], v);
		return true;
	}
	if (hopper) {
		switch (off) {
		case VF + 0xf60: bar_[1].low = v & 0xfffffe00; return true;
		case VF + 0xf64: hopper_high(bar_[1], v); return true;
		case VF + 0xf70: bar_[2].low = v & 0xfffffe00; return true;
		case VF + 0xf74: hopper_high(bar_[2], v & 0xfffff); return true;
		}
	}
	u32 ignored;
	return read(off, ignored);
}

std::optional<Phys> Bus::target(int bar, u64 off) const
{
	if (bar == 0) {
		if (profile_.traits.xal_window)
			return Phys{Aperture::Vid, (u64(window_) << 16) + off};
		return Phys{Aperture(get_bits(window_, 25, 24)), (get_bits(window_, 23, 0) << 16) + off};
	}
	const Block &b = bar_[bar];
	if (!b.is_virtual)
		return Phys{Aperture::Vid, off};
	auto space = address_space(mem_, profile_.traits.pages, b.inst);
	return space ? translate(mem_, *space, off) : std::nullopt;
}

bool Bus::is_protected(Phys p) const
{
	return !mem_.in_system(p.ap) && p.addr - protected_.first < protected_.second;
}

u64 Bus::read_at(std::optional<Phys> p, unsigned size) const
{
	u64 v = 0;
	if (!p || is_protected(*p) || !mem_.read(*p, &v, size))
		v = (u64(FB_ACK_TIMEOUT) << 32 | FB_ACK_TIMEOUT) & bit_mask(size * 8 - 1, 0);
	return v;
}

void Bus::write_at(std::optional<Phys> p, unsigned size, u64 v)
{
	if (p && !is_protected(*p))
		mem_.write(*p, &v, size);
}

u64 Bus::pramin_read(u32 off, unsigned size)
{
	return read_at(target(0, off), size);
}

void Bus::pramin_write(u32 off, unsigned size, u64 v)
{
	write_at(target(0, off), size, v);
}

u64 Bus::bar_read(int bar, u64 off, unsigned size)
{
	return read_at(target(bar, off), size);
}

void Bus::bar_write(int bar, u64 off, unsigned size, u64 v)
{
	write_at(target(bar, off), size, v);
}

} // namespace emu
