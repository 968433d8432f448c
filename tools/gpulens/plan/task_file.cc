// SPDX-License-Identifier: GPL-2.0
// Reads tasks and reserved TPCs from JSON.
#include "gpulens/plan/task_file.hpp"

#include "lib/base/json_input.hpp"
#include "lib/tpc/tpc_mask.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tool::plan {

using json = nlohmann::ordered_json;

namespace {

constexpr double MAX_US = static_cast<double>(MAX_TIME_NS) / 1000;

u64 parse_time_ns(const Item &from, const char *key)
{
	return static_cast<u64>(std::floor(from.number(key, 0.001, MAX_US, "microseconds") * 1000 + 1e-4));
}

// Parses a key of times_us, a number of TPCs.
u32 parse_size(const Item &times, const std::string &key)
{
	bool digits = !key.empty() && key.size() < 6 && key.find_first_not_of("0123456789") == std::string::npos;
	unsigned long m = digits ? std::stoul(key) : 0;

	if (m < 1 || m > MAX_TPCS)
		times.refuse(fmt::format("{} is not a number of TPCs from 1 to {}", shown(key), MAX_TPCS));
	return static_cast<u32>(m);
}

std::vector<u64> parse_curve(const Item &from, u32 tpcs)
{
	std::map<u32, u64> measured;

	if (!from.has("times_us")) {
		from.only({"a_us", "b_us", "times_us"});
		double a = from.number("a_us", 0, MAX_US, "microseconds");
		double b = from.has("b_us") ? from.number("b_us", 0, MAX_US, "microseconds") : 0;
		if (a + b <= 0)
			from.refuse("a_us and b_us are both 0");
		return amdahl_curve(a * 1000, b * 1000, 1, tpcs);
	}
	from.only({"times_us"});
	Item times = from.object("times_us");
	for (const auto &[key, value] : times.value().items()) {
		double us = times.number(key.c_str(), 0.001, MAX_US, "microseconds");
		if (!measured.emplace(parse_size(times, key), round_up(us * 1000)).second)
			times.refuse(fmt::format("two times for {} TPCs", parse_size(times, key)));
	}
	if (measured.empty())
		times.refuse("no time");
	return measured_curve(measured, tpcs);
}

// Parses the curve in conflict, or computes it from alone_ns; sets assumed_conflict.
std::vector<u64> parse_conflict(const Item &item, Task &task)
{
	double factor = task.kind == Class::Memory ? MEMORY_CONFLICT : COMPUTE_CONFLICT;
	std::vector<u64> ns = task.alone_ns;

	task.assumed_conflict = !item.has("conflict");
	if (!task.assumed_conflict) {
		Item conflict = item.object("conflict");
		if (!conflict.has("factor")) {
			std::vector<u64> given = parse_curve(conflict, static_cast<u32>(ns.size()));
			for (size_t i = 0; i < ns.size(); i++)
				ns[i] = ns[i] == NEVER ? NEVER : given[i];
			return ns;
		}
		conflict.only({"factor"});
		factor = conflict.number("factor", 1, 1000, "a factor");
	}
	for (u64 &t : ns)
		if (t != NEVER)
			t = round_up(double(t) * factor);
	return ns;
}

Class parse_class(const Item &task)
{
	std::string word = task.word("class");

	if (word != "compute" && word != "memory")
		task.refuse("class is " + shown(word) + ", not compute or memory");
	return word == "memory" ? Class::Memory : Class::Compute;
}

Task parse_task(const Item &from, u32 tpcs)
{
	Task t;

	from.only({"name", "period_us", "deadline_us", "class", "alone", "conflict"});
	t.name = from.name();
	t.period_ns = parse_time_ns(from, "period_us");
	t.deadline_ns = from.has("deadline_us") ? parse_time_ns(from, "deadline_us") : t.period_ns;
	if (t.deadline_ns > t.period_ns)
		from.refuse(fmt::format("deadline_us is {}, after the end of period_us, {}",
					shown(from.at("deadline_us")), shown(from.at("period_us"))));
	t.kind = parse_class(from);
	t.alone_ns = parse_curve(from.object("alone"), tpcs);
	t.conflict_ns = parse_conflict(from, t);
	for (u32 m = 1; m <= tpcs; m++)
		if (t.time_ns(m, true) < t.time_ns(m, false))
			from.refuse(
				fmt::format("with {} TPC{} it is faster in conflict than alone", m, m == 1 ? "" : "s"));
	return t;
}

Reserved parse_reserved(const Item &from)
{
	Reserved r;

	from.only({"name", "mask", "tpcs", "gpcs"});
	r.name = from.name();
	if (from.has("mask") + from.has("tpcs") + from.has("gpcs") != 1)
		from.refuse("exactly one of mask, tpcs and gpcs is required");
	if (from.has("mask")) {
		std::optional<std::vector<u32>> tpcs = parse_mask(from.word("mask"));
		if (!tpcs)
			from.refuse("mask is " + shown(from.at("mask")) + ", not 0x and hexadecimal digits");
		r.tpcs = *tpcs;
	} else if (from.has("tpcs")) {
		r.tpcs = from.numbers("tpcs", MAX_TPCS - 1);
	} else {
		r.gpcs = from.numbers("gpcs", MAX_TPCS - 1);
	}
	if (r.tpcs.empty() && r.gpcs.empty())
		from.refuse("it is empty");
	return r;
}

} // namespace

TaskFile parse_tasks(const std::string &text, const std::string &name, u32 tpcs)
{
	json whole = parse_json(text, name);
	Item file(whole, name);
	TaskFile parsed;

	file.only({"tasks", "reserved"});
	each(file, "tasks", "task", [&](const Item &item) {
		Task t = parse_task(item, tpcs);
		for (const Task &other : parsed.tasks)
			if (other.name == t.name)
				item.refuse("another task has the same name");
		if (parsed.tasks.size() == MAX_TASKS)
			file.refuse(fmt::format("more than {} tasks", MAX_TASKS));
		parsed.tasks.push_back(std::move(t));
	});
	if (parsed.tasks.empty())
		file.refuse("no task");
	if (file.has("reserved"))
		each(file, "reserved", "reserved",
		     [&](const Item &item) { parsed.reserved.push_back(parse_reserved(item)); });
	return parsed;
}

} // namespace tool::plan
