// SPDX-License-Identifier: GPL-2.0
// Starts the program, and parses what it prints.
#include "gpulens/blocks/program.hpp"

#include "gpulens/out/output.hpp"
#include "lib/base/errors.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace tool::blocks {

namespace {

constexpr const char *PROTOCOL_LINE = "gpulens-probe 1";

struct FileCloser {
	void operator()(FILE *file) const { std::fclose(file); }
};
using File = std::unique_ptr<FILE, FileCloser>;

// Replaces this process by the program. command: "info" or "run"; in, out: its standard input and output.
[[noreturn]] void exec_program(const ProgramOptions &options, const std::string &path, const char *command, int in,
			       int out)
{
	std::string device = std::to_string(options.device);

	if (options.connections)
		setenv("CUDA_DEVICE_MAX_CONNECTIONS", std::to_string(*options.connections).c_str(), 1);
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	execl(path.c_str(), path.c_str(), command, device.c_str(), nullptr);
	std::fprintf(stderr, "gpulens: %s: %s\n", path.c_str(), std::strerror(errno));
	_exit(127);
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
	int out[2], status = 0;

	if (!in || fwrite(input.data(), 1, input.size(), in.get()) != input.size() || fflush(in.get()) || pipe(out))
		throw Error(Error::Source, fmt::format("{}: {}", path, std::strerror(errno)));
	rewind(in.get());
	pid_t pid = fork();
	if (!pid) {
		close(out[0]);
		exec_program(options, path, command, fileno(in.get()), out[1]);
	}
	close(out[1]);
	std::string text = pid < 0 ? "" : read_all(out[0]);
	close(out[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		throw Error(Error::Source, fmt::format("{}: {}", path, std::strerror(errno)));
	if (status)
		throw Error(Error::Source,
			    WIFEXITED(status) ? fmt::format("{}: it ended with status {}", path, WEXITSTATUS(status))
					      : fmt::format("{}: it was ended by signal {}", path, WTERMSIG(status)));
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
		const std::string &line = answer.next();
		auto at = numbers.find(answer.first_word());
		if (at != numbers.end())
			*at->second = answer.parse_number(1);
		else if (answer.first_word() == "name")
			m.name = line.substr(std::min<size_t>(line.size(), 5));
		else
			break;
	}
	if (!m.sms || !m.threads_per_sm || !m.blocks_per_sm)
		answer.refuse("sms, threads_per_sm or blocks_per_sm is missing");
	if (capability)
		set_capability(m, capability);
	return m;
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

// Returns the lines of tools/probe/probe-kernels.cu's standard input.
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
		text += fmt::format("stream {}\n", b.priority) + format_mask("mask", b.tpcs);
		if (scenario.has_null_stream() && b.stream != StreamKind::NonBlocking)
			text += b.stream == StreamKind::Null ? "null\n" : "blocking\n";
		if (b.iterations > 1)
			text += fmt::format("iterations {} {}\n", b.iterations, b.max_ns);
	}
	for (auto [benchmark, kernel] : scenario.launches()) {
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

void parse_kernel(Answer &answer, Ran &k, const Kernel &kernel, const Machine &m)
{
	if (answer.first_word() != "kernel")
		answer.refuse("expected kernel");
	std::vector<s64> n = answer.parse_numbers(4);
	if (n[1] < n[0] || n[2] < n[1])
		answer.refuse("times are not in order");
	k.launched = {n[0], n[1], n[2]};
	if (n[3] < 1 || n[3] > MAX_THREADS)
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
				     static_cast<s64>(scenario.benchmarks[k.stream].kernels[0].release_ns);
}

} // namespace

// Searches ../lib/gpulens and the folder of this program, so that it also works in a build folder or another prefix.
std::string installed_program(const std::string &name, const std::string &instead)
{
	std::error_code err;
	std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe", err).parent_path();
	std::filesystem::path installed = here.parent_path() / "lib/gpulens" / name;

	for (const std::filesystem::path &path : {installed, here / name})
		if (std::filesystem::exists(path, err))
			return path;
	throw Error(Error::Source, fmt::format("{}: not found; build it with make probe (needs nvcc), {}",
					       installed.string(), instead));
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
	std::vector<std::pair<u32, u32>> launches = scenario.launches();

	if (answer.first_word() != "clock")
		answer.refuse("expected clock");
	std::vector<s64> clock = answer.parse_numbers(2);
	if (clock[0] < 0 || clock[1] < 0 || clock[0] > INT32_MAX || clock[1] > INT32_MAX)
		answer.refuse("out of range");
	log.uncertainty_ns = static_cast<u64>(clock[0]);
	log.resolution_ns = static_cast<u64>(clock[1]);
	for (auto [benchmark, kernel] : launches) {
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
	move_releases(log, scenario);
	sort_by_launch(log.kernels);
	if (answer.next() != "end")
		answer.refuse("expected end");
	return log;
}

} // namespace tool::blocks
