// SPDX-License-Identifier: GPL-2.0
// A process that watches a program with a TPC limit (gpulens run --tpcs). It kills each process of that program that asks
// NVIDIA's driver for a channel before it has acknowledged its limit (lib/launch/environment.hpp), whatever kept the library
// out: another root folder, an empty environment, an earlier constructor. Not a barrier against hostile programs.
#pragma once
#include <sys/types.h>

namespace tool {

class Guard {
public:
	// Starts the process. Throws Error (Source).
	Guard();
	Guard(const Guard &) = delete;
	Guard &operator=(const Guard &) = delete;
	~Guard();

	// Called in the child that becomes the program. From then on it and its children are guarded and gain no privileges by
	// exec (PR_SET_NO_NEW_PRIVS, which seccomp requires). Returns 0, or an errno: then the program must not start.
	int enter() const;
	// Whether a process has been killed; true before its parent can learn of its end.
	bool killed() const;

private:
	int child_ = -1, reports_ = -1; // ends of a socket, for enter(), and of a pipe, for killed()
};

} // namespace tool
