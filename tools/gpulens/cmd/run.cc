// SPDX-License-Identifier: GPL-2.0
// Preloads the library, starts the program, and forwards signals.
#include "gpulens/cmd/run.hpp"

#include "gpulens/limit/guard.hpp"
#include "gpulens/out/output.hpp"
#include "gpulens/out/table.hpp"
#include "gpulens/out/text.hpp"
#include "lib/base/child_process.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"
#include "lib/base/format.hpp"
#include "lib/base/temporary_folder.hpp"
#include "lib/launch/environment.hpp"
#include "lib/rm/run_tsg.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <optional>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace tool {

namespace {

constexpr unsigned MAX_INTERPRETERS = 5; // nested scripts, as the kernel allows
constexpr int FORWARDED[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2};

// Path of a library of this installation.
std::string library_path(const std::string &name)
{
	std::string path = installed_file(name);

	if (access(path.c_str(), F_OK))
		throw Error(Error::Source, path + ": no such file; reinstall gpulens");
	// ld.so(8) splits LD_PRELOAD at blanks and colons, and expands $LIB and the like.
	if (path.find_first_of(" \t\n\v\f\r:$") != std::string::npos)
		throw Error(Error::Source,
			    path + ": the loader cannot preload a path with blanks, colons or $; install gpulens "
				   "elsewhere");
	return path;
}

// LD_PRELOAD of the program: these libraries first, then what was set before.
std::string preload_list(const RunOptions &options)
{
	const char *before = getenv("LD_PRELOAD");
	std::string list = library_path(gpulens::environment::RUN_LIBRARY);

	for (const std::string &name : options.preload)
		list += ':' + library_path(name);
	return before && *before ? list + ':' + before : list;
}

bool is_program(const std::string &path)
{
	struct stat is {};

	return !stat(path.c_str(), &is) && S_ISREG(is.st_mode) && !faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS);
}

// The path that execvp(3) finds (an empty folder in PATH is the current one); the argument itself where there is none.
std::string find_program(const std::string &program)
{
	const char *path = getenv("PATH");
	std::string folders = path ? path : "/bin:/usr/bin";

	if (program.find('/') != std::string::npos)
		return program;
	for (size_t start = 0, end; start <= folders.size(); start = end + 1) {
		end = std::min(folders.find(':', start), folders.size());
		std::string candidate = (end == start ? "." : folders.substr(start, end - start)) + '/' + program;
		if (is_program(candidate))
			return candidate;
	}
	return program;
}

// Programs may be built with ASan, which otherwise refuses libraries that are loaded before its own.
std::string asan_options()
{
	const char *before = getenv("ASAN_OPTIONS");

	return fmt::format("{}{}verify_asan_link_order=0", before ? before : "", before && *before ? ":" : "");
}

// The file that the library appends TSGs to: the one named, or a temporary one.
class RunFile {
public:
	explicit RunFile(const std::string &named)
	{
		if (named.empty()) {
			path_ = temporary_path("gpulens-run-XXXXXX");
			fd_ = mkostemp(path_.data(), O_CLOEXEC);
			if (fd_ < 0)
				throw Error(Error::Source, explain_file(errno, path_));
			temporary_ = path_;
			return;
		}
		struct stat is {};
		if (lstat(named.c_str(), &is) || S_ISREG(is.st_mode)) {
			write_file(named, ""); // remove an earlier run's lines
			path_ = std::filesystem::absolute(named);
			return;
		}
		// Passed as this process' descriptor, because the library follows no symbolic links.
		fd_ = open(named.c_str(), O_WRONLY | O_APPEND | O_TRUNC | O_CLOEXEC);
		if (fd_ < 0)
			throw Error(Error::Source, explain_file(errno, named));
		path_ = fmt::format("/proc/{}/fd/{}", getpid(), fd_);
	}
	RunFile(const RunFile &) = delete;
	RunFile &operator=(const RunFile &) = delete;
	~RunFile()
	{
		if (fd_ >= 0)
			close(fd_);
		if (!temporary_.empty())
			unlink(temporary_.c_str());
	}

	const std::string &path() const { return path_; }

private:
	int fd_ = -1;
	std::string path_, temporary_;
};

// Blocks signals in this process until forward() passes them on to the program.
class Forwarding {
public:
	Forwarding()
	{
		sigemptyset(&set_);
		sigaddset(&set_, SIGCHLD);
		for (int signal : FORWARDED)
			sigaddset(&set_, signal);
		signal(SIGCHLD, SIG_DFL); // while it is ignored, waitpid() gets no status
		sigprocmask(SIG_BLOCK, &set_, &before_);
	}
	Forwarding(const Forwarding &) = delete;
	Forwarding &operator=(const Forwarding &) = delete;
	~Forwarding() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

	void restore() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }

	// Returns the program's wait status when it has ended.
	int forward(pid_t program) const
	{
		siginfo_t info{};
		int status = 0;

		for (;;) {
			pid_t ended = waitpid(program, &status, WNOHANG);
			if (ended == program) {
				drop_pending();
				return status;
			}
			if (ended < 0)
				throw Error(Error::Source,
					    fmt::format("process {}: {}", program, std::strerror(errno)));
			int signal = sigwaitinfo(&set_, &info);
			// The program gets a terminal's signals itself; its own signals are not sent back to it.
			if (signal > 0 && signal != SIGCHLD && info.si_code != SI_KERNEL && info.si_pid != program)
				kill(program, signal);
		}
	}

private:
	// What came while the program ran was for the program, and would end this process instead.
	void drop_pending() const
	{
		timespec none{};

		while (sigtimedwait(&set_, nullptr, &none) > 0)
			;
	}

	sigset_t set_{}, before_{};
};

[[noreturn]] void exec_program(const RunOptions &options, const std::string &preload, const std::string &file,
			       const Guard *guard, pid_t parent)
{
	std::string path = find_program(options.program[0]);
	std::vector<char *> words = exec_words(options.program);

	// If gpulens is killed, the program gets SIGTERM.
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_REFUSED);
	for (const auto &[name, value] : options.environment)
		setenv(name.c_str(), value.c_str(), 1);
	setenv("LD_PRELOAD", preload.c_str(), 1);
	setenv(gpulens::environment::RUN_FILE, file.c_str(), 1);
	setenv("ASAN_OPTIONS", asan_options().c_str(), 1);
	if (int err = guard ? guard->enter() : 0) {
		std::fprintf(stderr,
			     "gpulens: %s: this kernel or container does not permit seccomp notification (%s), so the "
			     "limit cannot be enforced\n",
			     words[0], std::strerror(err));
		_exit(EXIT_REFUSED);
	}
	execvp(path.c_str(), words.data());
	std::fprintf(stderr, "gpulens: %s: %s\n", words[0], std::strerror(errno));
	_exit(127);
}

// The interpreter of a script: /bin/sh of "#!/bin/sh -e". Empty: not a script.
std::string interpreter_of(const std::string &path)
{
	char bytes[256] = ""; // as many as the kernel reads
	std::ifstream file(path, std::ios::binary);

	file.read(bytes, sizeof(bytes) - 1);
	std::string line(bytes, static_cast<size_t>(file.gcount()));
	line.resize(std::min(line.find('\n'), line.size()));
	size_t first = line.compare(0, 2, "#!") ? line.npos : line.find_first_not_of(" \t", 2);
	if (first == line.npos)
		return "";
	return line.substr(first, line.find_first_of(std::string(" \t\0", 3), first) - first);
}

// Throws Error (Source) where the loader would ignore LD_PRELOAD.
void check_file(const std::string &path)
{
	std::ifstream file(path, std::ios::binary);
	Elf64_Ehdr head{};
	Elf64_Phdr segment{};
	struct stat is {};

	if (!stat(path.c_str(), &is) && is.st_mode & (S_ISUID | S_ISGID))
		throw Error(Error::Source,
			    fmt::format("{}: it is setuid or setgid, so no library can be preloaded", path));
	// Capabilities do not change how root's programs are loaded.
	if (geteuid() && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0)
		throw Error(Error::Source,
			    fmt::format("{}: it has file capabilities, so no library can be preloaded; remove them "
					"(setcap -r) and give it ambient ones (setpriv)",
					path));
	if (!file.read(reinterpret_cast<char *>(&head), sizeof(head)) ||
	    std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return;
	if (head.e_ident[EI_CLASS] != ELFCLASS64)
		throw Error(Error::Source,
			    fmt::format("{}: it is not a 64-bit program, so no library can be preloaded", path));
	for (unsigned i = 0; i < head.e_phnum; i++) {
		file.seekg(static_cast<std::streamoff>(head.e_phoff + size_t{i} * head.e_phentsize));
		if (!file.read(reinterpret_cast<char *>(&segment), sizeof(segment)))
			break;
		if (segment.p_type == PT_INTERP)
			return;
	}
	throw Error(Error::Source, fmt::format("{}: it is linked statically, so no library can be preloaded", path));
}

void print_table(const std::vector<RunTsg> &tsgs)
{
	bool several = std::any_of(tsgs.begin(), tsgs.end(),
				   [&](const RunTsg &tsg) { return tsg.device != tsgs.front().device; });
	std::vector<std::string> titles = {"Process", "<Engine", "TSG", "Timeslice", "<Preemption", "<Channels"};

	if (several)
		titles.insert(titles.begin() + 1, "Device");
	Table t(titles);
	for (const RunTsg &tsg : tsgs) {
		std::vector<Cell> row = {std::to_string(tsg.pid),
					 tsg.engine,
					 std::to_string(tsg.tsg),
					 tsg.timeslice_us ? format_duration(*tsg.timeslice_us * 1000) : "-",
					 tsg.compute.empty() ? "-" : tsg.compute,
					 format_ranges(tsg.channels)};
		if (several)
			row.insert(row.begin() + 1, std::to_string(tsg.device));
		t.add(row);
	}
	std::string text = t.empty() ? "gpulens: the program allocated no TSG\n" : t.str({});
	std::fputs(text.c_str(), stderr);
}

} // namespace

void check_preloadable(const RunOptions &options)
{
	std::string path = find_program(options.program[0]);

	preload_list(options);
	// execvp() reports what is not a program.
	for (unsigned i = 0; i <= MAX_INTERPRETERS && is_program(path); i++) {
		check_file(path);
		path = interpreter_of(path);
	}
}

int run_program(const RunOptions &options)
{
	std::string preload = preload_list(options);
	Forwarding signals; // before anything that a signal could leave behind
	RunFile file(options.file);
	std::optional<Guard> guard;
	pid_t parent = getpid();

	if (options.limits)
		guard.emplace(options.limits);
	pid_t pid = fork();
	if (!pid) {
		signals.restore();
		exec_program(options, preload, file.path(), guard ? &*guard : nullptr, parent);
	}
	if (pid < 0)
		throw Error(Error::Source, fmt::format("{}: {}", options.program[0], std::strerror(errno)));
	int status = signals.forward(pid);
	bool started =
		!WIFEXITED(status) || (WEXITSTATUS(status) != 126 && WEXITSTATUS(status) != 127); // as of a shell
	// A missing table does not change the program's status.
	try {
		if (options.file.empty() && started)
			print_table(read_run_file(file.path()));
	} catch (const Error &e) {
		std::fprintf(stderr, "gpulens: %s\n", e.what());
	}
	if (guard && guard->killed())
		return EXIT_REFUSED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

} // namespace tool
