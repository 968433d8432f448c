// SPDX-License-Identifier: GPL-2.0
// Starts the program, and parses what it prints.
#include "gpulens/blocks/program.hpp"

#include "gpulens/out/output.hpp"
#include "lib/base/child_process.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"
#include "lib/base/format.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <memory>
#include <sched.h>
#include <sstream>
#include <unistd.h>

namespace tool::blocks {

namespace {

constexpr const char *PROTOCOL_LINE = "gpulens-probe 1";

struct FileCloser {
	void operator()(FILE *file) const { std::fclose(file); }
};
using File = std::unique_ptr<FILE, FileCloser>;

// Replaces this process by the program; returns the exit status if that fails. command: "info" or "run".
int exec_program(const ProgramOptions &options, const std::string &path, const char *command)
{
	std::string device = std::to_string(options.device);

	if (options.connections)
		setenv("CUDA_DEVICE_MAX_CONNECTIONS", std::to_string(*options.connections).c_str(), 1);
	execl(path.c_str(), path.c_str(), command, device.c_str(), nullptr);
	std::fprintf(stderr, "gpulens: %s: %s\n", path.c_str(), std::strerror(errno));
	return 127;
}

std::string read_all(int fd)
{
	std::string text;
	char piece[65536];

	for (;;) {
		ssize_t got = read(fd, piece, sizeof(piece));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return text;
		text.append(piece, static_cast<size_t>(got));
	}
}

// Runs the program with that standard input and returns its standard output. Its messages go to standard error.
std::string run_program(const ProgramOptions &options, const std::string &path, const char *command,
			const std::string &input)
{
	if (options.start)
		return options.start({path, command, std::to_string(options.device)}, input);
	File in(std::tmpfile());
	int out[2];

	if (!in || fwrite(input.data(), 1, input.size(), in.get()) != input.size() || fflush(in.get()) ||
	    pipe2(out, O_CLOEXEC))
		throw Error(Error::Source, fmt::format("{}: {}", path, std::strerror(errno)));
	rewind(in.get());
	ChildProcess child([&] { return exec_program(options, path, command); },
			   {.in = fileno(in.get()), .out = out[1]});
	close(out[1]);
	std::string text = read_all(out[0]);
	close(out[0]);
	if (int status = child.wait())
		throw Error(Error::Source, fmt::format("{}: {}", path, end_text(status)));
	return text;
}

// The lines of the program's output, with path and line number for messages.
class Answer {
public:
	Answer(const std::string &text, std::string path) : in_(text), path_(std::move(path))
	{
		if (next() != PROTOCOL_LINE)
			refuse(fmt::format("expected \"{}\"", PROTOCOL_LINE));
	}

	[[noreturn]] void refuse(const std::string &why) const
	{
		throw Error(Error::Source,
			    fmt::format("{}: line {} of its output, \"{}\": {}", path_, number_, line_, why));
	}

	const std::string &next()
	{
		number_++;
		if (!std::getline(in_, line_)) {
			line_.clear();
			refuse("unexpected end");
		}
		return line_;
	}

	// Returns the numbers after the first word of the line; there must be count.
	std::vector<s64> parse_numbers(size_t count) const
	{
		std::istringstream words(line_);
		std::string first;
		std::vector<s64> list;

		words >> first;
		for (s64 n; words >> n;)
			list.push_back(n);
		if (list.size() != count || !words.eof())
			refuse(fmt::format("expected {} numbers", count));
		return list;
	}

	std::string first_word() const { return line_.substr(0, line_.find(' ')); }
	// Returns what follows the first word.
	std::string rest() const { return line_.substr(std::min(line_.size(), first_word().size() + 1)); }

	u32 parse_number(s64 least) const
	{
		s64 n = parse_numbers(1)[0];
		if (n < least || n > INT32_MAX)
			refuse("out of range");
		return static_cast<u32>(n);
	}

private:
	std::istringstream in_;
	std::string path_, line_;
	u32 number_ = 0;
};

// Parses the lines of the GPU, and stops at the first other line.
Machine parse_machine(Answer &answer)
{
	Machine m;
	u32 capability = 0;
	std::map<std::string, u32 *> numbers = {{"capability", &capability},
						{"sms", &m.sms},
						{"threads_per_sm", &m.threads_per_sm},
						{"blocks_per_sm", &m.blocks_per_sm},
						{"shared_per_block", &m.shared_per_block},
						{"channels", &m.channels},
						{"copy_engines", &m.copy_engines}};

	for (;;) {
		answer.next();
		auto at = numbers.find(answer.first_word());
		if (at != numbers.end())
			*at->second = answer.parse_number(1);
		else if (answer.first_word() == "name")
			m.name = answer.rest();
		else
			break;
	}
	if (!m.sms || !m.threads_per_sm || !m.blocks_per_sm)
		answer.refuse("sms, threads_per_sm or blocks_per_sm is missing");
	if (capability)
		set_capability(m, capability);
	return m;
}

// Returns a processor that this process may use, another one for each number as long as there are any.
int nth_core(u32 number)
{
	cpu_set_t set;
	std::vector<int> cores;

	CPU_ZERO(&set);
	if (!sched_getaffinity(0, sizeof(set), &set))
		for (int i = 0; i < CPU_SETSIZE; i++)
			if (CPU_ISSET(i, &set))
				cores.push_back(i);
	return cores.empty() ? 0 : cores[number % cores.size()];
}

// Returns a line with the bits that disable TPCs, 128 in hexadecimal digits.
std::string format_mask(const char *word, const std::optional<TpcSet> &tpcs)
{
	const TpcSet low(~0ULL);

	if (!tpcs)
		return "";
	TpcSet disabled = ~*tpcs;
	return fmt::format("{} {:016x} {:016x}\n", word, (disabled >> 64).to_ullong(), (disabled & low).to_ullong());
}

// Returns the launches that the program does by itself.
std::vector<std::pair<u32, u32>> launches_of_program(const Scenario &scenario)
{
	std::vector<std::pair<u32, u32>> launches = scenario.launches();

	std::erase_if(launches, [&](const auto &l) { return scenario.benchmarks[l.first].plugin.has_value(); });
	return launches;
}

// Returns the lines of a plugin. number: of its benchmark.
std::string format_plugin(const Scenario &scenario, u32 number)
{
	constexpr int NO_PRIORITY = -100; // of tools/probe/gpulens-plugin.h
	const Benchmark &b = scenario.benchmarks[number];
	const Plugin &p = *b.plugin;
	u64 disabled = b.tpcs ? (~*b.tpcs & TpcSet(~0ULL)).to_ullong() : 0;
	std::string text = fmt::format("plugin {} {} {} {} {:x} {} {}\nfile {}\n", number, p.release_ns,
				       b.stream == StreamKind::NonBlocking ? b.priority : NO_PRIORITY, p.data_size,
				       disabled, fmt::join(p.threads, " "), fmt::join(p.blocks, " "), p.file);

	if (p.info)
		text += "info " + *p.info + '\n';
	if (scenario.pinned)
		text += fmt::format("core {}\n", nth_core(number));
	else if (p.core)
		text += fmt::format("core {}\n", *p.core);
	return text + (scenario.warm_up ? "warm_up\n" : "");
}

// Returns the lines of tools/probe/probe_kernels.cc's standard input.
std::string format_scenario(const Scenario &scenario)
{
	std::string text = std::string(PROTOCOL_LINE) + '\n' + format_mask("all", scenario.tpcs);
	const char *kinds[] = {"spin", "copy", "matrix", "random_walk", "inorder_walk"};

	if (scenario.threads)
		text += "threads\n";
	if (scenario.synchronized)
		text += "barrier\n";
	for (const Benchmark &b : scenario.benchmarks) {
		if (scenario.processes && &b != &scenario.benchmarks.front())
			text += "process\n";
		text += fmt::format("stream {}\n", b.priority);
		if (!b.plugin) // it gets the mask and sets it itself
			text += format_mask("mask", b.tpcs);
		if (scenario.has_null_stream() && b.stream != StreamKind::NonBlocking)
			text += b.stream == StreamKind::Null ? "null\n" : "blocking\n";
		if (b.iterations > 1)
			text += fmt::format("iterations {} {}\n", b.iterations, b.max_ns);
		if (b.mps_percentage)
			text += fmt::format("percentage {:.4f}\n", *b.mps_percentage);
	}
	for (u32 i = 0; i < scenario.benchmarks.size(); i++)
		if (scenario.benchmarks[i].plugin)
			text += format_plugin(scenario, i);
	for (auto [benchmark, kernel] : launches_of_program(scenario)) {
		const Kernel &k = scenario.benchmarks[benchmark].kernels[kernel];
		text += fmt::format("kernel {} {} {} {} {} {} {} {}\n", kinds[static_cast<int>(k.kind)], benchmark,
				    k.work, k.repeat, k.blocks, k.threads, k.shared, k.release_ns);
		if (k.memory != Memory::Device)
			text += k.memory == Memory::ZeroCopy ? "zero_copy\n" : "managed\n";
		if (k.copy_in || k.copy_out)
			text += fmt::format("copies {} {}\n", k.copy_in, k.copy_out);
		text += format_mask("mask", k.tpcs);
	}
	return text + "end\n";
}

// Returns nothing if there are no bytes to copy.
std::optional<Copy> parse_copy(Answer &answer, u64 bytes)
{
	if (!bytes)
		return std::nullopt;
	answer.next();
	if (answer.first_word() != "copy")
		answer.refuse("expected copy");
	std::vector<s64> n = answer.parse_numbers(4);
	if (n[1] < n[0] || n[3] < n[2])
		answer.refuse("times are not in order");
	return Copy{bytes, {n[0], n[1]}, n[2], n[3]};
}

// kernel: what was asked for, or what a plugin says that it launched.
void parse_kernel(Answer &answer, Ran &k, const Kernel &kernel, const Machine &m)
{
	if (answer.first_word() != "kernel")
		answer.refuse("expected kernel");
	std::vector<s64> n = answer.parse_numbers(4);
	if (n[1] < n[0] || n[2] < n[1])
		answer.refuse("times are not in order");
	k.launched = {n[0], n[1], n[2]};
	if (n[3] < 0 || n[3] > MAX_THREADS)
		answer.refuse("out of range");
	k.per_sm = static_cast<u32>(n[3]);
	k.copy_in = parse_copy(answer, kernel.copy_in);
	k.copy_out = parse_copy(answer, kernel.copy_out);
	for (u32 i = 0; i < kernel.blocks; i++) {
		answer.next();
		if (answer.first_word() != "block")
			answer.refuse("expected block");
		n = answer.parse_numbers(3);
		if (n[1] < n[0] || n[2] < 0 || n[2] >= m.sms)
			answer.refuse("the block ends before it starts, or its SM does not exist");
		k.blocks.push_back({n[0], n[1], static_cast<u32>(n[2])});
	}
}

// A kernel of a plugin: its number in the iteration, and the name that the plugin gave it.
struct ReportedKernel {
	size_t index; // in the log
	u32 number;
	std::string name;
};

// Parses a kernel of a plugin and adds it to the log.
ReportedKernel parse_reported(Answer &answer, Log &log, const Scenario &scenario, u32 benchmark, u32 iteration,
			      u32 number)
{
	std::istringstream words(answer.next());
	std::string word;
	Kernel kernel;
	Ran ran;

	words >> word >> kernel.blocks >> kernel.threads >> kernel.shared;
	if (word != "reported" || !words || !kernel.blocks || kernel.blocks > MAX_BLOCKS || !kernel.threads ||
	    kernel.threads > MAX_THREADS)
		answer.refuse("expected reported, with blocks and threads in their range");
	words >> kernel.name;
	ran.stream = benchmark;
	ran.iteration = iteration;
	ran.threads = kernel.threads;
	ran.shared = kernel.shared;
	ran.release = static_cast<s64>(scenario.benchmarks[benchmark].plugin->release_ns);
	ran.tpcs = scenario.tpcs_of(benchmark, number);
	answer.next();
	parse_kernel(answer, ran, kernel, log.machine);
	log.kernels.push_back(ran);
	return {log.kernels.size() - 1, number, is_plain_word(kernel.name) ? kernel.name : ""};
}

// Refuses kernels of an iteration that differ from those of the scenario, if it has them.
void compare_kernels(const Benchmark &b, const Ran *ran, u32 count)
{
	auto refuse = [&](const std::string &why) { throw Error(Error::Source, b.plugin->file + ": " + why); };

	if (b.kernels.empty())
		return;
	if (count != b.kernels.size())
		refuse(fmt::format("it launched {} kernels, but the scenario's kernels has {}", count,
				   b.kernels.size()));
	for (u32 i = 0; i < count; i++) {
		const Kernel &k = b.kernels[i];
		if (ran[i].blocks.size() != k.blocks || ran[i].threads != k.threads)
			refuse(fmt::format(
				"kernel {} has {} blocks of {} threads, but the scenario's kernel \"{}\" has {} "
				"of {}",
				i + 1, ran[i].blocks.size(), ran[i].threads, k.name, k.blocks, k.threads));
	}
}

// Parses what a plugin did.
void parse_plugin_part(Answer &answer, Log &log, const Scenario &scenario, u32 benchmark,
		       std::vector<ReportedKernel> &reported)
{
	const Benchmark &b = scenario.benchmarks[benchmark];

	answer.next();
	if (answer.first_word() != "plugin")
		answer.refuse("expected plugin");
	log.streams[benchmark].program = answer.rest();
	answer.next();
	if (answer.first_word() != "ran" || answer.parse_number(1) > b.iterations)
		answer.refuse("expected ran, with no more iterations than asked for");
	u32 iterations = answer.parse_number(1);
	for (u32 iteration = 0; iteration < iterations; iteration++) {
		answer.next();
		if (answer.first_word() != "iteration")
			answer.refuse("expected iteration");
		std::vector<s64> n = answer.parse_numbers(5);
		if (n[1] < n[0] || n[2] < n[1] || n[3] < n[2] || n[4] < 0 || n[4] > MAX_KERNELS)
			answer.refuse("times are not in order, or too many kernels");
		log.streams[benchmark].calls.push_back({n[0], n[1], n[2], n[3]});
		auto count = static_cast<u32>(n[4]);
		for (u32 i = 0; i < count; i++)
			reported.push_back(parse_reported(answer, log, scenario, benchmark, iteration, i));
		compare_kernels(b, log.kernels.data() + log.kernels.size() - count, count);
	}
}

// Names the kernels of plugins as the plugins do. Kernels without a name are numbered, and so are several of the same name,
// because names in a log are unique; iterations are numbered as those of other kernels.
void name_kernels(Log &log, const Scenario &scenario, const std::vector<ReportedKernel> &reported)
{
	std::map<std::string, std::map<std::pair<u32, u32>, size_t>>
		same; // by name, stream and number in the iteration

	for (const Ran &k : log.kernels)
		if (!k.name.empty())
			same[k.name][{~0U, 0}] = 0;
	auto base = [](const ReportedKernel &r) {
		return r.name.empty() ? fmt::format("kernel{}", r.number + 1) : r.name;
	};
	for (const ReportedKernel &r : reported)
		same[base(r)].try_emplace({log.kernels[r.index].stream, r.number}, same[base(r)].size() + 1);
	for (const ReportedKernel &r : reported) {
		Ran &k = log.kernels[r.index];
		const auto &others = same[base(r)];
		k.name = base(r);
		if (others.size() > 1)
			k.name += fmt::format(".{}", others.at({k.stream, r.number}));
		if (scenario.benchmarks[k.stream].iterations > 1)
			k.name += fmt::format("#{}", k.iteration + 1);
	}
}

// Sets when kernels of later iterations should be launched: as long after the iteration's first kernel as in the first one.
void move_releases(Log &log, const Scenario &scenario)
{
	std::map<std::pair<u32, u32>, s64> begins; // by stream and iteration

	for (const Ran &k : log.kernels) {
		auto [at, added] = begins.try_emplace({k.stream, k.iteration}, (*k.launched)[0]);
		at->second = std::min(at->second, (*k.launched)[0]);
	}
	for (Ran &k : log.kernels)
		if (k.iteration)
			k.release += begins.at({k.stream, k.iteration}) -
				     static_cast<s64>(scenario.benchmarks[k.stream].release_ns());
}

} // namespace

std::string installed_program(const std::string &name, const std::string &instead)
{
	std::string path = installed_file(name);

	if (access(path.c_str(), F_OK))
		throw Error(Error::Source,
			    fmt::format("{}: not found; make probe in the sources of gpulens builds it, {}", path,
					instead));
	return path;
}

std::string probe_path(const ProgramOptions &options)
{
	return options.path.empty() ? installed_program(PROBE_PROGRAM, "name another program with --program, "
								       "or use --simulate")
				    : options.path;
}

Machine probe_machine(const ProgramOptions &options)
{
	std::string path = probe_path(options);
	Answer answer(run_program(options, path, "info", ""), path);

	return parse_machine(answer);
}

Log run_scenario(const ProgramOptions &options, const Scenario &scenario)
{
	std::string path = probe_path(options);
	Answer answer(run_program(options, path, "run", format_scenario(scenario)), path);
	Log log = empty_log(scenario, parse_machine(answer));
	std::vector<ReportedKernel> reported;

	if (answer.first_word() != "clock")
		answer.refuse("expected clock");
	std::vector<s64> clock = answer.parse_numbers(2);
	if (clock[0] < 0 || clock[1] < 0 || clock[0] > INT32_MAX || clock[1] > INT32_MAX)
		answer.refuse("out of range");
	log.uncertainty_ns = static_cast<u64>(clock[0]);
	log.resolution_ns = static_cast<u64>(clock[1]);
	for (auto [benchmark, kernel] : launches_of_program(scenario)) {
		const Benchmark &b = scenario.benchmarks[benchmark];
		u32 ran = 1;
		answer.next();
		if (b.iterations > 1) {
			if (answer.first_word() != "ran")
				answer.refuse("expected ran");
			ran = answer.parse_number(1);
			if (ran > b.iterations)
				answer.refuse("out of range");
		}
		for (u32 iteration = 0; iteration < ran; iteration++) {
			if (b.iterations > 1)
				answer.next();
			log.kernels.push_back(make_ran(scenario, benchmark, kernel, iteration, 0));
			parse_kernel(answer, log.kernels.back(), b.kernels[kernel], log.machine);
		}
	}
	for (u32 i = 0; i < scenario.benchmarks.size(); i++)
		if (scenario.benchmarks[i].plugin)
			parse_plugin_part(answer, log, scenario, i, reported);
	name_kernels(log, scenario, reported);
	move_releases(log, scenario);
	sort_by_launch(log.kernels);
	if (answer.next() != "end")
		answer.refuse("expected end");
	return log;
}

} // namespace tool::blocks
