// SPDX-License-Identifier: GPL-2.0
// Reads the result from a pipe.
#include "gpulens/limit/child.hpp"

#include "lib/base/write_fully.hpp"
#include "partition/layout.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>
#include <utility>

namespace gpulens {

namespace {

// Writes a byte (0 or an error code) and the result or the error's text.
int write_result(int fd, const std::function<std::string()> &function)
{
	std::string text(1, '\0');

	try {
		text += function();
	} catch (const Error &e) {
		text = static_cast<char>(e.code) + std::string(e.what());
	} catch (const std::exception &e) {
		text = static_cast<char>(Error::Failed) + std::string(e.what());
	}
	(void)tool::write_fully(fd, text); // the parent detects a truncated result
	return 0;
}

// Reads until the other end is closed. Returns false on a timeout.
bool read_all(int fd, unsigned timeout_s, std::string &text)
{
	using namespace std::chrono;
	steady_clock::time_point end = steady_clock::now() + seconds(timeout_s);
	char piece[4096];

	for (;;) {
		pollfd readable{fd, POLLIN, 0};
		auto remaining = duration_cast<milliseconds>(end - steady_clock::now()).count();
		if (remaining <= 0 || poll(&readable, 1, static_cast<int>(remaining)) == 0)
			return false;
		ssize_t n = read(fd, piece, sizeof(piece));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return true;
		text.append(piece, static_cast<size_t>(n));
	}
}

} // namespace

Child::Child(const std::function<std::string()> &function)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		throw Error(Error::NoProcess, std::strerror(errno));
	result_ = ends[0];
	try {
		process_.emplace(
			[&] {
			close(ends[0]);
			return write_result(ends[1], function);
			},
			tool::ChildOptions{.death = SIGKILL, .patience = std::chrono::milliseconds(0)});
	} catch (...) {
		close(ends[0]);
		close(ends[1]);
		throw;
	}
	close(ends[1]);
}

Child::~Child()
{
	if (result_ >= 0)
		close(result_);
}

std::string Child::finish(unsigned timeout_s)
{
	std::string text;
	bool done = read_all(result_, timeout_s, text);

	close(std::exchange(result_, -1));
	int status = done ? process_->wait() : process_->stop();
	if (!done)
		throw Error(Error::TimedOut, fmt::format("no answer from CUDA within {} s", timeout_s));
	if (text.empty())
		throw Error(Error::Failed, status > 128 ? fmt::format("CUDA ended by signal {}", status - 128)
							: "CUDA ended the process");
	if (text[0])
		throw Error(static_cast<Error::Code>(text[0]), text.substr(1));
	return text.substr(1);
}

std::string run_in_child(unsigned timeout_s, const std::function<std::string()> &function)
{
	return Child(function).finish(timeout_s);
}

} // namespace gpulens
