// SPDX-License-Identifier: GPL-2.0
// What gpulens partitions is told of this process: tools/lib/launch/partition_page.hpp.
#pragma once
#include <string>

namespace gpulens {

// A JSON list as AppliedPage has it, in place of the one before. From the first time on, launches with a mask are counted; a
// child of fork() has a list and a count of its own from its first launch on. Nothing is said of what fails: partitions
// hold without it.
void announce(const std::string &text);
// Whoever calls announce() under a lock of its own that fork() waits for has that done after this: the order of locks is
// that of handlers (pthread_atfork) backwards. False: no memory.
bool announce_over_fork();

} // namespace gpulens
