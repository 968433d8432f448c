// SPDX-License-Identifier: GPL-2.0
// Runs a function in a child process, so that its effects on a driver end with that process.
#pragma once
#include <functional>
#include <string>

namespace gpulens {

// Returns the function's result. Throws its Error, and Error if the child ends otherwise or does not answer in time.
std::string run_in_child(unsigned timeout_s, const std::function<std::string()> &function);

} // namespace gpulens
