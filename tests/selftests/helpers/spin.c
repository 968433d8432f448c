// SPDX-License-Identifier: GPL-2.0
/*
 * Keeps one processor busy and counts: what it gets done tells how much of that processor others took.
 *
 *	spin CPU MILLISECONDS
 *
 * Prints the turns of its loop and the longest time between two of them, in nanoseconds.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv)
{
	int64_t turns = 0, longest = 0, begin, before, t;
	cpu_set_t one;

	if (argc != 3) {
		fprintf(stderr, "usage: spin CPU MILLISECONDS\n");
		return 2;
	}
	CPU_ZERO(&one);
	CPU_SET(atoi(argv[1]), &one);
	if (sched_setaffinity(0, sizeof(one), &one)) {
		perror("sched_setaffinity");
		return 1;
	}
	begin = now_ns();
	before = begin;
	do {
		t = now_ns();
		if (t - before > longest)
			longest = t - before;
		before = t;
		turns++;
	} while (t - begin < atoll(argv[2]) * 1000000);
	printf("turns %lld longest_ns %lld\n", (long long)turns, (long long)longest);
	return 0;
}
