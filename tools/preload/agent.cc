// SPDX-License-Identifier: GPL-2.0
// See agent.hpp. Two threads: the agent, which carries out requests and ends holds in time, and one that ends a hold of a
// second whatever the agent does.
#include "preload/agent.hpp"

#include "lib/launch/mapped_file.hpp"
#include "lib/launch/busy_wait.hpp"
#include "lib/launch/agent_page.hpp"
#include "lib/launch/environment.hpp"
#include "preload/clock.hpp"
#include "preload/targets.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace preload {

using namespace tool::rm;
using gpulens::AgentPage;
using gpulens::AgentVerb;

namespace {

constexpr u32 PREEMPT_TIMEOUT_US = 20000; // for a hold; a context that CILP preempts leaves in less than 1 ms
constexpr u64 RETRY_NS = 10000000;        // after a release that was refused
constexpr u32 GUARD_RETRY_US = 20000;     // likewise, of the second thread

// A context whose first work is held before it has run may never begin: on an H200 21 of 21 did not with 1 ms of each 20 ms. So
// no hold begins until a new TSG has not changed for SETUP_NS, for MAX_SETUP_NS at most.
constexpr u64 SETUP_NS = 100000000, MAX_SETUP_NS = 2000000000;

std::mutex verbs_lock; // one verb at a time; before objects_lock
AgentPage *page;
AgentVerb held_by = AgentVerb::None;
std::atomic<u32> replaced_slices;
std::atomic<bool> changed;                  // the program changed a TSG while it was held
std::atomic<u32> holds;                     // that have begun; the second thread waits for the next one
bool started;                               // the agent; guarded by objects_lock
std::atomic<u64> first_change, last_change; // of the newest TSG while it was set up

// Waits until the word is not `value`, or until `until` (CLOCK_MONOTONIC, ns; 0: for ever).
void wait_futex(const std::atomic<u32> &word, u32 value, u64 until)
{
	timespec t{.tv_sec = static_cast<time_t>(until / 1000000000), .tv_nsec = static_cast<long>(until % 1000000000)};

	syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, value, until ? &t : nullptr, nullptr, FUTEX_BITSET_MATCH_ANY);
}

// time: CLOCK_MONOTONIC, ns.
void sleep_until(u64 time)
{
	timespec t{.tv_sec = static_cast<time_t>(time / 1000000000), .tv_nsec = static_cast<long>(time % 1000000000)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr);
}

void wake_futex(const std::atomic<u32> &word)
{
	syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void count_switches(const Target &t)
{
	CtxswStats stats{.channel = t.group};

	if (send_control(t.fd, t.client, t.subdevice, stats) != NV_OK)
		return;
	page->saves = stats.saves;
	page->restores = stats.restores;
	page->wfi_saves = stats.wfi_saves;
	page->cta_saves = stats.cta_saves;
	page->cilp_saves = stats.cilp_saves;
}

// Tells the coordinator the time slice that all TSGs have. Hold `objects_lock`.
void show_slice()
{
	u64 us = 0;

	for (const Group &g : groups) {
		if (!g.handle || !g.count || !g.on_graphics())
			continue;
		if (!g.slice_us || (us && g.slice_us != us)) {
			us = 0;
			break;
		}
		us = g.slice_us;
	}
	page->slice_us = static_cast<u32>(std::min<u64>(us, UINT32_MAX));
}

void note_slice(const Target &t, u64 us)
{
	std::lock_guard<std::mutex> hold(objects_lock);

	if (Group *g = find_object(groups, t.client, t.group))
		g->slice_us = us;
	show_slice();
}

u32 apply_verb(AgentVerb verb, u64 argument, const Target &t)
{
	switch (verb) {
	case AgentVerb::SetSlice: {
		GroupSetTimeslice params{.us = argument};
		u32 status = send_control(t.fd, t.client, t.group, params);
		if (status == NV_OK)
			note_slice(t, argument);
		return status;
	}
	case AgentVerb::Disable: return disable_channels(t, true, false);
	case AgentVerb::DisablePreempt: {
		u32 status = disable_channels(t, true, true);
		return status == NV_OK ? preempt_group(t, PREEMPT_TIMEOUT_US) : status;
	}
	case AgentVerb::Unlist: return schedule_group(t, false);
	case AgentVerb::Release:
		return held_by == AgentVerb::Unlist ? schedule_group(t, true)
		       : held_by == AgentVerb::Gate ? u32{NV_OK}
						    : disable_channels(t, false, false);
	case AgentVerb::Preempt: return preempt_group(t, static_cast<u32>(std::min<u64>(argument, 1000000)));
	case AgentVerb::None:
	case AgentVerb::Gate: // carry_out()
	case AgentVerb::Count: break;
	}
	return NV_OK;
}

struct Applied {
	u32 status = AgentPage::NOT_TRIED; // the first one that is not NV_OK
	u32 groups = 0, channels = 0;      // that the verb was about
};

// Carries out a verb with all targets.
Applied apply_to_all(AgentVerb verb, u64 argument, Target (&targets)[MAX_GROUPS])
{
	size_t n = copy_targets(targets);
	Applied applied{.status = n ? u32{NV_OK} : AgentPage::NOT_TRIED, .groups = static_cast<u32>(n)};

	for (size_t i = 0; i < n; i++) {
		u32 answer = apply_verb(verb, argument, targets[i]);
		if (applied.status == NV_OK)
			applied.status = answer;
		applied.channels += targets[i].count;
	}
	return applied;
}

// Releases. What is refused counts as held, and is tried again.
Applied release_all(Target (&targets)[MAX_GROUPS])
{
	Applied applied = apply_to_all(AgentVerb::Release, 0, targets);

	if (page->gate.exchange(0))
		wake_futex(page->gate);
	if (applied.status == NV_OK || applied.status == AgentPage::NOT_TRIED) {
		held_by = AgentVerb::None;
		page->held_since = 0;
	}
	return applied;
}

Target agent_targets[MAX_GROUPS], guard_targets[MAX_GROUPS]; // too large for a thread's stack
u64 last_attempt;                                            // to end a hold by time

// When the present hold ends; 0: nothing is held.
u64 hold_end()
{
	u64 since = page->held_since;

	return since ? std::max(std::min(page->lease_end.load(), since + gpulens::AGENT_MAX_HOLD_NS),
				last_attempt + RETRY_NS)
		     : 0;
}

u64 setup_end()
{
	return std::min(last_change + SETUP_NS, first_change + MAX_SETUP_NS);
}

void carry_out(AgentVerb verb, u64 argument)
{
	Applied applied;
	u64 start = now_ns();

	if (verb == AgentVerb::Release) {
		applied = release_all(agent_targets);
	} else if (verb == AgentVerb::Gate && !page->gated) {
		applied.status = NV_ERR_NOT_SUPPORTED;
	} else if (is_hold(verb) && verb != AgentVerb::Gate && start < setup_end()) {
		applied.status = AgentPage::SETTING_UP;
	} else if (!is_hold(verb) || page->lease_end > start) {
		if (is_hold(verb)) {
			held_by = verb;
			if (!page->held_since) // before the first channel is disabled; repeating a hold does not prolong it
				page->held_since = start;
			holds++;
			wake_futex(holds);
		}
		if (verb == AgentVerb::Gate)
			page->gate = 1;
		applied = apply_to_all(verb, argument, agent_targets);
	}
	page->took_ns = now_ns() - start;
	page->status = applied.status;
	page->groups = applied.groups;
	page->channels = applied.channels;
	if (verb == AgentVerb::Count && applied.groups)
		count_switches(agent_targets[0]);
}

// GPULENS_SCHEDULE_BUDGET: the program runs in the first part of each period, and is held in the rest.
struct Budget {
	u64 run = 0, period = 0; // ns; period 0: none
	u64 next = 0;            // when it is to be held or released
} budget;

void follow_budget(u64 now)
{
	u64 left = budget.period - budget.run;

	if (page->held_since) {
		carry_out(AgentVerb::Release, 0);
		budget.next += budget.run;
	} else {
		if (now < setup_end()) {
			budget.next = now + budget.run;
			return;
		}
		page->lease_end = now + left + budget.period;
		carry_out(AgentVerb::Disable, 0);
		page->budget_holds++;
		budget.next += left;
		if (u32 status = page->status; status != NV_OK && status != AgentPage::NOT_TRIED) {
			fprintf(stderr,
				"gpulens: the driver refused to hold the program (%#x), so its budget is not "
				"enforced\n",
				status);
			carry_out(AgentVerb::Release, 0);
			page->budget_refused++;
			budget.period = 0;
		}
	}
	if (budget.next < now) // this process did not run for a while
		budget.next = now + (page->held_since ? left : budget.run);
}

// When the agent has something to do without being asked; 0: never.
u64 next_time()
{
	u64 next = hold_end();

	for (u64 time : {budget.period ? budget.next : 0, changed && page->held_since ? setup_end() : 0})
		if (time)
			next = next ? std::min(next, time) : time;
	return next;
}

// Waits until there is another request or something else to do. Does not sleep while the program is held and the coordinator
// wants that: a thread that sleeps may run milliseconds late, above all in a virtual machine.
void wait_request(u32 seen)
{
	while (page->busy_poll && page->held_since && now_ns() < next_time()) {
		if (page->request != seen)
			return;
		gpulens::pause_processor();
	}
	wait_futex(page->request, seen, next_time());
}

void *run_agent(void *)
{
	u32 seen = 0;

	if (budget.period)
		budget.next = now_ns() + budget.run;
	for (;;) {
		wait_request(seen);
		std::lock_guard<std::mutex> hold(verbs_lock);
		if (budget.period && now_ns() >= budget.next)
			follow_budget(now_ns());
		if (u32 request = page->request; request != seen) {
			seen = request;
			carry_out(static_cast<AgentVerb>(page->verb.load()), page->argument);
			page->answered = seen;
			wake_futex(page->answered);
		}
		u64 end = hold_end();
		if (end && now_ns() >= end) {
			last_attempt = now_ns();
			release_all(agent_targets);
			page->expired++;
		}
		if (changed && now_ns() >= setup_end()) {
			changed = false; // first: another change is for the next round
			if (page->held_since) {
				apply_to_all(held_by, 0, agent_targets);
				page->reasserted++;
			}
		}
	}
	return nullptr;
}

// Ends a hold that the agent did not end, also while the agent waits for the driver. Sleeps while nothing is held.
void *run_guard(void *)
{
	for (;;) {
		u32 seen = holds;
		u64 since = page->held_since;
		if (!since) {
			wait_futex(holds, seen, 0);
			continue;
		}
		// A later hold ends later, so this thread need not wake up for it.
		if (u64 end = since + gpulens::AGENT_LAST_HOLD_NS; now_ns() < end) {
			sleep_until(end);
			continue;
		}
		bool alone = verbs_lock.try_lock();
		release_all(guard_targets);
		if (alone)
			verbs_lock.unlock();
		page->expired++;
		if (page->held_since)
			usleep(GUARD_RETRY_US);
	}
	return nullptr;
}

void lock_for_fork()
{
	verbs_lock.lock();
	objects_lock.lock();
}

void unlock_after_fork()
{
	objects_lock.unlock();
	verbs_lock.unlock();
}

// A child gets an agent with its own first TSG. Its parent's TSGs are not its own.
void forget_after_fork()
{
	page = nullptr;
	started = false;
	first_change = last_change = 0;
	held_by = AgentVerb::None;
	changed = false;
	std::fill(std::begin(groups), std::end(groups), Group{});
	std::fill(std::begin(devices), std::end(devices), Device{});
	unlock_after_fork();
}

bool start_thread(void *(*run)(void *), const char *name)
{
	pthread_t thread;
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	errno = pthread_create(&thread, nullptr, run, nullptr);
	bool started = !errno;
	if (started) {
		pthread_setname_np(thread, name);
		pthread_detach(thread);
	}
	pthread_sigmask(SIG_SETMASK, &before, nullptr);
	return started;
}

char page_path[PATH_MAX]; // empty: in no folder

// Makes the page in the folder, or one of this process' own.
AgentPage *make_page(const char *folder)
{
	constexpr int SIZE = sizeof(page_path);

	if (!folder)
		return new (std::nothrow) AgentPage();
	if (snprintf(page_path, SIZE, "%s/%s%d", folder, gpulens::AGENT_PAGE_PREFIX, getpid()) >= SIZE) {
		page_path[0] = 0;
		errno = ENAMETOOLONG;
		return nullptr;
	}
	// instead of that of an earlier process with this number, or of this one before exec()
	AgentPage *made = gpulens::map_file<AgentPage>(page_path, O_CREAT | O_EXCL | O_TRUNC).release();
	if (!made)
		page_path[0] = 0;
	return made;
}

// A process that is killed leaves its page to the next coordinator.
__attribute__((destructor)) void remove_page()
{
	if (page && page_path[0])
		unlink(page_path);
}

bool parse_budget()
{
	const char *text = getenv(gpulens::environment::SCHEDULE_BUDGET);
	unsigned long run, period;

	if (!text || sscanf(text, "%lu/%lu", &run, &period) != 2 || !run || run >= period)
		return false;
	budget = {.run = run * 1000, .period = period * 1000};
	return true;
}

[[noreturn]] void exit_unscheduled()
{
	fprintf(stderr, "gpulens: process %d cannot be scheduled, so it ends: %s\n", getpid(), strerror(errno));
	_exit(gpulens::STATUS_UNLIMITED);
}

void start_agent()
{
	const char *folder = getenv(gpulens::environment::SCHEDULE_FOLDER);

	if (!parse_budget() && !folder)
		return;
	page = make_page(folder);
	if (!page && budget.period) // it needs nobody else
		page = make_page(nullptr);
	if (!page)
		exit_unscheduled();
	page->pid = static_cast<u32>(getpid());
	if (const char *task = getenv(gpulens::environment::SCHEDULE_TASK))
		snprintf(page->task, sizeof(page->task), "%s", task);
	page->start_time = read_start_time();
	page->gated = getenv(gpulens::environment::SCHEDULE_GATE) != nullptr;
	page->budget_ns = budget.run;
	page->period_ns = budget.period;
	page->set_slices = replaced_slices.load();
	if (static bool registered; !std::exchange(registered, true))
		pthread_atfork(lock_for_fork, unlock_after_fork, forget_after_fork);
	// Without the second thread nothing would end a hold.
	if (!start_thread(run_guard, "gpulens-guard") || !start_thread(run_agent, "gpulens-agent"))
		exit_unscheduled();
	page->magic = AgentPage::MAGIC;
}

// Returns the slice in us that was asked for; 0: none.
u64 chosen_slice()
{
	const char *text = getenv(gpulens::environment::SCHEDULE_SLICE);
	u64 us = 0;

	if (text)
		std::from_chars(text, text + strlen(text), us);
	return us;
}

// Nothing is acknowledged where a variable is missing or is not what gpulens run sets.
__attribute__((constructor)) void acknowledge_limit()
{
	using namespace gpulens::environment;

	if ((chosen_slice() || parse_budget() || getenv(SCHEDULE_FOLDER)) && !acknowledge(LIMIT_IN_TIME))
		exit_unscheduled();
}

void replace_slice(const Control &c)
{
	static const u64 us = chosen_slice();
	GroupSetTimeslice *params = slice_params(c);

	if (!us || !params)
		return;
	std::lock_guard<std::mutex> hold(objects_lock);
	const Group *g = find_object(groups, c.client, c.object);
	if (!g || !g->on_graphics())
		return;
	params->us = us;
	replaced_slices++;
	if (page)
		page->set_slices = replaced_slices.load();
}

// Returns whether the request frees a TSG that is held, a channel of one, or what they belong to.
bool frees_held(const Free &f)
{
	std::lock_guard<std::mutex> hold(objects_lock);

	return std::any_of(std::begin(groups), std::end(groups), [&](const Group &g) {
		return g.handle && g.client == f.root && g.on_graphics() &&
		       (g.handle == f.object || g.device == f.object || g.client == f.object ||
			std::find(g.channels, g.channels + g.count, f.object) != g.channels + g.count);
	});
}

} // namespace

void count_ioctl()
{
	if (page)
		page->ioctls++;
}

void prepare_request(unsigned long request, void *arg)
{
	if (const Control *c = request_params<Control>(NV_ESC_RM_CONTROL, request, arg))
		replace_slice(*c);
	const Free *f = page && page->held_since ? request_params<Free>(NV_ESC_RM_FREE, request, arg) : nullptr;
	if (!f || !frees_held(*f))
		return;
	std::lock_guard<std::mutex> hold(verbs_lock);
	if (page->held_since)
		release_all(agent_targets);
}

void follow_group(const Group &g)
{
	if (!g.on_graphics())
		return;
	u64 now = now_ns();
	if (g.count <= 1) // its first channel
		first_change = last_change = now;
	else if (now < setup_end())
		last_change = now;
	if (!std::exchange(started, true))
		start_agent();
	const Device *d = find_object(devices, g.client, g.device);
	if (page)
		show_slice();
	if (page && d && d->instance < 32)
		page->devices |= 1U << d->instance;
	if (page && page->held_since) {
		changed = true;
		wake_futex(page->request);
	}
}

} // namespace preload
