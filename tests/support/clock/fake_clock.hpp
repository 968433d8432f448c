// SPDX-License-Identifier: GPL-2.0
// The file that the processes with a faked clock and the test share: fake_clock.cc, tests/support/fakeclock.py.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fake_clock {

// What a thread waits for. Sleep, Spin: for `word` to change, by the test. The others, by the ticker of their process.
enum class Kind : uint32_t { None, Sleep, Spin, Futex, Condition, Poll, Ticker };

struct Waiter {
	std::atomic<uint32_t> pid, tid; // pid 0: free
	std::atomic<Kind> kind;
	std::atomic<uint32_t> word;
	std::atomic<uint64_t> deadline; // ns
	std::atomic<uint64_t> object;   // an address in that process, or a file of it
	std::atomic<uint32_t> flags;    // of the futex
	uint32_t unused[7];
};

constexpr size_t WAITERS = 1023;

struct Page {
	std::atomic<uint64_t> now;   // ns
	std::atomic<uint32_t> owner; // the test's process
	uint32_t unused[13];
	Waiter waiters[WAITERS];
};

static_assert(sizeof(Waiter) == 64 && sizeof(Page) == 64 * (WAITERS + 1));

} // namespace fake_clock
