// SPDX-License-Identifier: GPL-2.0
/*
 * Writes texts to files in turn, pinned to one processor, until a number in another file has been reached.
 *
 *	writeloop CPU WHILE_FILE LIMIT FILE TEXT [FILE TEXT]...
 * WHILE_FILE is read after each turn. Output: one line, "turns N", and then for each pair a line "FILE TEXT OK N" with
 * how many writes were accepted, and one for each errno that a pair was answered, "FILE TEXT EBUSY N".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_PAIRS 32
#define MAX_ERRNO 134

static unsigned long answers[MAX_PAIRS][MAX_ERRNO];

static long number_in(const char *path)
{
	char text[32] = "";
	int fd = open(path, O_RDONLY);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0) {
		perror(path);
		exit(2);
	}
	close(fd);
	return atol(text);
}

static int write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), err = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		err = errno;
	close(fd);
	return err < MAX_ERRNO ? err : EINVAL;
}

int main(int argc, char **argv)
{
	int pairs = (argc - 4) / 2;
	long turns = 0;
	cpu_set_t set;

	if (argc < 6 || argc % 2 || pairs > MAX_PAIRS)
		return 2;
	CPU_ZERO(&set);
	CPU_SET(atoi(argv[1]), &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0) {
		perror("writeloop: sched_setaffinity");
		return 2;
	}
	for (; number_in(argv[2]) < atol(argv[3]); turns++)
		for (int i = 0; i < pairs; i++)
			answers[i][write_to(argv[4 + 2 * i], argv[5 + 2 * i])]++;
	printf("turns %ld\n", turns);
	for (int i = 0; i < pairs; i++)
		for (int err = 0; err < MAX_ERRNO; err++)
			if (!err || answers[i][err])
				printf("%s %s %s %lu\n", argv[4 + 2 * i], argv[5 + 2 * i],
				       err ? strerrorname_np(err) : "OK", answers[i][err]);
	return 0;
}
