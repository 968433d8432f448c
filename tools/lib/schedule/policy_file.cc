// SPDX-License-Identifier: GPL-2.0
// Reads and checks a policy. See policy_file.hpp.
#include "lib/schedule/policy_file.hpp"

#include "lib/base/json_input.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace tool::schedule {

namespace {

constexpr size_t MAX_TSGS = 1024;
constexpr double MAX_MS = 600000;                                                     // ten minutes
constexpr const char *POLICIES[] = {"fixed-priority", "edf", "share", "interleaved"}; // as enum Policy counts

u64 read_ms(const Item &item, const char *key)
{
	if (!item.has(key))
		return 0;
	return static_cast<u64>(std::llround(item.number(key, 0.001, MAX_MS, "ms") * 1e6));
}

std::string read_word(const Item &item, const char *key, const std::vector<const char *> &words)
{
	std::string text = item.string(key), list;

	for (const char *word : words) {
		if (text == word)
			return text;
		list += (list.empty() ? "" : ", ") + std::string(word);
	}
	item.refuse(fmt::format("{} is \"{}\"; there are {}", key, text, list));
}

Load read_load(const Item &item)
{
	Load load;

	item.check_keys({"length_ms", "first_ms", "count", "endless", "closed"});
	load.endless = item.has("endless") && item.at("endless") == true;
	load.closed = item.has("closed") && item.at("closed") == true;
	if (item.has("first_ms"))
		load.first_ns = static_cast<u64>(std::llround(item.number("first_ms", 0, MAX_MS, "ms") * 1e6));
	load.length_ns = read_ms(item, "length_ms");
	if (load.endless == (load.length_ns != 0))
		item.refuse("needs either length_ms or \"endless\": true");
	if (load.endless && load.closed)
		item.refuse("is endless, so that no job follows at its end (closed)");
	if (item.has("count"))
		load.count = item.integer("count", 1, 1000000);
	return load;
}

// A text, or a list of them.
std::vector<std::string> read_tsgs(const Item &item)
{
	std::vector<std::string> tsgs;

	if (!item.at("tsg").is_array())
		return {item.string("tsg")};
	for (const nlohmann::ordered_json &tsg : item.at("tsg"))
		if (tsg.is_string())
			tsgs.push_back(tsg);
	if (tsgs.empty() || tsgs.size() != item.at("tsg").size() || tsgs.size() > MAX_TSGS)
		item.refuse(fmt::format("tsg is neither an id nor a list of 1 to {} ids", MAX_TSGS));
	return tsgs;
}

// JSON has no hexadecimal numbers.
u64 read_page_directory(const Item &item)
{
	std::string text = item.string("page_directory");
	u64 address = 0;
	auto [end, error] =
		std::from_chars(text.data() + std::min<size_t>(2, text.size()), text.data() + text.size(), address, 16);

	if (!text.starts_with("0x") || error != std::errc() || end != text.data() + text.size())
		item.refuse(fmt::format("page_directory is \"{}\", not a number as \"0x60000000\"", text));
	return address;
}

// What a task may have under a policy.
void check_task(const Item &item, Policy policy, const PolicyTask &t)
{
	if (item.has("priority") && policy != Policy::FixedPriority)
		item.refuse("has a priority, which only the policy fixed-priority knows");
	if (t.task.budget_ns && policy != Policy::Edf)
		item.refuse("has a budget, which only the policy edf knows");
	for (const char *key : {"deadline_ms", "weight", "tenant"})
		if (policy == Policy::Interleaved && item.has(key))
			item.refuse(fmt::format("has {}, which the policy interleaved does not know", key));
	if (t.page_directory && !t.tsgs.empty())
		item.refuse("has tsg and page_directory; one of them says what its TSGs are");
	if (policy == Policy::Interleaved && (t.tsgs.size() > 1 || t.page_directory))
		item.refuse("has several TSGs, which the policy interleaved does not know");
	if (t.task.budget_ns && !t.task.period_ns)
		item.refuse("has budget_ms but no period_ms");
	if (t.task.budget_ns && t.task.deadline_ns)
		item.refuse("has budget_ms and deadline_ms; the deadline of a server is the end of its period");
	if (t.task.budget_ns > t.task.period_ns)
		item.refuse(fmt::format("budget_ms is {:g}, more than period_ms {:g}",
					static_cast<double>(t.task.budget_ns) / 1e6,
					static_cast<double>(t.task.period_ns) / 1e6));
	if (item.has("server") && !t.task.budget_ns)
		item.refuse("has a server but no budget_ms");
	if (is_real_time(policy, t.task) && (item.has("weight") || item.has("tenant")))
		item.refuse("has a weight or a tenant, which only best-effort tasks have");
	if (t.load.length_ns && !t.load.closed && t.load.count != 1 && !t.task.period_ns)
		item.refuse("has a load but no period_ms; \"count\": 1 is a single job, \"closed\": true one after "
			    "another");
}

PolicyTask read_task(const Item &item, Policy policy)
{
	PolicyTask t;

	item.check_keys({"name", "tsg", "page_directory", "priority", "deadline_ms", "period_ms", "budget_ms", "server",
			 "tenant", "weight", "slice_us", "level", "load"});
	t.where = item.where();
	t.task.name = item.name();
	if (item.has("tsg"))
		t.tsgs = read_tsgs(item);
	if (item.has("page_directory"))
		t.page_directory = read_page_directory(item);
	if (item.has("priority"))
		t.task.priority = item.integer("priority", 0, 1000000);
	t.task.deadline_ns = read_ms(item, "deadline_ms");
	t.task.period_ns = read_ms(item, "period_ms");
	t.task.budget_ns = read_ms(item, "budget_ms");
	if (item.has("server") && read_word(item, "server", {"soft", "hard"}) == "hard")
		t.task.server = Server::Hard;
	if (item.has("tenant"))
		t.task.tenant = item.name("tenant");
	if (item.has("weight"))
		t.task.weight = item.integer("weight", 1, 1000);
	if (item.has("slice_us")) // the sum of all slices stays far below the 4 s of the driver's watchdog
		t.slice_us = item.integer("slice_us", 1, 1000000);
	if (item.has("level"))
		t.level = read_word(item, "level", {"low", "medium", "high"});
	if (item.has("load")) {
		t.load = read_load(item.object("load"));
		t.load.period_ns = t.load.endless || t.load.closed ? 0 : t.task.period_ns;
	}
	check_task(item, policy, t);
	return t;
}

// Names are unique, tenants have one weight, and servers need no more than the whole GPU.
void check_tasks(const PolicyFile &file)
{
	std::map<std::string, const PolicyTask *> names, tsgs, tenants;
	double bandwidth = 0;

	for (const PolicyTask &t : file.tasks) {
		auto refuse = [&t](const std::string &reason) { throw Error(Error::Input, t.where + ": " + reason); };
		if (!names.insert({t.task.name, &t}).second)
			refuse("another task has this name");
		for (const std::string &tsg : t.tsgs)
			if (auto [other, added] = tsgs.insert({tsg, &t}); !added)
				refuse(fmt::format("task {} has the TSG {}, too", other->second->task.name, tsg));
		if (!t.task.tenant.empty()) {
			const PolicyTask *first = tenants.insert({t.task.tenant, &t}).first->second;
			if (first->task.weight != t.task.weight)
				refuse(fmt::format("weight {} of tenant {}, which has {} in task {}", t.task.weight,
						   t.task.tenant, first->task.weight, first->task.name));
		}
		if (t.task.budget_ns)
			bandwidth += static_cast<double>(t.task.budget_ns) / static_cast<double>(t.task.period_ns);
		if (bandwidth > 1 + 1e-9)
			refuse(fmt::format("overload: with it, the servers have {:.3f} of the GPU, more than all of it",
					   bandwidth));
	}
}

} // namespace

const char *name_policy(Policy policy)
{
	return POLICIES[static_cast<size_t>(policy)];
}

// A late job keeps its deadline, which is the earliest then for as long as it runs.
std::string PolicyFile::starvation() const
{
	std::vector<std::string> unbounded, servers;

	for (const PolicyTask &t : tasks)
		if (t.task.budget_ns)
			servers.push_back(fmt::format("{} from its {:g} ms of {:g}", t.task.name,
						      static_cast<double>(t.task.budget_ns) / 1e6,
						      static_cast<double>(t.task.period_ns) / 1e6));
		else if (is_real_time(policy, t.task))
			unbounded.push_back(t.task.name);
	if (unbounded.empty() || servers.empty())
		return "";
	return fmt::format("{}: {} {} a deadline and no budget: a long job can keep {}", name,
			   fmt::join(unbounded, ", "), unbounded.size() > 1 ? "have" : "has", fmt::join(servers, ", "));
}

std::vector<Task> PolicyFile::plain_tasks() const
{
	std::vector<Task> list;

	for (const PolicyTask &t : tasks)
		list.push_back(t.task);
	return list;
}

PolicyFile parse_policy(const std::string &text, const std::string &name)
{
	nlohmann::ordered_json json = parse_json(text, name);
	Item item(json, name);
	PolicyFile file;

	file.name = name;
	item.check_keys({"version", "about", "policy", "quantum_ms", "tasks"});
	if (item.integer("version", 0, 1000000) != 1)
		item.refuse("version is not 1");
	std::string policy = read_word(item, "policy", {std::begin(POLICIES), std::end(POLICIES)});
	for (size_t i = 0; i < std::size(POLICIES); i++)
		if (policy == POLICIES[i])
			file.policy = static_cast<Policy>(i);
	if (item.has("quantum_ms"))
		file.quantum_ns = static_cast<u64>(std::llround(item.number("quantum_ms", 1, 1000, "ms") * 1e6));
	for_each_item(item, "tasks", "task",
		      [&](const Item &task) { file.tasks.push_back(read_task(task, file.policy)); });
	if (file.tasks.empty() || file.tasks.size() > MAX_TASKS)
		item.refuse(fmt::format("has {} tasks, not 1 to {}", file.tasks.size(), MAX_TASKS));
	check_tasks(file);
	return file;
}

} // namespace tool::schedule
