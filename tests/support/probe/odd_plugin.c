// SPDX-License-Identifier: GPL-2.0
// A plugin of gpulens-lab probe-kernels without CUDA, whose values are wrong in one way. Its additional_info has a word that
// says in which, as {"fault": "sm"}; "none" is right. FAULT in the environment is for what comes before initialize().
//
//	ODD_LOG=FILE  a line for each call of its functions, with the parameters of initialize()
#define _GNU_SOURCE
#include <gpulens-plugin.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BLOCKS 3

struct state {
	const char *fault;
	KernelTimes kernels[2];
	uint64_t times[2][2 * BLOCKS];
	uint32_t sms[BLOCKS];
};

static void log_line(const char *line)
{
	const char *path = getenv("ODD_LOG");
	FILE *file = path ? fopen(path, "a") : NULL;

	if (!file)
		return;
	fprintf(file, "%s\n", line);
	fclose(file);
}

static int is_set(const char *list, const char *word)
{
	return list && strstr(list, word);
}

static int has_fault(const struct state *s, const char *fault)
{
	return is_set(s->fault, fault);
}

static double read_seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t gpu_now(void) // of tests/support/cuda/fake_runtime.cc
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void *make_state(InitializationParameters *p)
{
	struct state *s = calloc(1, sizeof(*s));
	const char *percentage = getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
	cpu_set_t cores;
	char line[512];

	CPU_ZERO(&cores);
	sched_getaffinity(0, sizeof(cores), &cores);
	snprintf(line, sizeof(line), "initialize %d,%d,%d %d,%d,%d %llu %s %d %d %llx cores %d mps %s", p->block_dim[0],
		 p->block_dim[1], p->block_dim[2], p->grid_dim[0], p->grid_dim[1], p->grid_dim[2],
		 (unsigned long long)p->data_size, p->additional_info ? p->additional_info : "NULL", p->cuda_device,
		 p->stream_priority, (unsigned long long)p->sm_mask, CPU_COUNT(&cores),
		 percentage ? percentage : "unset");
	log_line(line);
	printf("a plugin's message\n"); // not a line of the protocol
	s->fault = p->additional_info ? strdup(p->additional_info) : "";
	return has_fault(s, "initialize") ? NULL : s;
}

static int copy_in(void *data)
{
	log_line("copy_in");
	return !has_fault(data, "copy_in");
}

// Takes 5 ms.
static void run_kernel(struct state *s, int number)
{
	KernelTimes *k = &s->kernels[number];
	uint64_t *times = s->times[number];

	k->kernel_name = has_fault(s, "no_name") ? NULL : has_fault(s, "odd_name") ? "a \xff\n\"<b>\"" : "odd";
	k->thread_count = 64;
	k->block_count = BLOCKS;
	k->cuda_launch_times[0] = read_seconds(CLOCK_MONOTONIC_RAW);
	k->cuda_launch_times[1] = read_seconds(CLOCK_MONOTONIC_RAW);
	for (int i = 0; i < BLOCKS; i++) {
		times[2 * i] = gpu_now();
		s->sms[i] = (uint32_t)i;
	}
	usleep(5000);
	for (int i = 0; i < BLOCKS; i++)
		times[2 * i + 1] = gpu_now();
	k->cuda_launch_times[2] = number ? 0 : read_seconds(CLOCK_MONOTONIC_RAW);
	k->block_times = times;
	k->block_smids = s->sms;
}

static int run_kernels(void *data)
{
	struct state *s = data;

	log_line("execute");
	for (int i = 0; i <= has_fault(s, "two"); i++)
		run_kernel(s, i);
	if (has_fault(s, "killed"))
		raise(SIGSEGV);
	if (has_fault(s, "exits"))
		exit(0);
	return !has_fault(s, "execute");
}

static int copy_out(void *data, TimingInformation *times)
{
	struct state *s = data;
	KernelTimes *k = &s->kernels[0];

	log_line("copy_out");
	times->kernel_count = has_fault(s, "no_kernel") ? 0 : has_fault(s, "two") ? 2 : 1;
	times->kernel_info = has_fault(s, "null_info") ? NULL : s->kernels;
	if (has_fault(s, "no_launch_times"))
		memset(k->cuda_launch_times, 0, sizeof(k->cuda_launch_times));
	if (has_fault(s, "null_times"))
		k->block_times = NULL;
	if (has_fault(s, "null_sms"))
		k->block_smids = NULL;
	if (has_fault(s, "wild_times"))
		k->block_times = (uint64_t *)8;
	if (has_fault(s, "negative_count"))
		times->kernel_count = -1;
	if (has_fault(s, "many_kernels"))
		times->kernel_count = 5000;
	if (has_fault(s, "no_blocks"))
		k->block_count = 0;
	if (has_fault(s, "many_blocks"))
		k->block_count = 100001;
	if (has_fault(s, "many_threads"))
		k->thread_count = 1025;
	if (has_fault(s, "shared"))
		k->shared_memory = -1;
	if (has_fault(s, "backwards"))
		s->times[0][3] = s->times[0][2] - 1;
	if (has_fault(s, "sm4"))
		s->sms[1] = 4;
	if (has_fault(s, "zero_time"))
		s->times[0][0] = 0;
	if (has_fault(s, "old_time"))
		s->times[0][0] -= 1000000000;
	if (has_fault(s, "endless_time"))
		s->times[0][5] = ~0ULL;
	if (has_fault(s, "late_time"))
		s->times[0][5] += 1000000000;
	if (has_fault(s, "wall_clock"))
		k->cuda_launch_times[0] = read_seconds(CLOCK_REALTIME);
	if (has_fault(s, "nan"))
		k->cuda_launch_times[1] = __builtin_nan("");
	if (has_fault(s, "order"))
		k->cuda_launch_times[1] = k->cuda_launch_times[0] - 1e-4;
	return !has_fault(s, "copy_out");
}

static void clean_up(void *data)
{
	log_line("cleanup");
	free(data);
}

static const char *get_name(void)
{
	return is_set(getenv("FAULT"), "null_name") ? NULL : "Odd benchmark";
}

int RegisterFunctions(BenchmarkLibraryFunctions *f)
{
	const char *fault = getenv("FAULT");

	if (is_set(fault, "register"))
		return 0;
	f->initialize = is_set(fault, "no_initialize") ? NULL : make_state;
	f->copy_in = copy_in;
	f->execute = run_kernels;
	f->copy_out = is_set(fault, "no_copy_out") ? NULL : copy_out;
	f->cleanup = clean_up;
	f->get_name = is_set(fault, "no_get_name") ? NULL : get_name;
	if (is_set(fault, "only_required"))
		f->copy_in = f->execute = NULL, f->cleanup = NULL;
	return 1;
}
