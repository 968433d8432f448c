// SPDX-License-Identifier: GPL-2.0
// Names owners and tasks, and looks a process up in /proc. The driver's own context has an id among those of other contexts,
// so it is compared first.
#include "lib/model/owner.hpp"

#include "lib/model/recording.hpp"

#include <fmt/format.h>

namespace tool {

const char *name_of(Evidence evidence)
{
	switch (evidence) {
	case Evidence::Reported: return "reported";
	case Evidence::Resident: return "resident";
	case Evidence::Switched: return "switched";
	case Evidence::Unknown: break;
	}
	return "unknown";
}

std::string Owner::text() const
{
	return name.empty() ? fmt::format("pid {}", pid) : fmt::format("{} {}", pid, name);
}

bool is_context(bool bare, int id)
{
	return bare && id >= static_cast<int>(FIRST_CONTEXT_ID);
}

std::string name_task(bool bare, int id)
{
	if (bare && id == static_cast<int>(KERNEL_CONTEXT_ID))
		return "context of the driver";
	if (is_context(bare, id))
		return fmt::format("context {}", id - static_cast<int>(FIRST_CONTEXT_ID));
	return fmt::format("{} {}", bare ? "channel" : "TSG", id);
}

Owner make_owner(u32 pid, Evidence evidence)
{
	ProcessInfo info = process_info(pid);

	if (info.user.empty() && info.uid)
		info.user = std::to_string(*info.uid);
	return {pid,      info.name,       info.user,       info.cgroup.container, info.cgroup.pod,
		evidence, info.cgroup.job, info.cgroup.step};
}

} // namespace tool
