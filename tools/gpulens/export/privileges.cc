// SPDX-License-Identifier: GPL-2.0
// Drops capabilities.
#include "gpulens/export/privileges.hpp"

#include "lib/base/errors.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <sys/prctl.h>

namespace tool {

namespace {

using Caps = std::unique_ptr<std::remove_pointer_t<cap_t>, int (*)(void *)>;

[[noreturn]] void throw_errno()
{
	throw Error(Error::Source, fmt::format("capabilities cannot be dropped: {}", std::strerror(errno)));
}

} // namespace

void keep_capabilities(const std::vector<cap_value_t> &kept)
{
	Caps now(cap_get_proc(), cap_free), next(cap_init(), cap_free);

	if (!now || !next || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		throw_errno();
	// Only a process with CAP_SETPCAP can shrink its bounding set; no_new_privs works without.
	cap_flag_value_t can_drop = CAP_CLEAR;
	cap_get_flag(now.get(), CAP_SETPCAP, CAP_EFFECTIVE, &can_drop);
	for (cap_value_t c = 0; can_drop == CAP_SET && c < CAP_LAST_CAP + 1 && cap_get_bound(c) >= 0; c++)
		if (std::find(kept.begin(), kept.end(), c) == kept.end() && cap_drop_bound(c))
			throw_errno();
	cap_reset_ambient();
	for (cap_value_t c : kept) {
		cap_flag_value_t permitted = CAP_CLEAR;
		// An older kernel may not have this capability.
		if (cap_get_flag(now.get(), c, CAP_PERMITTED, &permitted) || permitted != CAP_SET)
			continue;
		if (cap_set_flag(next.get(), CAP_PERMITTED, 1, &c, CAP_SET) ||
		    cap_set_flag(next.get(), CAP_EFFECTIVE, 1, &c, CAP_SET))
			throw_errno();
	}
	if (cap_set_proc(next.get()))
		throw_errno();
}

} // namespace tool
