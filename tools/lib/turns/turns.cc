// SPDX-License-Identifier: GPL-2.0
// See turns.hpp. An uncontended begin or end makes no system call: mutexes without a waiter are locked in user space, and
// the clock is read through the vDSO.
#include "lib/turns/turns.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/monotonic.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <ctime>
#include <fmt/format.h>
#include <linux/futex.h>
#include <optional>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace tool::turns {

namespace {

// A waiting thread looks this often whether a holder ended without giving its slot back.
constexpr timespec LOOK_AGAIN = {.tv_sec = 0, .tv_nsec = 10'000'000};

// All stores to the file are in program order, for the sake of whoever replays the journal.
void store_word(Word &word, u64 value)
{
	word.store(value, std::memory_order_release);
}

u64 load_word(const Word &word)
{
	return word.load(std::memory_order_acquire);
}

u64 add_times(u64 a, u64 b)
{
	return a > NEVER - b ? NEVER : a + b;
}

u64 time_since(u64 then, u64 now)
{
	return now > then ? now - then : 0;
}

// Makes the changes of the journal.
void apply_journal(TurnFile &file, Queue &queue)
{
	u64 n = load_word(queue.changes);

	if (n > MAX_CHANGES)
		file.refuse_damage();
	for (u64 i = 0; i < n; i++)
		store_word(file.word(load_word(queue.journal[i].offset)), load_word(queue.journal[i].value));
	store_word(queue.changes, 0);
}

// The guard of a queue. If its last holder was killed, the changes that were complete are made.
class Guard {
public:
	Guard(TurnFile &file, Queue &queue) : queue_(queue)
	{
		int err = pthread_mutex_lock(&queue.guard);

		if (err && err != EOWNERDEAD)
			file.refuse_damage();
		if (err)
			try {
				apply_journal(file, queue);
				pthread_mutex_consistent(&queue.guard);
			} catch (...) {
				pthread_mutex_unlock(&queue.guard);
				throw;
			}
	}
	Guard(const Guard &) = delete;
	Guard &operator=(const Guard &) = delete;
	~Guard() { pthread_mutex_unlock(&queue_.guard); }

private:
	Queue &queue_;
};

// Changes of a queue that all happen or none, under its guard. load_word() returns the values before them.
class Changes {
public:
	Changes(TurnFile &file, Queue &queue) : file_(file), queue_(queue) {}

	void set(const Word &word, u64 value)
	{
		if (n_ == MAX_CHANGES)
			file_.refuse_damage();
		store_word(queue_.journal[n_].offset, file_.offset(word));
		store_word(queue_.journal[n_].value, value);
		n_++;
	}
	void add(const Word &word, u64 more) { set(word, load_word(word) + more); }
	void raise(const Word &word, u64 value)
	{
		if (value > load_word(word))
			set(word, value);
	}
	void make()
	{
		store_word(queue_.changes, n_);
		apply_journal(file_, queue_);
	}

private:
	TurnFile &file_;
	Queue &queue_;
	u64 n_ = 0;
};

enum class Life { Alive, Ended, Locked }; // Locked: by this call

// Locks the mutex of an entry if its thread does not hold it.
Life try_lock(Entry &entry)
{
	switch (pthread_mutex_trylock(&entry.alive)) {
	case 0: return Life::Locked;
	case EOWNERDEAD: pthread_mutex_consistent(&entry.alive); return Life::Ended;
	default: return Life::Alive;
	}
}

// Whether the entry's thread lives, for those that only read the file and so cannot lock: the word of the mutex that the kernel
// knows, the first one (futex(2)), has the id of the thread that holds it, and none after its end.
bool is_alive(const Entry &entry)
{
	auto word = static_cast<u32>(__atomic_load_n(&entry.alive.__data.__lock, __ATOMIC_ACQUIRE));

	return (word & FUTEX_TID_MASK) == load_word(entry.thread);
}

u64 task_of(TurnFile &file, const Entry &entry)
{
	u64 task = load_word(entry.task);

	if (task >= file.header().tasks)
		file.refuse_damage();
	return task;
}

// The changes by which a running entry leaves its slot. more: threads that begin to run at the same time.
void leave_slot(TurnFile &file, Queue &queue, const Entry &entry, Changes &changes)
{
	u64 slot = load_word(entry.slot), running = load_word(queue.running);

	if (slot >= MAX_SLOTS || !running)
		file.refuse_damage();
	changes.set(queue.holders[slot], 0);
	changes.set(queue.running, running - 1);
	if (running == 1 && load_word(queue.slots) != load_word(queue.wanted_slots))
		changes.set(queue.slots, load_word(queue.wanted_slots));
}

// Removes entries whose threads ended.
void remove_dead(TurnFile &file, Queue &queue)
{
	for (Entry &entry : queue.entries) {
		u64 state = load_word(entry.state);
		if (state == FREE || try_lock(entry) == Life::Alive)
			continue;
		Changes changes(file, queue);
		if (state == RUNNING)
			leave_slot(file, queue, entry, changes);
		else
			changes.set(queue.waiting, load_word(queue.waiting) - 1);
		changes.add(file.task(task_of(file, entry)).counts.deaths, 1);
		changes.set(entry.state, FREE);
		changes.make();
		pthread_mutex_unlock(&entry.alive);
	}
}

bool goes_before(TurnFile &file, const Entry &a, const Entry &b)
{
	u64 key_a = load_word(a.key), key_b = load_word(b.key);

	if (key_a != key_b)
		return key_a < key_b;
	// The tests of a plan give the first task of the file priority among equals.
	if (file.header().order != u64(Order::Fifo) && load_word(a.task) != load_word(b.task))
		return load_word(a.task) < load_word(b.task);
	return load_word(a.arrival) < load_word(b.arrival);
}

// Returns the waiting entry that comes first; nullptr: none waits.
Entry *first_waiting(TurnFile &file, Queue &queue)
{
	Entry *first = nullptr;

	for (Entry &entry : queue.entries)
		if (load_word(entry.state) == WAITING && (!first || goes_before(file, entry, *first)))
			first = &entry;
	return first;
}

// Returns a free slot; nothing if there is none, or while the number of slots is to change.
std::optional<u64> free_slot(TurnFile &file, const Queue &queue)
{
	u64 slots = load_word(queue.slots);

	if (slots > MAX_SLOTS)
		file.refuse_damage();
	if (load_word(queue.running) >= slots || slots != load_word(queue.wanted_slots))
		return std::nullopt;
	for (u64 slot = 0; slot < slots; slot++)
		if (!load_word(queue.holders[slot]))
			return slot;
	file.refuse_damage();
}

// The changes by which an entry begins to run. Its thread may see RUNNING at once, so that comes last.
void take_slot(Queue &queue, const Entry &entry, u64 slot, u64 now, Changes &changes)
{
	changes.set(queue.holders[slot], u64(&entry - queue.entries) + 1);
	changes.add(queue.running, 1);
	changes.set(entry.slot, slot);
	changes.set(entry.granted, now);
	changes.set(entry.state, RUNNING);
}

// A 64-bit word's lower half, where the kernel waits.
u32 *half_of(Word &word)
{
	static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	return reinterpret_cast<u32 *>(&word);
}

// Gives free slots to waiting entries whose threads live. The guard is held.
void give_slots(TurnFile &file, Queue &queue)
{
	if (load_word(queue.waiting))
		remove_dead(file, queue);
	while (load_word(queue.waiting)) {
		std::optional<u64> slot = free_slot(file, queue);
		Entry *next = slot ? first_waiting(file, queue) : nullptr;
		if (!next)
			return;
		u64 now = now_ns();
		Changes changes(file, queue);
		changes.set(queue.waiting, load_word(queue.waiting) - 1);
		if (!load_word(next->granted))
			changes.raise(file.task(task_of(file, *next)).counts.longest_wait,
				      time_since(load_word(next->begun), now));
		take_slot(queue, *next, *slot, now, changes);
		changes.make();
		syscall(SYS_futex, half_of(next->state), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
	}
}

void settle_guarded(TurnFile &file, Queue &queue)
{
	remove_dead(file, queue);
	give_slots(file, queue);
}

// The slots of the calling thread.
struct Held {
	u64 file; // id; 0: none
	TurnFile::Identity identity;
	Entry *entry;
	u64 forks;
};
thread_local std::array<Held, MAX_HELD> held;
thread_local u64 thread_id, thread_forks;

// Slots that a thread held before fork() are not those of the child's thread.
Held *find_held(u64 file)
{
	u64 now = forks();

	for (Held &h : held) {
		if (h.file && h.forks != now)
			h = {};
		if (h.file == file)
			return &h;
	}
	return nullptr;
}

// Whether this thread has a slot of the file, by this object or another one of it.
bool holds_slot(const TurnFile &file)
{
	find_held(file.id()); // removes slots from before a fork
	return std::any_of(held.begin(), held.end(),
			   [&](const Held &h) { return h.file && h.identity == file.identity(); });
}

Held &require_held(const TurnFile &file)
{
	file.check_process();
	Held *mine = find_held(file.id());
	if (!mine || !mine->entry)
		throw Error(Error::NotOwner, "this thread has not begun a job, or holds no slot");
	return *mine;
}

u64 own_thread()
{
	if (!thread_id || thread_forks != forks()) {
		thread_id = u64(gettid());
		thread_forks = forks();
	}
	return thread_id;
}

// Returns an unused entry, whose mutex this thread then holds.
Entry &take_entry(Queue &queue, const std::string &path)
{
	for (Entry &entry : queue.entries)
		if (load_word(entry.state) == FREE && try_lock(entry) != Life::Alive)
			return entry;
	throw Error(Error::TooMany, fmt::format("{}: {} threads run and wait already", path, MAX_ENTRIES));
}

// Sleeps until the entry has a slot, or until `end`. Returns whether it has one.
bool wait_for_slot(TurnFile &file, Queue &queue, Entry &entry, u64 end = NEVER)
{
	u64 state, now;

	while ((state = load_word(entry.state)) == WAITING) {
		timespec look = LOOK_AGAIN;
		if (end != NEVER) {
			if ((now = now_ns()) >= end)
				return false;
			look.tv_nsec = std::min(look.tv_nsec, long(std::min<u64>(end - now, 999'999'999)));
		}
		long woken = syscall(SYS_futex, half_of(entry.state), FUTEX_WAIT, WAITING, &look, nullptr, 0);
		if (woken && (errno == ETIMEDOUT || errno == EINTR)) {
			Guard guard(file, queue);
			settle_guarded(file, queue);
		}
	}
	if (state != RUNNING)
		file.refuse_damage();
	return true;
}

u64 key_of(const TurnFile &file, const Task &task, u64 release, u64 key)
{
	switch (Order(file.header().order)) {
	case Order::Edf: return add_times(release, task.deadline);
	case Order::Dm: return task.deadline;
	default: return key;
	}
}

Queue &queue_of(TurnFile &file, const Entry &entry)
{
	return file.queue(file.task(task_of(file, entry)).queue);
}

} // namespace

u64 begin_turn(TurnFile &file, u64 index, const Claim &claim)
{
	file.check_process();
	if (index >= file.header().tasks)
		throw Error(Error::Input, fmt::format("there is no task {}", index));
	if (holds_slot(file))
		throw Error(Error::Deadlock, "this thread runs a job, or holds a slot, already");
	Held *mine = find_held(0);
	if (!mine)
		throw Error(Error::TooMany, fmt::format("this thread holds {} slots already", MAX_HELD));
	Task &task = file.task(index);
	Queue &queue = file.queue(task.queue);
	u64 now = now_ns(), thread = own_thread(), release = claim.release ? claim.release : now;
	Entry *entry = nullptr;
	bool waits = false;
	{
		Guard guard(file, queue);
		std::optional<u64> slot = free_slot(file, queue);
		if (!slot ||
		    load_word(queue.waiting)) { // a holder may have died before it gave its slot to one that waits
			settle_guarded(file, queue);
			slot = free_slot(file, queue);
		}
		entry = &take_entry(queue, file.path());
		waits = !slot;
		Changes changes(file, queue);
		u64 arrival = load_word(queue.arrivals);
		changes.set(queue.arrivals, arrival + 1);
		changes.set(entry->arrival, arrival);
		changes.set(entry->process, file.process());
		changes.set(entry->thread, thread);
		changes.set(entry->task, index);
		changes.set(entry->release, release);
		changes.set(entry->key, key_of(file, task, release, claim.key));
		changes.set(entry->revocable, claim.revocable);
		changes.set(entry->begun, now);
		changes.set(entry->granted, 0);
		changes.set(entry->ran, 0);
		if (slot) {
			take_slot(queue, *entry, *slot, now, changes);
		} else {
			changes.add(queue.waiting, 1);
			changes.add(task.counts.waits, 1);
			changes.set(entry->state, WAITING);
		}
		changes.make();
	}
	*mine = {file.id(), file.identity(), entry, forks()};
	file.set_begun(task.queue, *entry, true);
	if (waits) {
		wake_for_arrival(queue);
		wait_for_slot(file, queue, *entry);
	}
	return load_word(entry->slot);
}

bool give_turn_away(TurnFile &file)
{
	Entry &entry = *require_held(file).entry;
	Queue &queue = queue_of(file, entry);

	if (!load_word(queue.waiting))
		return false;
	Guard guard(file, queue);
	remove_dead(file, queue);
	Entry *next = first_waiting(file, queue);
	if (!next || !goes_before(file, *next, entry))
		return false;
	u64 now = now_ns();
	Changes changes(file, queue);
	changes.set(entry.ran, load_word(entry.ran) + time_since(load_word(entry.granted), now));
	leave_slot(file, queue, entry, changes);
	changes.add(queue.waiting, 1);
	changes.add(file.task(task_of(file, entry)).counts.given_away, 1);
	changes.set(entry.state, WAITING);
	changes.make();
	give_slots(file, queue);
	return true;
}

bool wait_turn(TurnFile &file, u64 timeout_ns)
{
	Entry &entry = *require_held(file).entry;

	return wait_for_slot(file, queue_of(file, entry), entry, add_times(now_ns(), timeout_ns));
}

u64 yield_turn(TurnFile &file)
{
	Entry &entry = *require_held(file).entry;

	if (give_turn_away(file))
		wait_for_slot(file, queue_of(file, entry), entry);
	return load_word(entry.slot);
}

bool is_claimed(TurnFile &file)
{
	Entry &entry = *require_held(file).entry;
	Queue &queue = queue_of(file, entry);

	if (!load_word(queue.waiting))
		return false;
	Guard guard(file, queue);
	settle_guarded(file, queue); // a free slot goes to the waiting thread first
	Entry *next = first_waiting(file, queue);
	return next && goes_before(file, *next, entry) &&
	       std::none_of(std::begin(queue.entries), std::end(queue.entries), [&](const Entry &other) {
		       return load_word(other.state) == RUNNING && load_word(other.revocable) &&
			      goes_before(file, entry, other);
	       });
}

void set_revocable(TurnFile &file, bool revocable)
{
	store_word(require_held(file).entry->revocable, revocable);
}

void wait_for_arrival(Queue &queue, u64 seen, u64 timeout_ns)
{
	timespec left{.tv_sec = time_t(timeout_ns / 1'000'000'000), .tv_nsec = long(timeout_ns % 1'000'000'000)};

	syscall(SYS_futex, half_of(queue.arrivals), FUTEX_WAIT, u32(seen), &left, nullptr, 0);
}

void wake_for_arrival(Queue &queue)
{
	syscall(SYS_futex, half_of(queue.arrivals), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void end_turn(TurnFile &file)
{
	Held &mine = require_held(file);
	Entry &entry = *mine.entry;
	Task &task = file.task(task_of(file, entry));
	Queue &queue = file.queue(task.queue);
	Guard guard(file, queue);
	u64 now = now_ns(), ran = load_word(entry.ran);
	Changes changes(file, queue);

	if (load_word(entry.state) == WAITING) { // it gave its slot away
		changes.set(queue.waiting, load_word(queue.waiting) - 1);
	} else {
		ran += time_since(load_word(entry.granted), now);
		leave_slot(file, queue, entry, changes);
	}
	changes.add(task.counts.jobs, 1);
	changes.raise(task.counts.longest_run, ran);
	if (ran > task.time)
		changes.add(task.counts.overruns, 1);
	if (now > add_times(load_word(entry.release), task.deadline))
		changes.add(task.counts.misses, 1);
	changes.set(entry.state, FREE);
	changes.make();
	mine = {};
	file.set_begun(task.queue, entry, false);
	pthread_mutex_unlock(&entry.alive);
	give_slots(file, queue);
}

u64 held_task(const TurnFile &file)
{
	return load_word(require_held(file).entry->task);
}

u64 held_slot(const TurnFile &file)
{
	return load_word(require_held(file).entry->slot);
}

void set_slots(TurnFile &file, u64 index, u64 slots)
{
	file.check_process();
	Queue &queue = file.queue(index);
	Guard guard(file, queue);

	remove_dead(file, queue);
	Changes changes(file, queue);
	changes.set(queue.wanted_slots, slots);
	if (!load_word(queue.running))
		changes.set(queue.slots, slots);
	changes.make();
	give_slots(file, queue);
}

void settle(TurnFile &file, u64 index)
{
	Queue &queue = file.queue(index);
	Guard guard(file, queue);

	settle_guarded(file, queue);
}

std::vector<Member> members(const Queue &queue)
{
	std::vector<Member> found;

	for (const Entry &entry : queue.entries)
		if (u64 state = load_word(entry.state); state != FREE && is_alive(entry))
			found.push_back({load_word(entry.process), load_word(entry.thread), load_word(entry.task),
					 load_word(entry.key), state == RUNNING, load_word(entry.revocable) != 0,
					 state == WAITING && load_word(entry.granted)});
	return found;
}

} // namespace tool::turns
