// SPDX-License-Identifier: GPL-2.0
// The PCI configuration space of the emulated GPU: ids, command register and three 32-bit memory BARs, whose bases
// it tracks because QEMU's proxy names BAR accesses by bus address; one capability, power management: D0 and D3hot,
// which keeps the chip's state. No ROM, no I/O BAR.
// Layout: PCI Local Bus Specification 3.0, section 6.1 (type 0 header); PCI Bus Power Management Interface
// Specification 1.2, section 3.2.
#pragma once
#include "model/profile.hpp"

#include <array>
#include <optional>

namespace emu {

class PciConfig {
public:
	explicit PciConfig(const Profile &profile);

	uint32_t read(uint32_t offset, unsigned len) const;
	void write(uint32_t offset, unsigned len, uint32_t value);
	void reset(); // BARs and command register as after power-up, power state D0

	bool asleep() const; // not in D0: only this space answers, memory does not

	struct Hit {
		int bar; // 0, 1, 2 for BAR0, BAR1, BAR2
		uint64_t offset;
	};
	std::optional<Hit> find(uint64_t address) const;

private:
	void set16(unsigned at, uint16_t v);
	void track();

	const Profile &profile_;
	std::array<uint8_t, 256> bytes_{}, writable_{};
	uint64_t base_[3] = {};
};

} // namespace emu
