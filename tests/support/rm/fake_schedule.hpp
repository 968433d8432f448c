// SPDX-License-Identifier: GPL-2.0
// Which TSGs run on a faked GPU, in a file that the fakes of several programs share: GPULENS_FAKE_RM_SHARED. fake_load.cc makes
// progress by it.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>

namespace fake {

struct SharedTsg {
	std::atomic<uint32_t> pid, handle; // pid 0: free
	std::atomic<uint32_t> slice_us, disabled;
	std::atomic<uint32_t> later_slice_us,
		later_disabled;      // with the next GPFIFO_SCHEDULE, where a verb says "commit"
	std::atomic<uint32_t> saves; // by preemptions
	std::atomic<uint32_t> idle;  // its program has no work
};

struct SharedGpu {
	SharedTsg tsgs[16];

	// Returns the TSG's share of the GPU: its slice by those of all enabled TSGs with work.
	double share(uint32_t pid) const;
	// Says whether the program's TSGs have work.
	void set_idle(uint32_t pid, bool idle);
};

// How the faked driver carries out a control: GPULENS_FAKE_RM_VERBS="disable=inert,slice=commit". Not named: works; unlist: inert,
// as on an H100 with driver 580.159.04.
enum class Behaviour { Works, Inert, Commit, Refused };
Behaviour behaviour_of(const std::string &verb);

// Maps the file, which is made if need be; nullptr: none is named.
SharedGpu *shared_gpu();
// Returns the calling process' TSG with that handle, added if need be; nullptr: no file, or no room.
SharedTsg *shared_tsg(uint32_t handle);
// Carries out what was put off.
void commit_all();

} // namespace fake
