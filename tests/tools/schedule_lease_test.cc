// SPDX-License-Identifier: GPL-2.0
// The lease of a coordinator of programs, whose agents' pages are written here: processes that do not answer.
#include "lib/base/monotonic.hpp"
#include "lib/schedule/live/program_backend.hpp"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace tool::schedule;

constexpr u64 LEASE_NS = 50000000;
constexpr size_t PROGRAMS = 7;

// Processes without an agent, each with a page and a task of its own.
class ScheduleLease : public testing::Test {
protected:
	ScheduleLease()
	{
		std::string folder = (std::filesystem::temp_directory_path() / "gpulens-lease-XXXXXX").string();
		folder_ = mkdtemp(folder.data());
		for (size_t i = 0; i < PROGRAMS; i++) {
			pid_t pid = fork();
			if (!pid)
				for (;;)
					pause();
			children_.push_back(pid);
			tasks_.push_back({.name = fmt::format("task{}", i)});
			pages_.push_back(make_page(pid, tasks_.back().name));
		}
	}
	~ScheduleLease() override
	{
		for (pid_t pid : children_) {
			kill(pid, SIGKILL);
			waitpid(pid, nullptr, 0);
		}
		std::filesystem::remove_all(folder_);
	}

	AgentPage *make_page(pid_t pid, const std::string &task) const
	{
		int fd = open(fmt::format("{}/agent-{}", folder_, pid).c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
		EXPECT_EQ(ftruncate(fd, sizeof(AgentPage)), 0);
		void *at = mmap(nullptr, sizeof(AgentPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
		AgentPage *page = static_cast<AgentPage *>(at);
		page->pid = static_cast<u32>(pid);
		task.copy(page->task, sizeof(page->task) - 1);
		page->magic = AgentPage::MAGIC;
		return page;
	}

	std::string folder_;
	std::vector<pid_t> children_;
	std::vector<ProgramTask> tasks_;
	std::vector<AgentPage *> pages_;
};

// A look that waits 10 ms for each of seven agents takes longer than the lease of 50 ms. Seen failing with a lease that is extended
// before each look only.
TEST_F(ScheduleLease, IsKeptWhileALookWaitsForAgents)
{
	ProgramBackend backend(folder_, tasks_, LEASE_NS);
	EXPECT_TRUE(backend.extend_lease());
	backend.account();
	u64 start = tool::now_ns();
	for (size_t i = 0; i < PROGRAMS; i++)
		EXPECT_EQ(backend.hold(i).outcome, Outcome::NoEffect);
	u64 took = tool::now_ns() - start;
	ASSERT_GT(took, LEASE_NS);
	if (took < LEASE_NS + 40000000) // else the machine was busy, and a wait may have been longer than the lease
		EXPECT_TRUE(backend.extend_lease());
}

// A coordinator that slept loses it once. Seen failing with a lease that begins before the release of all.
TEST_F(ScheduleLease, ThatWasLostBeginsAnewAfterTheRelease)
{
	constexpr u64 LONG_NS = 1000000000; // so that no busy machine takes it between two calls

	ProgramBackend backend(folder_, tasks_, LONG_NS);
	EXPECT_TRUE(backend.extend_lease());
	backend.account();
	for (AgentPage *page : pages_)
		page->held_since = 1; // so that the release waits for all of them
	usleep(LONG_NS / 1000 + 100000);
	EXPECT_FALSE(backend.extend_lease());
	EXPECT_TRUE(backend.extend_lease());
}

} // namespace
