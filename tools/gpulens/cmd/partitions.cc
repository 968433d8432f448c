// SPDX-License-Identifier: GPL-2.0
// See partitions.hpp.
#include "gpulens/cmd/partitions.hpp"

#include "gpulens/out/output.hpp"
#include "gpulens/out/table.hpp"
#include "gpulens/out/text.hpp"
#include "lib/base/format.hpp"
#include "lib/base/outside.hpp"

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

constexpr size_t MAX_FILES = 16; // of a process: one for each library that sets masks or makes green contexts
constexpr size_t MAX_NAME = 64;  // bytes of a GPU's address, a way, a scope
constexpr u32 MAX_TPCS = 65536;

bool read_at(int fd, void *to, size_t size, off_t at)
{
	return pread(fd, to, size, at) == static_cast<ssize_t>(size);
}

std::string name_in(const nlohmann::json &j, const char *name)
{
	return printable(j.at(name).get<std::string>().substr(0, MAX_NAME));
}

std::vector<u32> numbers_in(const nlohmann::json &j, const char *name)
{
	std::vector<u32> list = outside_numbers(j.at(name), MAX_TPCS, MAX_TPCS);

	std::sort(list.begin(), list.end());
	list.erase(std::unique(list.begin(), list.end()), list.end());
	return list;
}

std::vector<Applied> parse_page(const std::string &text, const Applied &of, u64 launches)
{
	std::vector<Applied> list;

	for (const nlohmann::json &j : parse_outside(text)) {
		Applied one = of;
		one.gpu = name_in(j, "gpu");
		one.way = name_in(j, "way");
		one.scope = name_in(j, "scope");
		one.tpcs = numbers_in(j, "tpcs");
		one.gpcs = numbers_in(j, "gpcs");
		if (one.way == "mask")
			one.launches = launches;
		list.push_back(std::move(one));
	}
	return list;
}

// A text is rewritten in place: one that moved meanwhile is read again. pid_there: the process' own number of itself.
std::vector<Applied> read_page(int fd, const Applied &of, u32 pid_there)
{
	AppliedPage before, after;

	for (int i = 0; i < 3; i++) {
		if (!read_at(fd, &before, sizeof(before), 0) ||
		    std::memcmp(before.magic, APPLIED_MAGIC, sizeof(before.magic)) != 0 || before.pid != pid_there ||
		    before.length > APPLIED_MAX_TEXT)
			return {};
		std::string text(before.length, '\0');
		if (!read_at(fd, text.data(), text.size(), APPLIED_TEXT_AT) || !read_at(fd, &after, sizeof(after), 0) ||
		    before.version % 2 || before.version != after.version)
			continue;
		try {
			return parse_page(text, of, before.launches);
		} catch (const std::exception &) {
			return {}; // another program's file
		}
	}
	return {};
}

// The device of files in memory, which is no mount's: nobody can have another kind of file there.
std::optional<dev_t> memory_device()
{
	struct stat is {};
	int fd = memfd_create("gpulens", MFD_CLOEXEC);
	bool told = fd >= 0 && !fstat(fd, &is);

	if (fd >= 0)
		close(fd);
	return told ? std::optional(is.st_dev) : std::nullopt;
}

// The process' number of itself, which in a container is another one.
u32 pid_inside(const std::filesystem::path &process, u32 pid)
{
	std::ifstream file(process / "status");
	std::string line;

	while (std::getline(file, line))
		if (line.compare(0, 6, "NSpid:") == 0)
			return static_cast<u32>(std::strtoul(line.c_str() + line.find_last_of("\t ") + 1, nullptr, 10));
	return pid;
}

// Of one process: its files whose names are those of partitions. A process can give any file that name, so what it is is
// known before it is opened.
std::vector<Applied> of_process(const std::filesystem::path &process, u32 pid)
{
	static const std::optional<dev_t> memory = memory_device();
	std::error_code err;
	std::string name;
	std::vector<Applied> list;
	std::set<ino_t> seen;
	Applied of;

	std::getline(std::ifstream(process / "comm"), name);
	of.pid = pid;
	of.process = printable(name);
	for (const auto &entry : std::filesystem::directory_iterator(process / "fd", err)) {
		struct stat is {};
		std::string target = std::filesystem::read_symlink(entry.path(), err).string();
		if (target.rfind(std::string("/memfd:") + APPLIED_FILE, 0) != 0)
			continue;
		OutsideFile file(AT_FDCWD, entry.path().c_str(), O_PATH | O_CLOEXEC);
		if (!memory || !file.is_regular(is) || is.st_dev != *memory || seen.size() == MAX_FILES ||
		    !seen.insert(is.st_ino).second || !file.open_to_read())
			continue;
		std::vector<Applied> more = read_page(file.fd(), of, pid_inside(process, pid));
		list.insert(list.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
	}
	return list;
}

std::string both(const std::set<u32> &a, const std::set<u32> &b)
{
	std::vector<u32> list;

	std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(list));
	return list.empty() ? "" : ranges(list);
}

} // namespace

std::vector<Applied> applied_partitions(const std::string &proc)
{
	std::vector<Applied> list;
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
		std::vector<Applied> more = of_process(std::filesystem::path(proc) / std::to_string(pid), pid);
		list.insert(list.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
	}
	return list;
}

std::string overlaps_text(const std::vector<Applied> &all)
{
	struct Used {
		u32 pid;
		std::string process, gpu;
		std::set<u32> tpcs, gpcs;
	};
	std::map<std::pair<u32, std::string>, size_t> places; // by process and GPU
	std::vector<Used> used;
	std::string text;

	for (const Applied &one : all) {
		if (one.launches == u64{0})
			continue;
		auto [place, added] = places.try_emplace({one.pid, one.gpu}, used.size());
		if (added)
			used.push_back({one.pid, one.process, one.gpu, {}, {}});
		Used &to = used[place->second];
		to.tpcs.insert(one.tpcs.begin(), one.tpcs.end());
		to.gpcs.insert(one.gpcs.begin(), one.gpcs.end());
	}
	for (auto a = used.begin(); a != used.end(); ++a)
		for (auto b = std::next(a); b != used.end(); ++b) {
			if (a->pid == b->pid || a->gpu != b->gpu)
				continue;
			std::string tpcs = both(a->tpcs, b->tpcs), gpcs = both(a->gpcs, b->gpcs);
			if (gpcs.empty())
				continue;
			text += fmt::format("{} ({}) and {} ({}) share ", a->pid, a->process, b->pid, b->process);
			text += tpcs.empty() ? fmt::format("GPC {}, by different TPCs\n", gpcs)
					     : fmt::format("TPC {}\n", tpcs);
		}
	return text;
}

int show_partitions(const Options &options)
{
	std::vector<Applied> all = applied_partitions(options.sources.proc);

	if (options.json) {
		nlohmann::ordered_json list = nlohmann::ordered_json::array();
		for (const Applied &one : all)
			list.push_back({{"pid", one.pid},
					{"process", one.process},
					{"gpu", one.gpu},
					{"way", one.way},
					{"scope", one.scope},
					{"tpcs", one.tpcs},
					{"gpcs", one.gpcs},
					{"launches", one.launches ? nlohmann::ordered_json(*one.launches)
								  : nlohmann::ordered_json(nullptr)}});
		nlohmann::ordered_json whole = {{"version", 1}, {"partitions", list}};
		return print(json_text(whole)) ? EXIT_DONE : EXIT_PART;
	}
	Table table({"Process", "<Name", "<GPU", "<Way", "<For", "<TPCs", "<GPCs", "Launches"});
	for (const Applied &one : all)
		table.add({std::to_string(one.pid), one.process, one.gpu, one.way, one.scope, ranges(one.tpcs),
			   ranges(one.gpcs), one.launches ? std::to_string(*one.launches) : "-"});
	std::string text = table.empty() ? "no process has a partition, of those that may be looked into\n"
					 : table.str(style_of_output(options.colour)) + overlaps_text(all);
	return print(text) ? EXIT_DONE : EXIT_PART;
}

} // namespace tool
