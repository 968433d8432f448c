// SPDX-License-Identifier: GPL-2.0
// MPS and gpulens run. With --mps: a control daemon of MPS of this user's own, in a folder of its own, which the programs of
// gpulens run --mps share. The first of them starts it, and it ends with the last one, however that ends. Nobody else's daemon is
// used.
#pragma once

namespace tool {

class OwnMps {
public:
	// Has this process and those that it starts use the daemon. Throws Error: there is no daemon, or it does not begin.
	OwnMps();
	OwnMps(const OwnMps &) = delete;
	OwnMps &operator=(const OwnMps &) = delete;
	~OwnMps();

private:
	int users_; // locked (flock(2)) by each process that uses the daemon
};

// Throws Error (Unsupported) where programs that are started from here find a daemon of MPS, by $CUDA_MPS_PIPE_DIRECTORY: they
// share a context, so that holds and time slices of a program's own have no effect (seen on an H200).
void refuse_under_mps();

} // namespace tool
