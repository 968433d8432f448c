// SPDX-License-Identifier: GPL-2.0
// The UUID of a GPU, as nvidia-smi -L prints it, from NVIDIA's driver: its text file of the GPU in procfs.
#pragma once
#include <string>
#include <string_view>

namespace tool {

// Of the text of /proc/driver/nvidia/gpus/ADDRESS/information: "GPU-" and a UUID; empty: it has none, or the driver does
// not know it yet, which it writes with question marks.
std::string parse_gpu_uuid(std::string_view information);
// proc: "/proc"; device: a PCI address, "0000:01:00.0". Empty: unknown, as without that driver. Reading that file wakes
// a GPU that the driver has put to sleep (rm_ref_dynamic_power in nv-procfs.c of NVIDIA's open driver).
std::string read_gpu_uuid(const std::string &proc, const std::string &device);

} // namespace tool
