// SPDX-License-Identifier: GPL-2.0
// What /proc/PID says about a process of this machine: its name, its user and the container that it runs in.
#pragma once
#include "gpulens/types.h"

#include <optional>
#include <string>

namespace tool {

// Returns a file of /proc/PID, up to 1 MiB of it; empty: it cannot be read, as the process has ended or is another user's on
// a system that hides it.
std::string read_process_file(u32 pid, const char *name);
// Returns the first number of a line of /proc/PID/status, as of "Uid", "PPid" or "Tgid"; nothing: unknown.
std::optional<u32> status_number(u32 pid, const char *key);

// Container, pod and Slurm's job of a process, from the names of its control groups.
struct Cgroup {
	std::string container; // 64 hexadecimal digits; empty: in no container that is known
	std::string pod;       // UID of a Kubernetes pod, "d1a4c2e0-....", or 32 digits of a static one; empty: in none
	std::string job, step; // of Slurm: "402", and "0", "batch" or "extern"; empty: in none
};

struct ProcessInfo {
	std::string name;       // comm; empty: unknown
	std::optional<u32> uid; // real user; nothing: unknown
	std::string user;       // name of that user; empty: it has none here
	Cgroup cgroup;
};

// text: /proc/PID/cgroup (cgroups(7)). Knows the names that Docker, containerd, CRI-O and Podman give, by cgroupfs and by
// systemd, and those of Slurm's plugins proctrack/cgroup and cgroup/v2. Where two lines name different ones, that one is empty.
Cgroup cgroup_of(const std::string &text);
// What cannot be read stays empty: the process has ended, or is another user's on a system that hides it.
ProcessInfo process_info(u32 pid);
// Only its name; empty: unknown.
std::string process_name(u32 pid);
// Is there such a process now?
bool process_exists(u32 pid);
// Is it the other one, or a descendant of it?
bool descends_from(u32 pid, u32 ancestor);

} // namespace tool
