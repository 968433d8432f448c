// SPDX-License-Identifier: GPL-2.0
// Forks and waits. What a child flushes or destroys of its parent's would happen twice, so that it ends by _exit().
#include "lib/base/child_process.hpp"

#include "lib/base/errors.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tool {

namespace {

[[noreturn]] void run_child(const std::function<int()> &function, const ChildOptions &options, pid_t parent)
{
	int status = EXIT_FAILURE;

	prctl(PR_SET_PDEATHSIG, options.death);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	if (options.in >= 0)
		dup2(options.in, STDIN_FILENO);
	if (options.out >= 0)
		dup2(options.out, STDOUT_FILENO);
	try {
		status = function();
	} catch (const std::exception &e) {
		std::fprintf(stderr, "gpulens: %s\n", e.what());
	}
	std::fflush(nullptr);
	_exit(status);
}

} // namespace

ChildProcess::ChildProcess(const std::function<int()> &function, const ChildOptions &options)
	: patience_(options.patience)
{
	pid_t parent = getpid();

	std::fflush(nullptr);
	pid_ = fork();
	if (!pid_)
		run_child(function, options, parent);
	if (pid_ < 0)
		throw Error(Error::NoProcess, fmt::format("no child process can be started: {}", std::strerror(errno)));
}

ChildProcess::~ChildProcess()
{
	stop();
}

// Returns whether it has ended.
bool ChildProcess::reap(int flags)
{
	int status = 0;
	pid_t ended;

	while (!status_ && (ended = waitpid(pid_, &status, flags)) != 0) {
		if (ended == pid_)
			status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		else if (errno != EINTR)
			status_ = EXIT_FAILURE; // somebody else waited for it
	}
	return status_.has_value();
}

std::optional<int> ChildProcess::poll()
{
	reap(WNOHANG);
	return status_;
}

int ChildProcess::wait()
{
	reap(0);
	return *status_;
}

int ChildProcess::stop()
{
	using std::chrono::steady_clock;

	if (poll())
		return *status_;
	kill(pid_, SIGTERM);
	for (auto end = steady_clock::now() + patience_; !poll() && steady_clock::now() < end;)
		std::this_thread::sleep_for(std::chrono::milliseconds(10));
	if (!status_)
		kill(pid_, SIGKILL);
	return wait();
}

std::vector<char *> exec_words(const std::vector<std::string> &words)
{
	std::vector<char *> pointers;

	pointers.reserve(words.size() + 1);
	for (const std::string &word : words)
		pointers.push_back(const_cast<char *>(word.c_str()));
	pointers.push_back(nullptr);
	return pointers;
}

std::string end_text(int status)
{
	return status > 128 ? fmt::format("it was ended by signal {}", status - 128)
			    : fmt::format("it ended with status {}", status);
}

} // namespace tool
