// SPDX-License-Identifier: GPL-2.0
// Processes that this one starts: how they end, and that none is left behind.
#include "lib/base/child_process.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace tool;

constexpr std::chrono::milliseconds AT_ONCE{0};

TEST(ChildProcess, ItsEndIsAStatus)
{
	ChildProcess seven([] { return 7; }), killed([] { return raise(SIGKILL); });

	EXPECT_EQ(seven.wait(), 7);
	EXPECT_EQ(seven.poll(), 7);
	EXPECT_EQ(seven.stop(), 7);
	EXPECT_EQ(killed.wait(), 128 + SIGKILL);
	EXPECT_EQ(end_text(7), "it ended with status 7");
	EXPECT_EQ(end_text(128 + SIGKILL), "it was ended by signal 9");
}

TEST(ChildProcess, AnExceptionIsAFailure)
{
	ChildProcess child([]() -> int { throw std::runtime_error("no"); });

	EXPECT_EQ(child.wait(), EXIT_FAILURE);
}

TEST(ChildProcess, ItReadsAndWritesTheDescriptorsGiven)
{
	int in[2], out[2];
	char text[8] = "";

	ASSERT_EQ(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
	ChildProcess child([] { return execlp("tr", "tr", "a-z", "A-Z", nullptr); }, {.in = in[0], .out = out[1]});
	close(in[0]);
	close(out[1]);
	ASSERT_EQ(write(in[1], "abc", 3), 3);
	close(in[1]);
	EXPECT_EQ(child.wait(), 0);
	EXPECT_EQ(read(out[0], text, sizeof(text)), 3);
	EXPECT_STREQ(text, "ABC");
	close(out[0]);
}

// Seen failing without SIGKILL: it waited for ever.
TEST(ChildProcess, OneThatIgnoresSigtermIsKilled)
{
	sigset_t set, before;

	// Blocked before it starts, so that there is no time in which the signal ends it.
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, &before);
	ChildProcess child([] { return pause(); }, {.patience = AT_ONCE});
	sigprocmask(SIG_SETMASK, &before, nullptr);
	EXPECT_FALSE(child.poll());
	EXPECT_EQ(child.stop(), 128 + SIGKILL);
}

// The grandchild holds the only writing end of a pipe, whose end of file says that it has ended. Seen failing without
// PR_SET_PDEATHSIG.
TEST(ChildProcess, ItEndsWithItsParent)
{
	int ends[2];
	char byte;

	ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
	ChildProcess parent([&] {
		ChildProcess child([&] { return write(ends[1], "x", 1) == 1 ? pause() : 1; }, {.death = SIGKILL});
		close(ends[1]);
		return pause();
	});
	close(ends[1]);
	ASSERT_EQ(read(ends[0], &byte, 1), 1);
	kill(parent.pid(), SIGKILL);
	EXPECT_EQ(parent.wait(), 128 + SIGKILL);
	EXPECT_EQ(read(ends[0], &byte, 1), 0);
	close(ends[0]);
}

} // namespace
