// SPDX-License-Identifier: GPL-2.0
// A process that supervises a program with limits in space or time (gpulens run). It kills each process of that program that
// requests a channel of NVIDIA's driver before it has acknowledged them (lib/launch/environment.hpp), for example after
// a change of the root folder or with an empty environment. Not a barrier against hostile programs.
#pragma once
#include <sys/types.h>

namespace tool {

class Guard {
public:
	// Starts the process. limits: LIMIT_IN_SPACE, LIMIT_IN_TIME. Throws Error (Source).
	explicit Guard(unsigned limits);
	Guard(const Guard &) = delete;
	Guard &operator=(const Guard &) = delete;
	~Guard();

	// Called in the child that becomes the program. From then on it and its children are guarded and gain no privileges by
	// exec (PR_SET_NO_NEW_PRIVS, which seccomp requires). Returns 0, or an errno: then the program must not start.
	int enter() const;
	// Returns whether a process was killed. True before the parent of that process can detect its end.
	bool killed() const;

private:
	int child_ = -1, reports_ = -1; // ends of a socket, for enter(), and of a pipe, for killed()
};

} // namespace tool
