// SPDX-License-Identifier: GPL-2.0
/*
 * Random system calls on files, from a seed: what a hostile or a broken program does with them. Says what came of it;
 * the tests that call it judge.
 *
 *	storm [-s SEED] [-n OPS] [-w] FILE...
 *
 * Each operation opens one of the files (for reading, writing, both, or to append) or uses one of up to 8 that are open:
 * read, pread, readv, lseek, write, pwrite, writev, ioctl, mmap, poll, splice, sendfile, dup, fstat, close, with sizes
 * and offsets at and beyond every limit. -w writes, too, and mostly opens for that.
 *
 * Output: "seed N", then a line "CALL RESULT COUNT" for each pair that occurred (RESULT: OK or an errno's name), then
 * "done OPS ops, longest N us, CALL FILE". The same seed and files give the same operations.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
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
#include <time.h>
#include <unistd.h>

#define OPEN_FILES	8
#define ROOM		(1 << 17)
#define ERRNOS		134

enum call {
	OPEN, READ, PREAD, READV, LSEEK, WRITE, PWRITE, WRITEV, IOCTL, MMAP, POLL, SPLICE_FROM, SPLICE_TO, SENDFILE, DUP,
	FSTAT, CLOSE, CALLS
};

static const char *const names[CALLS] = {
	"open", "read", "pread", "readv", "lseek", "write", "pwrite", "writev", "ioctl", "mmap", "poll", "splice_from",
	"splice_to", "sendfile", "dup", "fstat", "close"
};

struct handle {
	int fd;
	const char *file;
};

static struct handle handles[OPEN_FILES];
static unsigned long seen[CALLS][ERRNOS];
static uint64_t state;
static char room[ROOM];
static int pipes[2];
static bool writes;

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled" */
static uint32_t roll_dice(uint32_t sides)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (uint32_t)((state * 0x2545f4914f6cdd1dULL) >> 32) % sides;
}

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ULL + t.tv_nsec / 1000;
}

static size_t some_size(void)
{
	static const size_t sizes[] = { 0, 1, 2, 7, 64, 255, 4095, 4096, 4097, 65536, ROOM };

	return roll_dice(3) ? sizes[roll_dice(sizeof(sizes) / sizeof(*sizes))] : roll_dice(ROOM);
}

static off_t some_offset(void)
{
	static const off_t offsets[] = { 0, 1, 100, 4096, 65536, 0x7fffffff, 0x100000000, INT64_MAX, -1, INT64_MIN };

	return roll_dice(2) ? (off_t)roll_dice(5000) : offsets[roll_dice(sizeof(offsets) / sizeof(*offsets))];
}

/* Half of it looks like an id. */
static size_t some_text(void)
{
	static const char letters[] = "0123456789:xX \n-+abc\t";
	size_t n, i;

	switch (roll_dice(6)) {
	case 0: return snprintf(room, ROOM, "%u\n", roll_dice(20));
	case 1: return snprintf(room, ROOM, "%u:%u", roll_dice(2), roll_dice(12));
	case 2: return snprintf(room, ROOM, "%#x", roll_dice(1 << 16));
	case 3:
		n = roll_dice(24);
		for (i = 0; i < n; i++)
			room[i] = letters[roll_dice(sizeof(letters) - 1)];
		return n;
	default:
		n = roll_dice(2) ? roll_dice(40) : some_size();
		for (i = 0; i < n; i++)
			room[i] = roll_dice(256);
		return n;
	}
}

static int some_open(const char *file)
{
	static const int flags[] = { O_RDONLY, O_WRONLY, O_RDWR, O_WRONLY | O_APPEND, O_WRONLY | O_TRUNC, O_RDONLY | O_NONBLOCK,
				     O_RDONLY | O_DIRECT, O_PATH, O_RDWR | O_CREAT | O_EXCL, O_WRONLY | O_CREAT };
	int usual = writes ? O_WRONLY : O_RDONLY;

	return open(file, roll_dice(3) ? usual : flags[roll_dice(sizeof(flags) / sizeof(*flags))], 0600);
}

static long do_mmap(int fd)
{
	void *at = mmap(NULL, 4096, roll_dice(2) ? PROT_READ : PROT_READ | PROT_WRITE,
			roll_dice(2) ? MAP_SHARED : MAP_PRIVATE, fd, roll_dice(4) * 4096);

	if (at == MAP_FAILED)
		return -1;
	munmap(at, 4096);
	return 0;
}

static long do_readv(int fd)
{
	struct iovec v[3];
	int i;

	for (i = 0; i < 3; i++) {
		v[i].iov_base = room + i * (ROOM / 3);
		v[i].iov_len = roll_dice(ROOM / 3);
	}
	return readv(fd, v, 1 + roll_dice(3));
}

static long do_writev(int fd)
{
	struct iovec v[2] = { { room, some_text() }, { room, roll_dice(8) } };

	return writev(fd, v, 2);
}

static long count_drained(long moved)
{
	char sink[4096];
	int saved = errno;

	while (read(pipes[0], sink, sizeof(sink)) > 0)
		;
	errno = saved;
	return moved;
}

static long do_splice_to(int fd)
{
	size_t n = some_text();

	if (write(pipes[1], room, n < 4096 ? n : 4096) <= 0)
		return 0;
	return count_drained(splice(pipes[0], NULL, fd, NULL, 4096, SPLICE_F_NONBLOCK));
}

static long do_poll(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT };

	return poll(&p, 1, 0);
}

/* An fd of nobody's: an operation on no file must be as harmless. */
static struct handle *some_handle(void)
{
	static struct handle none = { -1, "none" };
	int i, at = roll_dice(OPEN_FILES);

	for (i = 0; i < OPEN_FILES; i++)
		if (handles[(at + i) % OPEN_FILES].fd >= 0)
			return &handles[(at + i) % OPEN_FILES];
	return &none;
}

static long operate_handle(enum call call, struct handle *h)
{
	static const unsigned long requests[] = { 0, 0x5401, 0x541b, 0x80084600, 0xffffffff };
	struct stat st;
	long got;

	switch (call) {
	case READ: return read(h->fd, room, some_size());
	case PREAD: return pread(h->fd, room, some_size(), some_offset());
	case READV: return do_readv(h->fd);
	case LSEEK: return lseek(h->fd, some_offset(), roll_dice(6));
	case WRITE: return write(h->fd, room, some_text());
	case PWRITE: return pwrite(h->fd, room, some_text(), some_offset());
	case WRITEV: return do_writev(h->fd);
	case IOCTL: return ioctl(h->fd, requests[roll_dice(5)], room);
	case MMAP: return do_mmap(h->fd);
	case POLL: return do_poll(h->fd);
	case SPLICE_FROM: return count_drained(splice(h->fd, NULL, pipes[1], NULL, 4096, SPLICE_F_NONBLOCK));
	case SPLICE_TO: return do_splice_to(h->fd);
	case SENDFILE: return count_drained(sendfile(pipes[1], h->fd, NULL, 4096));
	case DUP:
		got = dup(h->fd);
		if (got >= 0)
			close(got);
		return got;
	case FSTAT: return fstat(h->fd, &st);
	default:
		got = close(h->fd);
		h->fd = -1;
		return got;
	}
}

static bool is_write(enum call call)
{
	return call == WRITE || call == PWRITE || call == WRITEV || call == SPLICE_TO;
}

static enum call some_call(void)
{
	enum call call;

	do {
		call = roll_dice(2) ? READ + roll_dice(CALLS - READ) : roll_dice(2) ? OPEN : READ;
	} while (!writes && is_write(call));
	return call;
}

static void print_report(void)
{
	int call, err;

	for (call = 0; call < CALLS; call++)
		for (err = 0; err < ERRNOS; err++)
			if (seen[call][err])
				printf("%s %s %lu\n", names[call], err ? strerrorname_np(err) : "OK", seen[call][err]);
}

int main(int argc, char **argv)
{
	unsigned long n, ops = 1000, seed = time(NULL) ^ getpid() << 16;
	const char *slow_file = "none";
	enum call slow = OPEN;
	uint64_t longest = 0;
	int opt, i;

	while ((opt = getopt(argc, argv, "s:n:w")) != -1) {
		switch (opt) {
		case 's': seed = strtoul(optarg, NULL, 0); break;
		case 'n': ops = strtoul(optarg, NULL, 0); break;
		case 'w': writes = true; break;
		default: return 2;
		}
	}
	if (optind == argc || pipe2(pipes, O_NONBLOCK) < 0) {
		fprintf(stderr, "usage: storm [-s SEED] [-n OPS] [-w] FILE...\n");
		return 2;
	}
	printf("seed %lu\n", seed);
	fflush(stdout);
	state = seed * 2 + 1;
	for (i = 0; i < OPEN_FILES; i++)
		handles[i].fd = -1;
	for (n = 0; n < ops; n++) {
		enum call call = some_call();
		struct handle *h = call == OPEN ? &handles[roll_dice(OPEN_FILES)] : some_handle();
		uint64_t from;
		long got;

		if (call == OPEN) {
			if (h->fd >= 0)
				close(h->fd);
			h->file = argv[optind + roll_dice(argc - optind)];
		}
		from = now_us();
		errno = 0;
		if (call == OPEN)
			got = h->fd = some_open(h->file);
		else
			got = operate_handle(call, h);
		seen[call][got < 0 && errno < ERRNOS ? errno : 0]++;
		from = now_us() - from;
		if (from > longest) {
			longest = from;
			slow = call;
			slow_file = h->file;
		}
	}
	print_report();
	printf("done %lu ops, longest %llu us, %s %s\n", n, (unsigned long long)longest, names[slow], slow_file);
	return 0;
}
