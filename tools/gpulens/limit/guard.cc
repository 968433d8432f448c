// SPDX-License-Identifier: GPL-2.0
// Installs the seccomp filter, and answers its notifications in a process of its own.
#include "gpulens/limit/guard.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/process_info.hpp"
#include "lib/launch/environment.hpp"
#include "lib/rm/abi.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <map>
#include <poll.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace tool {

namespace {

#if defined(__x86_64__)
constexpr u32 ARCH = AUDIT_ARCH_X86_64, OTHER_ARCH = AUDIT_ARCH_I386, OTHER_IOCTL = 54;
#elif defined(__aarch64__)
constexpr u32 ARCH = AUDIT_ARCH_AARCH64, OTHER_ARCH = AUDIT_ARCH_ARM, OTHER_IOCTL = 54;
#else
#error "no system call numbers for this architecture"
#endif

constexpr u32 ALLOC =
	rm::NV_IOCTL_MAGIC << 8 | rm::NV_ESC_RM_ALLOC; // low half of the request; the high half is its size

// Notifies the guard of acknowledgements and of allocation requests to NVIDIA's driver; allows all else.
sock_filter FILTER[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 0, 2),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_ioctl, 3, 7),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OTHER_ARCH, 0, 6),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OTHER_IOCTL, 0, 4),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[1])), // little-endian: its low half
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, gpulens::environment::GUARD_ACKNOWLEDGE, 3, 0),
	BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xffff),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ALLOC, 1, 0),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
};

// Returns 0 or the errno.
int send_fd(int socket, int fd)
{
	alignas(cmsghdr) char buffer[CMSG_SPACE(sizeof(int))] = {};
	char byte = 0;
	iovec data{&byte, 1};
	msghdr message{};

	message.msg_iov = &data;
	message.msg_iovlen = 1;
	message.msg_control = buffer;
	message.msg_controllen = sizeof(buffer);
	cmsghdr *head = CMSG_FIRSTHDR(&message);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	std::memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	return sendmsg(socket, &message, MSG_NOSIGNAL) == 1 ? 0 : errno;
}

// Returns -1 when the other end was closed.
int receive_fd(int socket)
{
	alignas(cmsghdr) char buffer[CMSG_SPACE(sizeof(int))] = {};
	char byte = 0;
	iovec data{&byte, 1};
	msghdr message{};
	int fd = -1;

	message.msg_iov = &data;
	message.msg_iovlen = 1;
	message.msg_control = buffer;
	message.msg_controllen = sizeof(buffer);
	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1)
		return -1;
	cmsghdr *head = CMSG_FIRSTHDR(&message);
	if (head && head->cmsg_type == SCM_RIGHTS)
		std::memcpy(&fd, CMSG_DATA(head), sizeof(fd));
	return fd;
}

// Identifies a program image: the auxiliary vector, with the random addresses that exec chose. Forked children have the
// same. Empty: unreadable.
std::string auxv_of(pid_t thread)
{
	return read_process_file(static_cast<u32>(thread), "auxv");
}

template <typename T> bool read_memory(pid_t thread, u64 address, T &value)
{
	iovec local{&value, sizeof(value)},
		remote{reinterpret_cast<void *>(address), sizeof(value)}; // NOLINT(performance-no-int-to-ptr)

	return process_vm_readv(thread, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(sizeof(value));
}

// Returns the pid of a thread's process, and its name.
std::pair<pid_t, std::string> process_of(pid_t thread)
{
	u32 tid = static_cast<u32>(thread);

	return {static_cast<pid_t>(status_number(tid, "Tgid").value_or(tid)), process_name(tid)};
}

class Watcher {
public:
	Watcher(u32 limits, int listener, int reports) : limits_(limits), listener_(listener), reports_(reports) {}

	// Returns when no process with the filter is left.
	void run()
	{
		pollfd requests{listener_, POLLIN, 0};

		for (;;) {
			if (poll(&requests, 1, -1) < 0 && errno != EINTR)
				return;
			if (requests.revents & POLLIN)
				answer();
			else if (requests.revents & POLLHUP) // POLLERR: a signal (kernel/seccomp.c)
				return;
		}
	}

private:
	void answer()
	{
		seccomp_notif request{};

		if (ioctl(listener_, SECCOMP_IOCTL_NOTIF_RECV, &request))
			return; // the thread was interrupted or has ended
		seccomp_notif_resp reply{.id = request.id, .val = 0, .error = 0, .flags = 0};
		auto thread = static_cast<pid_t>(request.pid);
		if (static_cast<u32>(request.data.args[1]) == gpulens::environment::GUARD_ACKNOWLEDGE)
			reply.error = acknowledge(thread, static_cast<u32>(request.data.args[2])) ? 0 : -EACCES;
		else if (may_allocate(thread, request.data.args[2]))
			reply.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		else
			reply.error = -EPERM;
		if (reply.error == -EPERM && !ioctl(listener_, SECCOMP_IOCTL_NOTIF_ID_VALID, &request.id))
			kill_process(thread);
		while (ioctl(listener_, SECCOMP_IOCTL_NOTIF_SEND, &reply) && errno == EINTR)
			;
	}

	bool acknowledge(pid_t thread, u32 limit)
	{
		std::string auxv = auxv_of(thread);

		if (!auxv.empty())
			kept_[auxv] |= limit;
		return !auxv.empty();
	}

	// Returns the limits that the program has not acknowledged.
	u32 missing(pid_t thread) const
	{
		auto found = kept_.find(auxv_of(thread));

		return limits_ & ~(found == kept_.end() ? 0 : found->second);
	}

	// A process with its limits may allocate anything, one without them neither channels nor channel groups. A request
	// that cannot be read (Yama) is refused, because it may be for a channel.
	bool may_allocate(pid_t thread, u64 address) const
	{
		rm::Alloc request{};

		if (!missing(thread))
			return true;
		return read_memory(thread, address, request) && request.cls != rm::KEPLER_CHANNEL_GROUP_A &&
		       (request.cls & 0xff) != 0x6f;
	}

	void kill_process(pid_t thread) const
	{
		auto [process, name] = process_of(thread);
		std::string text = fmt::format(
			"gpulens: process {} ({}) requested a channel of the GPU's driver before {} had set its "
			"limit, and was killed; see \"What is refused\" in docs/partition.md\n",
			process, name,
			missing(thread) & gpulens::environment::LIMIT_IN_SPACE ? gpulens::environment::CONFINE_LIBRARY
									       : gpulens::environment::RUN_LIBRARY);

		// Reported before its parent can learn of its end. Write errors are ignored.
		(void)!write(reports_, "k", 1);
		kill(process, SIGKILL);
		(void)!write(STDERR_FILENO, text.data(), text.size());
	}

	u32 limits_;
	int listener_, reports_;
	std::map<std::string, u32> kept_; // what programs have acknowledged, by auxiliary vector
};

// Keeps only standard error open: other processes may wait for the end of other files.
[[noreturn]] void run_guard(u32 limits, int socket, int reports)
{
	int kept[] = {fcntl(socket, F_DUPFD_CLOEXEC, 64), fcntl(reports, F_DUPFD_CLOEXEC, 64)};

	setsid(); // not reached by a terminal's Ctrl-C
	for (int signal : {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGPIPE})
		std::signal(signal, SIG_IGN);
	prctl(PR_SET_NAME, "gpulens-guard");
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	if (chdir("/"))
		_exit(1);
	close_range(3, static_cast<unsigned>(std::min(kept[0], kept[1])) - 1, 0);
	close_range(static_cast<unsigned>(std::max(kept[0], kept[1])) + 1, ~0U, 0);
	int listener = receive_fd(kept[0]);
	if (listener < 0)
		_exit(0); // the program was not started
	if (write(kept[0], "g", 1) != 1)
		_exit(1);
	close(kept[0]);
	Watcher(limits, listener, kept[1]).run();
	_exit(0);
}

} // namespace

Guard::Guard(unsigned limits)
{
	int sockets[2], ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		throw Error(Error::Source, fmt::format("the program cannot be supervised: {}", std::strerror(errno)));
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) {
		int err = errno;
		close(sockets[0]);
		close(sockets[1]);
		throw Error(Error::Source, fmt::format("the program cannot be supervised: {}", std::strerror(err)));
	}
	child_ = sockets[0];
	reports_ = ends[0];
	pid_t pid = fork();
	int err = errno;
	if (!pid) {
		// A grandchild: the program stays the only child of this process.
		if (!fork())
			run_guard(limits, sockets[1], ends[1]);
		_exit(0);
	}
	waitpid(pid, nullptr, 0);
	close(sockets[1]);
	close(ends[1]);
	if (pid < 0) {
		close(child_);
		close(reports_);
		throw Error(Error::Source, fmt::format("the program cannot be supervised: {}", std::strerror(err)));
	}
}

Guard::~Guard()
{
	close(child_);
	close(reports_);
}

int Guard::enter() const
{
	sock_fprog program{std::size(FILTER), FILTER};
	char byte = 0;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return errno;
	long listener = syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER,
				SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program);
	if (listener < 0)
		return errno;
	int err = send_fd(child_, static_cast<int>(listener));
	close(static_cast<int>(listener));
	return err ? err : read(child_, &byte, 1) == 1 ? 0 : EPIPE;
}

bool Guard::killed() const
{
	char byte = 0;

	return read(reports_, &byte, 1) == 1;
}

} // namespace tool
