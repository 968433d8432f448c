// SPDX-License-Identifier: GPL-2.0
// The last steps of a coordinator, in a file that gpulens record of the same user maps: a ring of ScheduleRecord. The coordinator
// has the file locked (flock(2)): without the lock, it was killed.
#pragma once
#include "lib/launch/mapped_file.hpp"
#include "lib/model/recording.hpp"

#include <atomic>
#include <string>
#include <vector>

namespace tool::schedule {

struct StepRing {
	static constexpr u64 MAGIC = 0x3130706574534c47; // "GLStep01"
	static constexpr u64 STEPS = 16384;

	std::atomic<u64> magic;
	std::atomic<u64> devices; // a bit for each device of the policy; 0: unknown
	std::atomic<u64> written; // steps so far; step n is at n % STEPS
	ScheduleRecord steps[STEPS];
};

class StepLog {
public:
	// Makes the file anew. Where that is impossible, add() has no effect: the policy is carried out without it.
	explicit StepLog(std::string path, u64 devices = 0);
	StepLog(const StepLog &) = delete;
	StepLog &operator=(const StepLog &) = delete;
	// Adds End, and removes the file.
	~StepLog();

	// time: CLOCK_MONOTONIC, ns. name: of the task or policy.
	void add(ScheduleStep step, u64 time, u32 task = 0, u64 value = 0, const std::string &name = "");

private:
	std::string path_;
	gpulens::Mapped<StepRing> ring_;
	int lock_ = -1;
};

// Reads the steps of the coordinators that have the file one after another.
class StepReader {
public:
	explicit StepReader(std::string path) : path_(std::move(path)) {}

	// Returns the steps since the last call, Missing for those that were overwritten, and End if the coordinator was killed. The
	// first call returns those that the file of a living one has.
	std::vector<ScheduleRecord> read();
	// Of the steps that were read last.
	u64 devices() const { return devices_; }

private:
	void map();
	void take(std::vector<ScheduleRecord> &steps);

	std::string path_;
	gpulens::Mapped<const StepRing> ring_;
	ino_t inode_ = 0;
	u64 read_ = 0, devices_ = 0;
};

} // namespace tool::schedule
