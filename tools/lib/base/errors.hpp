// SPDX-License-Identifier: GPL-2.0
// The error that ends a command or a call of the library.
#pragma once
#include <cerrno>
#include <stdexcept>
#include <string>

namespace tool {

// The text names the file or item, and says what is wrong with it and what the user can do.
struct Error : std::runtime_error {
	// The C interface returns these values negated; exit_status() (gpulens/out/output.hpp) maps them to exit
	// statuses.
	enum Code {
		Source = ENODEV,       // a GPU, driver, program or file is missing or cannot be read
		Input = EINVAL,        // invalid option, text or user's file
		Absent = ENOENT,       // the input names a TPC or GPC that the GPU does not have
		NoRoom = ENOSPC,       // not enough TPCs
		Taken = EBUSY,         // two partitions have the same TPC
		Range = ERANGE,        // more GPCs or TPCs than are supported
		Unknown = ENODATA,     // the source does not report it
		Unsupported = ENOTSUP, // not possible on this GPU, or in this process
		Missing = ENOSYS,      // not possible with this version of the driver
		Failed = EIO,          // CUDA returned an error, or a result was wrong
		NoProcess = EAGAIN,    // no child process can be started
		TimedOut = ETIMEDOUT,  // the child process did not answer in time
		NotOwner = EPERM,      // it belongs to another thread or process
		Deadlock = EDEADLK,    // the thread would wait for itself
		TooMany = EUSERS,      // more threads than there are places for
	};

	Error(Code c, const std::string &text) : std::runtime_error(text), code(c) {}

	Code code;
};

} // namespace tool
