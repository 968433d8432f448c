// SPDX-License-Identifier: GPL-2.0
// What the preloaded library and gpulens run agreed on. How a process acknowledges to gpulens run that its launches get their mask: ioctl(-1, GUARD_ACKNOWLEDGE), which a seccomp
// filter hands to the guard (guard.hpp). 0: taken; EBADF: there is no guard.
#pragma once

namespace tool {

constexpr unsigned GUARD_ACKNOWLEDGE = 0x47504c41; // "GPLA"
constexpr int STATUS_UNLIMITED = 4;                // how a program ends whose limit would not hold, as gpulens run does

} // namespace tool
