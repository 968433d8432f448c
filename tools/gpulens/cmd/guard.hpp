// SPDX-License-Identifier: GPL-2.0
// A process beside a program that has a limit (gpulens run --tpcs). A process of that program that asks NVIDIA's driver for
// a channel before it has acknowledged its limit (guard_call.hpp) is killed: without a channel nothing reaches the GPU. It
// does not matter why the library was not loaded: another root folder, an empty environment, a constructor before it.
// Not a barrier for programs that want to get around it.
#pragma once
#include <sys/types.h>

namespace tool {

class Guard {
public:
	// Begins the process. Throws SourceError.
	Guard();
	Guard(const Guard &) = delete;
	Guard &operator=(const Guard &) = delete;
	~Guard();

	// In the child that will be the program: from here on it and what it starts is guarded, and gains no privileges by exec
	// (PR_SET_NO_NEW_PRIVS, without which users may not watch). 0 or the errno; then it must not begin.
	int enter() const;
	// Has a process been killed? Known before its parent can learn that it ended.
	bool killed() const;

private:
	int child_ = -1, reports_ = -1; // ends of a socket for enter() and of a pipe
};

} // namespace tool
