// SPDX-License-Identifier: GPL-2.0
// Explains the error messages (Xid) that NVIDIA's driver writes to the kernel log: which program and TSG it was, and what
// that means for the others on the GPU.
#pragma once
#include "gpulens/out/output.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tool {

// One message, as krcReportXid() of NVIDIA's open-gpu-kernel-modules writes it. What it does not say is empty.
struct Xid {
	u32 number = 0;
	std::string device;       // PCI address, "0000:26:00.0"
	std::string mig;          // "GPU-I:05"
	std::optional<u32> pid{}; // of the process that allocated the channel
	std::string name{};       // of that process then
	std::optional<u32> channel{};
	std::optional<u32> cause{}; // an earlier Xid that this one follows from
	std::string message;
	u32 times = 1; // how often it is there, with other details
};

// Returns the messages in text of the kernel log, those of one number, GPU, process and channel as one, in the order of their first. Lines without one, and what
// of a line is behind its first 4 KiB, are ignored.
std::vector<Xid> parse_xids(const std::string &log);

// Explains those in these lines, or without any those on standard input. Returns EXIT_PART if there is none. Throws Error.
int explain_xids(const std::vector<std::string> &lines, const Options &options);

} // namespace tool
