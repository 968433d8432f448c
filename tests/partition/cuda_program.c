// SPDX-License-Identifier: GPL-2.0
// A program that does not use the library: it loads libcuda.so.1 as CUDA's runtime does, and prints
// the SMs of its kernels.
//	cuda_program            one launch
//	cuda_program fork       a launch in a child that was forked before CUDA is initialized
//	cuda_program hold N     N launches; prints "ready" and waits for the end of standard input
//	cuda_program coop N     a cooperative launch of N blocks
//	cuda_program cluster N  a launch of a cluster of N blocks; cluster NxM: of N in x and M in y
//	cuda_program workers N  three children that launch nothing, N launches, and a child that launches once; "ready" as above
//	cuda_program step       a launch for each line of standard input, in a child of fork() for the line "fork"
//	cuda_program none       does not use CUDA
#include "print_sms.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void launch_kernels(int times)
{
	int (*init)(unsigned);

	*(void **)&init = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuInit");
	init(0);
	print_sms("ran on", NULL, times);
}

static void launch_cooperative(unsigned blocks)
{
	int (*alloc)(uint64_t *, size_t);
	int (*start)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **);
	uint64_t memory;
	void *parameters[] = {&memory};
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);

	*(void **)&alloc = dlsym(cuda, "cuMemAlloc_v2");
	*(void **)&start = dlsym(cuda, "cuLaunchCooperativeKernel");
	alloc(&memory, 1056 * 4);
	start(NULL, blocks, 1, 1, 1, 1, 1, 0, NULL, parameters);
	printf("cooperated\n");
}

// As CUlaunchConfig and CUlaunchAttribute of CUDA 12's cuda.h.
static void launch_cluster(unsigned x, unsigned y)
{
	const struct {
		int id, unused;
		unsigned x, y, z, rest[13];
	} dimension = {.id = 4, .x = x, .y = y, .z = 1};
	struct {
		unsigned grid[3], block[3], shared_bytes;
		void *stream;
		const void *attributes;
		unsigned count;
	} config = {.grid = {x, y, 1}, .block = {1, 1, 1}, .attributes = &dimension, .count = 1};
	int (*alloc)(uint64_t *, size_t);
	int (*start)(const void *, void *, void **, void **);
	uint64_t memory;
	void *parameters[] = {&memory};
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);

	*(void **)&alloc = dlsym(cuda, "cuMemAlloc_v2");
	*(void **)&start = dlsym(cuda, "cuLaunchKernelEx");
	alloc(&memory, 1056 * 4);
	printf("clustered %d\n", start(&config, NULL, parameters, NULL));
}

// The child waits for the end of standard input, as the program does.
static void begin_child(int launches)
{
	if (fork())
		return;
	if (launches)
		launch_kernels(launches);
	while (getchar() != EOF)
		;
	_exit(0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "none")) {
		printf("no CUDA\n");
		return 0;
	}
	if (!strcmp(what, "fork")) {
		int status = 1;

		if (!fork()) {
			launch_kernels(1);
			_exit(0);
		}
		wait(&status);
		return status;
	}
	if (!strcmp(what, "coop")) {
		launch_cooperative((unsigned)atoi(argv[2]));
		return 0;
	}
	if (!strcmp(what, "cluster")) {
		unsigned x = 1, y = 1;

		sscanf(argv[2], "%ux%u", &x, &y);
		launch_cluster(x, y);
		return 0;
	}
	for (char line[80]; !strcmp(what, "step") && fgets(line, sizeof(line), stdin);) {
		int child = !strcmp(line, "fork\n") ? fork() : -1;

		if (child > 0) {
			wait(NULL);
			continue;
		}
		launch_kernels(1);
		fflush(stdout);
		if (!child)
			_exit(0);
	}
	for (int i = 0; !strcmp(what, "workers") && i < 3; i++)
		begin_child(0);
	launch_kernels(argc > 2 ? atoi(argv[2]) : 1);
	if (!strcmp(what, "workers"))
		begin_child(1);
	printf("on %s\n", getenv("CUDA_VISIBLE_DEVICES") ? getenv("CUDA_VISIBLE_DEVICES") : "any GPU");
	if (!strcmp(what, "hold") || !strcmp(what, "workers")) {
		puts("ready");
		fflush(stdout);
		while (getchar() != EOF)
			;
	}
	return 7;
}
