// SPDX-License-Identifier: GPL-2.0
// Reads the partitions that processes publish.
#include "gpulens/cmd/partitions.hpp"

#include "gpulens/out/output.hpp"
#include "gpulens/out/partition_notes.hpp"
#include "gpulens/out/table.hpp"
#include "gpulens/out/text.hpp"
#include "lib/base/format.hpp"
#include "lib/base/outside.hpp"
#include "lib/launch/partition_page.hpp"
#include "lib/source/driver/driver_source.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tool {

namespace {

constexpr size_t MAX_FILES = 16; // per process; each library that sets masks or makes green contexts has one

bool read_at(int fd, void *buffer, size_t size, off_t offset)
{
	return pread(fd, buffer, size, offset) == static_cast<ssize_t>(size);
}

// Reads the list; retries if the process rewrites it meanwhile. own_pid: the pid in the process' own PID namespace.
std::vector<PartitionEntry> read_page(int fd, u32 own_pid, u64 &launches)
{
	PartitionPage before, after;

	for (int i = 0; i < 3; i++) {
		if (!read_at(fd, &before, sizeof(before), 0) ||
		    std::memcmp(before.magic, PARTITION_MAGIC, sizeof(before.magic)) != 0 || before.pid != own_pid ||
		    before.length > PARTITION_MAX_TEXT)
			return {};
		std::string text(before.length, '\0');
		if (!read_at(fd, text.data(), text.size(), PARTITION_TEXT_OFFSET) ||
		    !read_at(fd, &after, sizeof(after), 0) || before.version % 2 || before.version != after.version)
			continue;
		launches = before.launches;
		try {
			return parse_partitions(text);
		} catch (const std::exception &) {
			return {}; // not a partition's file
		}
	}
	return {};
}

// Returns the device of memory files. It belongs to no mount, so no other kind of file can be on it.
std::optional<dev_t> memory_device()
{
	struct stat status {};
	int fd = memfd_create("gpulens", MFD_CLOEXEC);
	bool known = fd >= 0 && !fstat(fd, &status);

	if (fd >= 0)
		close(fd);
	return known ? std::optional(status.st_dev) : std::nullopt;
}

// Returns the process' pid in its own namespace, which differs in a container.
u32 pid_inside(const std::filesystem::path &process, u32 pid)
{
	std::ifstream file(process / "status");
	std::string line;

	while (std::getline(file, line))
		if (line.compare(0, 6, "NSpid:") == 0)
			return static_cast<u32>(std::strtoul(line.c_str() + line.find_last_of("\t ") + 1, nullptr, 10));
	return pid;
}

// Returns what one process publishes. A process can give this name to any file, so its type is checked before opening.
std::vector<PublishedPartition> partitions_of(const std::filesystem::path &process, u32 pid)
{
	static const std::optional<dev_t> memory = memory_device();
	std::error_code err;
	std::string name;
	std::vector<PublishedPartition> list;
	std::set<ino_t> seen;
	u64 launches = 0;

	std::getline(std::ifstream(process / "comm"), name);
	for (const auto &link : std::filesystem::directory_iterator(process / "fd", err)) {
		struct stat status {};
		std::string target = std::filesystem::read_symlink(link.path(), err).string();
		if (!target.starts_with(fmt::format("/memfd:{}", PARTITION_FILE)))
			continue;
		OutsideFile file(AT_FDCWD, link.path().c_str(), O_PATH | O_CLOEXEC);
		if (!memory || !file.is_regular(status) || status.st_dev != *memory || seen.size() == MAX_FILES ||
		    !seen.insert(status.st_ino).second || !file.open_to_read())
			continue;
		for (PartitionEntry &entry : read_page(file.fd(), pid_inside(process, pid), launches)) {
			bool counted = entry.method == "mask";
			list.push_back({std::move(entry), pid, replace_controls(name),
					counted ? std::optional(launches) : std::nullopt});
		}
	}
	return list;
}

// Returns whether a process uses MPS on a GPU with partitions; nothing: unknown for one of them.
std::optional<bool> mps_runs_for(const std::vector<PublishedPartition> &all)
{
	std::set<std::string> left;
	bool runs = false;

	for (const PublishedPartition &published : all)
		left.insert(published.gpu);
	try {
		for (const Gpu &gpu : DriverSource().gpus({})) {
			std::optional<bool> mps = mps_runs(gpu.processes);
			if (left.count(gpu.chip.device) && mps) {
				left.erase(gpu.chip.device);
				runs |= *mps;
			}
		}
	} catch (const std::exception &) {
		// No driver answers: unknown.
	}
	return runs ? std::optional(true) : left.empty() ? std::optional(false) : std::nullopt;
}

std::string shared_ranges(const std::set<u32> &a, const std::set<u32> &b)
{
	std::vector<u32> list;

	std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(list));
	return list.empty() ? "" : format_ranges(list);
}

} // namespace

std::vector<PublishedPartition> published_partitions(const std::string &proc)
{
	std::vector<PublishedPartition> list;
	std::vector<u32> pids;
	std::error_code err;

	for (const auto &entry : std::filesystem::directory_iterator(proc, err)) {
		std::string name = entry.path().filename().string();
		u32 pid = 0;
		std::from_chars_result r = std::from_chars(name.data(), name.data() + name.size(), pid);
		if (r.ec == std::errc() && r.ptr == name.data() + name.size())
			pids.push_back(pid);
	}
	std::sort(pids.begin(), pids.end());
	for (u32 pid : pids) {
		std::vector<PublishedPartition> more =
			partitions_of(std::filesystem::path(proc) / std::to_string(pid), pid);
		list.insert(list.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
	}
	return list;
}

std::string overlaps_text(const std::vector<PublishedPartition> &all)
{
	struct Usage {
		u32 pid;
		std::string process, gpu;
		std::set<u32> tpcs, gpcs;
	};
	std::map<std::pair<u32, std::string>, size_t> places; // by process and GPU
	std::vector<Usage> used;
	std::string text;

	for (const PublishedPartition &published : all) {
		if (published.launches == u64{0})
			continue;
		auto [place, added] = places.try_emplace({published.pid, published.gpu}, used.size());
		if (added)
			used.push_back({published.pid, published.process, published.gpu, {}, {}});
		Usage &usage = used[place->second];
		usage.tpcs.insert(published.tpcs.begin(), published.tpcs.end());
		usage.gpcs.insert(published.gpcs.begin(), published.gpcs.end());
	}
	for (auto a = used.begin(); a != used.end(); ++a)
		for (auto b = std::next(a); b != used.end(); ++b) {
			if (a->pid == b->pid || a->gpu != b->gpu)
				continue;
			std::string tpcs = shared_ranges(a->tpcs, b->tpcs), gpcs = shared_ranges(a->gpcs, b->gpcs);
			if (gpcs.empty() && tpcs.empty()) // the GPCs may be unknown
				continue;
			text += fmt::format("{} ({}) and {} ({}) share ", a->pid, a->process, b->pid, b->process);
			text += tpcs.empty() ? fmt::format("GPC {}, with different TPCs\n", gpcs)
					     : fmt::format("TPC {}\n", tpcs);
		}
	return text;
}

int show_partitions(const Options &options, bool quiet)
{
	std::vector<PublishedPartition> all = published_partitions(options.sources.proc);
	std::vector<std::string> notes;

	if (!all.empty() && (options.json || !quiet))
		notes = partition_notes(mps_runs_for(all));

	if (options.json) {
		nlohmann::ordered_json list = nlohmann::ordered_json::array();
		for (const PublishedPartition &published : all)
			list.push_back({{"pid", published.pid},
					{"process", published.process},
					{"gpu", published.gpu},
					{"way", published.method},
					{"scope", published.scope},
					{"tpcs", published.tpcs},
					{"gpcs", published.gpcs},
					{"launches", published.launches ? nlohmann::ordered_json(*published.launches)
									: nlohmann::ordered_json(nullptr)}});
		nlohmann::ordered_json document = {{"version", 1}, {"partitions", list}, {"notes", notes}};
		return print_text(json_text(document)) ? EXIT_DONE : EXIT_PART;
	}
	Table table({"Process", "<Name", "<GPU", "<Method", "<Scope", "<TPCs", "<GPCs", "Launches"});
	for (const PublishedPartition &published : all)
		table.add({std::to_string(published.pid), published.process, published.gpu, published.method,
			   published.scope, format_ranges(published.tpcs),
			   published.gpcs.empty() ? "-" : format_ranges(published.gpcs),
			   published.launches ? std::to_string(*published.launches) : "-"});
	std::string text =
		table.empty() ? geteuid() ? "no partitions found; other users' processes are visible to root only\n"
					  : "no partitions found\n"
			      : table.str(style_of_output(options.colour)) + overlaps_text(all);
	for (const std::string &note : notes)
		text += "Note: " + note + '\n';
	return print_text(text) ? EXIT_DONE : EXIT_PART;
}

} // namespace tool
