// SPDX-License-Identifier: GPL-2.0
// The files of the module, /proc/gpuX (docs/proc.md). proc: path of /proc, which is different in tests.
#pragma once
#include "lib/model/model.hpp"

#include <string>
#include <vector>

namespace tool {

bool module_loaded();
// Returns the X of all /proc/gpuX, ascending; possibly none.
std::vector<unsigned> found_gpus(const std::string &proc);
// The same; throws Error with the reason if there is none.
std::vector<unsigned> proc_gpus(const std::string &proc);
// Returns the GPU for a command that takes one: the named one, or the only one. Throws Error.
unsigned only_gpu(const std::string &proc, const std::vector<unsigned> &named);
// Loads /proc/gpuX/snapshot. Throws Error, also where runlists are withheld for want of the privilege.
Gpu load_live(const std::string &proc, unsigned index);
// The same, but withheld runlists are unknown (a failure).
Gpu load_permitted(const std::string &proc, unsigned index);
// Reads the hardware's own order of TPCs, or its counts of them, from /proc/gpuX/tpc_map into hardware_gpcs or
// counted_gpcs; neither if the module could not read it, or is older.
void load_hardware_gpcs(const std::string &proc, unsigned index, Gpu &gpu);
// Returns the kernel's lockdown (man kernel_lockdown): "none", "integrity" or "confidentiality"; empty: unknown.
std::string lockdown_mode();
// Returns the name of the device of the GPU that a file of /proc/gpuX belongs to: "0000:01:00.0", or that of a platform
// device (Tegra). Empty: the file chip, which the module shows of a suspended GPU as well, cannot be read.
std::string device_of(const std::string &path);
// Reads a file of /proc/gpuX. Throws Error.
std::string read_proc(const std::string &path);
// Writes a text to a file of /proc/gpuX with one system call. Returns 0 or an errno.
int write_control(const std::string &path, const std::string &text);
// Returns the cause and the remedy for an errno of a file in /proc/gpuX (docs/proc.md, "Errors"). written: what was written to
// it; empty: not named.
std::string explain(int err, const std::string &path, bool writing, const std::string &written = "");

} // namespace tool
