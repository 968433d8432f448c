// SPDX-License-Identifier: GPL-2.0
// Forks a process that runs the program by run_program().
#include "gpulens/measure/limited_program.hpp"

#include "gpulens/out/output.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/write_fully.hpp"
#include "lib/launch/environment.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tool::measure {

using std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds PATIENCE{5}; // between SIGTERM and SIGKILL
constexpr std::chrono::milliseconds POLL{10};
constexpr size_t MAX_OUTPUT = size_t{64} << 20;

[[noreturn]] void run_child(const RunOptions &run, int in, int out, pid_t parent)
{
	int status = EXIT_REFUSED;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_REFUSED);
	if (in < 0)
		in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	dup2(in, STDIN_FILENO);
	dup2(out < 0 ? STDERR_FILENO : out, STDOUT_FILENO);
	close_range(3, ~0U, 0); // the ends of pipes of other programs, which would never be closed
	try {
		status = run_program(run);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "gpulens: %s\n", e.what());
	}
	std::fflush(stderr);
	_exit(status);
}

} // namespace

LimitedProgram::LimitedProgram(const std::vector<std::string> &program, const gpulens::VerifiedLimit *limit, int in,
			       int out)
	: start_(steady_clock::now())
{
	RunOptions run;
	pid_t parent = getpid();

	run.program = program;
	run.file = "/dev/null"; // no table of TSGs
	if (limit)
		run.environment = limit->environment;
	if (limit && limit->masked) {
		run.preload = {gpulens::environment::CONFINE_LIBRARY};
		run.limits = gpulens::environment::LIMIT_IN_SPACE;
	}
	std::fflush(nullptr);
	pid_ = fork();
	if (!pid_)
		run_child(run, in, out, parent);
	if (pid_ < 0)
		throw Error(Error::Source, fmt::format("{}: {}", program[0], std::strerror(errno)));
}

LimitedProgram::~LimitedProgram()
{
	stop();
}

void LimitedProgram::finish(int wait_status)
{
	elapsed_us_ = std::chrono::duration<double, std::micro>(steady_clock::now() - start_).count();
	status_ = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

std::optional<int> LimitedProgram::poll()
{
	int status = 0;

	if (!status_ && waitpid(pid_, &status, WNOHANG) == pid_)
		finish(status);
	return status_;
}

int LimitedProgram::wait()
{
	int status = 0;

	while (!status_) {
		if (waitpid(pid_, &status, 0) == pid_)
			finish(status);
		else if (errno != EINTR)
			throw Error(Error::Source, fmt::format("process {}: {}", pid_, std::strerror(errno)));
	}
	return *status_;
}

void LimitedProgram::stop()
{
	steady_clock::time_point end = steady_clock::now() + PATIENCE;

	if (poll())
		return;
	kill(pid_, SIGTERM);
	while (!poll() && steady_clock::now() < end)
		std::this_thread::sleep_for(POLL);
	if (status_)
		return;
	kill(pid_, SIGKILL); // the program gets SIGTERM again by its parent's death
	int status = 0;
	waitpid(pid_, &status, 0);
	finish(status);
}

CapturedProgram::File CapturedProgram::temporary_file()
{
	File file(std::tmpfile());

	if (!file)
		throw Error(Error::Source, fmt::format("no temporary file: {}", std::strerror(errno)));
	return file;
}

CapturedProgram::CapturedProgram(const std::vector<std::string> &program, const gpulens::VerifiedLimit *limit,
				 bool capture, const std::string &input)
	: name_(program[0]), in_(temporary_file()), out_(temporary_file())
{
	if (int err = write_fully(fileno(in_.get()), input))
		throw Error(Error::Source, fmt::format("a temporary file: {}", std::strerror(err)));
	std::rewind(in_.get());
	running_ =
		std::make_unique<LimitedProgram>(program, limit, fileno(in_.get()), capture ? fileno(out_.get()) : -1);
}

Finished CapturedProgram::finish()
{
	Finished finished;

	finished.status = running_->wait();
	finished.elapsed_us = running_->elapsed_us();
	off_t size = lseek(fileno(out_.get()), 0, SEEK_END);
	if (size > static_cast<off_t>(MAX_OUTPUT))
		throw Error(Error::Failed, fmt::format("{}: it printed more than {} bytes", name_, MAX_OUTPUT));
	finished.output.resize(static_cast<size_t>(std::max<off_t>(size, 0)));
	ssize_t got = pread(fileno(out_.get()), finished.output.data(), finished.output.size(), 0);
	finished.output.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
	return finished;
}

void require_preloadable(const std::vector<std::string> &program)
{
	RunOptions run;

	run.program = program;
	run.preload = {gpulens::environment::CONFINE_LIBRARY};
	try {
		check_preloadable(run);
	} catch (const Error &e) {
		throw Error(Error::Failed, e.what());
	}
}

void require_success(const std::string &name, int status)
{
	if (status)
		throw Error(Error::Failed, fmt::format("{}: {}", name, end_text(status)));
}

std::string end_text(int status)
{
	return status > 128 ? fmt::format("it was ended by signal {}", status - 128)
			    : fmt::format("it ended with status {}", status);
}

} // namespace tool::measure
