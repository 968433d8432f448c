// SPDX-License-Identifier: GPL-2.0
// gpulens run --slot: the program runs while this process has a slot of a lock (lib/turns/slots.hpp). A slot is taken back for a
// process that comes first: the agents in the program's processes hold its TSGs (preload/agent.hpp), then the slot goes to that
// process, and the program is released when the slot has come back.
#pragma once
#include "gpulens/cmd/run.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace tool {

namespace schedule {
class ProgramBackend;
}
namespace turns {
class TurnFile;
}

struct RunSlot {
	static constexpr u32 MAX_PRIORITY = 99;

	std::string lock{};            // "NAME" or "NAME:K"; empty: none
	std::optional<u32> priority{}; // 0 is the most urgent
	u64 deadline_ns = 0;           // of the program, from now; 0: none
	std::string probed{};          // a file of probe results; empty: the user's, or root's
	bool experimental = false;     // take it back also where it is unknown whether a hold has an effect
};

// Returns why the text is no lock and number of slots; empty: it is one.
std::string check_slot(const std::string &lock);

class SlotKeeper {
public:
	// Waits for a slot, and adds variables to the program's environment. Throws Error.
	SlotKeeper(const Options &options, const RunSlot &slot, RunOptions &run);
	SlotKeeper(const SlotKeeper &) = delete;
	SlotKeeper &operator=(const SlotKeeper &) = delete;
	// Gives the slot back. Call it when the program has ended.
	~SlotKeeper();

private:
	void keep_slot();
	void watch_claims();
	void lend_slot();
	bool hold_program();
	bool stopping();

	std::string name_, task_;
	u64 key_;
	std::string permanent_; // why the slot cannot be taken back; empty: it can
	bool quiet_;
	std::unique_ptr<turns::TurnFile> file_;
	std::unique_ptr<schedule::ProgramBackend> backend_;
	std::string failure_; // why a claim was not met, as last printed
	bool lost_ = false;   // the file of the slot was removed, and that was said
	u64 lent_ = 0, lent_ns_ = 0;

	std::mutex lock_; // of what follows
	std::condition_variable changed_;
	bool granted_ = false, stop_ = false;
	std::exception_ptr error_;
	std::thread thread_; // which has the slot: slots belong to threads
};

} // namespace tool
