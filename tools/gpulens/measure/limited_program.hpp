// SPDX-License-Identifier: GPL-2.0
// A program under a TPC limit that was verified, as gpulens run starts it, in the background of a measurement.
#pragma once
#include "gpulens/cmd/run.hpp"
#include "gpulens/limit/cuda_probe.hpp"
#include "lib/base/child_process.hpp"

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace tool::measure {

class LimitedProgram {
public:
	// limit: nullptr: none. in, out: descriptors for its standard input and output; -1: /dev/null, and this process'
	// standard error. Throws Error.
	LimitedProgram(const std::vector<std::string> &program, const gpulens::VerifiedLimit *limit, int in = -1,
		       int out = -1);

	// Process id of the parent of the program.
	pid_t pid() const { return process_.pid(); }
	// Returns the exit status of run_program() if the program has ended.
	std::optional<int> poll() { return note_end(process_.poll()); }
	int wait() { return *note_end(process_.wait()); }
	void stop() { note_end(process_.stop()); }
	// Time from the start to the end that poll() or wait() found.
	double elapsed_us() const { return elapsed_us_; }

private:
	std::optional<int> note_end(std::optional<int> status);

	std::chrono::steady_clock::time_point start_;
	double elapsed_us_ = 0;
	ChildProcess process_;
};

struct Finished {
	std::string output; // standard output
	int status = 0;
	double elapsed_us = 0;
};

// A program that reads the input and whose standard output is kept.
class CapturedProgram {
public:
	// capture: false: its standard output goes to standard error. Throws Error.
	CapturedProgram(const std::vector<std::string> &program, const gpulens::VerifiedLimit *limit, bool capture,
			const std::string &input = "");

	bool has_ended() { return running_->poll().has_value(); }
	// Waits for its end. Throws Error (Failed) if it printed too much.
	Finished finish();

private:
	struct FileCloser {
		void operator()(FILE *file) const { std::fclose(file); }
	};
	using File = std::unique_ptr<FILE, FileCloser>;

	static File temporary_file();

	std::string name_;
	File in_, out_;
	std::unique_ptr<LimitedProgram> running_;
};

// Throws Error (Failed) where check_preloadable() does: the program cannot be limited.
void require_preloadable(const std::vector<std::string> &program);

// Throws Error (Failed), "NAME: it ended with status 7", unless the exit status of run_program() is 0.
void require_success(const std::string &name, int status);

} // namespace tool::measure
