// SPDX-License-Identifier: GPL-2.0
/*
 * Measures how fast this machine's time-stamp counter counts and prints that in kHz, for the guest's kernel.
 * scripts/lib/machine.py says why.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

#define INTERVAL_MS 100
#define READS 200

static int64_t read_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Both clocks at one moment: the closest of many pairs, since this may lose the processor between two reads. */
static void read_clocks(int64_t *ns, int64_t *ticks)
{
	int64_t closest = INT64_MAX;
	int i;

	for (i = 0; i < READS; i++) {
		int64_t before = read_clock(), tsc = (int64_t)__rdtsc(), after = read_clock();

		if (after - before < closest) {
			closest = after - before;
			*ns = before + closest / 2;
			*ticks = tsc;
		}
	}
}

int main(void)
{
	const struct timespec interval = { .tv_nsec = INTERVAL_MS * 1000000L };
	int64_t ns[2], ticks[2];

	read_clocks(&ns[0], &ticks[0]);
	nanosleep(&interval, NULL);
	read_clocks(&ns[1], &ticks[1]);
	printf("%.0f\n", (double)(ticks[1] - ticks[0]) * 1e6 / (double)(ns[1] - ns[0]));
	return 0;
}
