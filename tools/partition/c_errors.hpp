// SPDX-License-Identifier: GPL-2.0
// What functions of the C interface do with exceptions (a message for each thread, and a negative errno) and cancellation.
#pragma once
#include "lib/base/errors.hpp"

#include <cerrno>
#include <exception>
#include <new>
#include <pthread.h>
#include <string>

namespace gpulens {

// Defers pthread_cancel(3) of the calling thread while the object lives. Cancellation unwinds the stack as an exception
// does, and ends the program where that reaches a noexcept function of the C interface.
class NotCancelled {
public:
	NotCancelled() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
	NotCancelled(const NotCancelled &) = delete;
	NotCancelled &operator=(const NotCancelled &) = delete;
	~NotCancelled() { pthread_setcancelstate(before_, nullptr); }

private:
	int before_ = PTHREAD_CANCEL_ENABLE;
};

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
