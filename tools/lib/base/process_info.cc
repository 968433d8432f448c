// SPDX-License-Identifier: GPL-2.0
// Users may give any names to control groups of their own: a job is read only at the places where Slurm's daemon makes it,
// and all other names are recognized by their exact form.
#include "lib/base/process_info.hpp"

#include "lib/base/format.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <pwd.h>
#include <sstream>
#include <unistd.h>

namespace tool {

namespace {

constexpr size_t CONTAINER_DIGITS = 64, UUID_LENGTH = 36, STATIC_POD_DIGITS = 32;
constexpr size_t MAX_FILE_BYTES = 1 << 20;
constexpr u32 MAX_ANCESTORS = 64;
constexpr size_t MAX_JOB = 64; // of a name of a control group
constexpr std::string Cgroup::*NAMES[] = {&Cgroup::container, &Cgroup::pod, &Cgroup::job, &Cgroup::step};

bool is_hex(std::string_view text)
{
	return std::all_of(text.begin(), text.end(),
			   [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// Takes the end away, if it is there.
bool take_end(std::string_view &text, std::string_view end)
{
	if (!text.ends_with(end))
		return false;
	text.remove_suffix(end.size());
	return true;
}

// "docker-ID.scope", "cri-containerd-ID.scope", "crio-ID.scope", "libpod-ID.scope", "crio-ID", or ID alone, also behind a
// colon (containerd without systemd's driver below a kubelet with it). Empty: another name.
std::string container_name(std::string_view part)
{
	part.remove_prefix(part.rfind(':') + 1); // npos + 1: nothing
	if (take_end(part, ".scope") || part.starts_with("libpod-") || part.starts_with("crio-")) {
		size_t hyphen = part.rfind('-');
		if (hyphen == part.npos)
			return "";
		part.remove_prefix(hyphen + 1);
	}
	return part.size() == CONTAINER_DIGITS && is_hex(part) ? std::string(part) : "";
}

// A UUID, or the hash of a static pod.
bool is_pod_uid(std::string_view uid)
{
	if (uid.size() != UUID_LENGTH)
		return uid.size() == STATIC_POD_DIGITS && is_hex(uid);
	for (size_t i = 0; i < uid.size(); i++)
		if ((i == 8 || i == 13 || i == 18 || i == 23) ? uid[i] != '-' : !is_hex(uid.substr(i, 1)))
			return false;
	return true;
}

// "podUID", or "kubepods-burstable-podUID.slice", where systemd's names have _ in place of -, also with the kubelet's own
// root before it, and with a colon and the container behind it. Empty: another name.
std::string pod_name(std::string part)
{
	part.resize(std::min(part.size(), part.find(':')));
	bool slice = part.ends_with(".slice");
	size_t at = part.rfind("pod");

	if (at == part.npos || (at && !(slice && part[at - 1] == '-' && part.find("kubepods") < at)))
		return "";
	std::string uid = part.substr(at + 3, part.size() - at - 3 - (slice ? std::strlen(".slice") : 0));
	std::replace(uid.begin(), uid.end(), '_', '-');
	return is_pod_uid(uid) ? uid : "";
}

// Returns what stands behind the prefix, of letters and digits; empty: another name.
std::string word_behind(const std::string &part, const std::string &prefix)
{
	bool fits = part.starts_with(prefix) && part.size() <= MAX_JOB &&
		    std::all_of(part.begin() + static_cast<ptrdiff_t>(prefix.size()), part.end(),
				[](unsigned char c) { return std::isalnum(c); });

	return fits ? part.substr(prefix.size()) : "";
}

// Slurm's daemon makes "/slurm/uid_1000/job_402/step_0/task_0" or, by cgroup v2,
// "/system.slice/slurmstepd.scope/job_402/step_0/user/task_0", also with the node's name before these words. Names that users
// may give to control groups of their own stand elsewhere.
void find_job(const std::vector<std::string> &parts, Cgroup &found)
{
	bool system = parts.size() > 2 && parts[1] == "system.slice" && parts[2].ends_with("slurmstepd.scope");

	if (parts.size() < 2 || !(system || parts[1].starts_with("slurm")))
		return;
	for (size_t i = 2; i < parts.size() && found.job.empty(); i++)
		if (found.job = word_behind(parts[i], "job_"); !found.job.empty() && i + 1 < parts.size())
			found.step = word_behind(parts[i + 1], "step_");
}

// The container is the innermost one that has a name, as Docker in a pod has.
Cgroup cgroup_of_path(const std::string &path)
{
	std::vector<std::string> parts = split_text(path, '/');
	Cgroup found;

	for (const std::string &part : parts) {
		if (std::string container = container_name(part); !container.empty())
			found.container = container;
		if (std::string pod = pod_name(part); !pod.empty())
			found.pod = pod;
	}
	find_job(parts, found);
	return found;
}

std::string user_name(u32 uid)
{
	std::array<char, 4096> text{};
	passwd entry{}, *found = nullptr;

	if (getpwuid_r(uid, &entry, text.data(), text.size(), &found) || !found)
		return "";
	return replace_controls(found->pw_name);
}

} // namespace

Cgroup cgroup_of(const std::string &text)
{
	std::istringstream lines(text);
	std::string line;
	Cgroup all;
	bool differ[std::size(NAMES)] = {};

	// "hierarchy:controllers:path", one line in cgroup v2.
	while (std::getline(lines, line)) {
		size_t first = line.find(':'), second = first == line.npos ? first : line.find(':', first + 1);
		if (second == line.npos)
			continue;
		Cgroup one = cgroup_of_path(line.substr(second + 1));
		for (size_t i = 0; i < std::size(NAMES); i++) {
			std::string &into = all.*NAMES[i], &found = one.*NAMES[i];
			differ[i] |= !into.empty() && !found.empty() && into != found;
			if (into.empty())
				into = found;
		}
	}
	for (size_t i = 0; i < std::size(NAMES); i++)
		if (differ[i])
			(all.*NAMES[i]).clear();
	if (all.job.empty())
		all.step.clear();
	return all;
}

std::string read_process_file(u32 pid, const char *name)
{
	std::ifstream file(fmt::format("/proc/{}/{}", pid, name));
	std::string text;

	for (char piece[4096]; text.size() < MAX_FILE_BYTES && (file.read(piece, sizeof(piece)), file.gcount() > 0);)
		text.append(piece, static_cast<size_t>(file.gcount()));
	return text;
}

std::optional<u32> status_number(u32 pid, const char *key)
{
	std::string status = read_process_file(pid, "status"), line = fmt::format("\n{}:\t", key);
	size_t at = status.find(line);
	u32 number = 0;

	if (at == status.npos)
		return std::nullopt;
	const char *begin = status.data() + at + line.size(), *end = status.data() + status.size();
	return std::from_chars(begin, end, number).ec == std::errc() ? std::optional(number) : std::nullopt;
}

ProcessInfo process_info(u32 pid)
{
	ProcessInfo info;

	info.name = process_name(pid);
	info.uid = status_number(pid, "Uid");
	if (info.uid)
		info.user = user_name(*info.uid);
	info.cgroup = cgroup_of(read_process_file(pid, "cgroup"));
	return info;
}

std::string process_name(u32 pid)
{
	std::string name = read_process_file(pid, "comm");

	return replace_controls(name.substr(0, name.find('\n')));
}

bool process_exists(u32 pid)
{
	return pid && access(fmt::format("/proc/{}", pid).c_str(), F_OK) == 0;
}

bool descends_from(u32 pid, u32 ancestor)
{
	for (u32 i = 0; pid > 1 && i < MAX_ANCESTORS; i++) {
		if (pid == ancestor)
			return true;
		pid = status_number(pid, "PPid").value_or(0);
	}
	return false;
}

} // namespace tool
