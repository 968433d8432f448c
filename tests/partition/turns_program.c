// SPDX-License-Identifier: GPL-2.0
// Takes turns on a plan without streams, or on slots:
//	turns_program order threads|processes PLAN TASK:RELEASE_US...  the first task runs while the others begin
//		one after another; prints the tasks in the order in which they run
//	turns_program crowd threads|processes K N   N threads take a lock of K slots 200 times; prints the largest number
//		of holders seen, faults, and counts
//	turns_program counts PLAN TASK  a job that is too long, one that is late, and one that is neither
//	turns_program fork PLAN TASK    what a child may do with what its parent opened
//	turns_program drain             changes k while slots are held
//	turns_program yield PLAN        a long job of "long" yields to one of "short"
//	turns_program exit PLAN TASK    a thread ends while it runs a job, and another begins one
//	turns_program handles PLAN TASK OTHER  two handles of a plan; opens another plan when both are closed
//	turns_program hold PLAN         opens the plan, and waits for the end of standard input
//	turns_program stay PLAN TASK    runs a job until it is killed
//	turns_program errors PLAN TASK  wrong calls
//	turns_program pairs PLAN TASK N N times begin and end, between two calls of getppid(), and how long one takes
#include "gpulens-partition.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct crowd {
	atomic_uint now, most, faults, used[64];
};

static bool processes;
static const char *plan_file;
static struct crowd *crowd;
static unsigned slots_k;

static void require_success(int err, const char *call)
{
	if (!err)
		return;
	printf("%s: %d %s\n", call, err, gpulens_error());
	fflush(stdout);
	_exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static struct gpulens_plan *open_plan(void)
{
	struct gpulens_plan *plan;

	require_success(gpulens_plan_open(plan_file, GPULENS_TURNS_ONLY, &plan), "plan_open");
	return plan;
}

static unsigned find_task(struct gpulens_plan *plan, const char *name)
{
	unsigned task;

	require_success(gpulens_plan_task(plan, name, &task), "plan_task");
	return task;
}

static struct gpulens_counts counts_of(struct gpulens_plan *plan, unsigned task)
{
	struct gpulens_counts counts;

	require_success(gpulens_plan_counts(plan, task, &counts, sizeof(counts)), "plan_counts");
	return counts;
}

// A thread in this process or in a child.
static void start_thread(pthread_t *thread, void *(*run)(void *), void *argument)
{
	if (!processes) {
		pthread_create(thread, NULL, run, argument);
	} else if (!fork()) {
		run(argument);
		_exit(0);
	}
}

static void join_threads(pthread_t *threads, int n)
{
	for (int i = 0; i < n; i++)
		if (processes)
			wait(NULL);
		else
			pthread_join(threads[i], NULL);
}

static void print_now(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(1);
}

// argument: "TASK:RELEASE_US"
static void *run_job(void *argument)
{
	char *name = strdup(argument), *colon = strchr(name, ':');
	struct gpulens_plan *plan = open_plan();
	void *stream;
	unsigned task;

	*colon = 0;
	task = find_task(plan, name);
	require_success(gpulens_job_begin(plan, task, strtoull(colon + 1, NULL, 10) * 1000, &stream), "begin");
	print_now(argument);
	print_now("\n");
	require_success(gpulens_job_end(plan), "end");
	gpulens_plan_close(plan);
	free(name);
	return NULL;
}

static void show_order(int n, char **words)
{
	struct gpulens_plan *plan = open_plan();
	pthread_t threads[64];
	void *stream;
	char first[64];

	snprintf(first, sizeof(first), "%.*s", (int)strcspn(words[0], ":"), words[0]);
	require_success(gpulens_job_begin(plan, find_task(plan, first), 0, &stream), "begin");
	for (int i = 1; i < n; i++) {
		char name[64];
		unsigned task;
		uint64_t before;

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(words[i], ":"), words[i]);
		task = find_task(plan, name);
		before = counts_of(plan, task).waits;
		start_thread(&threads[i], run_job, words[i]);
		while (counts_of(plan, task).waits == before)
			usleep(200);
	}
	require_success(gpulens_job_end(plan), "end");
	join_threads(threads + 1, n - 1);
	gpulens_plan_close(plan);
}

static void *join_crowd(void *unused)
{
	struct gpulens_slots *slots;
	unsigned slot;

	require_success(gpulens_slot_open("crowd", slots_k, &slots), "slot_open");
	for (int i = 0; i < 200; i++) {
		unsigned now, most;

		require_success(gpulens_slot_acquire(slots, &slot), "acquire");
		now = atomic_fetch_add(&crowd->now, 1) + 1;
		most = atomic_load(&crowd->most);
		while (now > most && !atomic_compare_exchange_weak(&crowd->most, &most, now))
			;
		if (slot >= slots_k || atomic_exchange(&crowd->used[slot], 1))
			atomic_fetch_add(&crowd->faults, 1);
		usleep(100);
		atomic_store(&crowd->used[slot], 0);
		atomic_fetch_sub(&crowd->now, 1);
		require_success(gpulens_slot_release(slots, slot), "release");
	}
	gpulens_slot_close(slots);
	return unused;
}

static void show_crowd(unsigned k, int n)
{
	struct gpulens_slots *slots;
	struct gpulens_counts counts;
	pthread_t threads[64];

	slots_k = k;
	crowd = mmap(NULL, sizeof(*crowd), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	require_success(gpulens_slot_open("crowd", k, &slots), "slot_open");
	for (int i = 0; i < n; i++)
		start_thread(&threads[i], join_crowd, NULL);
	join_threads(threads, n);
	require_success(gpulens_slot_counts(slots, &counts, sizeof(counts)), "slot_counts");
	printf("most %u faults %u jobs %lu waited %d deaths %lu\n", crowd->most, crowd->faults, counts.jobs,
	       counts.waits > 0, counts.deaths);
	gpulens_slot_close(slots);
}

static void print_counts(const char *what, struct gpulens_counts c)
{
	printf("%s jobs %lu waits %lu overruns %lu misses %lu deaths %lu\n", what, c.jobs, c.waits, c.overruns,
	       c.misses, c.deaths);
}

static void show_counts(const char *name)
{
	struct gpulens_plan *plan = open_plan();
	unsigned task = find_task(plan, name);
	void *stream;

	require_success(gpulens_job_begin(plan, task, 0, &stream), "begin");
	require_success(gpulens_job_end(plan), "end");
	print_counts("good", counts_of(plan, task));
	require_success(gpulens_job_begin(plan, task, 0, &stream), "begin");
	usleep(60000); /* the plan's time is 50 ms, its deadline 10 s */
	require_success(gpulens_job_end(plan), "end");
	print_counts("long", counts_of(plan, task));
	require_success(gpulens_job_begin(plan, task, now_ns() - 11000000000, &stream), "begin");
	require_success(gpulens_job_end(plan), "end");
	print_counts("late", counts_of(plan, task));
	printf("longest run %d\n", counts_of(plan, task).longest_run_ns >= 60000000);
	gpulens_plan_close(plan);
}

static void show_fork(const char *name)
{
	struct gpulens_plan *plan = open_plan(), *other;
	unsigned task = find_task(plan, name);
	void *stream;

	require_success(gpulens_job_begin(plan, task, 0, &stream), "begin");
	fflush(stdout);
	if (!fork()) {
		printf("child end %d begin %d task %d\n", gpulens_job_end(plan),
		       gpulens_job_begin(plan, task, 0, &stream), gpulens_plan_task(plan, name, &task));
		gpulens_plan_close(plan);
		other = open_plan();
		printf("child runs nothing %d\n", gpulens_job_end(other));
		fflush(stdout);
		require_success(gpulens_job_begin(other, task, 0, &stream),
				"child begin"); /* when the parent ends its job */
		printf("child runs\n");
		require_success(gpulens_job_end(other), "child end");
		exit(0);
	}
	while (!counts_of(plan, task).waits)
		usleep(1000);
	usleep(25000); /* the child looks whether the holder lives */
	printf("parent ends %d\n", gpulens_job_end(plan));
	fflush(stdout);
	wait(NULL);
	print_counts("all", counts_of(plan, task));
	gpulens_plan_close(plan);
}

static void *hold_slot(void *argument)
{
	struct gpulens_slots *slots = argument;
	unsigned slot;

	require_success(gpulens_slot_acquire(slots, &slot), "acquire");
	printf("later slot %u\n", slot);
	fflush(stdout);
	require_success(gpulens_slot_release(slots, slot), "release");
	return NULL;
}

static void show_drain(void)
{
	struct gpulens_slots *slots, *again;
	struct gpulens_counts counts = {0};
	pthread_t threads[3];
	unsigned slot;
	int state;

	require_success(gpulens_slot_open("drain", 2, &slots), "slot_open");
	require_success(gpulens_slot_acquire(slots, &slot), "acquire");
	printf("slot %u\n", slot);
	require_success(gpulens_slot_set(slots, 3), "slot_set");
	for (int i = 0; i < 3; i++) /* one slot of two is free, but k changes */
		pthread_create(&threads[i], NULL, hold_slot, slots);
	while (counts.waits < 3)
		require_success(gpulens_slot_counts(slots, &counts, sizeof(counts)), "slot_counts");
	usleep(30000);
	printf("drained\n");
	fflush(stdout);
	require_success(gpulens_slot_release(slots, slot), "release");
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	fflush(stdout);
	if (!fork()) {
		printf("open with 2: %d\n", gpulens_slot_open("drain", 2, &again));
		printf("%s\n", gpulens_error());
		exit(0);
	}
	wait(&state);
	gpulens_slot_close(slots);
	require_success(gpulens_slot_open("drain", 2, &slots), "slot_open alone");
	for (int i = 0; i < 3; i++)
		printf("set %d: %d\n", i * 32 + 1, gpulens_slot_set(slots, (unsigned)i * 32 + 1));
	gpulens_slot_close(slots);
}

static void *run_short(void *argument)
{
	struct gpulens_plan *plan = argument;
	void *stream;

	require_success(gpulens_job_begin(plan, find_task(plan, "short"), 0, &stream), "begin");
	puts("short runs");
	require_success(gpulens_job_end(plan), "end");
	return NULL;
}

static void show_yield(void)
{
	struct gpulens_plan *plan = open_plan();
	pthread_t thread;
	void *stream;

	require_success(gpulens_job_begin(plan, find_task(plan, "long"), 0, &stream), "begin");
	puts("long runs");
	require_success(gpulens_job_yield(plan), "yield"); /* nobody waits */
	pthread_create(&thread, NULL, run_short, plan);
	while (!counts_of(plan, find_task(plan, "short")).waits)
		usleep(200);
	require_success(gpulens_job_yield(plan), "yield");
	puts("long goes on");
	require_success(gpulens_job_end(plan), "end");
	pthread_join(thread, NULL);
	gpulens_plan_close(plan);
}

struct job {
	struct gpulens_plan *plan;
	unsigned task;
};

static void *leave_job(void *argument)
{
	struct job *job = argument;
	void *stream;

	require_success(gpulens_job_begin(job->plan, job->task, 0, &stream), "begin");
	return NULL;
}

static void show_exit(const char *name)
{
	struct job job = {.plan = open_plan()};
	pthread_t thread;
	void *stream;

	job.task = find_task(job.plan, name);
	pthread_create(&thread, NULL, leave_job, &job);
	pthread_join(thread, NULL);
	require_success(gpulens_job_begin(job.plan, job.task, 0, &stream), "begin");
	require_success(gpulens_job_end(job.plan), "end");
	print_counts("after", counts_of(job.plan, job.task));
	gpulens_plan_close(job.plan);
}

static void show_handles(const char *name, const char *other_file)
{
	struct gpulens_plan *first = open_plan(), *second = open_plan(), *other;
	unsigned task = find_task(first, name);
	void *stream;

	require_success(gpulens_job_begin(first, task, 0, &stream), "begin");
	printf("begin by the second %d\n", gpulens_job_begin(second, task, 0, &stream));
	printf("end by the second %d\n", gpulens_job_end(second));
	gpulens_plan_close(second);
	require_success(gpulens_job_end(first), "end");
	gpulens_plan_close(first);
	printf("another plan %d\n", gpulens_plan_open(other_file, GPULENS_TURNS_ONLY, &other));
}

static void *end_other(void *argument)
{
	printf("another thread %d\n", gpulens_job_end(argument));
	return NULL;
}

static void print_error(const char *what, int err)
{
	printf("%s %d: %s\n", what, err, gpulens_error());
}

static void show_errors(const char *name)
{
	struct gpulens_plan *plan = open_plan();
	struct gpulens_slots *slots[9];
	unsigned task = find_task(plan, name), slot;
	pthread_t thread;
	void *stream;
	char lock[2] = "a";

	print_error("unknown", gpulens_plan_task(plan, "nobody", &task));
	print_error("number", gpulens_job_begin(plan, 99, 0, &stream));
	printf("null %d %d %d\n", gpulens_job_begin(plan, task, 0, NULL), gpulens_job_end(NULL),
	       gpulens_slot_acquire(NULL, &slot));
	print_error("none", gpulens_job_end(plan));
	require_success(gpulens_job_begin(plan, task, 0, &stream), "begin");
	print_error("twice", gpulens_job_begin(plan, task, 0, &stream));
	pthread_create(&thread, NULL, end_other, plan);
	pthread_join(thread, NULL);
	require_success(gpulens_job_end(plan), "end");
	printf("names %d %d %d\n", gpulens_slot_open("../x", 1, slots), gpulens_slot_open("", 1, slots),
	       gpulens_slot_open(".x", 1, slots));
	printf("k %d %d\n", gpulens_slot_open("x", 0, slots), gpulens_slot_open("x", 65, slots));
	for (int i = 0; i < 9; i++, lock[0]++) {
		require_success(gpulens_slot_open(lock, 1, &slots[i]), "slot_open");
		if (i < 8)
			require_success(gpulens_slot_acquire(slots[i], &slot), "acquire");
	}
	print_error("ninth", gpulens_slot_acquire(slots[8], &slot));
	print_error("slot", gpulens_slot_release(slots[0], 1));
	for (int i = 0; i < 8; i++)
		require_success(gpulens_slot_release(slots[i], 0), "release");
}

static void hold_plan(void)
{
	struct gpulens_plan *plan = open_plan();

	print_now("open\n");
	while (getchar() != EOF)
		;
	gpulens_plan_close(plan);
}

static void hold_turn(const char *name)
{
	struct gpulens_plan *plan = open_plan();
	void *stream;

	require_success(gpulens_job_begin(plan, find_task(plan, name), 0, &stream), "begin");
	print_now("runs\n");
	pause();
}

static void run_pairs(const char *name, int n)
{
	struct gpulens_plan *plan = open_plan();
	unsigned task = find_task(plan, name);
	uint64_t begun, pairs, empty;
	void *stream;
	char line[80];

	for (int i = 0; i < 3; i++) { /* the first calls of a thread ask for its id */
		require_success(gpulens_job_begin(plan, task, 0, &stream), "begin");
		require_success(gpulens_job_end(plan), "end");
	}
	begun = now_ns();
	for (int i = 0; i < n; i++)
		syscall(SYS_gettid);
	empty = now_ns() - begun;
	syscall(SYS_getppid);
	begun = now_ns();
	for (int i = 0; i < n; i++) {
		gpulens_job_begin(plan, task, 0, &stream);
		gpulens_job_end(plan);
	}
	pairs = now_ns() - begun;
	syscall(SYS_getppid);
	snprintf(line, sizeof(line), "%.1f ns a pair, %.1f ns a system call\n", (double)pairs / n, (double)empty / n);
	print_now(line);
	gpulens_plan_close(plan);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	alarm(600);
	processes = argc > 2 && !strcmp(argv[2], "processes");
	if (!strcmp(mode, "order")) {
		plan_file = argv[3];
		show_order(argc - 4, argv + 4);
		return 0;
	}
	if (!strcmp(mode, "crowd")) {
		show_crowd((unsigned)atoi(argv[3]), atoi(argv[4]));
		return 0;
	}
	plan_file = argc > 2 ? argv[2] : "";
	if (!strcmp(mode, "counts"))
		show_counts(argv[3]);
	else if (!strcmp(mode, "fork"))
		show_fork(argv[3]);
	else if (!strcmp(mode, "drain"))
		show_drain();
	else if (!strcmp(mode, "yield"))
		show_yield();
	else if (!strcmp(mode, "exit"))
		show_exit(argv[3]);
	else if (!strcmp(mode, "handles"))
		show_handles(argv[3], argv[4]);
	else if (!strcmp(mode, "hold"))
		hold_plan();
	else if (!strcmp(mode, "stay"))
		hold_turn(argv[3]);
	else if (!strcmp(mode, "errors"))
		show_errors(argv[3]);
	else if (!strcmp(mode, "pairs"))
		run_pairs(argv[3], atoi(argv[4]));
	return 0;
}
