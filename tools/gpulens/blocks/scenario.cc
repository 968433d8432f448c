// SPDX-License-Identifier: GPL-2.0
// Parses and writes scenario files.
#include "gpulens/blocks/scenario.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "lib/base/json_input.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

namespace tool::blocks {

using json = nlohmann::ordered_json;

namespace {

constexpr u32 MAX_SHARED = 65536;        // 32-bit words; more than any GPU gives a block
constexpr u32 MAX_COPY_WORDS = 1U << 28; // of 32 bits, so 1 GiB of locked memory
constexpr u64 MAX_BYTES = u64{16} << 30;
constexpr u32 MAX_WIDTH = 16384;
constexpr u32 DEFAULT_REPEAT = 1;
constexpr u32 DEFAULT_READS = 1000, MAX_READS = 100'000'000; // of a walk; the default is the framework's
constexpr u64 MAX_WALK_BYTES = u64{4} << 30;
constexpr const char *MEMORY_NAMES[] = {"device", "zero_copy", "managed"};
constexpr const char *DEFAULT_STREAM_PROGRAM = "timer_spin_default_stream"; // timer_spin in the NULL stream

u64 seconds_to_ns(double s)
{
	return static_cast<u64>(std::llround(s * 1e9));
}

bool is_walk(const std::string &program)
{
	return program == "random_walk" || program == "inorder_walk";
}

// Returns the framework's program that "./bin/timer_spin.so" names; the kernels of gpulens have the same names.
std::string program_of(const std::string &path)
{
	std::string name = path.substr(path.rfind('/') + 1);

	if (name.ends_with(".so"))
		name.resize(name.size() - 3);
	return name;
}

bool is_builtin(const std::string &program)
{
	return program == "timer_spin" || program == DEFAULT_STREAM_PROGRAM || program == "multikernel" ||
	       program == "matrix_multiply" || program == "memory_copy" || is_walk(program);
}

std::string parse_program(const Item &object)
{
	std::string path = object.string("filename"), name = program_of(path);

	if (!is_builtin(name) && !is_plugin(object, false))
		object.refuse(fmt::format("filename is {}, but there are only kernels for timer_spin, "
					  "timer_spin_default_stream, multikernel, matrix_multiply, memory_copy, "
					  "random_walk, inorder_walk, and plugins, whose names end in .so",
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

// Sets what is copied before and after a kernel.
void parse_copies(const Item &object, Kernel &k)
{
	if (object.has("copy_in_count"))
		k.copy_in = u64{4} * object.integer("copy_in_count", 0, MAX_COPY_WORDS);
	if (object.has("copy_out_count"))
		k.copy_out = u64{4} * object.integer("copy_out_count", 0, MAX_COPY_WORDS);
}

std::optional<TpcSet> parse_tpcs(const Item &object)
{
	if (!object.has("sm_mask"))
		return std::nullopt;
	std::optional<TpcSet> tpcs = parse_sm_mask(object.string("sm_mask"));
	if (!tpcs)
		object.refuse(
			fmt::format("sm_mask is {}, not \"0x...\" (TPCs that are disabled) or \"~0x...\" (enabled) "
				    "of up to 32 digits",
				    quote_value(object.at("sm_mask"))));
	return tpcs;
}

// key: of the list. plugin: the kernels are a plugin's, which sets masks and copies itself.
std::vector<Kernel> parse_multikernel(const Item &object, const char *key, bool plugin)
{
	std::vector<const char *> keys = {"kernel_label", "duration", "block_count",
					  "thread_count", "delay",    "shared_memory_size"};
	std::vector<Kernel> kernels;
	double release = parse_delay(object, "release_time");

	if (!plugin)
		keys.insert(keys.end(), {"sm_mask", "copy_in_count", "copy_out_count"});
	for_each_item(
		object, key, "kernel",
		[&](const Item &item) {
		Kernel k;
		item.check_keys(keys);
		k.name = item.name("kernel_label");
		k.work = parse_spin_ns(item, "duration");
		k.blocks = item.integer("block_count", 1, MAX_BLOCKS);
		k.threads = parse_threads(item, false);
		k.shared = parse_shared(item);
		parse_copies(item, k);
		k.tpcs = parse_tpcs(item);
		release += parse_delay(item, "delay");
		k.release_ns = seconds_to_ns(release);
		kernels.push_back(k);
		},
		"kernel_label");
	if (kernels.empty())
		object.refuse("no kernel");
	return kernels;
}

// additional_info: as in the framework the number of reads, which is also optional; or an object that has it.
void parse_walk(const Item &object, const std::string &program, Kernel &k)
{
	k.kind = program == "random_walk" ? Kind::RandomWalk : Kind::InOrderWalk;
	k.work = static_cast<u64>(object.number("data_size", 8, static_cast<double>(MAX_WALK_BYTES), "bytes"));
	k.repeat = DEFAULT_READS;
	if (!object.has("additional_info"))
		return;
	if (!object.at("additional_info").is_object()) {
		k.repeat = object.integer("additional_info", 1, MAX_READS);
		return;
	}
	Item info = object.object("additional_info");
	info.check_keys({"reads", "memory"});
	if (info.has("reads"))
		k.repeat = info.integer("reads", 1, MAX_READS);
	if (!info.has("memory"))
		return;
	std::string name = info.string("memory");
	auto known = std::find(std::begin(MEMORY_NAMES), std::end(MEMORY_NAMES), name);
	if (known == std::end(MEMORY_NAMES))
		info.refuse(fmt::format("memory is {}, not device, zero_copy or managed", quote_value(name)));
	k.memory = static_cast<Memory>(known - std::begin(MEMORY_NAMES));
}

Kernel parse_kernel(const Item &object, const std::string &program, const std::string &name)
{
	Kernel k;

	k.name = name;
	k.blocks = object.integer("block_count", 1, MAX_BLOCKS);
	k.threads = parse_threads(object, program == "matrix_multiply");
	k.release_ns = seconds_to_ns(parse_delay(object, "release_time"));
	parse_copies(object, k);
	if (program == "timer_spin") {
		k.work = parse_spin_ns(object, "additional_info");
		k.shared = parse_shared(object);
		return k;
	}
	if (is_walk(program)) {
		parse_walk(object, program, k);
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

bool parse_flag(const Item &object, const char *key)
{
	if (object.has(key) && !object.at(key).is_boolean())
		object.refuse(fmt::format("{} is {}, not true or false", key, quote_value(object.at(key))));
	return object.has(key) && object.at(key).get<bool>();
}

// How often and how long a benchmark is repeated; for a scenario, the default of its benchmarks.
struct Repetition {
	u32 iterations = 1;
	u64 max_ns = 0;
};

Repetition parse_repetition(const Item &object, Repetition repetition)
{
	if (object.has("max_iterations")) {
		if (object.at("max_iterations") == 0)
			object.refuse("max_iterations is 0, without limit, but the memory for times needs one");
		repetition.iterations = object.integer("max_iterations", 1, MAX_KERNELS);
	}
	if (object.has("max_time"))
		repetition.max_ns = seconds_to_ns(object.number("max_time", 0, MAX_RELEASE_S, "seconds"));
	return repetition;
}

// As in the framework, a stream without a priority is a blocking one. default_stream: the program is one for the NULL stream.
StreamKind parse_stream_kind(const Item &object, bool default_stream)
{
	bool null = parse_flag(object, "use_null_stream") || default_stream;

	if (!null && object.has("blocking_stream"))
		return parse_flag(object, "blocking_stream") ? StreamKind::Blocking : StreamKind::NonBlocking;
	for (const char *key : {"stream_priority", "sm_mask", "blocking_stream"})
		if (null && object.has(key))
			object.refuse(fmt::format("{} is set, but the NULL stream has none", key));
	if (null)
		return StreamKind::Null;
	return object.has("stream_priority") ? StreamKind::NonBlocking : StreamKind::Blocking;
}

// The interface of plugins has 64 bits, in which a set bit disables a TPC and 0 is no mask.
void check_plugin_mask(const Item &object, const Benchmark &b)
{
	constexpr u32 PLUGIN_TPCS = 64;

	if (b.tpcs && ((*b.tpcs >> PLUGIN_TPCS).any() || (*b.tpcs << (MAX_TPCS - PLUGIN_TPCS)).count() == PLUGIN_TPCS))
		object.refuse(
			fmt::format("sm_mask is {}, but that of a plugin disables some of TPCs 0 to 63 and all others",
				    quote_value(object.at("sm_mask"))));
}

// name: of its kernel, where it has one without a label.
Benchmark parse_benchmark(const Item &object, const std::string &name, const Repetition &repetition)
{
	Benchmark b;

	// Some keys are accepted for compatibility and ignored: data_size and cpu_core, except for plugins, and for
	// multikernel thread_count and block_count.
	object.check_keys({"filename",
			   "log_name",
			   "label",
			   "thread_count",
			   "block_count",
			   "data_size",
			   "additional_info",
			   "release_time",
			   "stream_priority",
			   "shared_memory_size",
			   "cpu_core",
			   "max_iterations",
			   "max_time",
			   "sm_mask",
			   "use_null_stream",
			   "blocking_stream",
			   "copy_in_count",
			   "copy_out_count",
			   "plugin",
			   "kernels",
			   "mps_thread_percentage",
			   "comment"});
	b.program = parse_program(object);
	if (is_plugin(object, is_builtin(b.program)))
		b.plugin = parse_plugin(object);
	else if (object.has("kernels"))
		object.refuse("kernels is set, but only plugins have it");
	b.stream = parse_stream_kind(object, !b.plugin && b.program == DEFAULT_STREAM_PROGRAM);
	if (!b.plugin && b.program == DEFAULT_STREAM_PROGRAM)
		b.program = "timer_spin";
	b.label = object.has("label") ? object.string("label") : "";
	b.log_name = object.has("log_name") ? object.string("log_name") : "";
	if (object.has("stream_priority"))
		b.priority = static_cast<int>(object.number("stream_priority", -100, 100, "a priority"));
	b.tpcs = parse_tpcs(object);
	Repetition own = parse_repetition(object, repetition);
	b.iterations = own.iterations;
	b.max_ns = own.max_ns;
	if (object.has("mps_thread_percentage"))
		b.mps_percentage = object.number("mps_thread_percentage", 0.0001, 100, "percent");
	if (b.plugin) {
		b.plugin->release_ns = seconds_to_ns(parse_delay(object, "release_time"));
		check_plugin_mask(object, b);
		if (object.has("kernels"))
			b.kernels = parse_multikernel(object, "kernels", true);
		return b;
	}
	for (const char *key : {"copy_in_count", "copy_out_count"})
		if (b.program == "multikernel" && object.has(key))
			object.refuse(fmt::format("{} is set, but multikernel has it for each kernel", key));
	if (b.program == "multikernel")
		b.kernels = parse_multikernel(object, "additional_info", false);
	else
		b.kernels.push_back(parse_kernel(object, b.program, name));
	return b;
}

// Refuses kernels that may run nowhere.
void check_masks(const Item &item, const Scenario &s)
{
	u32 last = static_cast<u32>(s.benchmarks.size()) - 1;

	if (const std::optional<TpcSet> &tpcs = s.tpcs_of(last, 0); s.benchmarks[last].plugin && tpcs && tpcs->none())
		item.refuse("its sm_mask, or the scenario's, disables all TPCs");
	for (u32 k = 0; k < s.benchmarks[last].kernels.size(); k++)
		if (const std::optional<TpcSet> &tpcs = s.tpcs_of(last, k); tpcs && tpcs->none())
			item.refuse(
				fmt::format("kernel \"{}\": its sm_mask, its stream's or the scenario's disables all "
					    "TPCs",
					    s.benchmarks[last].kernels[k].name));
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

// Returns the labels of kernels anywhere in a scenario.
std::set<std::string> find_labels(const json &value)
{
	std::set<std::string> labels;

	for (const auto &[key, inner] : value.items()) {
		if (key == "kernel_label" && inner.is_string())
			labels.insert(inner.get<std::string>());
		else if (inner.is_structured())
			labels.merge(find_labels(inner));
	}
	return labels;
}

// Returns the name of a kernel without a label, which no other kernel has: "K3" for the third one.
std::string find_name(u32 number, const std::set<std::string> &labels, const std::set<std::string> &names)
{
	std::string name = fmt::format("K{}", number);
	return labels.contains(name) || names.contains(name) ? find_name(number + 1, labels, names) : name;
}

const char *program_key(const Kernel &k)
{
	constexpr const char *NAMES[] = {"timer_spin", "memory_copy", "matrix_multiply", "random_walk", "inorder_walk"};

	return NAMES[static_cast<int>(k.kind)];
}

void add_copies(json &j, const Kernel &k)
{
	if (k.copy_in)
		j["copy_in_count"] = k.copy_in / 4;
	if (k.copy_out)
		j["copy_out_count"] = k.copy_out / 4;
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
	if (k.tpcs)
		j["sm_mask"] = sm_mask_text(*k.tpcs);
	add_copies(j, k);
	return j;
}

// previous_ns: release from which the first delay counts.
void add_kernels(json &j, const char *key, const std::vector<Kernel> &kernels, u64 previous_ns)
{
	for (const Kernel &k : kernels) {
		j[key].push_back(kernel_json(k, previous_ns));
		previous_ns = k.release_ns;
	}
}

// null: the scenario has a NULL stream.
json benchmark_json(const Benchmark &b, bool null)
{
	json j;

	if (b.plugin)
		j["filename"] = b.plugin->file;
	else
		j["filename"] =
			(b.program == "multikernel" ? b.program : program_key(b.kernels.front())) + std::string(".so");
	if (!b.log_name.empty())
		j["log_name"] = b.log_name;
	if (!b.label.empty())
		j["label"] = b.label;
	if (b.plugin) {
		add_plugin(j, *b.plugin, is_builtin(b.program));
		add_kernels(j, "kernels", b.kernels, b.plugin->release_ns);
	} else if (b.program == "multikernel") {
		add_kernels(j, "additional_info", b.kernels, 0);
	} else {
		const Kernel &first = b.kernels.front();
		j["thread_count"] = first.threads;
		j["block_count"] = first.blocks;
		bool walk = first.kind == Kind::RandomWalk || first.kind == Kind::InOrderWalk;
		if (walk)
			j["additional_info"] = {{"reads", first.repeat},
						{"memory", MEMORY_NAMES[static_cast<int>(first.memory)]}};
		if (walk)
			j["data_size"] = first.work;
		else if (first.kind == Kind::Spin)
			j["additional_info"] = first.work;
		else if (first.kind == Kind::Copy)
			j["data_size"] = first.work;
		else
			j["additional_info"]["matrix_width"] = first.work;
		if (first.kind == Kind::Copy || first.kind == Kind::Matrix)
			j["additional_info"]["repeat"] = first.repeat;
		if (first.shared)
			j["shared_memory_size"] = first.shared / 4;
		j["release_time"] = to_seconds(first.release_ns);
		add_copies(j, first);
	}
	if (b.priority || (b.plugin && b.stream == StreamKind::NonBlocking))
		j["stream_priority"] = b.priority;
	if (b.stream == StreamKind::Null)
		j["use_null_stream"] = true;
	else if (null && !b.plugin)
		j["blocking_stream"] = b.stream == StreamKind::Blocking;
	if (b.tpcs)
		j["sm_mask"] = sm_mask_text(*b.tpcs);
	if (b.iterations != 1)
		j["max_iterations"] = b.iterations;
	if (b.max_ns)
		j["max_time"] = to_seconds(b.max_ns);
	if (b.mps_percentage)
		j["mps_thread_percentage"] = *b.mps_percentage;
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

bool Scenario::has_null_stream() const
{
	return std::any_of(benchmarks.begin(), benchmarks.end(),
			   [](const Benchmark &b) { return b.stream == StreamKind::Null; });
}

const std::optional<TpcSet> &Scenario::tpcs_of(u32 benchmark, u32 kernel) const
{
	const Benchmark &b = benchmarks[benchmark];

	if (kernel < b.kernels.size() && b.kernels[kernel].tpcs)
		return b.kernels[kernel].tpcs;
	return b.tpcs ? b.tpcs : tpcs;
}

Scenario parse_scenario(const std::string &text, const std::string &name)
{
	json whole = parse_json(text, name, "comment"); // as cuda_scheduling_examiner's files have it
	Item file(whole, name);
	Scenario s;
	std::set<std::string> kernels, logs, labels = find_labels(whole);
	u64 blocks = 0, launches = 0;

	file.check_keys({"name", "comment", "benchmarks", "max_iterations", "max_time", "use_processes", "cuda_device",
			 "base_result_directory", "pin_cpus", "do_warmup", "sync_every_iteration", "sm_mask",
			 "use_threads"});
	s.name = file.string("name");
	s.processes = parse_flag(file, "use_processes");
	s.threads = parse_flag(file, "use_threads");
	if (s.threads && s.processes)
		file.refuse("use_threads is true, but with use_processes each process has one benchmark");
	s.synchronized = parse_flag(file, "sync_every_iteration");
	s.pinned = parse_flag(file, "pin_cpus");
	s.warm_up = parse_flag(file, "do_warmup");
	s.tpcs = parse_tpcs(file);
	Repetition repetition = parse_repetition(file, {});
	if (file.has("cuda_device"))
		s.device = file.integer("cuda_device", 0, 1023);
	for_each_item(
		file, "benchmarks", "benchmark",
		[&](const Item &item) {
		s.benchmarks.push_back(parse_benchmark(item, find_name(s.kernels() + 1, labels, kernels), repetition));
		const Benchmark &b = s.benchmarks.back();
		add_names(item, b, kernels, logs);
		check_masks(item, s);
		if (b.mps_percentage && !s.processes)
			item.refuse("mps_thread_percentage is set, but the scenario has no use_processes");
		launches += u64{b.iterations} * std::max<size_t>(b.kernels.size(), 1);
		for (const Kernel &k : b.kernels)
			blocks += u64{b.iterations} * k.blocks;
		if (s.benchmarks.size() > MAX_STREAMS || launches > MAX_KERNELS || blocks > MAX_BLOCKS)
			file.refuse(fmt::format("more than {} streams, {} kernels or {} blocks", MAX_STREAMS,
						MAX_KERNELS, MAX_BLOCKS));
		if (s.processes && s.benchmarks.size() > MAX_PROCESSES)
			file.refuse(fmt::format("more than {} processes", MAX_PROCESSES));
		},
		"label");
	if (s.benchmarks.empty())
		file.refuse("no benchmark");
	return s;
}

json scenario_json(const Scenario &scenario)
{
	json j = {
		{"name", scenario.name}, {"max_iterations", 1}, {"max_time", 0}, {"use_processes", scenario.processes}};

	if (scenario.threads)
		j["use_threads"] = true;
	if (scenario.synchronized)
		j["sync_every_iteration"] = true;
	if (scenario.pinned)
		j["pin_cpus"] = true;
	if (scenario.warm_up)
		j["do_warmup"] = true;
	if (scenario.device)
		j["cuda_device"] = *scenario.device;
	if (scenario.tpcs)
		j["sm_mask"] = sm_mask_text(*scenario.tpcs);
	for (const Benchmark &b : scenario.benchmarks)
		j["benchmarks"].push_back(benchmark_json(b, scenario.has_null_stream()));
	return j;
}

} // namespace tool::blocks
