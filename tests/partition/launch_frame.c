// SPDX-License-Identifier: GPL-2.0
// What the example of docs/partition.md, "Taking turns", launches: a kernel whose SMs are printed.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

void launch_frame(void *stream);

void launch_frame(void *stream)
{
	int (*alloc)(uint64_t *, size_t);
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
	unsigned seen[132] = { 0 }, *where;
	uint64_t memory;
	void *parameters[] = { &memory };
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);

	*(void **)&alloc = dlsym(cuda, "cuMemAlloc_v2");
	*(void **)&launch = dlsym(cuda, "cuLaunchKernel");
	alloc(&memory, 1056 * 4);
	launch(NULL, 1056, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
	where = (unsigned *)memory;
	for (int i = 0; i < 1056; i++)
		seen[where[i]] = 1;
	printf("ran on");
	for (int i = 0; i < 132; i++)
		if (seen[i])
			printf(" %d", i);
	printf("\n");
}
