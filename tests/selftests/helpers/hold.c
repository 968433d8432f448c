// SPDX-License-Identifier: GPL-2.0
/*
 * Opens a file many times, reads one byte of each, which has the kernel collect all of it, and keeps them open. Does not
 * judge; the tests that call it do.
 *
 *	hold N FILE [TEXT]          TEXT is written first, each time
 * Output: "held N", or what failed: "open ENFILE 812" (the call, the errno's name, how many are held); then it waits
 * for the end of its input.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const char *hold_file(const char *file, const char *text)
{
	char c[64]; /* samples come in records of 64 bytes */
	int fd = open(file, text ? O_RDWR : O_RDONLY);

	if (fd < 0)
		return "open";
	if (text && write(fd, text, strlen(text)) < 0)
		return "write";
	return read(fd, c, text ? sizeof(c) : 1) < 0 ? "read" : NULL;
}

int main(int argc, char **argv)
{
	const char *failed = NULL;
	struct rlimit many;
	long n, i;
	char c;

	if (argc < 3) {
		fprintf(stderr, "usage: hold N FILE [TEXT]\n");
		return 2;
	}
	n = atol(argv[1]);
	many.rlim_cur = many.rlim_max = n + 16;
	setrlimit(RLIMIT_NOFILE, &many);
	for (i = 0; i < n && !failed; i++)
		failed = hold_file(argv[2], argc > 3 ? argv[3] : NULL);
	if (failed)
		printf("%s %s %ld\n", failed, strerrorname_np(errno), i - 1);
	else
		printf("held %ld\n", n);
	fflush(stdout);
	return read(0, &c, 1) < 0;
}
