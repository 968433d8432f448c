// SPDX-License-Identifier: GPL-2.0
// Starts a process that runs the program by run_program().
#include "gpulens/measure/limited_program.hpp"

#include "gpulens/out/output.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/write_fully.hpp"
#include "lib/launch/environment.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace tool::measure {

using std::chrono::steady_clock;

namespace {

constexpr size_t MAX_OUTPUT = size_t{64} << 20;

// Of the child process: what the program ends with.
int run_limited(const std::vector<std::string> &program, const gpulens::VerifiedLimit *limit, int in, int out)
{
	RunOptions run;

	if (in < 0)
		dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
	if (out < 0)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	close_range(3, ~0U, 0); // the ends of pipes of other programs, which would never be closed
	run.program = program;
	run.file = "/dev/null"; // no table of TSGs
	if (limit)
		run.environment = limit->environment;
	if (limit && limit->masked) {
		run.preload = {gpulens::environment::CONFINE_LIBRARY};
		run.limits = gpulens::environment::LIMIT_IN_SPACE;
	}
	try {
		return run_program(run);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "gpulens: %s\n", e.what());
		return EXIT_REFUSED;
	}
}

} // namespace

LimitedProgram::LimitedProgram(const std::vector<std::string> &program, const gpulens::VerifiedLimit *limit, int in,
			       int out)
	: start_(steady_clock::now()),
	  process_([&] { return run_limited(program, limit, in, out); }, {.in = in, .out = out})
{
}

std::optional<int> LimitedProgram::note_end(std::optional<int> status)
{
	if (status && !elapsed_us_)
		elapsed_us_ = std::chrono::duration<double, std::micro>(steady_clock::now() - start_).count();
	return status;
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

} // namespace tool::measure
