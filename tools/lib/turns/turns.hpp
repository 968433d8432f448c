// SPDX-License-Identifier: GPL-2.0
// Takes turns in the queues of a file (turn_file.hpp): at most as many threads run as the queue has slots, the others wait
// in the file's order. A slot of a thread that ended without giving it back is free again.
#pragma once
#include "lib/turns/turn_file.hpp"

#include <vector>

namespace tool::turns {

// A thread holds at most one slot of a file, and slots of this many files.
constexpr size_t MAX_HELD = 8;

// How a thread asks for a slot.
struct Claim {
	u64 release = 0; // of the job, CLOCK_MONOTONIC in ns; 0: now
	u64 key = NEVER; // in a file of Order::Fifo: the least comes first, equal ones in the order of their arrival
	bool revocable = false; // this thread looks at is_claimed(), and gives its slot away
};

// Waits for a slot of the task's queue. Returns the slot. Throws Error: Deadlock if this thread has a slot of the file, also by
// another TurnFile; TooMany if MAX_ENTRIES threads run and wait, or this thread has slots of MAX_HELD files; NotOwner, Failed as
// TurnFile.
u64 begin_turn(TurnFile &file, u64 task, const Claim &claim);
// Gives the slot to the next thread if that comes before this one, and waits for another slot. Returns the slot. Throws
// Error (NotOwner) if this thread has none.
u64 yield_turn(TurnFile &file);
// The same in two steps. give_turn_away() returns whether the slot is another's now; wait_turn() whether this thread has one
// again within the time.
bool give_turn_away(TurnFile &file);
bool wait_turn(TurnFile &file, u64 timeout_ns);
// Returns whether a thread waits that comes before this one, and this one comes last of the revocable ones with a slot.
bool is_claimed(TurnFile &file);
// Says whether this thread gives its slot away (Claim::revocable).
void set_revocable(TurnFile &file, bool revocable);
// Sleeps until a thread asks for a slot of the queue and must wait, or until the time is over. seen: the queue's number of
// arrivals before the last look at it.
void wait_for_arrival(Queue &queue, u64 seen, u64 timeout_ns);
// Wakes those that sleep there.
void wake_for_arrival(Queue &queue);
// Gives the slot back, or stops to wait for it after give_turn_away(), and counts the job. Throws Error (NotOwner) if this
// thread has none.
void end_turn(TurnFile &file);
// Returns the task or slot of the calling thread. Throws Error (NotOwner) if it has none.
u64 held_task(const TurnFile &file);
u64 held_slot(const TurnFile &file);

// Changes the number of slots of a queue, as soon as none is held; until then no thread gets one.
void set_slots(TurnFile &file, u64 queue, u64 slots);
// Frees the slots of threads that ended, and gives free slots to those that wait.
void settle(TurnFile &file, u64 queue);

// A living thread in a queue, for display: what it reads may change meanwhile.
struct Member {
	u64 process, thread, task, key;
	bool running, revocable;
	bool lent; // it gave its slot away, and waits for one again
};
std::vector<Member> members(const Queue &queue);

} // namespace tool::turns
