// SPDX-License-Identifier: GPL-2.0
// libgpulens-gate.so, which gpulens run --schedule task=NAME,gate preloads. Before main() it registers a callback with
// libcuda.so.1 in which each launch waits while the agent has closed the gate (AgentVerb::Gate). A launch goes on without the
// agent when the lease or the longest hold is over. What the GPU runs already is not stopped.
#include "lib/launch/mapped_file.hpp"
#include "lib/launch/agent_page.hpp"
#include "lib/launch/environment.hpp"
#include "lib/launch/launch_hook.hpp"
#include "preload/clock.hpp"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

using gpulens::AgentPage;
using gpulens::environment::SCHEDULE_FOLDER;
using gpulens::environment::SCHEDULE_GATE;

constexpr int MAX_TRIES = 16; // to find the page, which the agent makes with the first TSG, before the first launch

std::atomic<AgentPage *> page;
std::atomic<int> tries;

AgentPage *map_page()
{
	char path[PATH_MAX];
	const char *folder = getenv(SCHEDULE_FOLDER);

	if (!folder || snprintf(path, sizeof(path), "%s/%s%d", folder, gpulens::AGENT_PAGE_PREFIX, getpid()) >=
			       static_cast<int>(sizeof(path)))
		return nullptr;
	return gpulens::map_file<AgentPage>(path).release();
}

AgentPage *own_page()
{
	AgentPage *found = page.load(std::memory_order_acquire);

	if (found || tries.load(std::memory_order_relaxed) >= MAX_TRIES)
		return found;
	tries++;
	found = map_page();
	page.store(found, std::memory_order_release); // two threads at once map it twice
	return found;
}

void wait_at_gate()
{
	AgentPage *mine = own_page();
	bool counted = false;

	while (mine && mine->gate) {
		u64 since = mine->held_since,
		    end = std::min(mine->lease_end.load(), since + gpulens::AGENT_MAX_HOLD_NS);
		if (!since || preload::now_ns() >= end)
			return;
		if (!counted)
			mine->gate_waits++;
		counted = true;
		timespec t{.tv_sec = static_cast<time_t>(end / 1000000000),
			   .tv_nsec = static_cast<long>(end % 1000000000)};
		syscall(SYS_futex, &mine->gate, FUTEX_WAIT_BITSET, 1, &t, nullptr, FUTEX_BITSET_MATCH_ANY);
	}
}

// A child has a page of its own.
void forget_page()
{
	page = nullptr;
	tries = 0;
}

__attribute__((constructor)) void make_gate()
{
	if (!getenv(SCHEDULE_GATE))
		return;
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	const char *why = library ? gpulens::hook::subscribe(library) : dlerror();
	if (why) {
		fprintf(stderr, "gpulens: process %d has no gate for its launches: %s\n", getpid(), why);
		unsetenv(SCHEDULE_GATE);
		return;
	}
	pthread_atfork(nullptr, nullptr, forget_page);
	gpulens::hook::before_launch(wait_at_gate);
}

} // namespace
