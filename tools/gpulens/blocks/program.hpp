// SPDX-License-Identifier: GPL-2.0
// Runs the program that launches kernels, tools/probe/probe_kernels.cc, which may fork and crash. That file describes the text
// protocol between both.
#pragma once
#include "gpulens/blocks/log.hpp"

#include <functional>

namespace tool::blocks {

struct ProgramOptions {
	std::string path;                 // empty: the program that was installed or built with gpulens
	u32 device = 0;                   // CUDA's device number
	std::optional<u32> connections{}; // its CUDA_DEVICE_MAX_CONNECTIONS; nothing: inherited
	// Runs a program with its arguments and that standard input, and returns its standard output, instead of starting
	// it directly. Throws Error.
	std::function<std::string(const std::vector<std::string> &program, const std::string &input)> start{};
};

constexpr char PROBE_PROGRAM[] = "gpulens-probe-kernels";
// Returns the path of a program that is installed with gpulens, or built with it. instead: what else the user can do. Throws
// Error (Source) if there is none.
std::string installed_program(const std::string &name, const std::string &instead);
// Returns the path of the program: the one given, or the installed one. Throws Error (Source) if there is none.
std::string probe_path(const ProgramOptions &options);

// Both throw Error (Source) if there is no program or no GPU, or if the program's output is invalid.

// Returns the GPU as CUDA describes it.
Machine probe_machine(const ProgramOptions &options);
// Runs a scenario and returns its log.
Log run_scenario(const ProgramOptions &options, const Scenario &scenario);

} // namespace tool::blocks
