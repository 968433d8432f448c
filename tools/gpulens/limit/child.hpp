// SPDX-License-Identifier: GPL-2.0
// Runs a function in a child process, so that its effects on a driver end with that process.
#pragma once
#include "lib/base/child_process.hpp"

#include <functional>
#include <optional>
#include <string>

namespace gpulens {

class Child {
public:
	// Starts the function in a child process, which ends with this process. Start children from a process with a single
	// thread: locks of other threads would stay locked in the child. Throws Error.
	explicit Child(const std::function<std::string()> &function);
	Child(const Child &) = delete;
	Child &operator=(const Child &) = delete;
	// Kills the child if finish() was not called.
	~Child();

	// Returns whether the process has ended, with or without a result.
	bool has_ended() { return process_->poll().has_value(); }
	// Returns the function's result; call it once. Throws its Error, and Error if the child ends otherwise or does not answer
	// in time.
	std::string finish(unsigned timeout_s);

private:
	int result_ = -1; // pipe
	std::optional<tool::ChildProcess> process_;
};

// As finish() of a Child.
std::string run_in_child(unsigned timeout_s, const std::function<std::string()> &function);

} // namespace gpulens
