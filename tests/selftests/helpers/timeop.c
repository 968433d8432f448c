// SPDX-License-Identifier: GPL-2.0
/*
 * Times one operation, many times, and prints the median in microseconds (and least and greatest).
 *
 *	timeop read FILE ROUNDS           open, read to the end, close
 *	timeop write FILE ROUNDS TEXT...  open, write TEXT, close; with several texts they are written in turn
 *	timeop load FILE ROUNDS NAME      load a kernel module; unloading it by its NAME, between rounds, is not timed
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static char buffer[1 << 20];

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int load_module(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	long err = fd < 0 ? -1 : syscall(SYS_finit_module, fd, "", 0);

	if (fd >= 0)
		close(fd);
	return err ? -1 : 0;
}

static int read_or_write(const char *path, const char *text)
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
	int loads = argc > 1 && !strcmp(argv[1], "load");
	int texts = loads || (argc > 1 && !strcmp(argv[1], "write")) ? argc - 4 : 0;
	int rounds = argc > 3 ? atoi(argv[3]) : 0;
	double *us = calloc(rounds + 1, sizeof(*us));

	if (rounds < 1 || (argv[1][0] != 'r' && texts < 1) || !us) {
		fprintf(stderr, "usage: timeop read FILE ROUNDS | write FILE ROUNDS TEXT... | load FILE ROUNDS NAME\n");
		return 2;
	}
	for (int i = 0; i < rounds; i++) {
		struct timespec a, b;
		int failed;

		clock_gettime(CLOCK_MONOTONIC, &a);
		failed = loads ? load_module(argv[2]) : read_or_write(argv[2], texts ? argv[4 + i % texts] : NULL);
		clock_gettime(CLOCK_MONOTONIC, &b);
		if (failed) {
			perror(argv[2]);
			return 1;
		}
		us[i] = (b.tv_sec - a.tv_sec) * 1e6 + (b.tv_nsec - a.tv_nsec) / 1e3;
		if (loads && i + 1 < rounds && syscall(SYS_delete_module, argv[4], 0)) {
			perror(argv[4]);
			return 1;
		}
	}
	qsort(us, rounds, sizeof(*us), by_value);
	printf("median_us %.1f min_us %.1f max_us %.1f\n", us[rounds / 2], us[0], us[rounds - 1]);
	return 0;
}
