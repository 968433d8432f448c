// SPDX-License-Identifier: GPL-2.0
/*
 * The guest's end of the agent channel (a virtio-serial port): runs shell text for the host, reads and stores files.
 * Owns the wire format together with scripts/lib/guest.py, which is the other end:
 *
 *	host -> guest   "RUN <seconds> <bytes>\n" + shell text
 *	                "GET <seconds> <bytes>\n" + path, as RUN of cat, without the two programs that this starts
 *	                "PUT <octal mode> <bytes> <path>\n" + file content
 *	guest -> host   "READY\n" once, then per request "DONE <status> <bytes>\n" + output
 *
 * status is the shell's exit status, 128+n for a signal, 124 when the time was up and the process group was killed,
 * 125 when it could not even be killed: something hangs in the kernel. One request at a time. Standard output and
 * error go to one file, so a child left in the background does not hold the answer back.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int port;
static sigset_t child_ended; /* SIGCHLD */

static void exit_with(const char *what)
{
	perror(what);
	_exit(1);
}

static void read_all(void *to, size_t len)
{
	char *p = to;

	while (len) {
		ssize_t n = read(port, p, len);

		if (n < 0 && errno != EINTR)
			exit_with("agent: read");
		if (n == 0)
			usleep(20000); /* the host has not opened its end yet */
		if (n > 0) {
			p += n;
			len -= n;
		}
	}
}

static void write_all(const void *from, size_t len)
{
	const char *p = from;

	while (len) {
		ssize_t n = write(port, p, len);

		if (n < 0 && errno != EINTR)
			exit_with("agent: write");
		if (n > 0) {
			p += n;
			len -= n;
		}
	}
}

static void send_answer(int status, const void *data, size_t len)
{
	char head[64];
	int n = snprintf(head, sizeof(head), "DONE %d %zu\n", status, len);

	write_all(head, n);
	write_all(data, len);
}

/*
 * Waits at most `seconds` for the child; -1 when it is still there. Orphans that end meanwhile are not left as zombies,
 * because the agent runs as process 1. SIGCHLD is blocked, so that none is lost.
 */
static int wait_child(pid_t child, double seconds)
{
	struct timespec start, now, left;
	double rest;
	pid_t ended;
	int status;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (;;) {
		while ((ended = waitpid(-1, &status, WNOHANG)) > 0)
			if (ended == child)
				return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		clock_gettime(CLOCK_MONOTONIC, &now);
		rest = seconds - (now.tv_sec - start.tv_sec) - (now.tv_nsec - start.tv_nsec) / 1e9;
		if (rest < 0)
			return -1;
		left.tv_sec = rest;
		left.tv_nsec = (rest - left.tv_sec) * 1e9;
		sigtimedwait(&child_ended, NULL, &left);
	}
}

/* As cat. */
static int copy_file(const char *path)
{
	static char data[1 << 16];
	int fd = open(path, O_RDONLY);
	ssize_t n = fd;

	while (n >= 0 && (n = read(fd, data, sizeof(data))) > 0)
		if (write(1, data, n) != n)
			n = -1;
	if (n < 0)
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
	return n < 0;
}

/* Runs shell text, or reads a file, in a process that may hang. */
static void run_command(const char *text, double seconds, int is_path)
{
	int out = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	int status;
	pid_t child;
	off_t len;
	char *data;

	if (out < 0)
		exit_with("agent: /tmp");
	child = fork();
	if (child == 0) {
		int null = open("/dev/null", O_RDONLY);

		setsid();
		dup2(null, 0);
		dup2(out, 1);
		dup2(out, 2);
		close(port);
		sigprocmask(SIG_UNBLOCK, &child_ended, NULL);
		if (is_path)
			_exit(copy_file(text));
		execl("/bin/sh", "sh", "-c", text, (char *)NULL);
		_exit(127);
	}
	status = wait_child(child, seconds);
	if (status < 0) {
		kill(-child, SIGKILL);
		status = wait_child(child, 5) < 0 ? 125 : 124;
	}
	while (waitpid(-1, NULL, WNOHANG) > 0)
		; /* orphans that ended since */
	len = lseek(out, 0, SEEK_END);
	data = malloc(len + 1);
	if (!data || pread(out, data, len, 0) != len)
		exit_with("agent: output");
	send_answer(status, data, len);
	free(data);
	close(out);
}

static void put_file(const char *path, int mode, const char *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
	const char *failed = NULL;

	if (fd < 0 || write(fd, data, len) != (ssize_t)len || fchmod(fd, mode) < 0)
		failed = strerror(errno);
	if (fd >= 0)
		close(fd);
	send_answer(failed ? 1 : 0, failed ? failed : "", failed ? strlen(failed) : 0);
}

int main(int argc, char **argv)
{
	char head[512], path[256];
	double seconds;
	size_t len, i;
	int mode;

	if (argc != 2)
		return 2;
	sigemptyset(&child_ended);
	sigaddset(&child_ended, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child_ended, NULL);
	port = open(argv[1], O_RDWR | O_CLOEXEC);
	if (port < 0)
		exit_with(argv[1]);
	write_all("READY\n", 6);
	for (;;) {
		char *payload;

		for (i = 0; i < sizeof(head) - 1; i++) {
			read_all(&head[i], 1);
			if (head[i] == '\n')
				break;
		}
		head[i] = '\0';
		path[0] = '\0';
		if (sscanf(head, "RUN %lf %zu", &seconds, &len) != 2 &&
		    sscanf(head, "GET %lf %zu", &seconds, &len) != 2 &&
		    sscanf(head, "PUT %o %zu %255s", (unsigned int *)&mode, &len, path) != 3) {
			fprintf(stderr, "agent: not understood: %s\n", head);
			return 1;
		}
		payload = malloc(len + 1);
		if (!payload)
			exit_with("agent: memory");
		read_all(payload, len);
		payload[len] = '\0';
		if (path[0])
			put_file(path, mode, payload, len);
		else
			run_command(payload, seconds, head[0] == 'G');
		free(payload);
	}
}
