// SPDX-License-Identifier: GPL-2.0
/*
 * Reads FILE into a page that never arrives: a mapping of a file on a FUSE file system, in a user namespace of its own,
 * whose server answers no READ. No privilege is needed for that where /dev/fuse is everybody's, as udev has it.
 *
 *	stuck FILE
 *
 * Prints the server's process id, then "read N" or "read ERRNO" once it ends: when the server is killed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096

static void report_failure(const char *what)
{
	printf("stuck %s %s\n", what, strerrorname_np(errno));
	exit(1);
}

static void put_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		report_failure(path);
	close(fd);
}

static void send_reply(int fuse, const struct fuse_in_header *in, int error, const void *data, size_t size)
{
	char buf[512];
	struct fuse_out_header head = { .len = sizeof(head) + size, .error = error, .unique = in->unique };

	memcpy(buf, &head, sizeof(head));
	memcpy(buf + sizeof(head), data, size);
	if (write(fuse, buf, head.len) < 0)
		_exit(1);
}

/* Node 1 is the folder, every name in it is node 2. */
static struct fuse_attr describe_node(unsigned long node)
{
	return (struct fuse_attr){
		.ino = node, .mode = node == 1 ? S_IFDIR | 0755 : S_IFREG | 0666, .nlink = 1,
		.size = node == 1 ? 0 : PAGE, .blksize = PAGE,
	};
}

static void answer_request(int fuse, const struct fuse_in_header *in)
{
	struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION, .max_write = PAGE,
	};
	struct fuse_entry_out entry = { .nodeid = 2, .attr_valid = 1000, .attr = describe_node(2) };
	struct fuse_attr_out attr = { .attr_valid = 1000, .attr = describe_node(in->nodeid) };
	struct fuse_open_out opened = { };

	switch (in->opcode) {
	case FUSE_INIT:
		send_reply(fuse, in, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		send_reply(fuse, in, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		send_reply(fuse, in, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		send_reply(fuse, in, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
	case FUSE_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		send_reply(fuse, in, -ENOSYS, NULL, 0);
	}
}

static void serve_files(int fuse)
{
	static char buf[1 << 17];

	for (;;) {
		if (read(fuse, buf, sizeof(buf)) > 0)
			answer_request(fuse, (const struct fuse_in_header *)buf);
		else if (errno != EINTR && errno != ENOENT)
			_exit(0);
	}
}

int main(int argc, char **argv)
{
	char text[64], folder[] = "/tmp/stuck-XXXXXX", name[32];
	int uid = getuid(), gid = getgid(), fuse, fd;
	pid_t server;
	ssize_t n;
	void *page;

	if (argc != 2 || !mkdtemp(folder))
		report_failure("usage");
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		report_failure("unshare");
	put_text("/proc/self/setgroups", "deny");
	snprintf(text, sizeof(text), "0 %d 1", uid);
	put_text("/proc/self/uid_map", text);
	snprintf(text, sizeof(text), "0 %d 1", gid);
	put_text("/proc/self/gid_map", text);
	fuse = open("/dev/fuse", O_RDWR);
	snprintf(text, sizeof(text), "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
	if (fuse < 0 || mount("stuck", folder, "fuse", MS_NOSUID | MS_NODEV, text))
		report_failure("mount");
	server = fork();
	if (!server)
		serve_files(fuse);
	close(fuse);
	snprintf(name, sizeof(name), "%s/file", folder);
	fd = open(name, O_RDWR);
	page = fd < 0 ? MAP_FAILED : mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (page == MAP_FAILED)
		report_failure("mmap");
	fd = open(argv[1], O_RDONLY);
	if (fd < 0)
		report_failure("open");
	printf("%d\n", server);
	fflush(stdout);
	n = read(fd, page, PAGE);
	if (n < 0)
		report_failure("read");
	printf("read %zd\n", n);
	return 0;
}
