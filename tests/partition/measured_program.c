// SPDX-License-Identifier: GPL-2.0
// A program for gpulens verify and sweep: launches three kernels, prints how many SMs they ran on, and takes longer beside a
// neighbour.
//	measured_program MS [KIND MS]...    takes so many milliseconds, or those of a KIND if $FAKE_LOADS/KIND exists
//	measured_program hold               prints "ready", and ends with its standard input
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 1056

int main(int argc, char **argv)
{
	int (*init)(unsigned), (*alloc)(uint64_t *, size_t);
	int (*start)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
	unsigned seen[132] = { 0 }, count = 0, *where;
	int ms = argc > 1 ? atoi(argv[1]) : 0;
	uint64_t memory;
	void *parameters[] = { &memory };
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	char path[4096], sms[4096] = "";

	*(void **)&init = dlsym(cuda, "cuInit");
	*(void **)&alloc = dlsym(cuda, "cuMemAlloc_v2");
	*(void **)&start = dlsym(cuda, "cuLaunchKernel");
	init(0);
	alloc(&memory, BLOCKS * sizeof(*where));
	for (int i = 0; i < 3; i++)
		start(NULL, BLOCKS, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL);
	where = (unsigned *)memory;
	for (int i = 0; i < BLOCKS; i++)
		count += !seen[where[i]]++;
	printf("ran on %u SMs\n", count);
	for (int i = 2; i + 1 < argc; i += 2) {
		FILE *file;

		snprintf(path, sizeof(path), "%s/%s", getenv("FAKE_LOADS"), argv[i]);
		file = fopen(path, "r");
		if (!file)
			continue;
		ms = atoi(argv[i + 1]);
		if (fgets(sms, sizeof(sms), file))
			printf("beside %s on %s\n", argv[i], sms);
		fclose(file);
	}
	if (argc > 1 && !strcmp(argv[1], "hold"))
		puts("ready");
	fflush(stdout);
	while (argc > 1 && !strcmp(argv[1], "hold") && getchar() != EOF)
		;
	usleep((unsigned)ms * 1000);
	return 0;
}
