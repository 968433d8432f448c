// SPDX-License-Identifier: GPL-2.0
// A slot belongs to the thread that took it, so a thread of its own keeps it. It holds the program before it gives the slot
// away, and releases it when the slot is back, or for one look before the agents' longest hold is over.
#include "gpulens/cmd/run_slot.hpp"

#include "gpulens/cmd/schedule_support.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "lib/base/monotonic.hpp"
#include "lib/launch/agent_page.hpp"
#include "lib/launch/environment.hpp"
#include "lib/schedule/live/program_backend.hpp"
#include "lib/turns/slots.hpp"
#include "lib/turns/turns.hpp"

#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

namespace tool {

using schedule::Answer;
using schedule::Outcome;
using schedule::ProgramBackend;

namespace {

constexpr u64 LEASE_NS = 50000000;         // of a hold, which this process extends at each look
constexpr u64 LOOK_NS = 5000000;           // while the slot is another's
constexpr u64 RETRY_NS = 10000000;         // of a hold that failed
constexpr u64 IDLE_NS = 100000000;         // while nobody asks for a slot: only for the end of the program
constexpr u64 LONGEST_HOLD_NS = 850000000; // then the program is released for one look; the agent does it after 0.9 s

struct Lock {
	std::string name;
	u32 slots = 1;
};

// Throws Error (Input).
Lock parse_lock(const std::string &text)
{
	size_t colon = text.find(':');
	Lock lock{.name = text.substr(0, colon)};

	turns::check_lock_name(lock.name);
	if (colon == text.npos)
		return lock;
	const char *first = text.data() + colon + 1, *last = text.data() + text.size();
	auto [end, err] = std::from_chars(first, last, lock.slots);
	if (err != std::errc{} || end != last)
		throw Error(Error::Input, fmt::format("not a number of slots: {}", first));
	turns::check_slots(lock.slots);
	return lock;
}

// Priorities come before deadlines, which are much greater numbers, and these before programs that have none.
u64 key_of(const RunSlot &slot)
{
	return slot.priority ? *slot.priority : slot.deadline_ns ? now_ns() + slot.deadline_ns : turns::NEVER;
}

// Says whom this process waits for.
void print_holders(const turns::TurnFile &file, const std::string &name, u64 key)
{
	for (const turns::Member &m : turns::members(file.queue(0)))
		if (m.running)
			std::fprintf(stderr, "gpulens: waits for slot %s: process %llu has it%s\n", name.c_str(),
				     static_cast<unsigned long long>(m.process),
				     !m.revocable  ? ", and it cannot be taken back"
				     : key < m.key ? ", and it is taken back"
						   : "");
}

} // namespace

std::string check_slot(const std::string &lock)
{
	try {
		parse_lock(lock);
		return "";
	} catch (const Error &e) {
		return e.what();
	}
}

SlotKeeper::SlotKeeper(const Options &options, const RunSlot &slot, RunOptions &run)
	: key_(key_of(slot)), quiet_(run.quiet)
{
	Lock lock = parse_lock(slot.lock);

	name_ = lock.name;
	if (!slot.experimental)
		try {
			require_verb(options.sources.gpus, slot.probed, VERB_HOLD);
		} catch (const Error &e) {
			permanent_ = e.what();
			std::fprintf(stderr, "gpulens: slot %s cannot be taken back from this program: %s\n",
				     name_.c_str(), permanent_.c_str());
		}
	file_ = turns::open_slots(name_, lock.slots);
	std::string folder = std::filesystem::absolute(turns::runtime_folder());
	if (permanent_.empty()) {
		// The name is no other program's; policies do not name it.
		task_ = fmt::format("slot:{}:{}", getpid(), name_).substr(0, gpulens::AgentPage::MAX_TASK - 1);
		backend_ = std::make_unique<ProgramBackend>(folder, std::vector<schedule::ProgramTask>{{.name = task_}},
							    LEASE_NS);
		run.environment[gpulens::environment::SCHEDULE_FOLDER] = folder;
		run.environment[gpulens::environment::SCHEDULE_TASK] = task_;
		run.limits |= gpulens::environment::LIMIT_IN_TIME;
	}
	if (file_->queue(0).running >= file_->queue(0).slots)
		print_holders(*file_, name_, key_);

	// Signals are for the main thread.
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	thread_ = std::thread([this] { keep_slot(); });
	pthread_sigmask(SIG_SETMASK, &before, nullptr);
	std::unique_lock<std::mutex> hold(lock_);
	changed_.wait(hold, [this] { return granted_ || error_; });
	if (error_) {
		hold.unlock();
		thread_.join();
		std::rethrow_exception(error_);
	}
}

SlotKeeper::~SlotKeeper()
{
	{
		std::lock_guard<std::mutex> hold(lock_);
		stop_ = true;
	}
	turns::wake_for_arrival(file_->queue(0));
	thread_.join();
	if (lent_ && !quiet_)
		std::fprintf(stderr, "gpulens: slot %s was taken back %llu times, for %s\n", name_.c_str(),
			     static_cast<unsigned long long>(lent_), format_duration(lent_ns_).c_str());
}

bool SlotKeeper::stopping()
{
	std::lock_guard<std::mutex> hold(lock_);

	return stop_;
}

// The thread that has the slot.
void SlotKeeper::keep_slot()
{
	try {
		turns::begin_turn(*file_, 0, {.key = key_, .revocable = permanent_.empty()});
	} catch (...) {
		std::lock_guard<std::mutex> hold(lock_);
		error_ = std::current_exception();
		changed_.notify_all();
		return;
	}
	{
		std::lock_guard<std::mutex> hold(lock_);
		granted_ = true;
		changed_.notify_all();
	}
	try {
		watch_claims();
	} catch (const Error &e) {
		std::fprintf(stderr, "gpulens: slot %s: %s\n", name_.c_str(), e.what());
	}
	if (backend_)
		backend_->release_all();
	turns::end_turn(*file_);
}

void SlotKeeper::watch_claims()
{
	while (!stopping()) {
		u64 seen = file_->queue(0).arrivals;
		if (!lost_ && !file_->is_there()) {
			lost_ = true;
			std::fprintf(
				stderr,
				"gpulens: slot %s: %s was removed, as after a logout, so that later programs do not "
				"wait for this one; keep the folder with loginctl enable-linger, or set "
				"GPULENS_RUNTIME_DIR\n",
				name_.c_str(), file_->path().c_str());
		}
		if (!backend_ || !turns::is_claimed(*file_)) {
			turns::wait_for_arrival(file_->queue(0), seen, IDLE_NS);
		} else if (hold_program()) {
			turns::set_revocable(*file_, true);
			if (turns::give_turn_away(*file_))
				lend_slot();
			backend_->release_all();
		} else {
			// Another holder may be able to give its slot away.
			turns::set_revocable(*file_, false);
			turns::wait_for_arrival(file_->queue(0), seen, RETRY_NS);
		}
	}
}

// Holds all processes of the program that use the GPU. Returns whether they stand still; says once why not.
bool SlotKeeper::hold_program()
{
	Answer answer;

	backend_->extend_lease();
	backend_->find_programs(true);
	bool none = backend_->programs().empty();
	for (const ProgramBackend::Found &p : backend_->programs())
		if (p.stopped)
			answer = {Outcome::Refused, fmt::format("process {} is stopped, and its agent with it", p.pid)};
	if (!none && answer.outcome == Outcome::Done)
		answer = backend_->hold(0);
	if (answer.outcome != Outcome::Done && answer.reason != failure_)
		std::fprintf(stderr, "gpulens: slot %s cannot be taken back: %s\n", name_.c_str(),
			     answer.reason.c_str());
	failure_ = answer.reason;
	return answer.outcome == Outcome::Done;
}

// While the slot is another's. A process that begins to use the GPU meanwhile is held, too.
void SlotKeeper::lend_slot()
{
	u64 start = now_ns(), held_at = start;

	lent_++;
	while (!stopping() && !turns::wait_turn(*file_, LOOK_NS)) {
		if (now_ns() >= held_at + LONGEST_HOLD_NS) {
			backend_->release_all();
			held_at = now_ns();
		} else {
			hold_program();
		}
	}
	lent_ns_ += now_ns() - start;
}

} // namespace tool
