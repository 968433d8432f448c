// SPDX-License-Identifier: GPL-2.0
// The PCI configuration space: ids, command register, three 32-bit memory BARs, whose bases it tracks because QEMU's
// proxy names BAR accesses by bus address, and power management (D0, D3hot). No ROM, no I/O BAR. Layout: PCI Local Bus
// Specification 3.0, section 6.1; PCI Bus Power Management Interface Specification 1.2, section 3.2.
#pragma once
#include "model/profile.hpp"

#include <array>
#include <optional>

namespace emu {

class PciConfig {
public:
	explicit PciConfig(const Profile &profile);

	u32 read(u32 offset, unsigned len) const;
	void write(u32 offset, unsigned len, u32 value);
	void reset(); // BARs and command register as after power-up, power state D0

	bool is_asleep() const; // not in D0: only this space answers, memory does not

	struct Hit {
		int bar; // 0, 1, 2 for BAR0, BAR1, BAR2
		u64 offset;
	};
	std::optional<Hit> find_bar(u64 address) const;

private:
	void write_word(unsigned at, u16 v);
	void update_bases();

	const Profile &profile_;
	std::array<u8, 256> bytes_{}, writable_{};
	u64 base_[3] = {};
};

} // namespace emu
