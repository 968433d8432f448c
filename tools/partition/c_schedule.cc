// SPDX-License-Identifier: GPL-2.0
// The part of the C interface by which a program announces its jobs, in the page of its agent (lib/launch/agent_page.hpp).
#include "gpulens-partition.h"
#include "lib/base/monotonic.hpp"
#include "lib/launch/environment.hpp"
#include "lib/schedule/live/agent_link.hpp"
#include "lib/schedule/live/job_bell.hpp"
#include "partition/c_errors.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <unistd.h>

namespace {

using gpulens::AgentPage;
using gpulens::catch_errors;
using tool::Error;

// Never destroyed: threads may end their jobs while the program exits.
struct Announcer {
	std::mutex lock;
	std::unique_ptr<tool::schedule::AgentLink> link;
	std::unique_ptr<tool::schedule::JobBell> bell; // of the folder
	pid_t pid = 0;                                 // of the link
};

Announcer &announcer()
{
	static Announcer &state = *new Announcer;
	static const int failed = pthread_atfork([] { announcer().lock.lock(); }, [] { announcer().lock.unlock(); },
						 [] { announcer().lock.unlock(); });

	static_cast<void>(failed);
	return state;
}

// The caller holds the lock. Throws Error.
AgentPage &own_page(Announcer &a)
{
	if (a.link && a.pid == getpid())
		return a.link->page();
	const char *folder = getenv(gpulens::environment::SCHEDULE_FOLDER);
	if (!folder || !getenv(gpulens::environment::SCHEDULE_TASK))
		throw Error(Error::Source, "the program was not started by gpulens run --schedule task=NAME");
	a.link.reset(); // of the parent
	if (!a.bell)
		a.bell = std::make_unique<tool::schedule::JobBell>(folder);
	try {
		a.pid = getpid();
		a.link = std::make_unique<tool::schedule::AgentLink>(
			fmt::format("{}/{}{}", folder, gpulens::AGENT_PAGE_PREFIX, a.pid));
	} catch (const Error &) {
		throw Error(Error::NoProcess, "the process has no CUDA context yet");
	}
	return a.link->page();
}

} // namespace

int gpulens_schedule_begin(uint64_t deadline)
{
	return catch_errors([&] {
		Announcer &a = announcer();
		std::lock_guard<std::mutex> hold(a.lock);
		AgentPage &page = own_page(a);
		if (page.jobs_begun != page.jobs_ended)
			throw Error(Error::Deadlock, "a job of this process runs already");
		page.job_began = tool::now_ns();
		page.job_deadline = deadline;
		page.jobs_begun++;
		a.bell->ring();
	});
}

int gpulens_schedule_end(void)
{
	return catch_errors([] {
		Announcer &a = announcer();
		std::lock_guard<std::mutex> hold(a.lock);
		AgentPage &page = own_page(a);
		if (page.jobs_begun == page.jobs_ended)
			throw Error(Error::NotOwner, "no job of this process runs");
		page.job_ended = tool::now_ns();
		page.jobs_missed += page.job_deadline && page.job_ended > page.job_deadline;
		page.jobs_ended++;
		a.bell->ring();
	});
}
