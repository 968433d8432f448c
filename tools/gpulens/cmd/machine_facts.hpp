// SPDX-License-Identifier: GPL-2.0
// What is known of this machine and its GPUs without the module: from sysfs, the files of NVIDIA's driver and the
// kernel log.
#pragma once
#include "gpulens/out/table.hpp"
#include "lib/model/model.hpp"

#include <string>
#include <vector>

namespace tool {

// New messages of the kernel, as /dev/kmsg has them.
class KernelLog {
public:
	KernelLog();
	KernelLog(const KernelLog &) = delete;
	KernelLog &operator=(const KernelLog &) = delete;
	~KernelLog();

	bool readable() const { return fd_ >= 0; }
	// Returns the texts since the last call, at first all that the kernel still has.
	std::vector<std::string> read_new();

private:
	int fd_;
};

// A GPU of NVIDIA as the kernel lists it.
struct Card {
	std::string device;   // "0000:01:00.0", or the name of a Tegra's platform device
	std::string ids;      // "0x10de:0x2684"; empty: not on PCI
	std::string driver;   // "nvidia"; empty: none is bound
	std::string version;  // of NVIDIA's driver; empty: unknown
	std::string firmware; // version of the firmware on its GSP; empty: none, or unknown
	bool asleep = false;  // runtime-suspended
	u64 bar1_bytes = 0;   // 0: unknown
};

struct Machine {
	std::string kernel;      // "6.1.0-57-amd64 x86_64"
	std::string lockdown;    // "none", "integrity", "confidentiality"; empty: unknown
	std::string secure_boot; // "on", "off", "unknown"
	std::vector<Card> cards; // in the order in which the module numbers them
};

// proc: path of /proc. Accesses no GPU.
Machine read_machine(const std::string &proc);
// Formats a table of the GPUs, and what will and will not be readable of the one with this index.
std::string machine_text(const Machine &machine, size_t chosen, const Style &style);
// Returns what nouveau has said in the kernel log of this GPU: BOOT_0, name and memory. Nothing where it has not.
Gpu read_nouveau_log(const std::vector<std::string> &log, const std::string &device);

} // namespace tool
