// SPDX-License-Identifier: GPL-2.0
// Locks with k slots by name (k-exclusion), which gpulens_slot_open() and gpulens run --slot share.
#pragma once
#include "lib/turns/turns.hpp"

namespace tool::turns {

// Throws Error (Input), which says what a name or a number of slots may be.
void check_lock_name(const std::string &name);
void check_slots(u64 k);
// Opens the lock, a file with one queue and one task, and makes it if need be. Throws Error: Input as above; Taken where other
// processes have it open with another number of slots; as TurnFile::open().
std::unique_ptr<TurnFile> open_slots(const std::string &name, u32 k);

// The keys below are priorities of gpulens run --slot; those above are deadlines, or NEVER.
constexpr u64 PRIORITIES = 100;

// A lock of this user that living processes have or want a slot of, for display.
struct LockState {
	std::string name;
	u64 slots, taken_back;
	std::vector<Member> members; // those with a slot first, then in the order of their keys
};
// In the order of their names. Files that cannot be read are left out.
std::vector<LockState> list_locks();

} // namespace tool::turns
