// SPDX-License-Identifier: GPL-2.0
// One process loads and unloads, so that the module is unloaded by nobody who did not load it, and also where the
// command is killed while it loads.
#include "gpulens/cmd/loaded_module.hpp"

#include "lib/base/errors.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace tool {

namespace {

constexpr int UNLOAD_TRIES = 20; // each may wait for a reader of /proc/gpuX; half a second apart
constexpr int NOT_STARTED = 127;

// Returns the exit status of a program. sudo and su may leave out the folders of programs for root.
int run_words(const std::vector<std::string> &words)
{
	auto exec = [&] {
		std::vector<char *> arguments = exec_words(words);

		execvp(arguments[0], arguments.data());
		for (const char *folder : {"/sbin/", "/usr/sbin/"})
			execv((folder + words[0]).c_str(), arguments.data());
		std::fprintf(stderr, "gpulens: %s: %s\n", arguments[0], std::strerror(errno));
		return NOT_STARTED;
	};

	return ChildProcess(exec, {.death = 0}).wait();
}

int unload_module()
{
	int status = 0;

	for (int i = 0; i < UNLOAD_TRIES && (status = run_words({"rmmod", "gpulens"})) && status != NOT_STARTED; i++)
		std::this_thread::sleep_for(std::chrono::milliseconds(500));
	return status;
}

// Returns the exit status of what failed, or 0.
int keep_module(int end, const std::vector<std::string> &words)
{
	char byte = 0;

	setsid(); // not reached by a terminal's Ctrl-C
	for (int signal : {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGPIPE})
		std::signal(signal, SIG_IGN);
	if (int status = run_words(words))
		return status;
	if (write(end, "l", 1) < 0 && errno != EPIPE)
		std::perror("gpulens");
	while (read(end, &byte, 1) < 0 && errno == EINTR)
		;
	return unload_module();
}

} // namespace

LoadedModule::LoadedModule(const std::vector<std::string> &words)
{
	int ends[2];
	char byte = 0;
	ssize_t n;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		throw Error(Error::NoProcess, std::strerror(errno));
	try {
		keeper_.emplace(
			[&] {
			close(ends[0]);
			return keep_module(ends[1], words);
			},
			ChildOptions{.death = 0});
	} catch (...) {
		close(ends[0]);
		close(ends[1]);
		throw;
	}
	close(ends[1]);
	end_ = ends[0];
	while ((n = read(end_, &byte, 1)) < 0 && errno == EINTR)
		;
	if (n == 1)
		return;
	close(std::exchange(end_, -1));
	throw Error(Error::Failed,
		    fmt::format("the module was not loaded: {}: {}", fmt::join(words, " "), end_text(keeper_->wait())));
}

LoadedModule::~LoadedModule()
{
	try {
		unload();
	} catch (const std::exception &e) {
		std::fprintf(stderr, "gpulens: %s\n", e.what());
	}
}

void LoadedModule::unload()
{
	if (end_ < 0)
		return;
	close(std::exchange(end_, -1));
	int status = keeper_->wait();
	if (status > 128) // the keeper was killed
		status = unload_module();
	if (status)
		throw Error(Error::Failed, "the module could not be unloaded: sudo rmmod gpulens");
}

} // namespace tool
