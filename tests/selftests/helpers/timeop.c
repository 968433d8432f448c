// SPDX-License-Identifier: GPL-2.0
/*
 * Times one operation, many times, and prints the median in microseconds (and least and greatest).
 *
 *	timeop read FILE ROUNDS           open, read to the end, close
 *	timeop write FILE ROUNDS TEXT...  open, write each TEXT, close; with several texts they are written in turn
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char buffer[1 << 20];

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int once(const char *path, const char *text)
{
	int fd = open(path, text ? O_WRONLY : O_RDONLY);
	ssize_t n;

	if (fd < 0)
		return -1;
	if (text)
		n = write(fd, text, strlen(text));
	else
		while ((n = read(fd, buffer, sizeof(buffer))) > 0)
			;
	close(fd);
	return n < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
	int write = argc > 1 && !strcmp(argv[1], "write");
	int rounds = argc > 3 ? atoi(argv[3]) : 0;
	double *us = calloc(rounds + 1, sizeof(*us));

	if (rounds < 1 || (write && argc < 5) || !us) {
		fprintf(stderr, "usage: timeop read FILE ROUNDS | write FILE ROUNDS TEXT...\n");
		return 2;
	}
	for (int i = 0; i < rounds; i++) {
		struct timespec a, b;
		int failed;

		clock_gettime(CLOCK_MONOTONIC, &a);
		failed = once(argv[2], write ? argv[4 + i % (argc - 4)] : NULL);
		clock_gettime(CLOCK_MONOTONIC, &b);
		if (failed) {
			perror(argv[2]);
			return 1;
		}
		us[i] = (b.tv_sec - a.tv_sec) * 1e6 + (b.tv_nsec - a.tv_nsec) / 1e3;
	}
	qsort(us, rounds, sizeof(*us), by_value);
	printf("median_us %.1f min_us %.1f max_us %.1f\n", us[rounds / 2], us[0], us[rounds - 1]);
	return 0;
}
