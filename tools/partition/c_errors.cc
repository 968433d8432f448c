// SPDX-License-Identifier: GPL-2.0
// Copies of messages may need memory: where there is none the message becomes empty, because set_error() itself must not
// throw.
#include "partition/c_errors.hpp"

#include "gpulens-partition.h"

namespace {

thread_local std::string last_error;

} // namespace

namespace gpulens {

int set_error(int err, const std::string &why) noexcept
{
	try {
		last_error = why;
	} catch (const std::bad_alloc &) {
		last_error.clear();
	}
	return -err;
}

} // namespace gpulens

const char *gpulens_error(void)
{
	return last_error.c_str();
}
