// SPDX-License-Identifier: GPL-2.0
// The file that processes share to take turns on partitions: a queue for each partition, and counts for each task. It is
// mapped by every process, which may be killed at any instruction.
//
// A queue changes only under its guard, a robust mutex with priority inheritance, and only by its journal: a process
// writes the new values of all words there, then their number, and then the words. If it is killed, the next one that
// gets the guard writes the words again (the number was there) or ignores them (it was not), so that each operation
// happens once or not at all. docs/internals.md, "Taking turns", has the reasons.
#pragma once
#include "gpulens/gpu.h"

#include <atomic>
#include <cstddef>
#include <pthread.h>

namespace tool::turns {

using Word = std::atomic<u64>;
static_assert(Word::is_always_lock_free && sizeof(Word) == sizeof(u64));

constexpr u64 MAGIC = 0x33306e727554704cULL; // "LpTurn03": changes with the layout below
constexpr u32 MAX_ENTRIES = 64;              // threads that run or wait in a queue
constexpr u32 MAX_SLOTS = 64;
constexpr u32 MAX_CHANGES = 40; // words of an operation
constexpr size_t NAME_BYTES = 64;

// Who comes first: the earliest deadline, the shortest relative deadline, or the first that asked.
enum class Order : u64 { Edf, Dm, Fifo };

enum State : u64 { FREE, WAITING, RUNNING };

// A thread that runs or waits. It holds `alive`, a robust mutex, from its begin to its end, so that others see its death.
struct alignas(64) Entry {
	pthread_mutex_t alive;
	Word state; // of State; a waiting thread sleeps on its lower half
	Word process, thread;
	Word task;             // index
	Word slot;             // while it runs
	Word release, arrival; // CLOCK_MONOTONIC, ns; number of its begin in this queue
	Word key;              // the least comes first
	Word begun, granted;   // ns: begin, and when it got its slot; 0: not yet
	Word ran;              // ns before that, of a job that gave its slot away
	Word revocable;        // 1: it gives its slot to an entry that comes before it
};

struct Change {
	Word offset, value; // of a word in the file
};

struct alignas(64) Queue {
	pthread_mutex_t guard;
	Word changes; // number of changes in the journal that must be made
	Change journal[MAX_CHANGES];
	Word slots, wanted_slots; // they differ until no thread runs
	Word arrivals;
	Word running, waiting;   // numbers of entries
	Word holders[MAX_SLOTS]; // entry + 1; 0: free
	Entry entries[MAX_ENTRIES];
};

struct Counts {
	Word jobs, waits, overruns, misses, deaths, longest_wait, longest_run; // times: ns
	Word given_away;                                                       // slots, to one that comes before
};

struct alignas(64) Task {
	char name[NAME_BYTES]; // the first bytes of it, and a 0
	u64 queue;
	u64 time, deadline; // ns; NEVER: unlimited
	Counts counts;
};
constexpr u64 NEVER = ~0ULL;

struct alignas(64) Header {
	u64 magic, size;
	u64 order; // of Order
	u64 queues, tasks;
	u64 digest;        // of everything that processes must agree on
	u64 pid_namespace; // inode: thread ids mean something in one namespace only
	char boot[40];     // id of this boot of the machine

	bool operator==(const Header &) const = default;
};

} // namespace tool::turns
