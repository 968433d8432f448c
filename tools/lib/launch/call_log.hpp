// SPDX-License-Identifier: GPL-2.0
// What a program under gpulens run --pitfalls records about its calls of CUDA's driver API, in a file of its own that it maps:
// FOLDER/calls-PID-N. It is complete at every moment, so a program that is killed leaves all but the call that it was in, of
// which there is the begin. A program can write anything there: readers check what they use.
#pragma once
#include "lib/launch/cuda_calls.hpp"

#include <algorithm>
#include <atomic>

namespace gpulens {

constexpr u64 LONG_CALL_NS = 20000; // decision: calls that take as long or longer are recorded one by one
// Decision: of short calls in the legacy stream that synchronize with other streams, sites are looked for of the first so many of a
// thread, and of each so many later, since that takes as long as a launch.
constexpr u64 ALL_SITES = 1000, EACH_SITE = 32;
constexpr u32 MAX_FRAMES = 16; // of a call site
constexpr u32 MAX_MODULES = 512, MAX_SITES = 4096, MAX_CALL_THREADS = 256, MAX_EVENTS = 262144;

// An object file of the program.
struct CallModule {
	u64 bias; // an address less this is that of the file (ELF)
	u64 end;  // of its addresses, which begin at bias or after
	char path[240];
};

// A function of the driver, and the return addresses of who called it, the nearest first.
struct CallSite {
	std::atomic<u32> ready; // 1: the rest of the site is complete
	u32 call;               // Call
	u32 frames;
	u32 legacy; // 1: the calls used the legacy default stream
	u64 addresses[MAX_FRAMES];
	u32 modules[MAX_FRAMES]; // from 1 on; 0: unknown
	std::atomic<u64> calls, total_ns, longest_ns;
	std::atomic<u64> synchronizing; // of its calls, as in CallThread
};

// A call that took LONG_CALL_NS or more. Times: CLOCK_MONOTONIC, ns.
struct CallEvent {
	std::atomic<u64> end; // 0: not written yet
	u64 begin, stream;
	u32 thread, site; // site: from 1 on; 0: there was no room for another
	u32 call, unused;
};

// A thread; free to be another's if thread is 0.
struct CallThread {
	std::atomic<u32> thread;
	std::atomic<u32> call;  // that it is in
	std::atomic<u64> begin; // of that call; 0: it is in none
	std::atomic<u64> from;  // address in the function that made it
	// Calls in the legacy default stream while there were streams that it synchronizes with.
	std::atomic<u64> synchronizing;
	std::atomic<u64> calls[CALL_COUNT];
};

struct CallLog {
	static constexpr u64 MAGIC = 0x31304c4c41434c47; // "GLCALL01"

	u64 magic;
	u32 pid, calls; // calls: CALL_COUNT
	char command[16];
	std::atomic<u32> modules, sites, threads, per_thread_stream; // per_thread_stream: 1: was used
	std::atomic<u32> blocking_streams, most_blocking_streams;    // made without CU_STREAM_NON_BLOCKING
	std::atomic<u64> events;                                     // beyond MAX_EVENTS they are only counted
	std::atomic<u64> uncounted;                                  // calls of threads beyond MAX_CALL_THREADS
	std::atomic<u64> unsited;                                    // calls that found no room for their site

	CallModule module[MAX_MODULES];
	CallSite site[MAX_SITES];
	CallThread thread[MAX_CALL_THREADS];
	CallEvent event[MAX_EVENTS];
};

// Returns the module of an address, from 1 on; 0: unknown.
inline u32 module_of(const CallLog &log, u64 address)
{
	for (u32 i = std::min<u32>(log.modules, MAX_MODULES); i > 0; i--)
		if (address >= log.module[i - 1].bias && address < log.module[i - 1].end)
			return i;
	return 0;
}

static_assert(std::atomic<u64>::is_always_lock_free && std::atomic<u32>::is_always_lock_free);

} // namespace gpulens
