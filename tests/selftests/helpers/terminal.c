// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a program on a terminal of its own, and types when it sees what it waits for. Does not judge what is drawn.
 *
 *	terminal TEXT KEYS [TEXT KEYS]... -- PROGRAM [ARGUMENT...]
 * waits for each TEXT in what was written since the last KEYS, then types those. The terminal has 100 columns and 30
 * rows. Exit status: the program's; 125 when a TEXT did not come within 20 s, with all that was written instead.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECONDS 20

static char seen[1 << 20];
static size_t length, from;

/* False: nothing more comes in time. */
static int read_more(int terminal, time_t until)
{
	struct pollfd one = { .fd = terminal, .events = POLLIN };
	time_t left = until - time(NULL);
	ssize_t n = 0;

	if (left > 0 && poll(&one, 1, (int)left * 1000) == 1)
		n = read(terminal, seen + length, sizeof(seen) - 1 - length);
	length += n > 0 ? (size_t)n : 0;
	return n > 0;
}

static int wait_for(int terminal, const char *text)
{
	time_t until = time(NULL) + SECONDS;

	while (!memmem(seen + from, length - from, text, strlen(text)))
		if (!read_more(terminal, until))
			return 0;
	from = length;
	return 1;
}

int main(int argc, char **argv)
{
	struct winsize size = { .ws_row = 30, .ws_col = 100 };
	int first = 1, terminal, status, i;
	pid_t pid;

	while (first < argc && strcmp(argv[first], "--"))
		first++;
	if (first % 2 == 0 || first + 1 >= argc)
		return 2;
	pid = forkpty(&terminal, NULL, NULL, &size);
	if (pid < 0) {
		perror("terminal: forkpty");
		return 126;
	}
	if (!pid) {
		execvp(argv[first + 1], argv + first + 1);
		perror("terminal: exec");
		_exit(127);
	}
	for (i = 1; i < first; i += 2) {
		if (!wait_for(terminal, argv[i])) {
			printf("no \"%s\" came after this:\n%s\n", argv[i], seen + from);
			return 125;
		}
		if (write(terminal, argv[i + 1], strlen(argv[i + 1])) < 0)
			break;
	}
	while (read_more(terminal, time(NULL) + SECONDS))
		;
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
