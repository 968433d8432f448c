// SPDX-License-Identifier: GPL-2.0
// gpulens-schedule-load (probe/schedule_load.cc), or a program that publishes what it does as that one, in a child process.
#pragma once
#include "lib/base/child_process.hpp"
#include "lib/launch/mapped_file.hpp"
#include "lib/schedule/load.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace tool::measure {

// Returns the path of gpulens-schedule-load. Throws Error (Source) if there is none.
std::string load_program();

struct LoadStart {
	std::vector<std::string> before{};    // words that start the program: of "gpulens", which is this one; or none
	std::vector<std::string> program;     // with its first arguments
	std::vector<std::string> after{};     // arguments after its file
	std::vector<std::string> variables{}; // of its environment, NAME=VALUE
};

// A file without a path, which child processes have, too.
class MemoryFile {
public:
	// Throws Error.
	MemoryFile();
	MemoryFile(const MemoryFile &) = delete;
	MemoryFile &operator=(const MemoryFile &) = delete;
	~MemoryFile();

	int fd() const { return fd_; }
	std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); } // of this process and of those
	std::string read_last_line() const;

private:
	int fd_;
};

class Load {
public:
	// Throws Error.
	explicit Load(const LoadStart &start);

	pid_t pid() const { return process_->pid(); } // of the program, or of what started it
	schedule::LoadProgress &progress() { return *progress_; }
	const schedule::LoadProgress &progress() const { return *progress_; }
	// Returns whether its first kernel was launched. Throws Error (Failed) if it has ended.
	bool has_started();
	// Waits for that. Throws Error (Failed, TimedOut).
	void await_start();
	// Waits for its end. Returns the last line of its standard output. Throws Error (Failed, TimedOut): it did not end with
	// status 0, or in time.
	std::string finish(std::chrono::nanoseconds limit);
	// Ends it. Returns whether it ended by itself and all its results were right.
	bool stop();

private:
	[[noreturn]] void report_end(int status);

	std::string name_;
	MemoryFile page_, out_, errors_; // its file, output and messages; no path, so that nothing of them is left over
	gpulens::Mapped<schedule::LoadProgress> progress_;
	std::optional<ChildProcess> process_;
};

} // namespace tool::measure
