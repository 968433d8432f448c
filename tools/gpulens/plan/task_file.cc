// SPDX-License-Identifier: GPL-2.0
// Reads tasks and reserved TPCs from JSON.
#include "gpulens/plan/task_file.hpp"

#include "lib/base/json_input.hpp"
#include "lib/tpc/tpc_mask.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <unordered_set>

namespace tool::plan {

using json = nlohmann::ordered_json;

namespace {

u64 parse_time_ns(const Item &object, const char *key)
{
	return static_cast<u64>(std::floor(object.number(key, MIN_US, MAX_US, "microseconds") * 1000 + 1e-4));
}

// Parses a key of times_us, a number of TPCs.
u32 parse_size(const Item &times, const std::string &key)
{
	bool digits = !key.empty() && key.size() < 6 && key.find_first_not_of("0123456789") == std::string::npos;
	unsigned long m = digits ? std::stoul(key) : 0;

	if (m < 1 || m > MAX_TPCS)
		times.refuse(fmt::format("{} is not a number of TPCs from 1 to {}", quote_value(key), MAX_TPCS));
	return static_cast<u32>(m);
}

std::vector<u64> parse_curve(const Item &object, u32 tpcs)
{
	std::map<u32, u64> measured;

	if (!object.has("times_us")) {
		object.check_keys({"a_us", "b_us", "times_us"});
		double a = object.number("a_us", 0, MAX_US, "microseconds");
		double b = object.has("b_us") ? object.number("b_us", 0, MAX_US, "microseconds") : 0;
		if (a + b <= 0)
			object.refuse("a_us and b_us are both 0");
		return amdahl_curve(a * 1000, b * 1000, 1, tpcs);
	}
	object.check_keys({"times_us"});
	Item times = object.object("times_us");
	for (const auto &[key, value] : times.value().items()) {
		double us = times.number(key.c_str(), MIN_US, MAX_US, "microseconds");
		if (!measured.emplace(parse_size(times, key), round_up(us * 1000)).second)
			times.refuse(fmt::format("two times for {} TPCs", parse_size(times, key)));
	}
	if (measured.empty())
		times.refuse("no time");
	return measured_curve(measured, tpcs);
}

// Parses the factors beside tasks of other partitions.
void parse_beside(const Item &item, Task &task)
{
	if (!item.has("beside"))
		return;
	Item beside = item.object("beside");
	beside.check_keys({"memory", "compute"});
	if (beside.has("memory"))
		task.beside_memory = beside.number("memory", 1, 1000, "a factor");
	if (beside.has("compute"))
		task.beside_compute = beside.number("compute", 1, 1000, "a factor");
}

// Parses the longest kernel: a time for all sizes, or a curve.
void parse_longest_kernel(const Item &item, Task &task)
{
	u32 tpcs = static_cast<u32>(task.alone_ns.size());

	if (!item.has("longest_kernel_us"))
		return;
	if (item.at("longest_kernel_us").is_object())
		task.longest_ns = parse_curve(item.object("longest_kernel_us"), tpcs);
	else
		task.longest_ns.assign(
			tpcs, round_up(item.number("longest_kernel_us", MIN_US, MAX_US, "microseconds") * 1000));
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
		conflict.check_keys({"factor"});
		factor = conflict.number("factor", 1, 1000, "a factor");
	}
	for (u64 &t : ns)
		if (t != NEVER)
			t = round_up(double(t) * factor);
	return ns;
}

// Takes what of a job is not GPU work from its period and deadline: GPU work is ready up to `jitter` after the period
// begins, so that two are apart by T - jitter at least, and must end by D - after.
void parse_margins(const Item &item, Task &task)
{
	auto parse = [&](const char *key) {
		double us = item.has(key) ? item.number(key, 0, MAX_US, "microseconds") : 0;
		return us > 0 ? round_up(us * 1000) : 0;
	};
	u64 after = parse("after_us");

	task.jitter_ns = parse("jitter_us") + parse("before_us");
	if (task.jitter_ns + after >= task.deadline_ns)
		item.refuse("jitter_us, before_us and after_us leave no time until deadline_us");
	task.period_ns -= task.jitter_ns;
	task.deadline_ns -= task.jitter_ns + after;
}

Class parse_class(const Item &task)
{
	std::string word = task.string("class");

	if (word != "compute" && word != "memory")
		task.refuse("class is " + quote_value(word) + ", not compute or memory");
	return word == "memory" ? Class::Memory : Class::Compute;
}

Task parse_task(const Item &object, u32 tpcs)
{
	Task t;

	object.check_keys({"name", "period_us", "deadline_us", "jitter_us", "before_us", "after_us", "class", "alone",
			   "conflict", "beside", "longest_kernel_us"});
	t.name = object.name();
	t.period_ns = parse_time_ns(object, "period_us");
	t.deadline_ns = object.has("deadline_us") ? parse_time_ns(object, "deadline_us") : t.period_ns;
	if (t.deadline_ns > t.period_ns)
		object.refuse(fmt::format("deadline_us is {}, after the end of period_us, {}",
					  quote_value(object.at("deadline_us")), quote_value(object.at("period_us"))));
	parse_margins(object, t);
	t.kind = parse_class(object);
	t.alone_ns = parse_curve(object.object("alone"), tpcs);
	t.has_curve = !object.object("alone").has("times_us") ||
		      (object.has("conflict") && object.object("conflict").has("a_us"));
	t.conflict_ns = parse_conflict(object, t);
	parse_beside(object, t);
	parse_longest_kernel(object, t);
	for (u32 m = 1; m <= tpcs; m++)
		if (t.time_ns(m, true) < t.time_ns(m, false))
			object.refuse(
				fmt::format("with {} TPC{} it is faster in conflict than alone", m, m == 1 ? "" : "s"));
	return t;
}

Reserved parse_reserved(const Item &object)
{
	Reserved r;

	object.check_keys({"name", "mask", "tpcs", "gpcs"});
	r.name = object.name();
	if (object.has("mask") + object.has("tpcs") + object.has("gpcs") != 1)
		object.refuse("exactly one of mask, tpcs and gpcs is required");
	if (object.has("mask")) {
		std::optional<std::vector<u32>> tpcs = parse_mask(object.string("mask"));
		if (!tpcs)
			object.refuse("mask is " + quote_value(object.at("mask")) + ", not 0x and hexadecimal digits");
		r.tpcs = *tpcs;
	} else if (object.has("tpcs")) {
		r.tpcs = object.numbers("tpcs", MAX_TPCS - 1);
	} else {
		r.gpcs = object.numbers("gpcs", MAX_TPCS - 1);
	}
	if (r.tpcs.empty() && r.gpcs.empty())
		object.refuse("it is empty");
	return r;
}

} // namespace

TaskFile parse_tasks(const std::string &text, const std::string &name, u32 tpcs)
{
	json whole = parse_json(text, name);
	Item file(whole, name);
	std::unordered_set<std::string> names;
	TaskFile parsed;

	file.check_keys({"tasks", "reserved"});
	if (file.at("tasks").is_array() && file.at("tasks").size() > MAX_TASKS)
		file.refuse(fmt::format("more than {} tasks", MAX_TASKS));
	for_each_item(file, "tasks", "task", [&](const Item &item) {
		Task t = parse_task(item, tpcs);
		if (!names.insert(t.name).second)
			item.refuse("another task has the same name");
		parsed.tasks.push_back(std::move(t));
	});
	if (parsed.tasks.empty())
		file.refuse("no task");
	if (file.has("reserved"))
		for_each_item(file, "reserved", "reserved",
			      [&](const Item &item) { parsed.reserved.push_back(parse_reserved(item)); });
	return parsed;
}

} // namespace tool::plan
