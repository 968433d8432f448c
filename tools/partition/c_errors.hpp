// SPDX-License-Identifier: GPL-2.0
// What functions of the C interface do with exceptions: a message for each thread, and a negative errno.
#pragma once
#include "lib/base/errors.hpp"
#include "partition/not_cancelled.hpp"

#include <cerrno>
#include <exception>
#include <new>
#include <string>

namespace gpulens {

// Sets gpulens_error() and returns the negative errno.
int set_error(int err, const std::string &why) noexcept;

// Calls f and turns an exception into an error: none may reach a C program.
template <typename F> int catch_errors(F f) noexcept
{
	NotCancelled not_cancelled;

	try {
		f();
		return 0;
	} catch (const tool::Error &e) {
		return set_error(e.code, e.what());
	} catch (const std::bad_alloc &) {
		return set_error(ENOMEM, "out of memory");
	} catch (const std::exception &e) {
		return set_error(EIO, e.what());
	} catch (...) {
		return set_error(EIO, "unknown exception from another library");
	}
}

// Throws Error (Input) if a pointer is NULL.
template <typename... T> void require_pointers(T... pointers)
{
	bool missing = ((pointers == nullptr) || ...);

	if (missing)
		throw tool::Error(tool::Error::Input, "a required pointer is NULL");
}

} // namespace gpulens
