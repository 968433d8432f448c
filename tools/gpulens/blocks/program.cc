// SPDX-License-Identifier: GPL-2.0
// See program.hpp.
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

constexpr const char *NAME = "gpulens-probe-kernels";
constexpr const char *GREETING = "gpulens-probe 1";

// From where this program is, wherever its tree was installed; in build/bin beside it.
std::string find_program()
{
	std::error_code err;
	std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe", err).parent_path();
	std::filesystem::path installed = here.parent_path() / "lib/gpulens" / NAME;

	for (const std::filesystem::path &one : {installed, here / NAME})
		if (std::filesystem::exists(one, err))
			return one;
	throw SourceError(fmt::format("{}: it is not there; it is built where nvcc is (make probe), --program names "
				      "another, --simulate does without",
				      installed.string()));
}

struct Closer {
	void operator()(FILE *file) const { std::fclose(file); }
};
using File = std::unique_ptr<FILE, Closer>;

[[noreturn]] void become(const ProgramOptions &how, const std::string &path, const char *what, int in, int out)
{
	std::string device = std::to_string(how.device);

	if (how.connections)
		setenv("CUDA_DEVICE_MAX_CONNECTIONS", std::to_string(*how.connections).c_str(), 1);
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	execl(path.c_str(), path.c_str(), what, device.c_str(), nullptr);
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

// What it prints when it is given that to read. Its messages are on standard error.
std::string output_of(const ProgramOptions &how, const std::string &path, const char *what, const std::string &input)
{
	File in(std::tmpfile());
	int out[2], status = 0;

	if (!in || fwrite(input.data(), 1, input.size(), in.get()) != input.size() || fflush(in.get()) || pipe(out))
		throw SourceError(fmt::format("{}: {}", path, std::strerror(errno)));
	rewind(in.get());
	pid_t pid = fork();
	if (!pid) {
		close(out[0]);
		become(how, path, what, fileno(in.get()), out[1]);
	}
	close(out[1]);
	std::string text = pid < 0 ? "" : read_all(out[0]);
	close(out[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		throw SourceError(fmt::format("{}: {}", path, std::strerror(errno)));
	if (status)
		throw SourceError(WIFEXITED(status)
					  ? fmt::format("{}: it ended with status {}", path, WEXITSTATUS(status))
					  : fmt::format("{}: it was ended by signal {}", path, WTERMSIG(status)));
	return text;
}

// The lines of an answer, with the path and the number of the line for messages.
class Answer {
public:
	Answer(const std::string &text, std::string path) : in_(text), path_(std::move(path))
	{
		if (next() != GREETING)
			refuse(fmt::format("not \"{}\"", GREETING));
	}

	[[noreturn]] void refuse(const std::string &why) const
	{
		throw SourceError(fmt::format("{}: line {} of its answer, \"{}\": {}", path_, number_, line_, why));
	}

	const std::string &next()
	{
		number_++;
		if (!std::getline(in_, line_)) {
			line_.clear();
			refuse("it ends there");
		}
		return line_;
	}

	// Numbers behind the first word of the line.
	std::vector<s64> numbers(size_t count) const
	{
		std::istringstream words(line_);
		std::string first;
		std::vector<s64> list;

		words >> first;
		for (s64 n; words >> n;)
			list.push_back(n);
		if (list.size() != count || !words.eof())
			refuse(fmt::format("not {} numbers", count));
		return list;
	}

	std::string first() const { return line_.substr(0, line_.find(' ')); }

	u32 number(s64 least) const
	{
		s64 n = numbers(1)[0];
		if (n < least || n > INT32_MAX)
			refuse("out of range");
		return static_cast<u32>(n);
	}

private:
	std::istringstream in_;
	std::string path_, line_;
	u32 number_ = 0;
};

// Up to the line that is none of these.
Machine read_machine(Answer &answer)
{
	Machine m;
	std::map<std::string, u32 *> numbers = {{"sms", &m.sms},
						{"threads_per_sm", &m.threads_per_sm},
						{"blocks_per_sm", &m.blocks_per_sm},
						{"shared_per_block", &m.shared_per_block},
						{"channels", &m.channels}};

	for (;;) {
		const std::string &line = answer.next();
		auto at = numbers.find(answer.first());
		if (at != numbers.end())
			*at->second = answer.number(1);
		else if (answer.first() == "name")
			m.name = line.substr(std::min<size_t>(line.size(), 5));
		else
			break;
	}
	if (!m.sms || !m.threads_per_sm || !m.blocks_per_sm)
		answer.refuse("sms, threads_per_sm or blocks_per_sm is missing");
	return m;
}

std::string request(const Scenario &scenario)
{
	std::string text = std::string(GREETING) + '\n';
	const char *kinds[] = {"spin", "copy", "matrix"};

	for (const Benchmark &b : scenario.benchmarks)
		text += fmt::format("stream {}\n", b.priority);
	for (auto [benchmark, kernel] : scenario.launches()) {
		const Kernel &k = scenario.benchmarks[benchmark].kernels[kernel];
		text += fmt::format("kernel {} {} {} {} {} {} {} {}\n", kinds[static_cast<int>(k.kind)], benchmark,
				    k.work, k.repeat, k.blocks, k.threads, k.shared, k.release_ns);
	}
	return text + "end\n";
}

void read_kernel(Answer &answer, Ran &k, u32 blocks, const Machine &m)
{
	if (answer.first() != "kernel")
		answer.refuse("not kernel");
	std::vector<s64> n = answer.numbers(4);
	if (n[1] < n[0] || n[2] < n[1])
		answer.refuse("times are not in order");
	k.launched = {n[0], n[1], n[2]};
	if (n[3] < 1 || n[3] > MAX_THREADS)
		answer.refuse("out of range");
	k.per_sm = static_cast<u32>(n[3]);
	for (u32 i = 0; i < blocks; i++) {
		answer.next();
		if (answer.first() != "block")
			answer.refuse("not block");
		n = answer.numbers(3);
		if (n[1] < n[0] || n[2] < 0 || n[2] >= m.sms)
			answer.refuse("it ends before it starts, or is on no SM");
		k.blocks.push_back({n[0], n[1], static_cast<u32>(n[2])});
	}
}

} // namespace

Machine probe_machine(const ProgramOptions &how)
{
	std::string path = how.path.empty() ? find_program() : how.path;
	Answer answer(output_of(how, path, "info", ""), path);

	return read_machine(answer);
}

Log probe_run(const ProgramOptions &how, const Scenario &scenario)
{
	std::string path = how.path.empty() ? find_program() : how.path;
	Answer answer(output_of(how, path, "run", request(scenario)), path);
	Log log = empty_log(scenario, read_machine(answer));
	std::vector<std::pair<u32, u32>> launches = scenario.launches();

	if (answer.first() != "clock")
		answer.refuse("not clock");
	std::vector<s64> clock = answer.numbers(2);
	if (clock[0] < 0 || clock[1] < 0 || clock[0] > INT32_MAX || clock[1] > INT32_MAX)
		answer.refuse("out of range");
	log.uncertainty_ns = static_cast<u64>(clock[0]);
	log.resolution_ns = static_cast<u64>(clock[1]);
	for (size_t i = 0; i < launches.size(); i++) {
		answer.next();
		read_kernel(answer, log.kernels[i],
			    scenario.benchmarks[launches[i].first].kernels[launches[i].second].blocks, log.machine);
	}
	if (answer.next() != "end")
		answer.refuse("not end");
	return log;
}

} // namespace tool::blocks
