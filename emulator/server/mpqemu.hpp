// SPDX-License-Identifier: GPL-2.0
// QEMU's multi-process device protocol, the device's end of it: one message in, at most one reply out. Messages and
// source: emulator/README.md, "QEMU's protocol".
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
	u8 *at(u64 addr, u64 len) override;
	void clear();
	bool add(u64 gpa, u64 size, u64 offset, int fd); // maps; the fd stays the caller's

private:
	struct Region {
		u64 gpa, size;
		u8 *base;
	};
	std::vector<Region> regions_;
};

class QemuLink {
public:
	QemuLink(Gpu &gpu, int fd, std::FILE *log);
	~QemuLink();

	// Reads and answers the pending messages. False: the other end is gone, or a message is malformed.
	bool serve();

private:
	bool handle_message(u32 command, const u8 *payload, size_t size);
	bool send_reply(u64 value);
	u64 access_bar(bool write, u64 addr, u64 value, unsigned size);
	void map_memory(const u8 *payload);

	Gpu &gpu_;
	int fd_;
	std::FILE *log_;
	PciConfig config_;
	GuestMemory memory_;
	std::vector<int> fds_; // came with the bytes just read
	u8 buffer_[4096];
	size_t filled_ = 0;
};

} // namespace emu
