// SPDX-License-Identifier: GPL-2.0
// GPUs of the module: /proc/gpuX, as docs/proc.md has it. proc: that folder, elsewhere in tests.
#pragma once
#include "lib/model/model.hpp"

#include <string>
#include <vector>

namespace tool {

bool module_loaded();
// The X of the /proc/gpuX there are, ascending; none: empty.
std::vector<unsigned> found_gpus(const std::string &proc);
// The same. Throws Error when there is none, and says why.
std::vector<unsigned> proc_gpus(const std::string &proc);
// The GPU that a command of one GPU is for: the one that is named, or the only one. Throws Error.
unsigned only_gpu(const std::string &proc, const std::vector<unsigned> &named);
// /proc/gpuX/snapshot now. Throws Error, also where the reader lacks the privilege.
Gpu load_live(const std::string &proc, unsigned index);
// The same; without the privilege /proc/gpuX/topology, whose runlists are all unknown (EPERM) and so in its failures.
Gpu load_permitted(const std::string &proc, unsigned index);
// A file of /proc/gpuX. Throws Error.
std::string read_proc(const std::string &path);
// What an errno of a /proc/gpuX file means and what one can do; docs/proc.md, "Errors".
std::string explain(int err, const std::string &path, bool writing);

} // namespace tool
