// SPDX-License-Identifier: GPL-2.0
// A process that this one starts, and that ends with it. Only gpulens run starts its program and the guard of it otherwise
// (docs/internals.md).
#pragma once
#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace tool {

struct ChildOptions {
	int in = -1, out = -1;                    // its standard input and output; -1: those of this process
	int death = SIGTERM;                      // the signal that it gets when the thread that started it ends
	std::chrono::milliseconds patience{5000}; // of stop(), between SIGTERM and SIGKILL
};

class ChildProcess {
public:
	// Runs the function in a child process, whose exit status it returns. Start children from a process with a single thread:
	// locks of other threads would stay locked. Throws Error (NoProcess).
	explicit ChildProcess(const std::function<int()> &function, const ChildOptions &options = {});
	ChildProcess(const ChildProcess &) = delete;
	ChildProcess &operator=(const ChildProcess &) = delete;
	// As stop().
	~ChildProcess();

	pid_t pid() const { return pid_; }
	// Returns its exit status, or 128 and the number of the signal that ended it; nothing: it runs.
	std::optional<int> poll();
	int wait();
	int stop();

private:
	bool reap(int flags);

	pid_t pid_;
	std::optional<int> status_;
	std::chrono::milliseconds patience_;
};

// Returns the words as execv(3) takes them; valid as long as these.
std::vector<char *> exec_words(const std::vector<std::string> &words);

// Returns "it ended with status 7" or "it was ended by signal 9".
std::string end_text(int status);

} // namespace tool
