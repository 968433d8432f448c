// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a command as somebody else: with another user, group, set of capabilities or namespace, and with a file that was
 * opened on the way there. Does not judge; the tests that call it do.
 *
 *	become STEP... -- COMMAND ARGUMENT...
 *
 * Steps, taken in the order given:
 *	-g GID		adds a supplementary group; only before -u
 *	-u UID[:GID]	gives up root for UID; GID is UID when left out
 *	-c		gives up CAP_SYS_ADMIN and CAP_PERFMON; a command of uid 0 has them again, as a setuid program would
 *	-C		gives them up for the command too
 *	-s		gives up CAP_SYS_ADMIN for the command too, and keeps CAP_PERFMON
 *	-p		keeps CAP_PERFMON alone, for the command too; as another user: -k -u UID -p
 *	-k		keeps capabilities through the next -u, for -p
 *	-a		gives up every capability, for the command too
 *	-r FILE		opens FILE for reading, -w FILE for writing: descriptor 3 of the command
 *	-1		reads one byte of descriptor 3
 *	-n		enters a new user namespace and is root there
 *	-m DIR		enters a new mount and a new process namespace and mounts a fresh proc on DIR
 *
 * Ends as the command does. A step that failed: "become -STEP ERRNO" and exit status 99.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define GROUPS	8

static gid_t groups[GROUPS];
static int n_groups;

static int add_group(const char *gid)
{
	if (n_groups == GROUPS) {
		errno = E2BIG;
		return -1;
	}
	groups[n_groups++] = atoi(gid);
	return 0;
}

static int become_user(const char *text)
{
	const char *colon = strchr(text, ':');
	uid_t uid = atoi(text);
	gid_t gid = colon ? atoi(colon + 1) : (int)uid;

	return setgroups(n_groups, groups) < 0 || setgid(gid) < 0 || setuid(uid) < 0 ? -1 : 0;
}

#define CAPS	64

/* Only what keep says stays; with bounding, a command of uid 0 does not get the rest back either. */
static int keep_capabilities(uint64_t keep, bool bounding)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];
	int i;

	for (i = 0; bounding && i < CAPS; i++)
		if (!(keep >> i & 1) && prctl(PR_CAPBSET_READ, i) == 1 && prctl(PR_CAPBSET_DROP, i) < 0)
			return -1;
	if (syscall(SYS_capget, &head, data) < 0)
		return -1;
	for (i = 0; i < 2; i++) {
		data[i].effective &= keep >> 32 * i;
		data[i].permitted &= keep >> 32 * i;
		data[i].inheritable &= keep >> 32 * i;
	}
	return syscall(SYS_capset, &head, data);
}

#define PERFMON		(1ULL << CAP_PERFMON)
#define SYS_ADMIN	(1ULL << CAP_SYS_ADMIN)

/* For a command of whatever uid: ambient. */
static int perfmon_alone(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];
	int i;

	if (prctl(PR_CAPBSET_READ, CAP_PERFMON) != 1 || syscall(SYS_capget, &head, data) < 0)
		return -1;
	for (i = 0; i < 2; i++)
		data[i].effective = data[i].permitted;
	data[CAP_PERFMON / 32].inheritable |= 1U << CAP_PERFMON % 32;
	if (syscall(SYS_capset, &head, data) < 0)
		return -1;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_PERFMON, 0, 0) < 0)
		return -1;
	return keep_capabilities(PERFMON, true);
}

static int open_as_3(const char *file, int flags)
{
	int fd = open(file, flags);

	if (fd < 0 || fd == 3)
		return fd;
	if (dup2(fd, 3) < 0)
		return -1;
	return close(fd);
}

static int put_text(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = write(fd, text, strlen(text));
	close(fd);
	return n < 0 ? -1 : 0;
}

static int new_user_namespace(void)
{
	char uids[32], gids[32];

	snprintf(uids, sizeof(uids), "0 %u 1", geteuid());
	snprintf(gids, sizeof(gids), "0 %u 1", getegid());
	/* Who has just given up root may not be looked at, nor look at its own /proc/self, without this. */
	if (prctl(PR_SET_DUMPABLE, 1) < 0 || unshare(CLONE_NEWUSER) < 0)
		return -1;
	return put_text("/proc/self/setgroups", "deny") < 0 || put_text("/proc/self/uid_map", uids) < 0 ||
	       put_text("/proc/self/gid_map", gids) < 0 ? -1 : 0;
}

/* The one who goes on is process 1 of the new namespace; the other waits for it. */
static int fresh_proc(const char *dir)
{
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWNS | CLONE_NEWPID) < 0)
		return -1;
	pid = fork();
	if (pid < 0)
		return -1;
	if (pid) {
		if (waitpid(pid, &status, 0) < 0)
			return -1;
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	}
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -1;
	return mount("proc", dir, "proc", 0, NULL);
}

static int read_byte(void)
{
	char byte;

	return read(3, &byte, 1) == 1 ? 0 : -1;
}

static int take_step(int opt)
{
	switch (opt) {
	case 'g': return add_group(optarg);
	case 'u': return become_user(optarg);
	case 'c': return keep_capabilities(~(PERFMON | SYS_ADMIN), false);
	case 'C': return keep_capabilities(~(PERFMON | SYS_ADMIN), true);
	case 's': return keep_capabilities(~SYS_ADMIN, true);
	case 'p': return perfmon_alone();
	case 'k': return prctl(PR_SET_KEEPCAPS, 1);
	case 'a': return keep_capabilities(0, true);
	case 'r': return open_as_3(optarg, O_RDONLY);
	case 'w': return open_as_3(optarg, O_WRONLY);
	case '1': return read_byte();
	case 'n': return new_user_namespace();
	case 'm': return fresh_proc(optarg);
	}
	errno = EINVAL;
	return -1;
}

int main(int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "+g:u:cCspkar:w:1nm:")) != -1) {
		if (take_step(opt) < 0) {
			printf("become -%c %s\n", opt, strerrorname_np(errno));
			return 99;
		}
	}
	if (optind == argc) {
		fprintf(stderr, "usage: become STEP... -- COMMAND ARGUMENT...\n");
		return 2;
	}
	execvp(argv[optind], argv + optind);
	printf("become exec %s\n", strerrorname_np(errno));
	return 99;
}
