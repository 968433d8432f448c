// SPDX-License-Identifier: GPL-2.0
/*
 * Every way to open a file, and every system call on whatever opened: what somebody does who looks for a way in. Nothing
 * is left to chance; storm.c does that. Says what came of it; the tests that call it judge.
 *
 *	sweep [-t TEXT] [-d DUMP] [-3] [-k] FILE...
 *
 * TEXT is what it tries to write. DUMP gets each different piece of data that any call gave, one after the other.
 * -3: not the files' names but descriptor 3, which somebody else opened. -k: no call that changes the file itself, which
 * its owner may do.
 *
 * Output: a line "KIND CALL MODE RESULT COUNT" for each that occurred. KIND: open; read (gives data), write (would steer
 * the GPU), change (of the file itself: owner, mode, times, name), other. MODE, of open and write: how the file was
 * opened, "path" for calls that take a name; "any" else. RESULT: OK or an errno's name. Then "done FILES files".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ROOM	(1 << 20)
#define PIECES	65536
#define ERRNOS	134
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof(*(a)))

static char room[ROOM], mode_name[64];
static const char *text = "0";
static uint64_t pieces[PIECES];
static int pipes[2], source = -1, dump = -1;
static bool keep_file;
static unsigned int n_pieces;

/* -- the report -- */

struct line {
	const char *kind, *call;
	char mode[64];
	int err;
	unsigned long count;
};

static struct line lines[4096];
static unsigned int n_lines;

static long note_result(const char *kind, const char *call, long got)
{
	/* Which mode matters for what must not be let through; the rest would be a long list of the same. */
	const char *mode = !strcmp(kind, "open") || !strcmp(kind, "write") ? mode_name : "any";
	int err = got < 0 ? errno : 0;
	struct line *l;

	for (l = lines; l < lines + n_lines; l++)
		if (!strcmp(l->kind, kind) && !strcmp(l->call, call) && !strcmp(l->mode, mode) && l->err == err)
			break;
	if (l == lines + ARRAY_SIZE(lines)) {
		fprintf(stderr, "too many lines\n");
		exit(2);
	}
	if (l == lines + n_lines) {
		l->kind = kind;
		l->call = call;
		strcpy(l->mode, mode);
		l->err = err;
		n_lines++;
	}
	l->count++;
	return got;
}

/* Each piece begins at a multiple of 8 bytes, as the words of binary data do. FNV-1a, to know a piece again. */
static void keep_data(const char *data, long n)
{
	uint64_t hash = 0xcbf29ce484222325ULL, padding = 0;
	unsigned int i;
	long at;

	if (dump < 0 || n <= 0)
		return;
	for (at = 0; at < n; at++)
		hash = (hash ^ (unsigned char)data[at]) * 0x100000001b3ULL;
	for (i = 0; i < n_pieces; i++)
		if (pieces[i] == hash)
			return;
	if (n_pieces == PIECES || write(dump, data, n) != n || write(dump, &padding, -n & 7) < 0) {
		fprintf(stderr, "no room for what was read\n");
		exit(2);
	}
	pieces[n_pieces++] = hash;
}

static long count_kept(long n)
{
	keep_data(room, n);
	return n;
}

/* Empties the pipe; what a reading call has put there is kept. */
static long count_drained(long moved, bool reading)
{
	int saved = errno;
	long n;

	do {
		n = read(pipes[0], room, sizeof(room));
		if (reading)
			keep_data(room, n);
	} while (n > 0);
	errno = saved;
	return moved;
}

/* -- calls on an open file -- */

static long do_readv(int fd)
{
	struct iovec v[2] = { { room, 100 }, { room + 100, sizeof(room) - 100 } };

	return count_kept(readv(fd, v, 2));
}

static long do_preadv2(int fd, off_t at)
{
	struct iovec v = { room, sizeof(room) };

	return count_kept(preadv2(fd, &v, 1, at, RWF_NOWAIT));
}

static long do_copy_out(int fd, loff_t at)
{
	int out = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	long got = copy_file_range(fd, &at, out, NULL, 65536, 0);
	int saved = errno;

	if (got > 0)
		count_kept(pread(out, room, sizeof(room), 0));
	close(out);
	errno = saved;
	return got;
}

/* From offset at: 0 collects afresh, anything else is served from what was collected. */
static void try_reads(int fd, off_t at)
{
	loff_t from = at;
	off_t pos = at;

	note_result("other", "lseek", lseek(fd, at, SEEK_SET));
	note_result("read", "read", count_kept(read(fd, room, sizeof(room))));
	lseek(fd, at, SEEK_SET);
	note_result("read", "readv", do_readv(fd));
	note_result("read", "pread", count_kept(pread(fd, room, sizeof(room), at)));
	note_result("read", "preadv2", do_preadv2(fd, at));
	note_result("read", "splice_from", count_drained(splice(fd, &from, pipes[1], NULL, 65536, SPLICE_F_NONBLOCK), true));
	note_result("read", "sendfile_from", count_drained(sendfile(pipes[1], fd, &pos, 65536), true));
	note_result("read", "copy_file_range_from", do_copy_out(fd, at));
}

static long do_mmap(int fd, int prot, int flags)
{
	void *at = mmap(NULL, 4096, prot, flags, fd, 0);

	if (at == MAP_FAILED)
		return -1;
	munmap(at, 4096);
	return 0;
}

static long do_splice_to(int fd, loff_t *at)
{
	if (write(pipes[1], text, strlen(text)) < 0)
		return -1;
	return count_drained(splice(pipes[0], NULL, fd, at, strlen(text), SPLICE_F_NONBLOCK), false);
}

static void try_writes(int fd)
{
	struct iovec v = { (char *)text, strlen(text) };
	size_t n = strlen(text);
	loff_t at = 0;
	off_t pos = 0;

	note_result("write", "write", write(fd, text, n));
	note_result("write", "write_nothing", write(fd, text, 0));
	note_result("write", "write_much", write(fd, room, 65536));
	note_result("write", "pwrite", pwrite(fd, text, n, 0));
	note_result("write", "pwrite_beyond", pwrite(fd, text, n, 4096));
	note_result("write", "writev", writev(fd, &v, 1));
	note_result("write", "pwritev", pwritev(fd, &v, 1, 0));
	note_result("write", "pwritev2_append", pwritev2(fd, &v, 1, -1, RWF_APPEND));
	note_result("write", "splice_to", do_splice_to(fd, NULL));
	note_result("write", "splice_to_offset", do_splice_to(fd, &at));
	note_result("write", "sendfile_to", sendfile(fd, source, &pos, n));
	at = 0;
	note_result("write", "copy_file_range_to", copy_file_range(source, &at, fd, NULL, n, 0));
	note_result("write", "mmap_shared", do_mmap(fd, PROT_READ | PROT_WRITE, MAP_SHARED));
}

static void try_others(int fd)
{
	static const unsigned long requests[] = { 0, 0x5401, FIONREAD, 0x80084600, 0xffffffff };
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT };
	struct stat st;
	size_t i;

	note_result("other", "mmap", do_mmap(fd, PROT_READ, MAP_SHARED));
	note_result("other", "mmap", do_mmap(fd, PROT_READ | PROT_WRITE, MAP_PRIVATE));
	note_result("other", "mmap", do_mmap(fd, PROT_READ | PROT_EXEC, MAP_PRIVATE));
	for (i = 0; i < ARRAY_SIZE(requests); i++)
		if (requests[i] != FIONREAD) /* answered by the VFS for any regular file */
			note_result("other", "ioctl", ioctl(fd, requests[i], room));
	note_result("other", "poll", poll(&p, 1, 0));
	note_result("other", "fstat", fstat(fd, &st));
	note_result("other", "lseek", lseek(fd, 0, SEEK_END));
}

static void try_changes(int fd)
{
	int flags = FS_APPEND_FL;

	note_result("change", "ftruncate", ftruncate(fd, 0));
	note_result("change", "fallocate", fallocate(fd, 0, 0, 4096));
	note_result("change", "fchmod", fchmod(fd, 0666));
	note_result("change", "fchown", fchown(fd, getuid(), getgid()));
	note_result("change", "futimens", futimens(fd, NULL));
	note_result("change", "fsetxattr", fsetxattr(fd, "user.gpulens", "x", 1, 0));
	note_result("change", "setflags", ioctl(fd, FS_IOC_SETFLAGS, &flags));
	note_result("change", "chmod_fd", fchmodat(fd, "", 0666, AT_EMPTY_PATH));
	note_result("change", "chown_fd", fchownat(fd, "", getuid(), getgid(), AT_EMPTY_PATH));
	note_result("change", "link_fd", linkat(fd, "", AT_FDCWD, "/proc/gpulens_link", AT_EMPTY_PATH));
}

/* The same file with more rights, by way of what is open. */
static void reopen_file(int fd, bool whole)
{
	static const int flags[] = { O_RDWR, O_WRONLY, O_WRONLY | O_TRUNC, O_RDWR | O_APPEND };
	char name[64];
	size_t i;
	int more;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	note_result("change", "truncate_self_fd", truncate(name, 0));
	note_result("change", "chmod_self_fd", chmod(name, 0666));
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		more = note_result("open", "reopen", open(name, flags[i]));
		if (more < 0)
			continue;
		try_writes(more);
		close(more);
	}
	more = note_result("open", "reopen_to_read", open(name, O_RDONLY));
	if (more < 0)
		return;
	if (whole)
		count_kept(read(more, room, sizeof(room)));
	close(more);
}

/* -- calls on names -- */

static void by_handle(const char *file)
{
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u;
	int fd, where;

	memset(&u, 0, sizeof(u));
	u.h.handle_bytes = MAX_HANDLE_SZ;
	if (note_result("other", "name_to_handle_at", name_to_handle_at(AT_FDCWD, file, &u.h, &where, 0)) < 0) {
		/* what a handle of proc's would look like: an inode's number */
		u.h.handle_bytes = 8;
		u.h.handle_type = 1;
	}
	where = open("/proc", O_RDONLY | O_DIRECTORY);
	fd = note_result("open", "open_by_handle_at", open_by_handle_at(where, &u.h, O_WRONLY));
	if (fd >= 0) {
		try_writes(fd);
		close(fd);
	}
	close(where);
}

static void by_name(const char *file)
{
	char other[264], chip[264], dir[256], *slash;

	snprintf(dir, sizeof(dir), "%s", file);
	slash = strrchr(dir, '/');
	if (slash)
		*slash = '\0';
	snprintf(other, sizeof(other), "%s/new", dir);
	snprintf(chip, sizeof(chip), "%s/chip", dir);
	note_result("change", "truncate", truncate(file, 0));
	note_result("change", "chmod", chmod(file, 0666));
	note_result("change", "chown", chown(file, getuid(), getgid()));
	note_result("change", "lchown", lchown(file, getuid(), -1));
	note_result("change", "utimensat", utimensat(AT_FDCWD, file, NULL, 0));
	note_result("change", "setxattr", setxattr(file, "user.gpulens", "x", 1, 0));
	note_result("change", "setxattr", setxattr(file, "trusted.gpulens", "x", 1, 0));
	note_result("change", "setxattr", setxattr(file, "security.gpulens", "x", 1, 0));
	note_result("change", "unlink", unlink(file));
	note_result("change", "rename", rename(file, other));
	if (strcmp(chip, file))
		note_result("change", "rename_onto", rename(chip, file));
	note_result("change", "link", link(file, other));
	note_result("change", "link_elsewhere", link(file, "/tmp/sweep.link"));
	note_result("change", "symlink", symlink(file, other));
	note_result("change", "mkdir", mkdir(other, 0777));
	note_result("change", "mknod", mknod(other, S_IFREG | 0666, 0));
	note_result("change", "create", open(other, O_CREAT | O_WRONLY, 0666));
	note_result("change", "rmdir", rmdir(dir));
	note_result("change", "chmod_dir", chmod(dir, 0777));
	by_handle(file);
}

/* -- every way to open -- */

static const struct {
	const char *name;
	int flags;
} access_modes[] = {
	{ "O_RDONLY", O_RDONLY }, { "O_WRONLY", O_WRONLY }, { "O_RDWR", O_RDWR }, { "3", O_ACCMODE },
	{ "O_PATH", O_PATH },
}, extras[] = {
	{ "", 0 }, { "|O_APPEND", O_APPEND }, { "|O_TRUNC", O_TRUNC }, { "|O_CREAT", O_CREAT },
	{ "|O_CREAT|O_EXCL", O_CREAT | O_EXCL }, { "|O_DIRECT", O_DIRECT }, { "|O_NONBLOCK", O_NONBLOCK },
	{ "|O_SYNC", O_SYNC }, { "|O_NOATIME", O_NOATIME }, { "|O_NOFOLLOW", O_NOFOLLOW }, { "|O_ASYNC", O_ASYNC },
	{ "|O_DIRECTORY", O_DIRECTORY },
};

static void try_everything(int fd, bool whole)
{
	/* First what somebody else's reading may have left there. */
	try_reads(fd, 64);
	if (whole)
		try_reads(fd, 0);
	try_writes(fd);
	try_others(fd);
	if (keep_file)
		return;
	try_changes(fd);
	reopen_file(fd, whole);
}

static void all_modes(const char *file)
{
	size_t a, e;
	int fd;

	for (a = 0; a < ARRAY_SIZE(access_modes); a++) {
		for (e = 0; e < ARRAY_SIZE(extras); e++) {
			snprintf(mode_name, sizeof(mode_name), "%s%s", access_modes[a].name, extras[e].name);
			fd = note_result("open", "open", open(file, access_modes[a].flags | extras[e].flags, 0666));
			if (fd < 0)
				continue;
			try_everything(fd, !e);
			close(fd);
		}
	}
	strcpy(mode_name, "path");
	if (!keep_file)
		by_name(file);
}

static int print_usage(void)
{
	fprintf(stderr, "usage: sweep [-t TEXT] [-d DUMP] [-k] -3 | FILE...\n");
	return 2;
}

int main(int argc, char **argv)
{
	const char *dump_file = NULL;
	bool passed = false;
	int opt, i;

	while ((opt = getopt(argc, argv, "t:d:3k")) != -1) {
		switch (opt) {
		case 't': text = optarg; break;
		case 'd': dump_file = optarg; break;
		case '3': passed = true; break;
		case 'k': keep_file = true; break;
		default: return print_usage();
		}
	}
	if (optind == argc && !passed)
		return print_usage();
	if (passed && fcntl(3, F_GETFD) < 0) {
		fprintf(stderr, "descriptor 3 is not open\n");
		return 2;
	}
	if (dump_file)
		dump = open(dump_file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	source = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	if ((dump_file && dump < 0) || source < 0 || pipe2(pipes, O_NONBLOCK) < 0 ||
	    write(source, text, strlen(text)) < 0) {
		perror("sweep");
		return 2;
	}
	if (passed) {
		strcpy(mode_name, "passed");
		try_everything(3, true);
	} else {
		for (i = optind; i < argc; i++)
			all_modes(argv[i]);
	}
	for (i = 0; i < (int)n_lines; i++)
		printf("%s %s %s %s %lu\n", lines[i].kind, lines[i].call, lines[i].mode,
		       lines[i].err ? strerrorname_np(lines[i].err) : "OK", lines[i].count);
	printf("done %d files\n", argc - optind);
	return 0;
}
