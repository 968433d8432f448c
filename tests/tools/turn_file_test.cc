// SPDX-License-Identifier: GPL-2.0
// Who else has the file of turns open, what it is of, and who is shown in it. What processes do with it is tested by tests/cli/test_turns.py.
#include "lib/base/errors.hpp"
#include "lib/turns/slots.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using tool::turns::Rules;
using tool::turns::TurnFile;
using Alone = TurnFile::Alone;

const Rules ONE{.tasks = {{.name = "one"}}}, OTHER{.tasks = {{.name = "other"}}};

class TurnFiles : public testing::Test {
protected:
	TurnFiles()
	{
		std::string folder = (std::filesystem::temp_directory_path() / "gpulens-turns-XXXXXX").string();
		folder_ = mkdtemp(folder.data());
		setenv("GPULENS_RUNTIME_DIR", folder_.c_str(), 1);
	}
	~TurnFiles() override
	{
		unsetenv("GPULENS_RUNTIME_DIR");
		std::filesystem::remove_all(folder_);
	}

	// Whether a process that opens the file would get its lock now.
	bool can_be_opened() const
	{
		int fd = open((folder_ + "/file").c_str(), O_RDWR | O_CLOEXEC);
		bool locked = !flock(fd, LOCK_SH | LOCK_NB);

		close(fd);
		return locked;
	}

	std::string folder_;
};

// Nobody opens the file while a change is made. Seen failing with the exclusive lock released before the change.
TEST_F(TurnFiles, AChangeIsMadeUnderTheExclusiveLock)
{
	auto file = TurnFile::open("file", ONE);
	bool opened = true;

	EXPECT_EQ(file->run_alone([&] { opened = can_be_opened(); }), Alone::Done);
	EXPECT_FALSE(opened);
	EXPECT_TRUE(can_be_opened());
}

// Seen failing with the change made in any case.
TEST_F(TurnFiles, NoChangeIsMadeWhileAnotherHasTheFileOpen)
{
	auto file = TurnFile::open("file", ONE), another = TurnFile::open("file", ONE);
	bool changed = false;

	EXPECT_EQ(file->run_alone([&] { changed = true; }), Alone::Shared);
	EXPECT_FALSE(changed);
	another.reset();
	EXPECT_EQ(file->run_alone([&] { changed = true; }), Alone::Done);
	EXPECT_TRUE(changed);
}

// The kernel releases a lock before it changes its kind: another process may replace the file then. Seen failing (Done)
// without the comparison of the file with that of its name.
TEST_F(TurnFiles, AReplacedFileIsNoticed)
{
	auto file = TurnFile::open("file", ONE);

	EXPECT_EQ(file->run_alone([&] { std::filesystem::remove(folder_ + "/file"); }), Alone::Replaced);
}

TEST_F(TurnFiles, FilesThatAreTheSameAreRecognized)
{
	auto file = TurnFile::open("file", ONE), same = TurnFile::open("file", ONE), other = TurnFile::open("x", ONE);

	EXPECT_EQ(file->identity(), same->identity());
	EXPECT_NE(file->identity(), other->identity());
	EXPECT_NE(file->id(), same->id());
}

std::string why_not(const Rules &rules)
{
	std::string why;

	return TurnFile::open_to_read("file", rules, why) ? "" : why;
}

void write_word(const std::string &path, off_t at, unsigned char value)
{
	int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);

	ASSERT_EQ(pwrite(fd, &value, 1, at), 1);
	close(fd);
}

// Offsets in struct Header: the magic number, the namespace of process ids and the id of the boot. Seen failing with "is
// of another plan" for all.
TEST_F(TurnFiles, TheReasonWhyAFileIsNotReadIsNamed)
{
	std::string path = folder_ + "/file";

	EXPECT_EQ(why_not(ONE), "there is no " + path);
	TurnFile::open("file", ONE);
	EXPECT_EQ(why_not(ONE), "");
	EXPECT_EQ(why_not(OTHER), path + " is of another plan");
	write_word(path, 48, 0);
	write_word(path, 49, 0);
	EXPECT_EQ(why_not(ONE), path + " is used in another namespace of process ids (a container's)");
	write_word(path, 56, '!');
	EXPECT_EQ(why_not(ONE), path + " is of an earlier start of this machine");
	write_word(path, 0, 0);
	EXPECT_EQ(why_not(ONE), path + " is of another version of gpulens");
}

// A folder of another user in XDG_RUNTIME_DIR is not used. Seen failing with the variable's folder in any
// case.
TEST_F(TurnFiles, TheFolderOfAnotherUserIsNotUsed)
{
	std::string own = folder_, roots = "/";

	unsetenv("GPULENS_RUNTIME_DIR");
	setenv("XDG_RUNTIME_DIR", own.c_str(), 1);
	EXPECT_EQ(tool::turns::runtime_folder(), own + "/gpulens");
	if (geteuid())
		setenv("XDG_RUNTIME_DIR", roots.c_str(), 1);
	else
		ASSERT_EQ(chown(own.c_str(), 65534, 65534), 0);
	EXPECT_EQ(tool::turns::runtime_folder(),
		  geteuid() ? "/run/user/" + std::to_string(geteuid()) + "/gpulens" : "/run/gpulens");
	unsetenv("XDG_RUNTIME_DIR");
}

// As in a shell of su: the variable is that of the user who called su, and this user has no session. Seen failing without
// the second half of the message.
TEST_F(TurnFiles, AMessageNamesTheFolderThatIsNotUsed)
{
	auto open_as_other = [] {
		if (setgid(65534) || setuid(65534))
			_exit(1);
		unsetenv("GPULENS_RUNTIME_DIR");
		setenv("XDG_RUNTIME_DIR", "/", 1);
		try {
			TurnFile::open("file", ONE);
		} catch (const tool::Error &e) {
			fprintf(stderr, "%s\n", e.what());
		}
		_exit(0);
	};

	if (geteuid())
		GTEST_SKIP() << "only root can become another user";
	EXPECT_EXIT(open_as_other(), testing::ExitedWithCode(0),
		    "/run/user/65534/gpulens: ENOENT.*; XDG_RUNTIME_DIR \\(/\\) is not used, as it belongs to another "
		    "user: log in as this user, or set GPULENS_RUNTIME_DIR to a folder of this user");
}

std::vector<u64> processes_of_locks()
{
	std::vector<u64> pids;

	for (const tool::turns::LockState &lock : tool::turns::list_locks())
		for (const tool::turns::Member &member : lock.members)
			pids.push_back(member.process);
	return pids;
}

// A process is killed with its slot, and its pid is a living process' now. Seen failing where kill() told who lives.
TEST_F(TurnFiles, AReusedPidIsNotTheProcessThatHadTheSlot)
{
	auto slots = tool::turns::open_slots("gpu", 2);
	int ends[2], status = 0;
	char byte = 0;

	ASSERT_EQ(pipe(ends), 0);
	pid_t child = fork();
	if (!child) {
		auto own = tool::turns::open_slots("gpu", 2);
		begin_turn(*own, 0, {});
		static_cast<void>(write(ends[1], &byte, 1));
		pause();
	}
	ASSERT_EQ(read(ends[0], &byte, 1), 1);
	EXPECT_EQ(processes_of_locks(), std::vector<u64>{static_cast<u64>(child)});
	kill(child, SIGKILL);
	ASSERT_EQ(waitpid(child, &status, 0), child);
	slots->queue(0).entries[0].process = static_cast<u64>(getpid());
	EXPECT_EQ(processes_of_locks(), std::vector<u64>{});
}

} // namespace
