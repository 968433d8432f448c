// SPDX-License-Identifier: GPL-2.0
// Who uses the daemon has the file `users` locked with others, and a process that keeps the daemon waits to have it alone: the
// kernel gives the lock back however a user of it ends.
#include "gpulens/limit/own_mps.hpp"

#include "gpulens/limit/cuda_probe.hpp"
#include "lib/base/child_process.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"
#include "lib/turns/turn_file.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace tool {

namespace {

constexpr char CONTROL[] = "nvidia-cuda-mps-control";
constexpr std::chrono::milliseconds BEGIN_LIMIT{10000}, POLL{20};
constexpr char BEGUN[] = "begun"; // the answer of the process that keeps the daemon; any other: why it did not begin

int open_file(const std::string &path)
{
	int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		throw Error(Error::Source, explain_file(errno, path, true));
	return fd;
}

int run_control(const std::vector<const char *> &words)
{
	execvp(CONTROL, const_cast<char *const *>(words.data()));
	return 127;
}

// Returns BEGUN, or why the daemon did not begin.
std::string await_begin(const std::string &folder, ChildProcess &daemon)
{
	std::string socket = folder + "/pipe/control";

	for (auto end = std::chrono::steady_clock::now() + BEGIN_LIMIT; std::chrono::steady_clock::now() < end;
	     std::this_thread::sleep_for(POLL)) {
		if (!access(socket.c_str(), F_OK))
			return BEGUN;
		if (std::optional<int> status = daemon.poll())
			return *status == 127 ? "it is not installed"
					      : fmt::format("{}; {}/log has its messages", end_text(*status), folder);
	}
	return fmt::format("it made no {} within {} s", socket, BEGIN_LIMIT.count() / 1000);
}

// Of the process that keeps the daemon. answer: gets what await_begin() returns, and is closed.
void keep_daemon(const std::string &folder, int answer)
{
	int quit[2];

	// Copies of this process' locks would keep them.
	close_range(3, static_cast<unsigned>(answer) - 1, 0);
	close_range(static_cast<unsigned>(answer) + 1, ~0U, 0);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
		dup2(null, fd);
	unsetenv("CUDA_VISIBLE_DEVICES"); // programs on other GPUs may come
	int lock = open_file(folder + "/daemon"), users = open_file(folder + "/users");
	flock(lock, LOCK_EX);
	std::optional<ChildProcess> daemon(std::in_place, [] { return run_control({CONTROL, "-f", nullptr}); });
	std::string begun = await_begin(folder, *daemon);
	if (begun != BEGUN) {
		daemon.reset();
		close(lock);
	}
	signal(SIGPIPE, SIG_IGN); // who waits for the answer may have been killed; the daemon is to quit then, too
	[[maybe_unused]] ssize_t told = write(answer, begun.data(), begun.size());
	close(answer);
	if (begun != BEGUN)
		return;
	flock(users, LOCK_EX);
	if (!pipe2(quit, O_CLOEXEC) && write(quit[1], "quit\n", 5) == 5) {
		close(quit[1]);
		ChildProcess([] { return run_control({CONTROL, nullptr}); }, {.in = quit[0]}).wait();
	}
	daemon.reset();
	close(lock); // before `users`: who gets that next takes a lock for a daemon that runs
	close(users);
}

void start_daemon(const std::string &folder)
{
	char text[512];
	int answer[2];
	std::string begun;

	unlink((folder + "/pipe/control").c_str()); // of one that was killed
	if (pipe2(answer, O_CLOEXEC))
		throw Error(Error::Source, fmt::format("{}: {}", CONTROL, std::strerror(errno)));
	ChildProcess([&] {
		setsid();
		// A grandchild: it lives on, and the program stays the only child of this process.
		if (fork())
			return 0;
		try {
			keep_daemon(folder, answer[1]);
		} catch (const Error &) {
		}
		return 0;
	}).wait();
	close(answer[1]);
	if (ssize_t got = read(answer[0], text, sizeof(text)); got > 0)
		begun.assign(text, static_cast<size_t>(got));
	close(answer[0]);
	if (begun != BEGUN)
		throw Error(Error::Failed, fmt::format("--mps: {}: {}", CONTROL,
						       begun.empty() ? "the process that keeps it ended" : begun));
}

} // namespace

OwnMps::OwnMps() : users_(-1)
{
	std::string folder = turns::make_runtime_folder() + "/mps";

	for (const char *name : {"", "/pipe", "/log"})
		if (mkdir((folder + name).c_str(), 0700) && errno != EEXIST)
			throw Error(Error::Source, explain_file(errno, folder + name, true));
	setenv(gpulens::MPS_PIPES, (folder + "/pipe").c_str(), 1);
	setenv("CUDA_MPS_LOG_DIRECTORY", (folder + "/log").c_str(), 1);
	users_ = open_file(folder + "/users");
	int start = open_file(folder + "/start"), daemon = open_file(folder + "/daemon");
	flock(start, LOCK_EX);  // one starts it
	flock(users_, LOCK_SH); // one that ends has ended
	bool runs = flock(daemon, LOCK_EX | LOCK_NB) != 0;
	close(daemon);
	if (!runs)
		start_daemon(folder);
	close(start);
}

void refuse_under_mps()
{
	const char *folder = std::getenv(gpulens::MPS_PIPES);
	std::string path = (folder ? folder : std::string("/tmp/nvidia-mps")) + "/control";
	sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	path.copy(address.sun_path, sizeof(address.sun_path) - 1);
	// One of another type is a daemon, too; one that refuses is left over.
	bool listens = !connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof(address)) || errno == EPROTOTYPE ||
		       errno == EAGAIN || errno == EACCES;
	close(fd);
	if (listens)
		throw Error(Error::Unsupported,
			    fmt::format("under MPS ({}), programs share a context, so that --schedule and --slot would "
					"not hold this one; end that daemon, or name a folder without one by "
					"CUDA_MPS_PIPE_DIRECTORY",
					path));
}

OwnMps::~OwnMps()
{
	close(users_);
}

} // namespace tool
