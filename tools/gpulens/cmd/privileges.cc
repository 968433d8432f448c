// SPDX-License-Identifier: GPL-2.0
// See privileges.hpp.
#include "gpulens/cmd/privileges.hpp"

#include "lib/base/errors.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <sys/prctl.h>

namespace tool {

namespace {

using Caps = std::unique_ptr<std::remove_pointer_t<cap_t>, int (*)(void *)>;

[[noreturn]] void fail()
{
	throw Error(Error::Source, fmt::format("capabilities cannot be given up: {}", std::strerror(errno)));
}

} // namespace

void keep_capabilities(const std::vector<cap_value_t> &kept)
{
	Caps now(cap_get_proc(), cap_free), next(cap_init(), cap_free);

	if (!now || !next || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		fail();
	// Only a process with CAP_SETPCAP can shrink its bounding set, and no_new_privs holds without.
	cap_flag_value_t may = CAP_CLEAR;
	cap_get_flag(now.get(), CAP_SETPCAP, CAP_EFFECTIVE, &may);
	for (cap_value_t c = 0; may == CAP_SET && c < CAP_LAST_CAP + 1 && cap_get_bound(c) >= 0; c++)
		if (std::find(kept.begin(), kept.end(), c) == kept.end() && cap_drop_bound(c))
			fail();
	cap_reset_ambient();
	for (cap_value_t c : kept) {
		cap_flag_value_t had = CAP_CLEAR;
		// A kernel that does not know it has not given it either.
		if (cap_get_flag(now.get(), c, CAP_PERMITTED, &had) || had != CAP_SET)
			continue;
		if (cap_set_flag(next.get(), CAP_PERMITTED, 1, &c, CAP_SET) ||
		    cap_set_flag(next.get(), CAP_EFFECTIVE, 1, &c, CAP_SET))
			fail();
	}
	if (cap_set_proc(next.get()))
		fail();
}

} // namespace tool
