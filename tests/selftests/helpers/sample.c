// SPDX-License-Identifier: GPL-2.0
/*
 * Reads /proc/gpuX/samples into a file, in one of the ways to wait. Does not judge.
 *
 *	sample [-c TEXT] [-b BYTES] [-w read|nonblock|try|poll|epoll] [-p] [-n TICKS] [-s MS] [-o FILE] FILE
 * -c writes TEXT first; -b reads at most BYTES at once (65536); -w nonblock comes again after EAGAIN, try ends with it;
 * -p waits after the first read for a line of standard input, with the file open; -n ends after so many ticks: those
 * of the first engine, and remarks about a GPU that is asleep; -s ends after MS (1000, with -n 300000), by a signal.
 * Output: one line, how many bytes came, the size of the largest read, and how it ended: "enough", "time", or a step
 * and an errno's name, e.g. "0 0 read EPERM", "4096 4096 poll ERR".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <unistd.h>

/* include/uapi/gpulens.h */
enum { HEAD_BYTES = 64, SAMPLE_BYTES = 16, ENGINES_AT = 8, ENGINE_AT = 8, KIND_AT = 9, ASLEEP = 18 };

static long total, largest, ticks;
static volatile sig_atomic_t over;

static void on_alarm(int signal)
{
	(void)signal;
	over = 1;
}

static int end_with(const char *step, const char *how)
{
	printf("%ld %ld %s%s%s\n", total, largest, step, *how ? " " : "", how);
	return 0;
}

static int report_failure(const char *step)
{
	const char *name = strerrorname_np(errno);

	return over && errno == EINTR ? end_with("time", "") : end_with(step, name ? name : "unknown");
}

static void set_alarm(long ms)
{
	struct itimerval when = { .it_value = { ms / 1000, ms % 1000 * 1000 } };
	struct sigaction action = { .sa_handler = on_alarm }; /* not restarted: it ends a call that waits */

	/* again and again: the first may come between two calls */
	when.it_interval.tv_usec = 100000;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &when, NULL);
}

/* The events; 0 when a signal came. */
static int wait_for(int fd, int ep)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct pollfd one = { .fd = fd, .events = POLLIN };

	if (ep >= 0)
		return epoll_wait(ep, &event, 1, -1) == 1 ? (int)event.events : 0;
	return poll(&one, 1, -1) == 1 ? one.revents : 0;
}

/* Reads return whole records, so that none is cut. at: bytes before these. */
static void count_ticks(const char *buffer, ssize_t n, long at)
{
	static long heads;
	uint32_t engines;

	if (!at) {
		memcpy(&engines, buffer + ENGINES_AT, sizeof(engines));
		heads = HEAD_BYTES * (1 + (long)engines);
	}
	for (long i = heads > at ? heads - at : 0; i < n; i += SAMPLE_BYTES)
		ticks += !buffer[i + ENGINE_AT] || buffer[i + KIND_AT] == ASLEEP;
}

static int run_reader(int fd, int ep, const char *way, int out, size_t size, int pause, long enough)
{
	char *buffer = malloc(size + 1);
	int events;
	ssize_t n;

	while (buffer && !over) {
		if (*way == 'p' || *way == 'e') {
			events = wait_for(fd, ep);
			if (!events)
				continue;
			if (events & POLLERR)
				return end_with(way, "ERR");
		}
		n = read(fd, buffer, size);
		if (n < 0 && errno == EAGAIN && *way == 'n') {
			usleep(1000);
			continue;
		}
		if (n <= 0)
			return n ? report_failure("read") : end_with("read", "END");
		count_ticks(buffer, n, total);
		total += n;
		largest = n > largest ? n : largest;
		if (out >= 0 && write(out, buffer, n) != n)
			return report_failure("output");
		if (enough && ticks >= enough)
			return end_with("enough", "");
		if (pause && read(STDIN_FILENO, buffer, 1) < 0)
			return report_failure("input");
		pause = 0;
	}
	return end_with("time", "");
}

int main(int argc, char **argv)
{
	const char *text = NULL, *way = "read", *to = NULL;
	struct epoll_event event = { .events = EPOLLIN };
	int opt, fd, out = -1, ep = -1, pause = 0;
	long ms = 0, enough = 0;
	size_t size = 65536;

	while ((opt = getopt(argc, argv, "c:b:w:pn:s:o:")) != -1)
		switch (opt) {
		case 'c': text = optarg; break;
		case 'b': size = strtoul(optarg, NULL, 0); break;
		case 'w': way = optarg; break;
		case 'p': pause = 1; break;
		case 'n': enough = atol(optarg); break;
		case 's': ms = atol(optarg); break;
		case 'o': to = optarg; break;
		default: return 2;
		}
	if (optind != argc - 1)
		return 2;
	fd = open(argv[optind], (text ? O_RDWR : O_RDONLY) | (*way == 'n' || *way == 't' ? O_NONBLOCK : 0));
	if (fd < 0)
		return report_failure("open");
	if (text && write(fd, text, strlen(text)) < 0)
		return report_failure("write");
	if (to)
		out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	set_alarm(ms ? ms : enough ? 300000 : 1000);
	if (*way == 'e') {
		ep = epoll_create1(0);
		if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event))
			return report_failure("epoll_ctl");
	}
	return run_reader(fd, ep, way, out, size, pause, enough);
}
