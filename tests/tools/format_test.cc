// SPDX-License-Identifier: GPL-2.0
// Formats of measured values, and what errors of /proc/gpuX name.
#include "lib/base/format.hpp"
#include "lib/source/module/proc.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace {

constexpr u64 US = 1000, MS = 1000000;

// Worked out by hand. Seen failing with three digits after the point always.
TEST(Format, AMeasuredTimeEndsAtTheDigitThatTheStepLeavesCertain)
{
	EXPECT_EQ(tool::format_measured(1998848, 0), "1.999 ms");
	EXPECT_EQ(tool::format_measured(1998848, 10 * US), "2.00 ms");
	EXPECT_EQ(tool::format_measured(1998848, 100 * US), "2.0 ms");
	EXPECT_EQ(tool::format_measured(1998848, 524 * US), "2.0 ms");
	EXPECT_EQ(tool::format_measured(1998848, MS), "2 ms");
	EXPECT_EQ(tool::format_measured(48 * MS, 12 * MS), "50 ms");
	EXPECT_EQ(tool::format_measured(1234567890, 100 * US), "1.235 s");
	EXPECT_EQ(tool::format_measured(262144, 20 * US), "260 us");
	EXPECT_EQ(tool::format_measured(262144, 20 * US, "ms"), "0.26");
}

// Samples every 2.697 ms, and slots of 262.144 us: one sample sees a slot. Seen failing with 2.731 ms.
TEST(Format, ASlotOfOneSampleTookLessThanTwoSteps)
{
	EXPECT_EQ(tool::format_measured(2697 * US, 2697 * US), "<5 ms");
	EXPECT_EQ(tool::format_measured(MS, MS), "<2 ms");
	EXPECT_EQ(tool::format_measured(MS, MS, "ms"), "<2");
}

// A median of one period and a little more says what a shortest slot of one period says. Seen failing with "3 ms" for the
// median.
TEST(Format, WhatIsNearerToOneStepThanToTwoIsBelowTwo)
{
	EXPECT_EQ(tool::format_measured(2890 * US, 2900 * US), "<6 ms");
	EXPECT_EQ(tool::format_measured(3100 * US, 2900 * US), "<6 ms");
	EXPECT_EQ(tool::format_measured(MS + 1, MS, "ms"), "<2");
	EXPECT_EQ(tool::format_measured(1499 * US, MS), "<2 ms");
	EXPECT_EQ(tool::format_measured(1500 * US, MS), "2 ms");
}

// Two snapshots are no percentage. Seen failing with 50.0 for one of two.
TEST(Format, AShareHasTheDigitsThatItsObservationsSupport)
{
	EXPECT_EQ(tool::format_share(0.5, 2), "1/2");
	EXPECT_EQ(tool::format_share(0.3, 10), "3/10");
	EXPECT_EQ(tool::format_share(1, 99), "99/99");
	EXPECT_EQ(tool::format_share(0.483, 100), "48");
	EXPECT_EQ(tool::format_share(0.483, 999), "48");
	EXPECT_EQ(tool::format_share(0.4832, 1000), "48.3");
	EXPECT_EQ(tool::format_share(0.4832, 0), "48.3");
}

// The remedies name the GPU's address, from the file chip. Seen failing with ADDRESS.
TEST(Explain, ARemedyNamesTheAddressOfTheGpu)
{
	std::filesystem::path folder =
		std::filesystem::temp_directory_path() / ("gpulens-explain-" + std::to_string(getpid()));

	std::filesystem::create_directory(folder);
	std::ofstream(folder / "chip") << "Chip:         AD102 (0x192)\nDevice:       0000:41:00.0\n";
	EXPECT_EQ(tool::explain(ENODATA, folder / "samples", false),
		  (folder / "samples").string() + ": ENODATA: the GPU is suspended, and reading does not resume it, or "
						  "no driver has set it up; resume it: "
						  "echo on >/sys/bus/pci/devices/0000:41:00.0/power/control");
	EXPECT_NE(tool::explain(ENXIO, folder / "runlist0", false).find("setpci -s 0000:41:00.0 COMMAND"),
		  std::string::npos);
	std::filesystem::remove_all(folder);
}

} // namespace
