// SPDX-License-Identifier: GPL-2.0
// Parses and writes scenario files.
#include "gpulens/blocks/scenario.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/json_input.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

namespace tool::blocks {

using json = nlohmann::ordered_json;

namespace {

constexpr u32 MAX_SHARED = 65536; // 32-bit words; more than any GPU gives a block
constexpr u64 MAX_BYTES = u64{16} << 30;
constexpr u32 MAX_WIDTH = 16384;
constexpr u32 DEFAULT_REPEAT = 1;

u64 to_ns(double s)
{
	return static_cast<u64>(std::llround(s * 1e9));
}

double to_seconds(u64 ns)
{
	return static_cast<double>(ns) / 1e9;
}

// Returns the framework's program that "./bin/timer_spin.so" names; the kernels of gpulens have the same names.
std::string parse_program(const Item &object)
{
	std::string path = object.string("filename"), name = path.substr(path.rfind('/') + 1);

	if (name.ends_with(".so"))
		name.resize(name.size() - 3);
	if (name != "timer_spin" && name != "multikernel" && name != "matrix_multiply" && name != "memory_copy")
		object.refuse(fmt::format("filename is {}, but there are only kernels for timer_spin, multikernel, "
					  "matrix_multiply, memory_copy",
					  quote_value(path)));
	return name;
}

// square: a pair of numbers is allowed, too.
u32 parse_threads(const Item &object, bool square)
{
	if (!object.at("thread_count").is_array())
		return object.integer("thread_count", 1, MAX_THREADS);
	std::vector<u32> sides = object.numbers("thread_count", MAX_THREADS);
	u64 threads = 1;
	for (u32 side : sides)
		threads *= side;
	if (!square || sides.size() != 2 || !threads || threads > MAX_THREADS)
		object.refuse(fmt::format("thread_count is {}, not a number from 1 to {}{}",
					  quote_value(object.at("thread_count")), MAX_THREADS,
					  square ? " nor a pair that makes one" : ""));
	return static_cast<u32>(threads);
}

// Parses nanoseconds, which the framework writes as a number or as a string.
u64 parse_spin_ns(const Item &object, const char *key)
{
	const json &v = object.at(key);
	double ns = -1;

	if (v.is_string()) {
		const std::string text = v.get<std::string>();
		auto [end, err] = std::from_chars(text.data(), text.data() + text.size(), ns);
		if (err != std::errc() || end != text.data() + text.size())
			ns = -1;
	} else if (v.is_number()) {
		ns = v.get<double>();
	}
	if (!(ns >= 1 && ns <= static_cast<double>(MAX_SPIN_NS)))
		object.refuse(fmt::format("{} is {}, not nanoseconds from 1 to {}", key, quote_value(v), MAX_SPIN_NS));
	return static_cast<u64>(ns);
}

double parse_delay(const Item &object, const char *key)
{
	return object.has(key) ? object.number(key, 0, MAX_RELEASE_S, "seconds") : 0;
}

u32 parse_shared(const Item &object)
{
	return object.has("shared_memory_size") ? object.integer("shared_memory_size", 0, MAX_SHARED) * 4 : 0;
}

std::vector<Kernel> parse_multikernel(const Item &object)
{
	std::vector<Kernel> kernels;
	double release = parse_delay(object, "release_time");

	for_each_item(
		object, "additional_info", "kernel",
		[&](const Item &item) {
		Kernel k;
		item.check_keys(
			{"kernel_label", "duration", "block_count", "thread_count", "delay", "shared_memory_size"});
		k.name = item.name("kernel_label");
		k.work = parse_spin_ns(item, "duration");
		k.blocks = item.integer("block_count", 1, MAX_BLOCKS);
		k.threads = parse_threads(item, false);
		k.shared = parse_shared(item);
		release += parse_delay(item, "delay");
		k.release_ns = to_ns(release);
		kernels.push_back(k);
		},
		"kernel_label");
	if (kernels.empty())
		object.refuse("no kernel");
	return kernels;
}

Kernel parse_kernel(const Item &object, const std::string &program, u32 number)
{
	Kernel k;

	k.name = fmt::format("K{}", number);
	k.blocks = object.integer("block_count", 1, MAX_BLOCKS);
	k.threads = parse_threads(object, program == "matrix_multiply");
	k.release_ns = to_ns(parse_delay(object, "release_time"));
	if (program == "timer_spin") {
		k.work = parse_spin_ns(object, "additional_info");
		k.shared = parse_shared(object);
		return k;
	}
	Item info = object.object("additional_info");
	if (info.has("repeat"))
		k.repeat = info.integer("repeat", 1, 1000000);
	else
		k.repeat = DEFAULT_REPEAT;
	if (program == "memory_copy") {
		info.check_keys({"repeat"});
		k.kind = Kind::Copy;
		k.work = static_cast<u64>(object.number("data_size", 16, static_cast<double>(MAX_BYTES), "bytes"));
		return k;
	}
	info.check_keys({"matrix_width", "skip_copy", "repeat"});
	k.kind = Kind::Matrix;
	k.work = info.integer("matrix_width", 1, MAX_WIDTH);
	if (k.threads != 64 && k.threads != 256 && k.threads != 1024)
		object.refuse(fmt::format("thread_count is {}, but matrix_multiply needs 64, 256 or 1024: a tile of 8, "
					  "16 or 32 squared",
					  k.threads));
	return k;
}

Benchmark parse_benchmark(const Item &object, u32 first)
{
	Benchmark b;

	// Some keys are accepted for compatibility and ignored: data_size and cpu_core, and for multikernel
	// thread_count and block_count.
	object.check_keys({"filename", "log_name", "label", "thread_count", "block_count", "data_size",
			   "additional_info", "release_time", "stream_priority", "shared_memory_size", "cpu_core",
			   "max_iterations", "max_time"});
	b.program = parse_program(object);
	b.label = object.has("label") ? object.string("label") : "";
	b.log_name = object.has("log_name") ? object.string("log_name") : "";
	if (object.has("stream_priority"))
		b.priority = static_cast<int>(object.number("stream_priority", -100, 100, "a priority"));
	if (b.program == "multikernel")
		b.kernels = parse_multikernel(object);
	else
		b.kernels.push_back(parse_kernel(object, b.program, first));
	return b;
}

// Rejects repetitions, which the framework supports: gpulens launches each kernel once.
void refuse_iterations(const Item &object)
{
	if (object.has("max_iterations") && object.at("max_iterations") != 1)
		object.refuse(fmt::format("max_iterations is {}, but each kernel is launched once",
					  quote_value(object.at("max_iterations"))));
	if (object.has("max_time") && object.at("max_time") != 0)
		object.refuse(fmt::format("max_time is {}, but each kernel is launched once",
					  quote_value(object.at("max_time"))));
}

// Checks that names of kernels and logs are unique.
void add_names(const Item &item, const Benchmark &b, std::set<std::string> &kernels, std::set<std::string> &logs)
{
	for (const Kernel &k : b.kernels)
		if (!kernels.insert(k.name).second)
			item.refuse(fmt::format("there is another kernel \"{}\"", k.name));
	if (!b.log_name.empty() && !logs.insert(b.log_name).second)
		item.refuse(fmt::format("log_name {} is also used by another benchmark", quote_value(b.log_name)));
}

const char *program_key(const Kernel &k)
{
	return k.kind == Kind::Matrix ? "matrix_multiply" : k.kind == Kind::Copy ? "memory_copy" : "timer_spin";
}

// previous_ns: release of the previous kernel, from which its delay counts.
json kernel_json(const Kernel &k, u64 previous_ns)
{
	json j = {
		{"kernel_label", k.name}, {"duration", k.work}, {"block_count", k.blocks}, {"thread_count", k.threads}};

	if (k.release_ns > previous_ns)
		j["delay"] = to_seconds(k.release_ns - previous_ns);
	if (k.shared)
		j["shared_memory_size"] = k.shared / 4;
	return j;
}

json benchmark_json(const Benchmark &b)
{
	const Kernel &first = b.kernels.front();
	json j = {{"filename", (b.program == "multikernel" ? b.program : program_key(first)) + std::string(".so")}};

	if (!b.log_name.empty())
		j["log_name"] = b.log_name;
	if (!b.label.empty())
		j["label"] = b.label;
	if (b.program == "multikernel") {
		u64 previous_ns = 0;
		for (const Kernel &k : b.kernels) {
			j["additional_info"].push_back(kernel_json(k, previous_ns));
			previous_ns = k.release_ns;
		}
	} else {
		j["thread_count"] = first.threads;
		j["block_count"] = first.blocks;
		if (first.kind == Kind::Spin)
			j["additional_info"] = first.work;
		else if (first.kind == Kind::Copy)
			j["data_size"] = first.work;
		else
			j["additional_info"]["matrix_width"] = first.work;
		if (first.kind != Kind::Spin)
			j["additional_info"]["repeat"] = first.repeat;
		if (first.shared)
			j["shared_memory_size"] = first.shared / 4;
		j["release_time"] = to_seconds(first.release_ns);
	}
	if (b.priority)
		j["stream_priority"] = b.priority;
	return j;
}

} // namespace

std::vector<std::pair<u32, u32>> Scenario::launches() const
{
	std::vector<std::pair<u32, u32>> all;

	for (u32 b = 0; b < benchmarks.size(); b++)
		for (u32 k = 0; k < benchmarks[b].kernels.size(); k++)
			all.emplace_back(b, k);
	std::stable_sort(all.begin(), all.end(), [this](const auto &a, const auto &b) {
		return benchmarks[a.first].kernels[a.second].release_ns <
		       benchmarks[b.first].kernels[b.second].release_ns;
	});
	return all;
}

u32 Scenario::kernels() const
{
	size_t count = 0;

	for (const Benchmark &b : benchmarks)
		count += b.kernels.size();
	return static_cast<u32>(count);
}

Scenario parse_scenario(const std::string &text, const std::string &name)
{
	json whole = parse_json(text, name);
	Item file(whole, name);
	Scenario s;
	std::set<std::string> kernels, logs;
	u64 blocks = 0;

	file.check_keys({"name", "comment", "benchmarks", "max_iterations", "max_time", "use_processes", "cuda_device",
			 "base_result_directory", "pin_cpus", "do_warmup", "sync_every_iteration"});
	s.name = file.string("name");
	refuse_iterations(file);
	if (file.has("use_processes") && file.at("use_processes") != false)
		file.refuse(fmt::format("use_processes is {}, but all streams are in one process",
					quote_value(file.at("use_processes"))));
	if (file.has("cuda_device"))
		s.device = file.integer("cuda_device", 0, 1023);
	for_each_item(
		file, "benchmarks", "benchmark",
		[&](const Item &item) {
		refuse_iterations(item);
		s.benchmarks.push_back(parse_benchmark(item, s.kernels() + 1));
		add_names(item, s.benchmarks.back(), kernels, logs);
		for (const Kernel &k : s.benchmarks.back().kernels)
			blocks += k.blocks;
		if (s.benchmarks.size() > MAX_STREAMS || kernels.size() > MAX_KERNELS || blocks > MAX_BLOCKS)
			file.refuse(fmt::format("more than {} streams, {} kernels or {} blocks", MAX_STREAMS,
						MAX_KERNELS, MAX_BLOCKS));
		},
		"label");
	if (s.benchmarks.empty())
		file.refuse("no benchmark");
	return s;
}

json scenario_json(const Scenario &scenario)
{
	json j = {{"name", scenario.name}, {"max_iterations", 1}, {"max_time", 0}, {"use_processes", false}};

	if (scenario.device)
		j["cuda_device"] = *scenario.device;
	for (const Benchmark &b : scenario.benchmarks)
		j["benchmarks"].push_back(benchmark_json(b));
	return j;
}

void check_fits(const Scenario &scenario, const Machine &machine)
{
	for (const Benchmark &b : scenario.benchmarks)
		for (const Kernel &k : b.kernels) {
			if (machine.threads_per_sm && k.threads > machine.threads_per_sm)
				throw Error(Error::Input,
					    fmt::format("{}: kernel \"{}\": {} threads per block, but an SM holds {}",
							scenario.name, k.name, k.threads, machine.threads_per_sm));
			if (machine.shared_per_block && k.shared > machine.shared_per_block)
				throw Error(Error::Input,
					    fmt::format("{}: kernel \"{}\": {} bytes of shared memory per block, but "
							"this GPU has {}",
							scenario.name, k.name, k.shared, machine.shared_per_block));
		}
}

} // namespace tool::blocks
