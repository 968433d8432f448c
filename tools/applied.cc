// SPDX-License-Identifier: GPL-2.0
// See applied.hpp.
#include "applied.hpp"

#include "table.hpp"
#include "text.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

namespace tool {

namespace {

// A page is rewritten in place: what was torn by that is read again.
std::vector<Applied> read_page(const std::filesystem::path &file, u32 pid, const std::string &name)
{
	AppliedPage page;
	std::vector<Applied> list;

	for (int i = 0; i < 3; i++) {
		std::ifstream in(file, std::ios::binary);
		if (!in.read(reinterpret_cast<char *>(&page), sizeof(page)) ||
		    std::memcmp(page.magic, APPLIED_MAGIC, sizeof(page.magic)) != 0)
			return {};
		try {
			list.clear();
			for (const nlohmann::json &j :
			     nlohmann::json::parse(page.text, page.text + strnlen(page.text, sizeof(page.text)))) {
				Applied one{.pid = pid,
					    .process = name,
					    .gpu = printable(j.at("gpu")),
					    .way = printable(j.at("way")),
					    .scope = printable(j.at("scope")),
					    .tpcs = j.at("tpcs").get<std::vector<u32>>(),
					    .gpcs = j.at("gpcs").get<std::vector<u32>>(),
					    .launches{}};
				if (one.way == "mask")
					one.launches = page.launches;
				list.push_back(std::move(one));
			}
			return list;
		} catch (const nlohmann::json::exception &) {
			continue;
		}
	}
	return {};
}

// Of one process: its files whose names are those of partitions.
std::vector<Applied> of_process(const std::filesystem::path &process, u32 pid)
{
	std::error_code err;
	std::string name;
	std::vector<Applied> list;

	std::getline(std::ifstream(process / "comm"), name);
	for (const auto &fd : std::filesystem::directory_iterator(process / "fd", err)) {
		std::string target = std::filesystem::read_symlink(fd.path(), err).string();
		if (target.rfind(std::string("/memfd:") + APPLIED_FILE, 0) != 0)
			continue;
		std::vector<Applied> more = read_page(fd.path(), pid, printable(name));
		list.insert(list.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
	}
	return list;
}

std::string both(const std::vector<u32> &a, const std::vector<u32> &b)
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
	std::string text;

	for (size_t i = 0; i < all.size(); i++)
		for (size_t j = i + 1; j < all.size(); j++) {
			const Applied &a = all[i], &b = all[j];
			std::string tpcs = both(a.tpcs, b.tpcs), gpcs = both(a.gpcs, b.gpcs);
			if (a.pid == b.pid || a.gpu != b.gpu || gpcs.empty())
				continue;
			text += fmt::format("{} ({}) and {} ({}) share ", a.pid, a.process, b.pid, b.process);
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
		return print(whole.dump(1, '\t') + '\n') ? EXIT_DONE : EXIT_PART;
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
