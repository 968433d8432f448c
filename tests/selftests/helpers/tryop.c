// SPDX-License-Identifier: GPL-2.0
/*
 * Does one system call sequence on a file and says how it ended, by errno name: what a shell cannot show reliably.
 * Does not judge; the scripts and tests that call it do.
 *
 *	tryop write FILE TEXT       opens for writing, writes TEXT (C escapes \n \t \\ \0 \xHH) in one call
 *	tryop writelen FILE N       writes N times the digit 1 in one call
 *	tryop writebad FILE         writes 4 bytes from where the process has no memory
 *	tryop read FILE...          opens and reads to the end, each with a line of its own
 *	tryop open FILE r|w         opens only
 * Output: one line, "OK n" (n bytes) or "STEP ERRNO", e.g. "open EACCES", "write EINVAL". Exit status 0 for OK, 1 for an
 * error, 2 for wrong usage.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int report_failure(const char *step)
{
	const char *name = strerrorname_np(errno);

	printf("%s %s\n", step, name ? name : "unknown");
	return 1;
}

static int print_usage(void)
{
	fprintf(stderr, "usage: tryop write FILE TEXT | writelen FILE N | writebad FILE | read FILE... | open FILE r|w\n");
	return 2;
}

static size_t unescape_text(const char *from, char *to)
{
	char *p = to;

	while (*from) {
		if (*from != '\\') {
			*p++ = *from++;
			continue;
		}
		from++;
		switch (*from) {
		case 'n': *p++ = '\n'; from++; break;
		case 't': *p++ = '\t'; from++; break;
		case '0': *p++ = '\0'; from++; break;
		case 'x': {
			char hex[3] = { from[1], from[1] ? from[2] : 0, 0 };

			*p++ = strtoul(hex, NULL, 16);
			from += 1 + strlen(hex);
			break;
		}
		default: *p++ = *from ? *from++ : '\\';
		}
	}
	return p - to;
}

static int report_success(int fd, ssize_t total)
{
	if (close(fd) < 0)
		return report_failure("close");
	printf("OK %zd\n", total);
	return 0;
}

static int read_file(const char *file)
{
	static char buffer[65536];
	int fd = open(file, O_RDONLY);
	ssize_t n, total = 0;
	int failed;

	if (fd < 0)
		return report_failure("open");
	while ((n = read(fd, buffer, sizeof(buffer))) > 0)
		total += n;
	if (n == 0)
		return report_success(fd, total);
	failed = report_failure("read");
	close(fd);
	return failed;
}

int main(int argc, char **argv)
{
	char *verb, *file, *arg, *data;
	ssize_t total = 0;
	size_t len;
	int fd, failed = 0;

	if (argc < 3)
		return print_usage();
	verb = argv[1];
	file = argv[2];
	arg = argc > 3 ? argv[3] : NULL;

	if (!strcmp(verb, "read")) {
		for (argv += 2; *argv; argv++)
			failed |= read_file(*argv);
		return failed;
	}
	if (!strcmp(verb, "open") && arg) {
		fd = open(file, *arg == 'w' ? O_WRONLY : O_RDONLY);
		if (fd < 0)
			return report_failure("open");
	} else if (!strcmp(verb, "writebad")) {
		fd = open(file, O_WRONLY);
		if (fd < 0)
			return report_failure("open");
		total = syscall(SYS_write, fd, 4096UL, 4UL);
		if (total < 0)
			return report_failure("write");
	} else if ((!strcmp(verb, "write") || !strcmp(verb, "writelen")) && arg) {
		len = verb[5] ? strtoul(arg, NULL, 0) : strlen(arg);
		data = malloc(len + 1);
		if (!data)
			return report_failure("malloc");
		if (verb[5])
			memset(data, '1', len);
		else
			len = unescape_text(arg, data);
		fd = open(file, O_WRONLY);
		if (fd < 0)
			return report_failure("open");
		total = write(fd, data, len);
		if (total < 0)
			return report_failure("write");
		free(data);
	} else {
		return print_usage();
	}
	return report_success(fd, total);
}
