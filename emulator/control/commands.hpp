// SPDX-License-Identifier: GPL-2.0
// The control commands and the faults that the command "fault" injects, as tables. emulator/README.md documents them;
// tests/emulator/control_test.cc compares it with these tables.
#pragma once
#include "control/emulated_gpu.hpp"

#include <span>

namespace emu {

struct Command {
	const char *name, *arguments; // arguments: keys of the object, in the order of README.md
	nlohmann::json (*run)(EmulatedGpu &gpu, const nlohmann::json &arguments);
};

struct Fault {
	const char *name, *arguments;
	void (*inject)(EmulatedGpu &gpu, const nlohmann::json &arguments);
};

std::span<const Command> all_commands();
std::span<const Fault> all_faults();

// Throws for a name that is not in the table, and what the command throws.
nlohmann::json run_command(EmulatedGpu &gpu, const nlohmann::json &command);

// reports.cc: the state of the schedulers. The first brings the run times up to now.
nlohmann::json report_runtime(EmulatedGpu &gpu, const nlohmann::json &arguments);
nlohmann::json report_jobs(EmulatedGpu &gpu, const nlohmann::json &arguments);
nlohmann::json report_state(EmulatedGpu &gpu, const nlohmann::json &arguments);

} // namespace emu
