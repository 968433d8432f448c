/* SPDX-License-Identifier: GPL-2.0 */
/* Kernels of the test programs, launched through CUDA's driver API as the tests' libcuda.so.1 has it. */
#ifndef PRINT_SMS_H
#define PRINT_SMS_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Launches a kernel that many times, and prints a text and the SMs of its blocks, which libcuda.so.1 of the tests stores. The
 * line is flushed, because the library may end the program in the next launch.
 */
static inline void print_sms(const char *text, void *stream, int times)
{
	int (*alloc)(uint64_t *, size_t);
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
		      void **);
	unsigned seen[132] = {0}, *where;
	uint64_t memory;
	void *parameters[] = {&memory};
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);

	*(void **)&alloc = dlsym(cuda, "cuMemAlloc_v2");
	*(void **)&launch = dlsym(cuda, "cuLaunchKernel");
	alloc(&memory, 1056 * 4);
	while (times--)
		launch(NULL, 1056, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
	where = (unsigned *)memory;
	for (int i = 0; i < 1056; i++)
		seen[where[i]] = 1;
	printf("%s", text);
	for (int i = 0; i < 132; i++)
		if (seen[i])
			printf(" %d", i);
	printf("\n");
	fflush(stdout);
}

#endif /* PRINT_SMS_H */
