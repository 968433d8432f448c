// SPDX-License-Identifier: GPL-2.0
// QEMU's multi-process device protocol, the device's end of it: one message in, at most one reply out. Messages
// have a 16-byte header {int command; padding; size_t size}, then the payload; file descriptors ride along.
//
//   0 SYNC_SYSMEM   addresses, sizes, offsets of 8 regions each; an fd per region    no reply
//   1 RET           8 bytes                                                           (is the reply)
//   2 PCI_CFGWRITE  uint32 address, uint32 value, int length                          reply
//   3 PCI_CFGREAD   same                                                              reply
//   4 BAR_WRITE     uint64 bus address, uint64 value, uint32 size, bool memory        reply
//   5 BAR_READ      same                                                              reply
//   6 SET_IRQFD     two fds                                                           no reply
//   7 DEVICE_RESET  nothing                                                           reply
// Source: QEMU 7.2 include/hw/remote/mpqemu-link.h, hw/remote/proxy.c, hw/remote/message.c.
#pragma once
#include "model/gpu.hpp"
#include "server/pci_config.hpp"

#include <cstdio>
#include <vector>

namespace emu {

// The guest's memory as QEMU shares it.
class GuestMemory : public SysMem {
public:
	~GuestMemory() override { clear(); }
	uint8_t *at(uint64_t addr, uint64_t len) override;
	void clear();
	bool add(uint64_t gpa, uint64_t size, uint64_t offset, int fd); // maps; the fd stays the caller's

private:
	struct Region {
		uint64_t gpa, size;
		uint8_t *base;
	};
	std::vector<Region> regions_;
};

class QemuLink {
public:
	QemuLink(Gpu &gpu, int fd, std::FILE *log);
	~QemuLink();

	// Takes what the socket has and answers it. False: the other end is gone or talks nonsense.
	bool serve();

private:
	bool handle(uint32_t command, const uint8_t *payload, size_t size);
	bool reply(uint64_t value);
	uint64_t bar_access(bool write, uint64_t addr, uint64_t value, unsigned size);
	void take_sysmem(const uint8_t *payload);

	Gpu &gpu_;
	int fd_;
	std::FILE *log_;
	PciConfig config_;
	GuestMemory memory_;
	std::vector<int> fds_; // came with the bytes just read
	uint8_t buffer_[4096];
	size_t filled_ = 0;
};

} // namespace emu
