// SPDX-License-Identifier: GPL-2.0
// Kills a process with SIGKILL after each of its instructions in turn, until one gets through:
//	killed_turns_program pair PLAN STRIDE      it begins and ends a job of "one"
//	killed_turns_program wait PLAN STRIDE      it begins a job of "one" while another process runs one
//	killed_turns_program hand-over PLAN STRIDE it ends a job of "one" while another process waits
//	killed_turns_program yield PLAN STRIDE     it yields to a job of "one" in its job of "two"
//	killed_turns_program set PLAN STRIDE       it changes the number of slots of a lock between 1 and 2
//	killed_turns_program open PLAN STRIDE      it opens the plan, whose file is not there, until a system call
// After each, this process takes a turn, and compares the counts. It prints how often what had happened when the process
// was killed, in the order of instructions: nothing, "died" or "done".
#include "gpulens-partition.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum what { NOTHING, DIED, DONE };

static const char *mode, *plan_file;
static unsigned one, two;

static void report_failure(const char *text, long n)
{
	printf("%s after %ld: %s\n", text, n, gpulens_error());
	exit(1);
}

static struct gpulens_plan *open_plan(void)
{
	struct gpulens_plan *plan;

	if (gpulens_plan_open(plan_file, GPULENS_TURNS_ONLY, &plan) || gpulens_plan_task(plan, "one", &one) ||
	    gpulens_plan_task(plan, "two", &two))
		report_failure("open", 0);
	return plan;
}

static struct gpulens_slots *open_slots(unsigned k)
{
	struct gpulens_slots *slots;

	if (gpulens_slot_open("killed", k, &slots))
		report_failure("slot_open", k);
	return slots;
}

// The process that is killed: between two stops it does what the mode says.
static void be_killed(int ready)
{
	struct gpulens_plan *plan = strcmp(mode, "open") ? open_plan() : NULL;
	struct gpulens_slots *slots = NULL;
	void *stream;

	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	if (!strcmp(mode, "hand-over"))
		gpulens_job_begin(plan, one, 0, &stream);
	if (!strcmp(mode, "yield"))
		gpulens_job_begin(plan, two, 0, &stream);
	if (!strcmp(mode, "set"))
		slots = open_slots(1);
	if (write(ready, "", 1) != 1)
		_exit(1);
	raise(SIGSTOP);
	if (!strcmp(mode, "pair")) {
		gpulens_job_begin(plan, one, 0, &stream);
		gpulens_job_end(plan);
	} else if (!strcmp(mode, "wait")) {
		gpulens_job_begin(plan, one, 0, &stream);
	} else if (!strcmp(mode, "hand-over")) {
		gpulens_job_end(plan);
	} else if (!strcmp(mode, "yield")) {
		gpulens_job_yield(plan);
	} else if (!strcmp(mode, "set")) {
		gpulens_slot_set(slots, 2);
	} else {
		open_plan();
	}
	raise(SIGSTOP);
	_exit(0);
}

// A process that waits for its turn and takes it.
static pid_t start_waiting(struct gpulens_plan *plan)
{
	struct gpulens_counts before, now;
	pid_t child;
	void *stream;

	gpulens_plan_counts(plan, one, &before, sizeof(before));
	child = fork();
	if (!child) {
		struct gpulens_plan *mine = open_plan();

		_exit(gpulens_job_begin(mine, one, 0, &stream) || gpulens_job_end(mine));
	}
	do
		gpulens_plan_counts(plan, one, &now, sizeof(now));
	while (now.waits == before.waits && !usleep(100));
	return child;
}

static bool step_child(pid_t child, long n)
{
	int state, how = strcmp(mode, "open") ? PTRACE_SINGLESTEP : PTRACE_SYSCALL;

	for (long i = 0; i < n; i++) {
		if (ptrace(how, child, NULL, NULL) || waitpid(child, &state, 0) != child)
			report_failure("ptrace", i);
		if (!WIFSTOPPED(state) || WSTOPSIG(state) == SIGSTOP)
			return true;
	}
	return false;
}

// Takes a turn. The previous holder may be a killed process.
static void take_turn(struct gpulens_plan *plan, long n)
{
	void *stream;

	if (gpulens_job_begin(plan, one, 0, &stream) || gpulens_job_end(plan))
		report_failure("a turn", n);
}

static void forget_file(void)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/plan-any", getenv("GPULENS_RUNTIME_DIR"));
	unlink(path);
}

// Kills a process after n steps. Returns whether it had finished before; what: what had happened.
static bool kill_after(struct gpulens_plan *plan, long n, enum what *what)
{
	bool waits = !strcmp(mode, "hand-over") || !strcmp(mode, "yield"), finished, holds = !strcmp(mode, "wait");
	struct gpulens_counts before[2], after[2];
	uint64_t jobs, deaths;
	int ready[2], state;
	pid_t child, waiting = 0;
	char byte;
	void *stream;

	if (pipe(ready))
		report_failure("pipe", n);
	if (!strcmp(mode, "open"))
		forget_file();
	if (holds && gpulens_job_begin(plan, one, 0, &stream))
		report_failure("begin", n);
	if (plan) {
		gpulens_plan_counts(plan, one, &before[0], sizeof(before[0]));
		gpulens_plan_counts(plan, two, &before[1], sizeof(before[1]));
	}
	child = fork();
	if (!child) {
		be_killed(ready[1]);
	}
	if (read(ready[0], &byte, 1) != 1 || waitpid(child, &state, 0) != child)
		report_failure("child", n);
	if (waits)
		waiting = start_waiting(plan);
	finished = step_child(child, n);
	kill(child, SIGKILL);
	waitpid(child, &state, 0);
	close(ready[0]);
	close(ready[1]);
	if (holds && gpulens_job_end(plan))
		report_failure("end", n);
	if (waits && (waitpid(waiting, &state, 0) != waiting || state))
		report_failure("the waiting process", n);
	if (!plan) {
		plan = open_plan();
		take_turn(plan, n);
		gpulens_plan_close(plan);
		*what = DONE;
		return finished;
	}
	take_turn(plan, n);
	gpulens_plan_counts(plan, one, &after[0], sizeof(after[0]));
	gpulens_plan_counts(plan, two, &after[1], sizeof(after[1]));
	jobs = after[0].jobs - before[0].jobs - 1 - holds - waits + after[1].jobs - before[1].jobs;
	deaths = after[0].deaths - before[0].deaths + after[1].deaths - before[1].deaths;
	if (jobs + deaths > 1 || after[0].overruns || after[1].overruns || after[0].misses || after[1].misses)
		report_failure("wrong counts", n);
	*what = jobs ? DONE : deaths ? DIED : NOTHING;
	return finished;
}

// Kills a process that changes the number of slots. Returns whether it had finished.
static bool kill_setting(long n, enum what *what)
{
	struct gpulens_slots *slots = open_slots(1), *mine;
	unsigned first, second = 9;
	enum what unused = NOTHING;
	int ready[2], state;
	bool finished;
	pid_t child;
	char byte;

	if (pipe(ready))
		report_failure("pipe", n);
	child = fork();
	if (!child)
		be_killed(ready[1]);
	if (read(ready[0], &byte, 1) != 1 || waitpid(child, &state, 0) != child)
		report_failure("child", n);
	finished = step_child(child, n);
	kill(child, SIGKILL);
	waitpid(child, &state, 0);
	close(ready[0]);
	close(ready[1]);
	if (gpulens_slot_acquire(slots, &first) || first)
		report_failure("acquire", n);
	child = fork(); /* a second slot is there if the change was made */
	if (!child) {
		alarm(0);
		if (gpulens_slot_open("killed", 2, &mine))
			_exit(1);
		_exit(gpulens_slot_acquire(mine, &second) || second != 1 ? 2 : 0);
	}
	waitpid(child, &state, 0);
	unused = WIFEXITED(state) && !WEXITSTATUS(state) ? DONE : NOTHING;
	if (!WIFEXITED(state) || WEXITSTATUS(state) == 2)
		report_failure("the second slot", n);
	if (gpulens_slot_release(slots, first))
		report_failure("release", n);
	gpulens_slot_set(slots, 1);
	gpulens_slot_close(slots);
	*what = unused;
	return finished;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"nothing", "died", "done"};
	struct gpulens_plan *plan = NULL;
	long stride = argc > 3 ? atol(argv[3]) : 1, counted = 0, instructions = 0;
	enum what last = NOTHING, what = NOTHING;
	bool finished = false;

	mode = argv[1];
	plan_file = argv[2];
	alarm(500);
	if (strcmp(mode, "open") && strcmp(mode, "set"))
		plan = open_plan();
	while (!finished && instructions < 6000) {
		finished =
			strcmp(mode, "set") ? kill_after(plan, instructions, &what) : kill_setting(instructions, &what);
		if (what != last) {
			printf("%s %ld\n", names[last], counted);
			counted = 0;
			last = what;
		}
		counted++;
		instructions += stride;
	}
	printf("%s %ld\n%s after %ld\n", names[last], counted, finished ? "finished" : "cut off",
	       instructions - stride);
	return 0;
}
