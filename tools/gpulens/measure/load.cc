// SPDX-License-Identifier: GPL-2.0
// The child has the environment of the program for which gpulens run measures, so it removes the variables that would change
// the load. Errors name the last line of its standard error as the reason.
#include "gpulens/measure/load.hpp"

#include "gpulens/blocks/program.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace tool::measure {

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds START_LIMIT{60000}, END_LIMIT{20000};

// In the child process.
int run_words(const std::vector<std::string> &words, const LoadStart &start)
{
	std::string path = start.before.empty() ? words[0] : installed_file(words[0]);

	// They may be those of a program for which gpulens run --schedule measures.
	for (const char *name :
	     {"GPULENS_LOAD_WAIT", "GPULENS_LOAD_WORK", "GPULENS_LOAD_STAMPS", "GPULENS_JOBS_LIBRARY"})
		unsetenv(name);
	for (const std::string &variable : start.variables)
		putenv(const_cast<char *>(variable.c_str()));
	execvp(path.c_str(), exec_words(words).data());
	dprintf(STDERR_FILENO, "%s: %s\n", path.c_str(), std::strerror(errno));
	return EXIT_FAILURE;
}

} // namespace

std::string load_program()
{
	return blocks::installed_program("gpulens-schedule-load",
					 "or name another program with gpulens schedule --probe --program");
}

MemoryFile::MemoryFile() : fd_(memfd_create("gpulens-load", 0))
{
	if (fd_ < 0)
		throw Error(Error::Source, fmt::format("no memory file: {}", std::strerror(errno)));
}

MemoryFile::~MemoryFile()
{
	close(fd_);
}

std::string MemoryFile::read_last_line() const
{
	std::string text;

	read_path(path(), text);
	while (!text.empty() && text.back() == '\n')
		text.pop_back();
	return text.erase(0, text.rfind('\n') + 1);
}

Load::Load(const LoadStart &start) : name_(start.program[0])
{
	std::vector<std::string> words = start.before;

	words.insert(words.end(), start.program.begin(), start.program.end());
	words.push_back(page_.path());
	words.insert(words.end(), start.after.begin(), start.after.end());
	if (!ftruncate(page_.fd(), sizeof(schedule::LoadProgress)))
		progress_ = gpulens::map_descriptor<schedule::LoadProgress>(page_.fd());
	if (!progress_)
		throw Error(Error::Source, fmt::format("no memory file: {}", std::strerror(errno)));
	process_.emplace(
		[&] {
		dup2(errors_.fd(), STDERR_FILENO);
		return run_words(words, start);
		},
		ChildOptions{.out = out_.fd(), .patience = END_LIMIT});
}

// With the last line that it, or what started it, wrote.
void Load::report_end(int status)
{
	std::string errors = errors_.read_last_line();

	throw Error(Error::Failed,
		    fmt::format("{}: {}{}{}", name_, end_text(status), errors.empty() ? "" : ": ", errors));
}

bool Load::has_started()
{
	std::optional<int> status = process_->poll();

	if (status)
		report_end(*status);
	return progress_->ready != 0;
}

void Load::await_start()
{
	for (auto end = Clock::now() + START_LIMIT; !has_started(); std::this_thread::sleep_for(milliseconds(20)))
		if (Clock::now() >= end)
			throw Error(Error::TimedOut,
				    fmt::format("{}: launched no kernel in {} s", name_, START_LIMIT.count() / 1000));
}

std::string Load::finish(std::chrono::nanoseconds limit)
{
	for (auto end = Clock::now() + limit; !process_->poll(); std::this_thread::sleep_for(milliseconds(20)))
		if (Clock::now() >= end)
			throw Error(Error::TimedOut, name_ + ": did not end in time");
	if (int status = process_->wait())
		report_end(status);
	return out_.read_last_line();
}

bool Load::stop()
{
	return process_->stop() == 0 && progress_->wrong == 0;
}

} // namespace tool::measure
