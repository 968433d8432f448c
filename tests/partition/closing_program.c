// SPDX-License-Identifier: GPL-2.0
// Loads the library that the argument names, sets a mask through it, unloads it, launches a kernel,
// and prints the SMs of two blocks.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	void *library = dlopen(argv[argc - 1], RTLD_NOW), *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	void (*set)(uint64_t);
	int (*alloc)(uint64_t *, size_t);
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
	uint64_t memory;
	void *parameters[] = { &memory };

	*(void **)&set = dlsym(library, "libsmctrl_set_global_mask");
	*(void **)&alloc = dlsym(cuda, "cuMemAlloc_v2");
	*(void **)&launch = dlsym(cuda, "cuLaunchKernel");
	set(~0x3ull);
	dlclose(library);
	alloc(&memory, 1056 * 4);
	launch(NULL, 1056, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL);
	printf("%u %u\n", ((unsigned *)memory)[0], ((unsigned *)memory)[3]);
	return 0;
}
