// SPDX-License-Identifier: GPL-2.0
// How this machine's user loads the module, or tries it on emulated GPUs.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace tool {

// Returns the words that load the module as root, for a kernel of this release: modprobe if the module is installed in the
// folder modules (/lib/modules/RELEASE), insmod if it was built as the file built; none if it is neither.
std::vector<std::string> load_words(const std::filesystem::path &modules, const std::filesystem::path &built);
// The same for the running kernel, and the build folder that this program is in.
std::vector<std::string> load_words();
// Returns the command for a kernel of this release, with sudo: load_words(), or else what builds it.
std::string load_command(const std::string &release, const std::filesystem::path &modules,
			 const std::filesystem::path &built);
// The same for the running kernel, and the build folder that this program is in.
std::string load_command();
// Returns the command that starts a virtual machine with emulated GPUs, where the program is in the build folder of the
// sources; empty otherwise.
std::string emulator_command(const std::filesystem::path &program);
std::string emulator_command();

} // namespace tool
