// SPDX-License-Identifier: GPL-2.0
// The program: exit status, standard output and standard error.
#include "lib/source/module/load_command.hpp"
#include "lib/source/module/proc.hpp"
#include "support/tools/recorded.hpp"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sys/utsname.h>
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
	Result r = run("--image " + hand_ + " copy-engines");

	EXPECT_EQ(r.status, 0);
	EXPECT_EQ(r.out, "GA100 (Ampere), 0000:41:00.0, from " + hand_ +
				 "\n"
				 "Copy engine  Runlist  Physical copy engines  Shared with\n"
				 "GRCE1              0  PCE 0, 2               LCE2\n"
				 "LCE2               3  PCE 0, 2               -\n");
	EXPECT_EQ(r.err, "");
}

TEST_F(Program, TakesOptionsInAnyOrder)
{
	Result r = run("runlists 3 --image=" + hand_);

	EXPECT_EQ(r.status, 0);
	EXPECT_EQ(r.out, "GA100 (Ampere), 0000:41:00.0, from " + hand_ + "\nrunlist 3: LCE2; 0 entries\n");
}

TEST_F(Program, PrintsAFileOfProcFromAnImage)
{
	Result r = run("-i " + hand_ + " proc runlist3");

	EXPECT_EQ(r.status, 0);
	EXPECT_EQ(r.out, "List: base 0x000000000000, target vid, entries 0, pending 0\n! empty\n");
}

TEST_F(Program, ReadsStandardInput)
{
	EXPECT_EQ(run("--image - engines <" + hand_).out.substr(0, 51),
		  "GA100 (Ampere), 0000:41:00.0, from standard input\nE");
	EXPECT_EQ(run("--image - chip </dev/null").err, "gpulens: standard input: the file is empty; an image begins "
							"with \"gpulens-image 1\", a snapshot with GPLS\n");
}

TEST_F(Program, ShowsSeveralFilesInTurn)
{
	Result r = run("-i " + hand_ + " -i " + hand_ + " chip");

	EXPECT_EQ(r.status, 0);
	size_t first = r.out.find("  Chip          GA100");
	EXPECT_NE(r.out.find("  Chip          GA100", first + 1), std::string::npos) << r.out;
}

TEST_F(Program, ExitsWithOneWhenSomethingCouldNotBeDecoded)
{
	std::string name = file(drop_lines(read_fixture("ga100-by-hand.image"), "r 0x00c00080"));
	Result r = run("--image " + name + " channels");

	EXPECT_EQ(r.status, 1);
	EXPECT_EQ(r.out, "GA100 (Ampere), 0000:41:00.0, from " + name + "\n");
	EXPECT_EQ(r.err, "gpulens: " + name + ": runlist 0: not recorded: r 0x00c00080\n");
}

TEST_F(Program, PutsFailuresIntoJsonToo)
{
	Result r = run("--json --image " + file(drop_lines(read_fixture("ga100-by-hand.image"), "r 0x00c00080")) +
		       " runlists 0");

	EXPECT_EQ(r.status, 1);
	EXPECT_EQ(nlohmann::json::parse(r.out)["gpus"][0]["errors"][0]["message"], "not recorded: r 0x00c00080");
}

TEST_F(Program, AMissingRunlistIsAnError)
{
	Result r = run("-i " + hand_ + " runlists 1");

	EXPECT_EQ(r.status, 1);
	EXPECT_EQ(r.err, "gpulens: " + hand_ + ": runlist 1: it does not exist; there are 0, 3\n");
}

TEST_F(Program, IsolationFailsOnlyWithCheckAndAHazard)
{
	EXPECT_EQ(run("-i " + hand_ + " isolation").status, 0);
	EXPECT_EQ(run("-i " + hand_ + " isolation --check").status, 1);
}

TEST_F(Program, ExitsWithTwoOnWrongUsage)
{
	for (const char *wrong : {"engine", "runlists 1x", "runlists 99999999999", "chip 1", "chip --image",
				  "--frobnicate chip", "--color sometimes", "-g x", "proc runlist"}) {
		Result r = run(wrong);
		EXPECT_EQ(r.status, 2) << wrong;
		EXPECT_EQ(r.out, "") << wrong;
		EXPECT_EQ(r.err.substr(0, 9), "gpulens: ") << wrong;
		// The help that describes the word: of the command, or of all commands for an option that all take.
		std::string words = wrong, usage = "gpulens --help lists commands and options.\n";
		for (const char *command : {"chip", "proc", "runlists"})
			if (words.find(command) != words.npos && words != "chip --image")
				usage = fmt::format("gpulens {} --help lists its options.\n", command);
		ASSERT_GT(r.err.size(), usage.size()) << wrong;
		EXPECT_EQ(r.err.substr(r.err.size() - usage.size()), usage) << wrong;
	}
}

TEST_F(Program, ExitsWithThreeOnABadFile)
{
	std::string bad = file("gpulens-image 1\nchip boot0=0x136000a1\nr 0x00022700\n");
	Result r = run("--image " + bad + " chip");

	EXPECT_EQ(r.status, 3);
	EXPECT_EQ(r.out, "");
	EXPECT_EQ(r.err, "gpulens: " + bad + ": line 3: the register's value is missing\n");
	EXPECT_EQ(run("--image /nowhere/image chip").status, 3);
	EXPECT_EQ(run("--image /nowhere/image chip").err,
		  "gpulens: /nowhere/image: ENOENT: No such file or directory; check the path\n");
	EXPECT_EQ(run("--image / chip").err, "gpulens: /: EISDIR: Is a directory; name a file in that folder\n");
}

TEST_F(Program, NamesTheRemedyWithoutTheModule)
{
	Result r = run("--proc " + dir_);
	utsname kernel{};

	ASSERT_EQ(uname(&kernel), 0);
	std::string release = kernel.release,
		    built = std::filesystem::path(PROGRAM).parent_path().parent_path() / "module" / release /
			    "gpulens.ko",
		    emulator = tool::emulator_command(PROGRAM);
	EXPECT_EQ(r.status, 3);
	EXPECT_EQ(r.err, "gpulens: no " + dir_ + "/gpu*: the module is not loaded: " +
				 tool::load_command(release, "/lib/modules/" + release, built) +
				 " (or name a recorded GPU: gpulens -i FILE" +
				 (emulator.empty() ? "" : "; without a GPU: " + emulator) + ")\n");
}

// The script of the sources whose build folder the program is in. Seen failing with an installed program.
TEST_F(Program, NamesTheEmulatorBesideItsSources)
{
	EXPECT_EQ(tool::emulator_command(dir_ + "/build/bin/gpulens"), "");
	std::filesystem::create_directories(dir_ + "/scripts");
	std::ofstream(dir_ + "/scripts/vm") << "x";
	EXPECT_EQ(tool::emulator_command(dir_ + "/build/bin/gpulens"), dir_ + "/scripts/vm shell");
	EXPECT_EQ(tool::emulator_command("/usr/bin/gpulens"), "");
}

// Installed in updates/dkms by DKMS, also compressed; built but not installed; neither. A module of another name does not
// count. Seen failing when modprobe was always named.
TEST_F(Program, NamesTheCommandThatLoadsTheModule)
{
	std::string modules = dir_ + "/modules", built = dir_ + "/gpulens.ko";

	EXPECT_EQ(tool::load_command("6.1.0", modules, built),
		  "make module && sudo insmod build/module/6.1.0/gpulens.ko, or sudo make install && sudo modprobe "
		  "gpulens");
	std::ofstream(built) << "x";
	EXPECT_EQ(tool::load_command("6.1.0", modules, built), "sudo insmod " + built);
	std::filesystem::create_directory(modules);
	std::ofstream(modules + "/modules.dep") << "kernel/drivers/gpu/notgpulens.ko: updates/dkms/gpulens.ko\n";
	EXPECT_EQ(tool::load_command("6.1.0", modules, built), "sudo insmod " + built);
	for (const char *name : {"updates/dkms/gpulens.ko", "updates/dkms/gpulens.ko.xz", "extra/gpulens.ko"}) {
		std::ofstream(modules + "/modules.dep") << "kernel/fs/ext4/ext4.ko:\n" << name << ":\n";
		EXPECT_EQ(tool::load_command("6.1.0", modules, built), "sudo modprobe gpulens") << name;
	}
}

// The device is the one that /proc/gpuX/chip names. Seen failing with ADDRESS in its place.
TEST_F(Program, NamesTheDeviceThatIsSuspendedOrDoesNotDecodeMemory)
{
	std::string path = dir_ + "/gpu3/snapshot",
		    suspended = path + ": ENODATA: the GPU is suspended, and reading does "
				       "not resume it, or no driver has set it up; resume it: ",
		    decoding = path + ": ENXIO: the GPU's memory decoding is off, or system memory is needed that no "
				      "driver has mapped through the kernel; its driver may be resetting it";

	EXPECT_EQ(tool::explain(ENODATA, path, false),
		  suspended + "write on to power/control of its device in sysfs; lspci -d 10de: lists the GPUs");
	EXPECT_EQ(tool::explain(ENXIO, path, false), decoding);
	std::filesystem::create_directory(dir_ + "/gpu3");
	std::ofstream(dir_ + "/gpu3/chip") << "Chip:         AD102 (0x192)\nDevice:       0000:41:00.0\nBOOT_0: 0x1\n";
	EXPECT_EQ(tool::explain(ENODATA, path, false),
		  suspended + "echo on >/sys/bus/pci/devices/0000:41:00.0/power/control");
	EXPECT_EQ(tool::explain(ENXIO, path, false),
		  decoding + "; bit 1 of setpci -s 0000:41:00.0 COMMAND is memory decoding");
	std::ofstream(dir_ + "/gpu3/chip") << "Device:       17000000.ga10b\n";
	EXPECT_EQ(tool::explain(ENODATA, path, false),
		  suspended + "echo on >/sys/bus/platform/devices/17000000.ga10b/power/control");
	EXPECT_EQ(tool::explain(ENXIO, path, false), decoding);
}

TEST_F(Program, FailsWhenItsOutputCannotBeWritten)
{
	int status = std::system((std::string(PROGRAM) + " --image " + hand_ + " chip >/dev/full 2>/dev/null").c_str());

	EXPECT_EQ(WEXITSTATUS(status), 1);
}

TEST_F(Program, ColoursATerminalOrOnRequest)
{
	EXPECT_EQ(run("-i " + hand_ + " chip").out.find('\033'), std::string::npos);
	EXPECT_NE(run("-i " + hand_ + " --color always chip").out.find("\033[1m"), std::string::npos);
}

TEST_F(Program, HelpNamesEveryCommand)
{
	Result r = run("--help");

	EXPECT_EQ(r.status, 0);
	for (const char *word : {"engines", "runlists", "channels", "copy-engines", "gpcs", "chip", "isolation",
				 "--json", "--image", "Examples"})
		EXPECT_NE(r.out.find(word), std::string::npos) << word;
	EXPECT_NE(run("help").out.find("Exit status"), std::string::npos);
}

} // namespace
