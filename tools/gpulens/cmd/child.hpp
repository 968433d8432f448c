// SPDX-License-Identifier: GPL-2.0
// Something done in a child process: what it leaves behind in a driver ends with it.
#pragma once
#include <functional>
#include <string>

namespace gpulens {

// What f returns there. Throws what f throws of Error, and Error where the child ended otherwise or after so many seconds.
std::string in_child(unsigned timeout_s, const std::function<std::string()> &f);

} // namespace gpulens
