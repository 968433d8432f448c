// SPDX-License-Identifier: GPL-2.0
// Reads the partitions that processes publish, and writes requests to change them.
#include "gpulens/cmd/partitions.hpp"

#include "gpulens/out/output.hpp"
#include "gpulens/out/partition_notes.hpp"
#include "gpulens/out/table.hpp"
#include "gpulens/out/text.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "lib/base/outside.hpp"
#include "lib/base/process_info.hpp"
#include "lib/base/write_fully.hpp"
#include "lib/launch/partition_page.hpp"
#include "lib/source/driver/driver_source.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace tool {

namespace {

constexpr size_t MAX_FILES = 16; // per process; each library that sets masks or makes green contexts has one

bool read_at(int fd, void *buffer, size_t size, off_t offset)
{
	return pread(fd, buffer, size, offset) == static_cast<ssize_t>(size);
}

bool read_head(int fd, u32 own_pid, PartitionPage &page)
{
	return read_at(fd, &page, sizeof(page), 0) && !std::memcmp(page.magic, PARTITION_MAGIC, sizeof(page.magic)) &&
	       page.pid == own_pid && page.length <= PARTITION_MAX_TEXT;
}

// Reads the list; retries if the process rewrites it meanwhile. own_pid: the pid in the process' own PID namespace.
std::vector<PartitionEntry> read_page(int fd, u32 own_pid, PartitionPage &before)
{
	PartitionPage after;

	for (int i = 0; i < 3; i++) {
		if (!read_head(fd, own_pid, before))
			return {};
		std::string text(before.length, '\0');
		if (!read_at(fd, text.data(), text.size(), PARTITION_TEXT_OFFSET) ||
		    !read_at(fd, &after, sizeof(after), 0) || before.version % 2 || before.version != after.version)
			continue;
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

// Calls use with each file in which a process publishes partitions. A process can give this name to any file, so its type is
// checked before opening.
void for_each_page(const std::filesystem::path &process, const std::function<void(OutsideFile &file)> &use)
{
	static const std::optional<dev_t> memory = memory_device();
	std::error_code err;
	std::set<ino_t> seen;

	for (const auto &link : std::filesystem::directory_iterator(process / "fd", err)) {
		struct stat status {};
		std::string target = std::filesystem::read_symlink(link.path(), err).string();
		if (!target.starts_with(fmt::format("/memfd:{}", PARTITION_FILE)))
			continue;
		OutsideFile file(AT_FDCWD, link.path().c_str(), O_PATH | O_CLOEXEC);
		if (!memory || !file.is_regular(status) || status.st_dev != *memory || seen.size() == MAX_FILES ||
		    !seen.insert(status.st_ino).second)
			continue;
		use(file);
	}
}

// Returns what one process publishes.
std::vector<PublishedPartition> partitions_of(const std::filesystem::path &process, u32 pid)
{
	std::string name;
	std::vector<PublishedPartition> list;
	PartitionPage page{};

	std::getline(std::ifstream(process / "comm"), name);
	for_each_page(process, [&](OutsideFile &file) {
		if (!file.open_to_read())
			return;
		for (PartitionEntry &entry : read_page(file.fd(), pid_inside(process, pid), page)) {
			bool counted = entry.method == "mask";
			list.push_back({std::move(entry), pid, replace_controls(name),
					counted ? std::optional(page.launches) : std::nullopt,
					page.takes_requests != 0});
		}
	});
	return list;
}

// The page of one process that takes requests.
class RequestPage {
public:
	// Throws Error: Source, NotOwner, Taken.
	RequestPage(const std::string &proc, u32 pid) : pid_(pid)
	{
		std::filesystem::path process = std::filesystem::path(proc) / std::to_string(pid);
		u32 inside = pid_inside(process, pid);
		int err = 0;

		for_each_page(process, [&](OutsideFile &file) {
			PartitionPage page;
			if (fd_ >= 0)
				return;
			if (!file.open_to_write())
				err = errno;
			else if (read_head(file.fd(), inside, page) && page.takes_requests)
				fd_ = dup(file.fd());
		});
		if (fd_ < 0)
			throw Error(err ? Error::NotOwner : Error::Source,
				    fmt::format("process {}: {}", pid,
						err ? std::strerror(err) : "it has no partition that can be changed"));
		if (flock(fd_, LOCK_EX | LOCK_NB)) {
			close(fd_);
			throw Error(Error::Taken, fmt::format("process {}: another process asks it", pid));
		}
	}
	RequestPage(const RequestPage &) = delete;
	RequestPage &operator=(const RequestPage &) = delete;
	~RequestPage() { close(fd_); }

	// Returns its number.
	u32 write_request(const std::string &mask, const std::string &text)
	{
		PartitionPage page = read_page();
		u32 during = page.asked | 1, after = during + 1; // odd: who asked before was killed meanwhile

		if (mask.size() >= sizeof(page.mask) || text.size() >= sizeof(page.text))
			throw Error(Error::Range, "the partition is too long for a request");
		write(offsetof(PartitionPage, asked),
		      std::string_view(reinterpret_cast<char *>(&during), sizeof(during)));
		write(offsetof(PartitionPage, mask), std::string_view(mask.c_str(), mask.size() + 1));
		write(offsetof(PartitionPage, text), std::string_view(text.c_str(), text.size() + 1));
		write(offsetof(PartitionPage, asked),
		      std::string_view(reinterpret_cast<char *>(&after), sizeof(after)));
		return after;
	}

	// Returns whether a launch has taken the request. Throws Error: Failed, the process refused it.
	bool is_taken(u32 request)
	{
		PartitionPage page = read_page();

		if (page.answered == request && page.refused == request)
			throw Error(
				Error::Failed,
				fmt::format("process {}: it refused the mask, which is of another GPU or of another "
					    "version of gpulens",
					    pid_));
		return page.answered == request;
	}

private:
	PartitionPage read_page() const
	{
		PartitionPage page;

		if (!read_at(fd_, &page, sizeof(page), 0))
			throw Error(Error::Source, fmt::format("process {}: its page cannot be read", pid_));
		return page;
	}
	void write(size_t at, std::string_view bytes) const
	{
		if (int err = write_fully_at(fd_, bytes, static_cast<off_t>(at)))
			throw Error(Error::Source, fmt::format("process {}: {}", pid_, std::strerror(err)));
	}

	u32 pid_;
	int fd_ = -1;
};

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

PublishedPartition requestable_partition(const std::string &proc, u32 pid)
{
	for (PublishedPartition &own : partitions_of(std::filesystem::path(proc) / std::to_string(pid), pid))
		if (own.scope == SCOPE_OF_RUN && own.takes_requests)
			return own;
		else if (own.scope == SCOPE_OF_RUN)
			throw Error(
				Error::NotOwner,
				fmt::format("process {}: its partition is fixed (gpulens run --fixed or --plan)", pid));
	throw Error(
		Error::Source,
		fmt::format("process {}: gpulens run limits no process of this number that this user may see to TPCs",
			    pid));
}

bool request_partition(const std::string &proc, u32 pid, const std::string &mask, const std::string &text)
{
	constexpr auto STEP = std::chrono::milliseconds(10);
	RequestPage page(proc, pid);
	u32 request = page.write_request(mask, text);

	for (int step = 0; step < 100; step++) {
		if (page.is_taken(request))
			return true;
		if (!process_exists(pid))
			throw Error(Error::Source, fmt::format("process {}: it has ended", pid));
		std::this_thread::sleep_for(STEP);
	}
	return false;
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
					{"method", published.method},
					{"way", published.method}, // its name in version 0.1, until 0.3
					{"scope", published.scope},
					{"tpcs", published.tpcs},
					{"gpcs", published.gpcs},
					{"launches", published.launches ? nlohmann::ordered_json(*published.launches)
									: nlohmann::ordered_json(nullptr)}});
		nlohmann::ordered_json document = {{"version", 1}, {"partitions", list}, {"notes", notes}};
		return print_text(json_text(document)) ? EXIT_DONE : EXIT_PART;
	}
	Table table({"Process", "<Name", "~<GPU", "~<Method", "~<Scope", "<TPCs", "~<GPCs", "~Launches"});
	for (const PublishedPartition &published : all)
		table.add({std::to_string(published.pid), published.process, published.gpu, published.method,
			   published.scope, format_ranges(published.tpcs),
			   published.gpcs.empty() ? "-" : format_ranges(published.gpcs),
			   published.launches ? std::to_string(*published.launches) : "-"});
	std::string text =
		table.empty() ? geteuid() ? "no partitions found; other users' processes are visible to root only\n"
					  : "no partitions found\n"
			      : table.str(options.style()) + overlaps_text(all);
	return print_text(text + notes_text(notes, options.style())) ? EXIT_DONE : EXIT_PART;
}

} // namespace tool
