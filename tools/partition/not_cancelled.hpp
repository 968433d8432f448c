// SPDX-License-Identifier: GPL-2.0
// Defers pthread_cancel(3) of the calling thread while the object lives. Cancellation unwinds the stack as an exception
// does, and ends the program where that reaches a noexcept function of the C interface.
#pragma once
#include <pthread.h>

namespace gpulens {

class NotCancelled {
public:
	NotCancelled() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
	NotCancelled(const NotCancelled &) = delete;
	NotCancelled &operator=(const NotCancelled &) = delete;
	~NotCancelled() { pthread_setcancelstate(before_, nullptr); }

private:
	int before_ = PTHREAD_CANCEL_ENABLE;
};

} // namespace gpulens
