// SPDX-License-Identifier: GPL-2.0
// Parses and writes logs as JSON.
#include "gpulens/blocks/log.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "lib/base/json_input.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace tool::blocks {

using json = nlohmann::ordered_json;

namespace {

constexpr int LOG_JSON_VERSION = 1;
constexpr double MAX_SECONDS = 1e6; // of a time in a log
constexpr u32 MAX_SMS = 4096;       // so that a bad number does not make a drawing of gigabytes
constexpr u32 MAX_NS = 1'000'000'000;

s64 to_ns(double s)
{
	return std::llround(s * 1e9);
}

// Parses a list of count times in seconds. count_text: count in words, for the message.
std::vector<s64> parse_times(const Item &object, const char *key, size_t count, const std::string &count_text)
{
	const json &v = object.at(key);
	std::vector<s64> times;

	if (!v.is_array() || v.size() != count)
		object.refuse(v.is_array() ? fmt::format("{} has {} numbers, not {}", key, v.size(), count_text)
					   : fmt::format("{} is {}, not a list of numbers", key, quote_value(v)));
	for (const json &time : v) {
		if (!time.is_number() || !(std::abs(time.get<double>()) <= MAX_SECONDS))
			object.refuse(fmt::format("{} has {}, which is not a time in seconds", key, quote_value(time)));
		times.push_back(to_ns(time.get<double>()));
	}
	return times;
}

u32 parse_threads(const Item &object)
{
	if (!object.at("thread_count").is_array())
		return object.integer("thread_count", 1, MAX_THREADS);
	u64 threads = 1;
	for (u32 side : object.numbers("thread_count", MAX_THREADS))
		threads = std::min<u64>(threads * side, MAX_THREADS + 1);
	if (!threads || threads > MAX_THREADS)
		object.refuse(fmt::format("thread_count is {}, not 1 to {} in all",
					  quote_value(object.at("thread_count")), MAX_THREADS));
	return static_cast<u32>(threads);
}

std::optional<Copy> parse_copy(const Item &object, const char *key)
{
	if (!object.has(key))
		return std::nullopt;
	Item item = object.object(key);
	item.check_keys({"bytes", "call_times", "times"});
	std::vector<s64> called = parse_times(item, "call_times", 2, "two"),
			 times = parse_times(item, "times", 2, "two");
	if (called[1] < called[0] || times[1] < times[0])
		object.refuse(fmt::format("the times of {} are not in order", key));
	return Copy{
		static_cast<u64>(item.number("bytes", 1, 1e15, "bytes")), {called[0], called[1]}, times[0], times[1]};
}

Ran parse_kernel(const Item &object)
{
	Ran k;
	u32 count = object.integer("block_count", 1, MAX_BLOCKS);

	k.name = object.name("kernel_name");
	k.threads = parse_threads(object);
	k.shared = object.has("shared_memory") ? object.integer("shared_memory", 0, ~0U) : 0;
	k.per_sm = object.has("blocks_per_sm") ? object.integer("blocks_per_sm", 1, MAX_THREADS) : 0;
	if (object.has("sm_mask")) {
		k.tpcs = parse_sm_mask(object.string("sm_mask"));
		if (!k.tpcs)
			object.refuse(fmt::format("sm_mask is {}, not a mask", quote_value(object.at("sm_mask"))));
	}
	if (object.has("cuda_launch_times")) {
		std::vector<s64> t = parse_times(object, "cuda_launch_times", 3, "three");
		if (!t[2]) // as cuda_scheduling_examiner writes where nobody waited for the kernel
			t[2] = t[1];
		if (t[1] < t[0] || t[2] < t[1])
			object.refuse("cuda_launch_times are not in order");
		k.launched = {t[0], t[1], t[2]};
	}
	k.copy_in = parse_copy(object, "copy_in");
	k.copy_out = parse_copy(object, "copy_out");
	std::vector<s64> times =
		parse_times(object, "block_times", size_t{2} * count, fmt::format("two for each of {} blocks", count));
	std::vector<u32> sms = object.numbers("block_smids", MAX_SMS - 1);
	if (sms.size() != count)
		object.refuse(fmt::format("block_smids has {} numbers, but there are {} blocks", sms.size(), count));
	for (u32 i = 0; i < count; i++) {
		k.blocks.push_back({times[2 * i], times[2 * i + 1], sms[i]});
		if (k.blocks.back().end < k.blocks.back().start)
			object.refuse(fmt::format("block {} ends before it starts", i));
	}
	return k;
}

StreamKind parse_kind(const Item &object)
{
	for (const char *key : {"null_stream", "blocking_stream"})
		if (object.has(key) && !object.at(key).is_boolean())
			object.refuse(fmt::format("{} is {}, not true or false", key, quote_value(object.at(key))));
	if (object.has("null_stream") && object.at("null_stream") == true)
		return StreamKind::Null;
	return object.has("blocking_stream") && object.at("blocking_stream") == true ? StreamKind::Blocking
										     : StreamKind::NonBlocking;
}

// processes: number by PID; streams without PID are of the first process.
void parse_stream(const Item &object, Log &log, std::map<u32, u32> &processes)
{
	u32 index = static_cast<u32>(log.streams.size()), iteration = 0;
	bool begun = false; // the iteration has kernels
	Stream stream;
	double release = object.has("release_time") ? object.number("release_time", -1, MAX_SECONDS, "seconds") : 0;

	stream.label = object.has("label") ? object.string("label") : "";
	stream.log_name = object.has("log_name") ? object.string("log_name") : "";
	stream.program = object.has("benchmark_name") ? object.string("benchmark_name") : "";
	if (object.has("stream_priority"))
		stream.priority = static_cast<int>(object.number("stream_priority", -100, 100, "a priority"));
	stream.kind = parse_kind(object);
	if (object.has("PID"))
		stream.process = processes.emplace(object.integer("PID", 0, ~0U), static_cast<u32>(processes.size()))
					 .first->second;
	log.streams.push_back(stream);
	const json &times = object.at("times");
	if (!times.is_array())
		object.refuse(fmt::format("times is {}, not a list", quote_value(times)));
	for (size_t i = 0; i < times.size(); i++) {
		// Entries that are not kernels are CPU times, which begin an iteration, or empty.
		if (times[i].is_object() && !times[i].contains("block_times")) {
			iteration += begun;
			begun = false;
			continue;
		}
		begun = true;
		Item item(times[i], object.where() + ": " + describe_item(times[i], "kernel", i, "kernel_name"));
		Ran k = parse_kernel(item);
		k.stream = index;
		k.iteration = iteration;
		k.release = item.has("release_time") ? to_ns(item.number("release_time", 0, MAX_SECONDS, "seconds"))
						     : std::max<s64>(to_ns(release), 0);
		log.kernels.push_back(std::move(k));
	}
}

void parse_machine(const Item &file, Log &log)
{
	if (file.has("gpu")) {
		Item gpu = file.object("gpu");
		Machine &m = log.machine;
		m.name = gpu.string("name");
		m.sms = gpu.integer("sms", 1, MAX_SMS);
		m.threads_per_sm = gpu.integer("threads_per_sm", 32, 1U << 16);
		m.blocks_per_sm = gpu.integer("blocks_per_sm", 1, 1U << 16);
		if (gpu.has("sms_per_tpc"))
			m.sms_per_tpc = gpu.integer("sms_per_tpc", 1, MAX_SMS);
		if (gpu.has("copy_engines"))
			m.copy_engines = gpu.integer("copy_engines", 1, 1U << 16);
		if (gpu.has("resident_grids"))
			m.grids = gpu.integer("resident_grids", 1, 1U << 16);
	}
	if (file.has("channels")) {
		log.machine.channels = file.integer("channels", 1, 1U << 16);
		log.channels_known = true;
	}
	if (file.has("clock")) {
		Item clock = file.object("clock");
		log.uncertainty_ns = clock.integer("uncertainty_ns", 0, MAX_NS);
		if (clock.has("resolution_ns"))
			log.resolution_ns = clock.integer("resolution_ns", 0, MAX_NS);
	}
	log.simulated = file.has("simulated") && file.at("simulated") == true;
}

// The framework gives all kernels of a kind the same name: replaces names that are not unique.
void make_names_differ(Log &log)
{
	std::map<std::string, u32> seen;

	for (const Ran &k : log.kernels)
		seen[k.name]++;
	if (seen.size() == log.kernels.size())
		return;
	for (size_t i = 0; i < log.kernels.size(); i++)
		log.kernels[i].name = fmt::format("K{}", i + 1);
}

json copy_json(const Copy &c)
{
	return {{"bytes", c.bytes},
		{"call_times", {to_seconds(c.called[0]), to_seconds(c.called[1])}},
		{"times", {to_seconds(c.start), to_seconds(c.end)}}};
}

json kernel_json(const Ran &k)
{
	json j = {{"kernel_name", k.name},
		  {"block_count", k.blocks.size()},
		  {"thread_count", k.threads},
		  {"shared_memory", k.shared},
		  {"release_time", to_seconds(k.release)},
		  {"kernel_times", {to_seconds(k.first_start()), to_seconds(k.last_end())}}};

	if (k.tpcs)
		j["sm_mask"] = sm_mask_text(*k.tpcs);
	if (k.per_sm)
		j["blocks_per_sm"] = k.per_sm;
	if (k.launched)
		for (s64 t : *k.launched)
			j["cuda_launch_times"].push_back(to_seconds(t));
	if (k.copy_in)
		j["copy_in"] = copy_json(*k.copy_in);
	if (k.copy_out)
		j["copy_out"] = copy_json(*k.copy_out);
	for (const Block &b : k.blocks) {
		j["block_times"].push_back(to_seconds(b.start));
		j["block_times"].push_back(to_seconds(b.end));
		j["block_smids"].push_back(b.sm);
	}
	return j;
}

s64 launch_of(const Ran &k)
{
	return k.launched ? (*k.launched)[0] : k.release;
}

json calls_json(const Calls &c)
{
	return {{"cpu_times", {to_seconds(c.copy_in), to_seconds(c.end)}},
		{"copy_in_times", {to_seconds(c.copy_in), to_seconds(c.execute)}},
		{"execute_times", {to_seconds(c.execute), to_seconds(c.copy_out)}},
		{"copy_out_times", {to_seconds(c.copy_out), to_seconds(c.end)}}};
}

// Returns the entry before the kernels of an iteration. Inputs are copied before the scenario begins, and results after all
// streams are done.
json cpu_times(const std::vector<const Ran *> &kernels)
{
	s64 begin = launch_of(*kernels[0]), end = begin;

	for (const Ran *k : kernels) {
		begin = std::min(begin, launch_of(*k));
		end = std::max({end, k->last_end(), k->launched ? (*k->launched)[2] : end});
	}
	return calls_json({begin, begin, end, end});
}

template <typename Get> auto max_of(const std::vector<Block> &blocks, Get get)
{
	return get(*std::max_element(blocks.begin(), blocks.end(),
				     [get](const Block &a, const Block &b) { return get(a) < get(b); }));
}

} // namespace

s64 Ran::first_start() const
{
	return -max_of(blocks, [](const Block &b) { return -b.start; });
}

s64 Ran::last_start() const
{
	return max_of(blocks, [](const Block &b) { return b.start; });
}

s64 Ran::last_end() const
{
	return max_of(blocks, [](const Block &b) { return b.end; });
}

s64 Ran::begin() const
{
	return copy_in ? copy_in->start : first_start();
}

s64 Ran::end() const
{
	return copy_out ? copy_out->end : last_end();
}

std::array<s64, 2> Ran::calls() const
{
	return {copy_in ? copy_in->called[0] : (*launched)[0], copy_out ? copy_out->called[1] : (*launched)[1]};
}

u32 Log::processes() const
{
	u32 count = 1;

	for (const Stream &s : streams)
		count = std::max(count, s.process + 1);
	return count;
}

bool Log::are_ordered(u32 stream, u32 other) const
{
	const Stream &a = streams[stream], &b = streams[other];

	return stream != other && a.process == b.process &&
	       (a.kind == StreamKind::Null || b.kind == StreamKind::Null) && a.kind != StreamKind::NonBlocking &&
	       b.kind != StreamKind::NonBlocking;
}

bool Log::may_use(const Ran &kernel, u32 sm) const
{
	u32 tpc = sm / machine.sms_per_tpc;

	return !kernel.tpcs || (tpc < MAX_TPCS && kernel.tpcs->test(tpc));
}

void sort_by_launch(std::vector<Ran> &kernels)
{
	std::stable_sort(kernels.begin(), kernels.end(),
			 [](const Ran &a, const Ran &b) { return launch_of(a) < launch_of(b); });
}

Log parse_logs(const std::vector<std::pair<std::string, std::string>> &files)
{
	Log log;
	std::map<u32, u32> processes;

	for (const auto &[name, text] : files) {
		json whole = parse_json(text, name);
		Item file(whole, name);
		log.scenario = file.has("scenario_name") ? file.string("scenario_name") : "";
		if (!file.has("benchmarks")) {
			parse_stream(file, log, processes);
			continue;
		}
		if (files.size() > 1)
			file.refuse("a whole log cannot be combined with other files");
		if (file.integer("version", 1, ~0U) != LOG_JSON_VERSION)
			file.refuse(fmt::format("version is {}, but this gpulens reads {}",
						quote_value(file.at("version")), LOG_JSON_VERSION));
		parse_machine(file, log);
		for_each_item(
			file, "benchmarks", "benchmark", [&](const Item &item) { parse_stream(item, log, processes); },
			"label");
	}
	if (log.kernels.empty())
		throw Error(Error::Input,
			    (files.empty() ? "" : files.front().first + ": ") + "no kernel with block_times");
	sort_by_launch(log.kernels);
	make_names_differ(log);
	for (const Ran &k : log.kernels)
		for (const Block &b : k.blocks)
			if (log.machine.threads_per_sm && b.sm >= log.machine.sms)
				throw Error(
					Error::Input,
					fmt::format("{}: kernel \"{}\": a block ran on SM {}, but the GPU has {} SMs",
						    files.front().first, k.name, b.sm, log.machine.sms));
			else
				log.machine.sms = std::max(log.machine.sms, b.sm + 1);
	return log;
}

json stream_json(const Log &log, u32 stream)
{
	const Stream &s = log.streams[stream];
	json times = json::array({json::object()}), j; // the framework's scripts and validator skip the first entry
	std::vector<const Ran *> kernels;
	s64 begin = 0;

	for (const Ran &k : log.kernels)
		if (k.stream == stream)
			kernels.push_back(&k);
	for (u32 i = 0; i < s.calls.size(); i++) {
		times.push_back(calls_json(s.calls[i]));
		for (const Ran *k : kernels)
			if (k->iteration == i)
				times.push_back(kernel_json(*k));
	}
	if (!s.calls.empty()) {
		begin = s.calls[0].copy_in;
		kernels.clear();
	}
	for (size_t first = 0, end = 0; first < kernels.size(); first = end) {
		while (end < kernels.size() && kernels[end]->iteration == kernels[first]->iteration)
			end++;
		std::vector<const Ran *> one(kernels.begin() + static_cast<long>(first),
					     kernels.begin() + static_cast<long>(end));
		times.push_back(cpu_times(one));
		begin = first ? begin : launch_of(*one[0]);
		for (const Ran *k : one)
			times.push_back(kernel_json(*k));
	}
	j = {{"scenario_name", log.scenario}, {"benchmark_name", s.program}, {"label", s.label}};
	if (!s.log_name.empty())
		j["log_name"] = s.log_name;
	if (s.priority)
		j["stream_priority"] = s.priority;
	if (s.kind != StreamKind::NonBlocking)
		j[s.kind == StreamKind::Null ? "null_stream" : "blocking_stream"] = true;
	j["release_time"] = to_seconds(begin);
	j["max_resident_threads"] = u64{log.machine.sms} * log.machine.threads_per_sm;
	j["data_size"] = s.data_size;
	if (log.processes() > 1)
		j["PID"] = s.process + 1;
	j["TID"] = stream + 1;
	j["times"] = times;
	return j;
}

json log_json(const Log &log)
{
	json j = {{"version", LOG_JSON_VERSION}, {"scenario_name", log.scenario}, {"simulated", log.simulated}};

	j["gpu"] = {{"name", log.machine.name},
		    {"sms", log.machine.sms},
		    {"threads_per_sm", log.machine.threads_per_sm},
		    {"blocks_per_sm", log.machine.blocks_per_sm},
		    {"sms_per_tpc", log.machine.sms_per_tpc}};
	if (log.machine.copy_engines)
		j["gpu"]["copy_engines"] = log.machine.copy_engines;
	if (log.machine.grids)
		j["gpu"]["resident_grids"] = log.machine.grids;
	j["channels"] = log.machine.channels;
	j["clock"]["uncertainty_ns"] = log.uncertainty_ns;
	if (log.resolution_ns)
		j["clock"]["resolution_ns"] = *log.resolution_ns;
	for (u32 i = 0; i < log.streams.size(); i++)
		j["benchmarks"].push_back(stream_json(log, i));
	return j;
}

Log empty_log(const Scenario &scenario, const Machine &machine)
{
	static const std::map<std::string, const char *> names = {
		{"timer_spin", "Timer Spin"},   {"multikernel", "Multikernel"}, {"matrix_multiply", "Matrix Multiply"},
		{"memory_copy", "Memory Copy"}, {"random_walk", "Random Walk"}, {"inorder_walk", "In-order Walk"}};
	Log log;

	log.scenario = scenario.name;
	log.machine = machine;
	log.channels_known = true;
	for (u32 i = 0; i < scenario.benchmarks.size(); i++) {
		const Benchmark &b = scenario.benchmarks[i];
		log.streams.push_back({b.label, b.log_name, b.plugin ? b.program : names.at(b.program), b.priority,
				       scenario.processes ? i : 0,
				       scenario.has_null_stream() ? b.stream : StreamKind::NonBlocking,
				       b.plugin ? b.plugin->data_size : 0});
	}
	return log;
}

Ran make_ran(const Scenario &scenario, u32 benchmark, u32 kernel, u32 iteration, s64 base)
{
	const Benchmark &b = scenario.benchmarks[benchmark];
	const Kernel &k = b.kernels[kernel];
	Ran ran;

	ran.name = b.iterations == 1 ? k.name : fmt::format("{}#{}", k.name, iteration + 1);
	ran.stream = benchmark;
	ran.iteration = iteration;
	ran.threads = k.threads;
	ran.shared = k.shared;
	ran.release = base + static_cast<s64>(k.release_ns);
	ran.tpcs = scenario.tpcs_of(benchmark, kernel);
	return ran;
}

} // namespace tool::blocks
