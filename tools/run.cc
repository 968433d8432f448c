// SPDX-License-Identifier: GPL-2.0
// See run.hpp.
#include "run.hpp"

#include "run_line.hpp"
#include "table.hpp"
#include "text.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tool {

namespace {

constexpr const char *LIBRARY = "libgpulens-run.so";

// From where this program is, wherever its tree was installed; in build/bin beside it.
std::string library(const std::string &name)
{
	std::error_code err;
	std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe", err).parent_path();
	std::filesystem::path installed = here.parent_path() / "lib/gpulens" / name;

	for (const std::filesystem::path &one : {installed, here / name})
		if (std::filesystem::exists(one, err))
			return one;
	throw SourceError(fmt::format("{}: it is not there; install gpulens again", installed.string()));
}

// Of all of them, the program's own behind.
std::string preloads(const RunOptions &how)
{
	const char *before = getenv("LD_PRELOAD");
	std::string list = library(LIBRARY);

	for (const std::string &name : how.preload)
		list += ':' + library(name);
	return before && *before ? list + ':' + before : list;
}

// As execvp(3) finds it; "" where it does not.
std::string found(const std::string &program)
{
	const char *path = getenv("PATH");
	std::istringstream folders(path ? path : "/bin:/usr/bin");
	std::string folder;

	if (program.find('/') != std::string::npos)
		return program;
	while (std::getline(folders, folder, ':')) {
		folder += '/';
		folder += program;
		if (!access(folder.c_str(), X_OK))
			return folder;
	}
	return "";
}

[[noreturn]] void become(const RunOptions &how, const std::string &preload, const std::string &file)
{
	std::vector<char *> words;

	for (const std::string &word : how.program)
		words.push_back(const_cast<char *>(word.c_str()));
	words.push_back(nullptr);
	for (const auto &[name, value] : how.environment)
		setenv(name.c_str(), value.c_str(), 1);
	setenv("LD_PRELOAD", preload.c_str(), 1);
	setenv("GPULENS_RUN_FILE", file.c_str(), 1);
	execvp(words[0], words.data());
	std::fprintf(stderr, "gpulens: %s: %s\n", words[0], std::strerror(errno));
	_exit(127);
}

void print_table(const std::vector<RunTsg> &tsgs)
{
	bool several = std::any_of(tsgs.begin(), tsgs.end(),
				   [&](const RunTsg &one) { return one.device != tsgs.front().device; });
	std::vector<std::string> titles = {"Process", "<Engine", "TSG", "Slice set", "<Preemption", "<Channels"};

	if (several)
		titles.insert(titles.begin() + 1, "Device");
	Table t(titles);
	for (const RunTsg &one : tsgs) {
		std::vector<Cell> row = {std::to_string(one.pid),
					 one.engine,
					 std::to_string(one.tsg),
					 one.timeslice_us ? duration(*one.timeslice_us * 1000) : "-",
					 one.compute.empty() ? "-" : one.compute,
					 ranges(one.channels)};
		if (several)
			row.insert(row.begin() + 1, std::to_string(one.device));
		t.add(row);
	}
	std::string text = t.empty() ? "gpulens: the program made no TSG\n" : t.str({});
	std::fputs(text.c_str(), stderr);
}

} // namespace

std::vector<RunTsg> run_tsgs(const std::string &file)
{
	return run_lines(read_whole(file, false), file);
}

void check_preloadable(const std::string &program)
{
	std::string path = found(program);
	std::ifstream file(path, std::ios::binary);
	Elf64_Ehdr head{};
	Elf64_Phdr segment{};
	struct stat is {};

	if (!stat(path.c_str(), &is) && is.st_mode & (S_ISUID | S_ISGID))
		throw SourceError(fmt::format("{}: it runs as another user, so no library can be preloaded", path));
	// A script is as its interpreter; what is no program at all is execvp's to say.
	if (!file.read(reinterpret_cast<char *>(&head), sizeof(head)) ||
	    std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return;
	if (head.e_ident[EI_CLASS] != ELFCLASS64)
		throw SourceError(fmt::format("{}: it is not a 64-bit program, so no library can be preloaded", path));
	for (unsigned i = 0; i < head.e_phnum; i++) {
		file.seekg(static_cast<std::streamoff>(head.e_phoff + size_t{i} * head.e_phentsize));
		if (!file.read(reinterpret_cast<char *>(&segment), sizeof(segment)))
			break;
		if (segment.p_type == PT_INTERP)
			return;
	}
	throw SourceError(fmt::format("{}: it is linked statically, so no library can be preloaded", path));
}

int run(const RunOptions &how)
{
	std::string preload = preloads(how), file = how.file;
	char temporary[] = "/tmp/gpulens-run-XXXXXX";
	int status = 0;

	if (file.empty()) {
		int fd = mkstemp(temporary);
		if (fd < 0)
			throw SourceError(explain_file(errno, temporary));
		close(fd);
		file = temporary;
	} else {
		write_whole(file, ""); // what an earlier run left
		file = std::filesystem::absolute(file);
	}
	pid_t pid = fork();
	if (!pid)
		become(how, preload, file);
	// Ctrl-C is the program's: this one ends when that has.
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		throw SourceError(fmt::format("{}: {}", how.program[0], std::strerror(errno)));
	if (how.file.empty()) {
		std::vector<RunTsg> tsgs = run_tsgs(file);
		unlink(file.c_str());
		print_table(tsgs);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

} // namespace tool
