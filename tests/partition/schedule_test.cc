// SPDX-License-Identifier: GPL-2.0
// Jobs that a program announces, in a page as the agent of gpulens run makes it.
#include "gpulens-partition.h"
#include "lib/launch/agent_page.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace {

using gpulens::AgentPage;

uint64_t read_clock()
{
	timespec t{};

	clock_gettime(CLOCK_MONOTONIC, &t);
	return static_cast<uint64_t>(t.tv_sec) * 1000000000 + static_cast<uint64_t>(t.tv_nsec);
}

class ScheduleJobs : public testing::Test {
protected:
	ScheduleJobs()
	{
		std::string folder = (std::filesystem::temp_directory_path() / "gpulens-jobs-XXXXXX").string();
		folder_ = mkdtemp(folder.data());
	}
	~ScheduleJobs() override
	{
		unsetenv("GPULENS_SCHEDULE_FOLDER");
		unsetenv("GPULENS_SCHEDULE_TASK");
		std::filesystem::remove_all(folder_);
	}

	void set_environment() const
	{
		setenv("GPULENS_SCHEDULE_FOLDER", folder_.c_str(), 1);
		setenv("GPULENS_SCHEDULE_TASK", "a", 1);
	}
	// As the agent makes it.
	AgentPage *make_page() const
	{
		int fd = open(fmt::format("{}/agent-{}", folder_, getpid()).c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
		EXPECT_EQ(ftruncate(fd, sizeof(AgentPage)), 0);
		void *at = mmap(nullptr, sizeof(AgentPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
		AgentPage *page = static_cast<AgentPage *>(at);
		page->magic = AgentPage::MAGIC;
		return page;
	}

	std::string folder_;
};

// One process: the page is mapped once. In the order of a program's life.
TEST_F(ScheduleJobs, AreInThePage)
{
	EXPECT_EQ(gpulens_schedule_begin(0), -ENODEV);
	EXPECT_STREQ(gpulens_error(), "the program was not started by gpulens run --schedule task=NAME");
	EXPECT_EQ(gpulens_schedule_end(), -ENODEV);
	set_environment();
	EXPECT_EQ(gpulens_schedule_begin(0), -EAGAIN);
	AgentPage &page = *make_page();
	EXPECT_EQ(gpulens_schedule_end(), -EPERM);

	uint64_t before = read_clock(), late = before + 3600000000000;
	ASSERT_EQ(gpulens_schedule_begin(late), 0) << gpulens_error();
	EXPECT_EQ(page.jobs_begun, 1u);
	EXPECT_EQ(page.jobs_ended, 0u);
	EXPECT_EQ(page.job_deadline, late);
	EXPECT_GE(page.job_began, before);
	EXPECT_EQ(gpulens_schedule_begin(0), -EDEADLK);
	ASSERT_EQ(gpulens_schedule_end(), 0);
	EXPECT_EQ(page.jobs_ended, 1u);
	EXPECT_GE(page.job_ended, page.job_began);
	EXPECT_EQ(page.jobs_missed, 0u);
	EXPECT_EQ(gpulens_schedule_end(), -EPERM);

	ASSERT_EQ(gpulens_schedule_begin(before), 0); // that is over
	ASSERT_EQ(gpulens_schedule_end(), 0);
	EXPECT_EQ(page.jobs_missed, 1u);
	ASSERT_EQ(gpulens_schedule_begin(0), 0);

	// A child's jobs are its own. Seen failing with the parent's page.
	pid_t child = fork();
	if (!child) {
		bool none = gpulens_schedule_end() == -EAGAIN;
		make_page();
		bool own = gpulens_schedule_end() == -EPERM && !gpulens_schedule_begin(0);
		_exit(none && own ? 0 : 1);
	}
	int status = 1;
	waitpid(child, &status, 0);
	EXPECT_EQ(status, 0);
	EXPECT_EQ(page.jobs_begun, 3u);
	ASSERT_EQ(gpulens_schedule_end(), 0);
	EXPECT_EQ(page.jobs_ended, 3u);
}

} // namespace
