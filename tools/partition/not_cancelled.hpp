// SPDX-License-Identifier: GPL-2.0
// A call of the library is done as a whole: pthread_cancel(3) of its thread takes effect after it. Unwinding out of the middle
// would end the program, as no exception may leave the library.
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
