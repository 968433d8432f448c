// SPDX-License-Identifier: GPL-2.0
// Type 0 configuration header; see pci_config.hpp.
#include "server/pci_config.hpp"

namespace emu {

enum {
	COMMAND = 0x04,
	STATUS = 0x06,
	REVISION = 0x08,
	CLASS = 0x09,
	BARS = 0x10,
	SUBVENDOR = 0x2c,
	CAPABILITIES = 0x34,
	INT_LINE = 0x3c,
	INT_PIN = 0x3d,
	POWER = 0x60, // the capability: id, next, PMC, PMCSR
	POWER_STATE = POWER + 4
};

enum {
	STATUS_CAP_LIST = 0x10,
	CAP_ID_POWER = 0x01,
	PMC_VERSION_3 = 0x03,
	PMCSR_STATE = 0x03,
	PMCSR_NO_SOFT_RESET = 0x08
};

void PciConfig::write_word(unsigned at, u16 v)
{
	bytes_[at] = u8(v);
	bytes_[at + 1] = u8(v >> 8);
}

PciConfig::PciConfig(const Profile &profile) : profile_(profile)
{
	write_word(0x00, profile.pci_vendor);
	write_word(0x02, profile.pci_device);
	bytes_[REVISION] = profile.pci_revision;
	bytes_[CLASS] = u8(profile.pci_class);
	write_word(CLASS + 1, u16(profile.pci_class >> 8));
	write_word(SUBVENDOR, profile.pci_subvendor);
	write_word(SUBVENDOR + 2, profile.pci_subdevice);
	bytes_[INT_PIN] = 1;
	bytes_[STATUS] = STATUS_CAP_LIST;
	bytes_[CAPABILITIES] = POWER;
	bytes_[POWER] = CAP_ID_POWER;
	bytes_[POWER + 2] = PMC_VERSION_3;
	bytes_[POWER_STATE] = PMCSR_NO_SOFT_RESET;
	writable_[POWER_STATE] = PMCSR_STATE;
	writable_[COMMAND] = 0x47; // I/O, memory, master, parity
	writable_[COMMAND + 1] = 0x05;
	writable_[0x0c] = writable_[0x0d] = 0xff;
	writable_[INT_LINE] = 0xff;
	for (int i = 0; i < 3; i++) {
		u32 m = ~u32(profile.bar_size[i] - 1);
		for (unsigned b = 0; b < 4; b++)
			writable_[BARS + 4 * profile.bar_index[i] + b] = u8(m >> (8 * b));
	}
}

void PciConfig::reset()
{
	for (size_t i = 0; i < bytes_.size(); i++)
		bytes_[i] &= ~writable_[i];
	update_bases();
}

bool PciConfig::is_asleep() const
{
	return bytes_[POWER_STATE] & PMCSR_STATE;
}

void PciConfig::update_bases()
{
	for (int i = 0; i < 3; i++)
		base_[i] = read(BARS + 4 * profile_.bar_index[i], 4) & ~0xfu;
}

u32 PciConfig::read(u32 off, unsigned len) const
{
	u32 v = 0;
	for (unsigned i = 0; i < len && i < 4; i++)
		v |= u32(off + i < bytes_.size() ? bytes_[off + i] : 0xff) << (8 * i);
	return v;
}

void PciConfig::write(u32 off, unsigned len, u32 v)
{
	for (unsigned i = 0; i < len && i < 4; i++)
		if (off + i < bytes_.size()) {
			u8 m = writable_[off + i], b = u8(v >> (8 * i));
			bytes_[off + i] = u8((bytes_[off + i] & ~m) | (b & m));
		}
	update_bases();
}

std::optional<PciConfig::Hit> PciConfig::find_bar(u64 address) const
{
	for (int i = 0; i < 3; i++)
		if (base_[i] && address - base_[i] < profile_.bar_size[i])
			return Hit{i, address - base_[i]};
	return std::nullopt;
}

} // namespace emu
