// SPDX-License-Identifier: GPL-2.0
// A program of several threads for gpulens run --pitfalls. It reaches libcuda.so.1 as HOW says: dlsym, get (cuGetProcAddress_v2, as
// CUDA's runtime), thread (get, with the per-thread default stream), or link.
//	calls_program HOW free        frees memory while a kernel of 60 ms runs, and launches in another thread meanwhile
//	calls_program HOW legacy      two launches in the default stream, and one in a stream
//	calls_program HOW hang        as free; is killed by SIGKILL during the call
//	calls_program HOW fork        free in a child, after a call of the parent
//	calls_program HOW cost N      prints ns of a call that is recorded, of the same without that, of a call in the default stream
//	                              beside another stream, and of two readings of the clock
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

#ifdef LINKED
int cuMemAlloc_v2(uint64_t *, size_t);
int cuMemFree_v2(uint64_t);
int cuStreamCreate(void **, unsigned);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
		   void **);
int cuStreamSynchronize(void *);
int cuMemFreeHost(void *);
int cuModuleGetFunction(void **, void *, const char *);
#endif

static struct {
	int (*alloc)(uint64_t *, size_t);
	int (*free)(uint64_t);
	int (*free_host)(void *);
	int (*make_stream)(void **, unsigned);
	int (*wait)(void *);
	int (*function)(void **, void *, const char *);
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
		      void **);
} cuda;

static void *library, *spin;
static uint64_t memory, records;
static const char *how;

static void *look_up(const char *name, int version, uint64_t flags)
{
	static int (*get)(const char *, void **, int, uint64_t, int *);
	void *found = NULL;
	char symbol[64];
	int status;

	if (strcmp(how, "dlsym")) {
		if (!get)
			*(void **)&get = dlsym(library, "cuGetProcAddress_v2");
		get(name, &found, version, flags, &status);
		return found;
	}
	snprintf(symbol, sizeof(symbol), "%s%s", name, version == 3020 ? "_v2" : "");
	return dlsym(library, symbol);
}

static void load_driver(void)
{
	library = dlopen("libcuda.so.1", RTLD_NOW);
#ifdef LINKED
	cuda.alloc = cuMemAlloc_v2;
	cuda.free = cuMemFree_v2;
	cuda.free_host = cuMemFreeHost;
	cuda.make_stream = cuStreamCreate;
	cuda.wait = cuStreamSynchronize;
	cuda.function = cuModuleGetFunction;
	cuda.launch = cuLaunchKernel;
	return;
#endif
	uint64_t flags = strcmp(how, "thread") ? 0 : 2;
	*(void **)&cuda.alloc = look_up("cuMemAlloc", 3020, 0);
	*(void **)&cuda.free = look_up("cuMemFree", 3020, 0);
	*(void **)&cuda.free_host = look_up("cuMemFreeHost", 2000, 0);
	*(void **)&cuda.make_stream = look_up("cuStreamCreate", 2000, 0);
	*(void **)&cuda.wait = look_up("cuStreamSynchronize", 2000, 0);
	*(void **)&cuda.function = look_up("cuModuleGetFunction", 2000, 0);
	*(void **)&cuda.launch = look_up("cuLaunchKernel", flags ? 7000 : 4000, flags);
}

static void launch_spin(void *stream, uint64_t ms)
{
	uint64_t ns = ms * 1000000;
	void *parameters[] = {&records, &ns};

	cuda.launch(spin, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
}

NOINLINE static void *launch_beside(void *stream)
{
	usleep(20000);
	launch_spin(stream, 1);
	return NULL;
}

NOINLINE static void release_memory(void)
{
	cuda.free(memory);
}

static void *kill_later(void *unused)
{
	(void)unused;
	usleep(40000);
	kill(getpid(), SIGKILL);
	return NULL;
}

static void free_beside(int hang)
{
	void *first, *second;
	pthread_t other, killer;

	cuda.make_stream(&first, 1);
	cuda.make_stream(&second, 1);
	launch_spin(first, 60);
	pthread_create(&other, NULL, launch_beside, second);
	if (hang)
		pthread_create(&killer, NULL, kill_later, NULL);
	release_memory();
	pthread_join(other, NULL);
}

NOINLINE static void launch_by_default(void)
{
	launch_spin(NULL, 1);
}

static uint64_t read_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

// The least of ten rounds.
static double cost_of(int (*call)(void *), long count)
{
	double least = 1e9;

	for (int round = 0; round < 10; round++) {
		uint64_t begin = read_clock();
		for (long i = 0; i < count; i++)
			call(NULL);
		double each = (double)(read_clock() - begin) / (double)count;
		least = each < least ? each : least;
	}
	return least;
}

static int read_clock_twice(void *unused)
{
	struct timespec t;

	(void)unused;
	return clock_gettime(CLOCK_MONOTONIC, &t) + clock_gettime(CLOCK_MONOTONIC, &t);
}

static int (*set)(uint64_t, unsigned char, size_t, void *);

static int set_nothing(void *stream)
{
	return set(memory, 0, 0, stream);
}

static void print_cost(long count)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW), *(*real_dlsym)(void *, const char *), *stream;
	int (*unload)(void *), (*bare)(void *);

	*(void **)&real_dlsym = dlvsym(libc, "dlsym", "GLIBC_2.34");
	*(void **)&unload = dlsym(library, "cuModuleUnload");
	*(void **)&bare = real_dlsym(library, "cuModuleUnload");
	*(void **)&set = dlsym(library, "cuMemsetD8Async");
	cuda.make_stream(&stream, 0);
	printf("%.2f %.2f %.2f %.2f\n", cost_of(unload, count), cost_of(bare, count), cost_of(set_nothing, count),
	       cost_of(read_clock_twice, count));
}

int main(int argc, char **argv)
{
	const char *what = argv[2];
	void *stream;

	how = argv[1];
	load_driver();
	if (argc > 3) {
		print_cost(atol(argv[3]));
		return 0;
	}
	cuda.alloc(&memory, 4096);
	cuda.alloc(&records, 4096);
	cuda.function(&spin, NULL, "spin");
	if (!strcmp(what, "fork")) {
		if (!fork()) {
			free_beside(0);
			_exit(0);
		}
		wait(NULL);
	} else if (!strcmp(what, "legacy")) {
		launch_by_default(); // no other stream yet
		cuda.make_stream(&stream, 0);
		launch_by_default();
		launch_spin(stream, 1);
		cuda.wait(stream);
	} else {
		free_beside(!strcmp(what, "hang"));
	}
	return 3;
}
