// SPDX-License-Identifier: GPL-2.0
// The table of holds of a GPU as a file, which one coordinator at a time has, and the process that watches it.
#pragma once
#include "lib/schedule/live/channel_backend.hpp"

#include <sys/types.h>

namespace tool::schedule {

// A table that this process and its watchdog map. The file is locked as long as one of them has it.
class HoldFile {
public:
	// Creates the folder and the file where they do not exist. Throws Error: Taken if another coordinator has it.
	HoldFile(const std::string &folder, unsigned gpu);
	HoldFile(const HoldFile &) = delete;
	HoldFile &operator=(const HoldFile &) = delete;
	~HoldFile();

	HoldTable &table() { return *table_; }

private:
	int fd_ = -1;
	HoldTable *table_ = nullptr;
};

// A process of its own session that enables what the coordinator no longer answers for, and ends after it.
class Watchdog {
public:
	// Throws Error.
	Watchdog(HoldTable &table, GpuPort &gpu, bool per_runlist);
	Watchdog(const Watchdog &) = delete;
	Watchdog &operator=(const Watchdog &) = delete;

	bool alive();
	// Ends it: no channel is held any more. Otherwise it goes on after the coordinator.
	void dismiss();

private:
	pid_t child_ = -1;
};

} // namespace tool::schedule
