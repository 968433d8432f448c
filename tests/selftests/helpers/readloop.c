// SPDX-License-Identifier: GPL-2.0
/*
 * Reads files over and over, pinned to one processor, and compares each reading with the first one.
 *
 *	readloop CPU ROUNDS [-m LINE_PREFIX]... FILE...
 * -m leaves out lines that begin so (after blanks and frames), for state that may change by itself. The rounds are dealt
 * to the files in turn, at least one each. Output: "reads N different N failed N median_us N bytes N"; exit status 1 when
 * a reading differed or failed, with the first difference on standard error; 2 for arguments that it can't use.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SIZE (4 << 20)
#define MAX_FILES 64
#define MAX_MASKS 32

static const char *masks[MAX_MASKS];
static int nr_masks;

static int is_masked(const char *line)
{
	line += strspn(line, " |+-");
	for (int i = 0; i < nr_masks; i++)
		if (!strncmp(line, masks[i], strlen(masks[i])))
			return 1;
	return 0;
}

/* Takes the masked lines out, in place. */
static size_t strip_counters(char *text, size_t len)
{
	char *from = text, *to = text, *end = text + len;

	text[len] = '\0';
	while (nr_masks && from < end) {
		char *next = memchr(from, '\n', end - from);
		size_t n = (next ? next + 1 : end) - from;

		if (!is_masked(from)) {
			memmove(to, from, n);
			to += n;
		}
		from += n;
	}
	return nr_masks ? (size_t)(to - text) : len;
}

static ssize_t read_file(const char *path, char *to)
{
	ssize_t n, total = 0;
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		return -1;
	while ((n = read(fd, to + total, SIZE - total - 1)) > 0)
		total += n;
	close(fd);
	return n < 0 ? -1 : total;
}

static int by_value(const void *a, const void *b)
{
	long x = *(const long *)a, y = *(const long *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static char *first[MAX_FILES];
	static size_t first_len[MAX_FILES];
	char *files[MAX_FILES], *now = malloc(SIZE);
	long rounds, different = 0, failed = 0, *us;
	size_t bytes = 0;
	int nr_files = 0;
	cpu_set_t set;

	if (argc < 4 || !now)
		return 2;
	CPU_ZERO(&set);
	CPU_SET(atoi(argv[1]), &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0) {
		perror("readloop: sched_setaffinity");
		return 2;
	}
	rounds = atol(argv[2]);
	for (int i = 3; i < argc; i++) {
		if (!strcmp(argv[i], "-m") && i + 1 < argc && nr_masks < MAX_MASKS) {
			masks[nr_masks++] = argv[++i];
		} else if (strcmp(argv[i], "-m") && nr_files < MAX_FILES) {
			files[nr_files++] = argv[i];
		} else {
			fprintf(stderr, "readloop: %s: too many arguments\n", argv[i]);
			return 2;
		}
	}
	us = calloc(rounds, sizeof(*us));
	if (!us || !nr_files || rounds < nr_files)
		return 2;
	for (long round = 0; round < rounds; round++) {
		int f = round % nr_files;
		struct timespec a, b;
		ssize_t len;

		clock_gettime(CLOCK_MONOTONIC, &a);
		len = read_file(files[f], now);
		clock_gettime(CLOCK_MONOTONIC, &b);
		us[round] = (b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000;
		if (len < 0) {
			if (!failed++)
				fprintf(stderr, "round %ld: %s: %s\n", round, files[f], strerror(errno));
			continue;
		}
		len = strip_counters(now, len);
		bytes += len;
		if (!first[f]) {
			first[f] = malloc(len + 1);
			if (!first[f])
				return 2;
			memcpy(first[f], now, len);
			first_len[f] = len;
		} else if (first_len[f] != (size_t)len || memcmp(first[f], now, len)) {
			if (!different++)
				fprintf(stderr, "round %ld: %s differs; at first:\n%.*s\nnow:\n%.*s\n", round, files[f],
					(int)(first_len[f] > 3000 ? 3000 : first_len[f]), first[f],
					(int)(len > 3000 ? 3000 : len), now);
		}
	}
	qsort(us, rounds, sizeof(*us), by_value);
	printf("reads %ld different %ld failed %ld median_us %ld bytes %zu\n", rounds, different, failed,
	       us[rounds / 2], bytes);
	return different || failed;
}
