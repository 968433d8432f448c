// SPDX-License-Identifier: GPL-2.0
// The program itself: exit status, and what goes to which of its outputs.
#include "recorded.hpp"

#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

using namespace tool_test;

namespace {

struct Result {
	int status;
	std::string out, err;
};

class Program : public testing::Test {
protected:
	void SetUp() override
	{
		char name[] = "/tmp/gpulens-test-XXXXXX";
		ASSERT_NE(mkdtemp(name), nullptr);
		dir_ = name;
	}

	void TearDown() override { EXPECT_EQ(std::system(("rm -rf " + dir_).c_str()), 0); }

	std::string file(const std::string &text)
	{
		std::ofstream(dir_ + "/image") << text;
		return dir_ + "/image";
	}

	Result run(const std::string &arguments)
	{
		Result r;
		int status = std::system(
			(std::string(PROGRAM) + " " + arguments + " >" + dir_ + "/out 2>" + dir_ + "/err").c_str());

		r.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		r.out = read_file(dir_ + "/out");
		r.err = read_file(dir_ + "/err");
		return r;
	}

	std::string dir_;
	const std::string hand_ = std::string(FIXTURES) + "/ga100-by-hand.image";
};

TEST_F(Program, ExitsWithZeroWhenAllWasDecoded)
{
	Result r = run("--image " + hand_ + " copy");

	EXPECT_EQ(r.status, 0);
	EXPECT_EQ(r.out, "GRCE1 -> LCE02 (PCE00 PCE02)\nLCE02 -> PCE00 PCE02\n");
	EXPECT_EQ(r.err, "");
}

TEST_F(Program, TakesOptionsInAnyOrder)
{
	Result r = run("runlist 0x3 --image=" + hand_);

	EXPECT_EQ(r.status, 0);
	EXPECT_EQ(r.out, "! empty\n");
}

TEST_F(Program, ReadsStandardInput)
{
	EXPECT_EQ(run("--image - runlist 3 <" + hand_).out, "! empty\n");
	EXPECT_EQ(run("--image - chip </dev/null").err,
		  "gpulens: standard input: line 1: the file is empty; an image begins with \"gpulens-image 1\"\n");
}

TEST_F(Program, ExitsWithOneWhenSomethingCouldNotBeDecoded)
{
	Result r = run("--image " + file(without(fixture("ga100-by-hand.image"), "r 0x00c00080")) + " channels");

	EXPECT_EQ(r.status, 1);
	EXPECT_EQ(r.out, "Runlist  TSG   Id Enabled Runqueue Instance       Target   Status\n");
	EXPECT_EQ(r.err, "runlist 0: not recorded: r 0x00c00080\n");
}

TEST_F(Program, PutsFailuresIntoJsonToo)
{
	Result r =
		run("--json --image " + file(without(fixture("ga100-by-hand.image"), "r 0x00c00080")) + " runlist 0");

	EXPECT_EQ(r.status, 1);
	EXPECT_EQ(nlohmann::json::parse(r.out)["errors"][0]["message"], "not recorded: r 0x00c00080");
}

TEST_F(Program, ExitsWithTwoOnWrongUsage)
{
	const std::string usage = "usage: gpulens --image FILE COMMAND [--json]\ngpulens --help says more.\n";

	EXPECT_EQ(run("").status, 2);
	EXPECT_EQ(run("").err, "gpulens: which command?\n" + usage);
	EXPECT_EQ(run("--image " + hand_ + " engine").status, 2);
	EXPECT_EQ(run("--image " + hand_ + " engine").err, "gpulens: unknown command engine\n" + usage);
	EXPECT_EQ(run("--image " + hand_ + " runlist").err, "gpulens: runlist needs the number of one\n" + usage);
	EXPECT_EQ(run("--image " + hand_ + " runlist 1x").err, "gpulens: not the number of a runlist: 1x\n" + usage);
	EXPECT_EQ(run("--image " + hand_ + " runlist 99999999999").status, 2);
	EXPECT_EQ(run("--image " + hand_ + " chip 1").err, "gpulens: too many arguments: 1\n" + usage);
	EXPECT_EQ(run("chip").err, "gpulens: which file? Say --image FILE\n" + usage);
	EXPECT_EQ(run("chip --image").err, "gpulens: --image needs a file\n" + usage);
	EXPECT_EQ(run("--frobnicate chip").err, "gpulens: unknown option --frobnicate\n" + usage);
}

TEST_F(Program, ExitsWithThreeOnABadFile)
{
	std::string bad = file("gpulens-image 1\nchip boot0=0x136000a1\nr 0x00022700\n");
	Result r = run("--image " + bad + " chip");

	EXPECT_EQ(r.status, 3);
	EXPECT_EQ(r.out, "");
	EXPECT_EQ(r.err, "gpulens: " + bad + ": line 3: the register's value is missing\n");
	EXPECT_EQ(run("--image /nowhere/image chip").status, 3);
	EXPECT_EQ(run("--image /nowhere/image chip").err, "gpulens: /nowhere/image: No such file or directory\n");
	EXPECT_EQ(run("--image / chip").err, "gpulens: /: Is a directory\n");
}

TEST_F(Program, FailsWhenItsOutputCannotBeWritten)
{
	int status = std::system((std::string(PROGRAM) + " --image " + hand_ + " chip >/dev/full 2>/dev/null").c_str());

	EXPECT_EQ(WEXITSTATUS(status), 1);
}

TEST_F(Program, HelpNamesEveryCommand)
{
	Result r = run("--help");

	EXPECT_EQ(r.status, 0);
	for (const char *word :
	     {"engines", "runlist Y", "channels", "copy", "gpcs", "chip", "--json", "--image", "Exit status"})
		EXPECT_NE(r.out.find(word), std::string::npos) << word;
}

} // namespace
