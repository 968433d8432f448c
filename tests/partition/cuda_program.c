// SPDX-License-Identifier: GPL-2.0
// A program that does not use the library: it loads libcuda.so.1 as CUDA's runtime does, and prints
// the SMs of its kernels.
//	cuda_program            one launch
//	cuda_program fork       a launch in a child that was forked before CUDA is initialized
//	cuda_program hold N     N launches; prints "ready" and waits for the end of standard input
//	cuda_program coop N     a cooperative launch of N blocks
//	cuda_program workers N  three children that launch nothing, N launches, and a child that launches once; "ready" as above
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
