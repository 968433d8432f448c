// SPDX-License-Identifier: GPL-2.0
// Takes turns in the queues of a file (turn_file.hpp): at most as many threads run as the queue has slots, the others wait
// in the file's order. A slot of a thread that ended without giving it back is free again.
#pragma once
#include "lib/turns/turn_file.hpp"

#include <vector>

namespace tool::turns {

// A thread holds at most one slot of a file, and slots of this many files.
constexpr size_t MAX_HELD = 8;

// Waits for a slot of the task's queue. release: when the job was released, CLOCK_MONOTONIC in ns; 0: now. Returns the slot.
// Throws Error: Deadlock if this thread has a slot of the file, also by another TurnFile; TooMany if MAX_ENTRIES threads run and wait, or this
// thread has slots of MAX_HELD files; NotOwner, Failed as TurnFile.
u64 begin_turn(TurnFile &file, u64 task, u64 release);
// Gives the slot to the next thread if that comes before this one, and waits for another slot. Returns the slot. Throws
// Error (NotOwner) if this thread has none.
u64 yield_turn(TurnFile &file);
// Gives the slot back, and counts the job. Throws Error (NotOwner) if this thread has none.
void end_turn(TurnFile &file);
// Returns the task or slot of the calling thread. Throws Error (NotOwner) if it has none.
u64 held_task(const TurnFile &file);
u64 held_slot(const TurnFile &file);

// Changes the number of slots of a queue, as soon as none is held; until then no thread gets one.
void set_slots(TurnFile &file, u64 queue, u64 slots);
// Frees the slots of threads that ended, and gives free slots to those that wait.
void settle(TurnFile &file, u64 queue);

// A thread in a queue, for display: what it reads may change meanwhile.
struct Member {
	u64 process, thread, task;
	bool running;
};
std::vector<Member> members(const Queue &queue);

} // namespace tool::turns
