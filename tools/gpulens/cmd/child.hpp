// SPDX-License-Identifier: GPL-2.0
// Runs a function in a child process, so that what it changes in a driver ends with that process.
#pragma once
#include <functional>
#include <string>

namespace gpulens {

// Returns what the function returns in the child. Throws the Error that it throws, and Error where the child ends otherwise or
// does not answer in time.
std::string run_in_child(unsigned timeout_s, const std::function<std::string()> &function);

} // namespace gpulens
