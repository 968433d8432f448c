// SPDX-License-Identifier: GPL-2.0
// See task_file.hpp.
#include "plan/task_file.hpp"

#include "plan/tpc_mask.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace tool::plan {

using json = nlohmann::ordered_json;

namespace {

constexpr size_t SHOWN = 40; // characters of a value that a message repeats

std::string shown(const json &value)
{
	std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);

	return text.size() > SHOWN ? text.substr(0, SHOWN) + "..." : text;
}

// An object of the file, which knows what it is called.
class Item {
public:
	Item(const json &object, std::string where) : json_(object), where_(std::move(where))
	{
		if (!json_.is_object())
			refuse("not an object but " + shown(json_));
	}

	[[noreturn]] void refuse(const std::string &why) const { throw BadInput(where_ + ": " + why); }
	const std::string &where() const { return where_; }
	bool has(const char *key) const { return json_.contains(key); }
	void only(const std::vector<const char *> &keys) const
	{
		for (const auto &[key, value] : json_.items())
			if (std::none_of(keys.begin(), keys.end(), [k = key](const char *o) { return k == o; }))
				refuse(fmt::format("{} is none of {}", shown(key), fmt::join(keys, ", ")));
	}
	const json &at(const char *key) const
	{
		if (!has(key))
			refuse(fmt::format("{} is missing", key));
		return json_[key];
	}
	std::string word(const char *key) const
	{
		const json &v = at(key);
		if (!v.is_string())
			refuse(fmt::format("{} is {}, not a string", key, shown(v)));
		return v.get<std::string>();
	}
	// It is printed in columns, on a terminal.
	std::string name() const
	{
		std::string n = word("name");
		if (n.empty() || std::any_of(n.begin(), n.end(), [](char c) { return c <= ' ' || c > '~'; }))
			refuse("name is " + shown(n) + ", which is empty, or not of printable ASCII without blanks");
		return n;
	}
	double number(const char *key, double least, double most, const char *what) const
	{
		const json &v = at(key);
		if (!v.is_number() || !(v.get<double>() >= least && v.get<double>() <= most))
			refuse(fmt::format("{} is {}, not {} from {} to {}", key, shown(v), what, least, most));
		return v.get<double>();
	}
	Item object(const char *key) const { return {at(key), where_ + ": " + key}; }
	std::vector<u32> numbers(const char *key, u32 most) const
	{
		const json &v = at(key);
		std::vector<u32> list;
		if (!v.is_array())
			refuse(fmt::format("{} is {}, not a list of numbers", key, shown(v)));
		for (const json &one : v) {
			if (!one.is_number_unsigned() || one.get<u64>() > most)
				refuse(fmt::format("{} has {}, not a number from 0 to {}", key, shown(one), most));
			list.push_back(one.get<u32>());
		}
		return list;
	}
	const json &value() const { return json_; }

private:
	const json &json_;
	std::string where_;
};

constexpr double MAX_US = static_cast<double>(MAX_TIME_NS) / 1000;

u64 time_ns(const Item &from, const char *key)
{
	return static_cast<u64>(std::floor(from.number(key, 0.001, MAX_US, "microseconds") * 1000 + 1e-4));
}

// "4" in "times_us": how many TPCs.
u32 size_of(const Item &times, const std::string &key)
{
	bool digits = !key.empty() && key.size() < 6 && key.find_first_not_of("0123456789") == std::string::npos;
	unsigned long m = digits ? std::stoul(key) : 0;

	if (m < 1 || m > MAX_TPCS)
		times.refuse(fmt::format("{} is not a number of TPCs from 1 to {}", shown(key), MAX_TPCS));
	return static_cast<u32>(m);
}

std::vector<u64> curve(const Item &from, u32 tpcs)
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
		if (!measured.emplace(size_of(times, key), round_up(us * 1000)).second)
			times.refuse(fmt::format("{} TPCs are there twice", size_of(times, key)));
	}
	if (measured.empty())
		times.refuse("no time");
	return measured_curve(measured, tpcs);
}

std::vector<u64> conflict_curve(const Item &task, Task &to)
{
	double factor = to.kind == Class::Memory ? MEMORY_CONFLICT : COMPUTE_CONFLICT;
	std::vector<u64> ns = to.alone_ns;

	to.assumed_conflict = !task.has("conflict");
	if (!to.assumed_conflict) {
		Item conflict = task.object("conflict");
		if (!conflict.has("factor")) {
			std::vector<u64> given = curve(conflict, static_cast<u32>(ns.size()));
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

Class class_of(const Item &task)
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
	t.period_ns = time_ns(from, "period_us");
	t.deadline_ns = from.has("deadline_us") ? time_ns(from, "deadline_us") : t.period_ns;
	if (t.deadline_ns > t.period_ns)
		from.refuse(fmt::format("deadline_us is {}, after the end of period_us, {}",
					shown(from.at("deadline_us")), shown(from.at("period_us"))));
	t.kind = class_of(from);
	t.alone_ns = curve(from.object("alone"), tpcs);
	t.conflict_ns = conflict_curve(from, t);
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
		from.refuse("one of mask, tpcs and gpcs is wanted");
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

// "task camera" where it has such a name, else "task 3" of the list.
std::string called(const json &object, const char *what, size_t index)
{
	bool named = object.is_object() && object.contains("name") && object["name"].is_string();

	return fmt::format("{} {}", what, named ? shown(object["name"]) : std::to_string(index));
}

// Calls take(item) for each of a list.
template <typename Take> void each(const Item &file, const char *key, const char *what, Take take)
{
	const json &list = file.at(key);
	size_t index = 0;

	if (!list.is_array())
		file.refuse(fmt::format("{} is {}, not a list", key, shown(list)));
	for (const json &one : list)
		take(Item(one, fmt::format("{}: {}", file.where(), called(one, what, index++))));
}

json parse_json(const std::string &text, const std::string &name)
{
	try {
		return json::parse(text);
	} catch (const json::parse_error &e) {
		// "[json.exception.parse_error.101] parse error at line 3, column 5: ..."
		std::string why = e.what();
		size_t end = why.find("] ");
		throw BadInput(name + ": not JSON: " + (end == std::string::npos ? why : why.substr(end + 2)));
	}
}

} // namespace

TaskFile parse_tasks(const std::string &text, const std::string &name, u32 tpcs)
{
	json whole = parse_json(text, name);
	Item file(whole, name);
	TaskFile parsed;

	file.only({"tasks", "reserved"});
	each(file, "tasks", "task", [&](const Item &one) {
		Task t = parse_task(one, tpcs);
		for (const Task &other : parsed.tasks)
			if (other.name == t.name)
				one.refuse("there is another task of that name");
		if (parsed.tasks.size() == MAX_TASKS)
			file.refuse(fmt::format("more than {} tasks", MAX_TASKS));
		parsed.tasks.push_back(std::move(t));
	});
	if (parsed.tasks.empty())
		file.refuse("no task");
	if (file.has("reserved"))
		each(file, "reserved", "reserved",
		     [&](const Item &one) { parsed.reserved.push_back(parse_reserved(one)); });
	return parsed;
}

} // namespace tool::plan
