// SPDX-License-Identifier: GPL-2.0
// The bus interface: the PRAMIN window, the BAR1 and BAR2 blocks, the doorbell, and the memory seen through PRAMIN,
// BAR1 and BAR2. Fields and sources: emulator/README.md, "Bus".
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
