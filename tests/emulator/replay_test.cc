// SPDX-License-Identifier: GPL-2.0
// Traces in mmiotrace's format. Those here were made for these tests; a_trace_of_a_card replays the files that
// GPULENS_MMIOTRACE names (emulator/README.md, "Compared with cards").
#include "replay.hpp"

#include <cstdlib>

using namespace emu_test;

namespace {

// Bases with the flags of /proc/bus/pci/devices: BAR0 0xd7000000, BAR1 0x69a0000000, BAR2 (PCI's 3) 0x69b0000000.
const char HEAD[] = R"(VERSION 20070824
PCIDEV 0000 80861237 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
PCIDEV 0018 10de1d81 b d7000000 69a000000c 0 69b000000c 0 c001 0 1000000 10000000 0 2000000 0 80 0 nouveau
MAP 10.000000 1 0xd7000000 0xffffc90000000000 0x1000000 0x0 0
)";

ReplayResult replay(emu::EmulatedGpu &gpu, const std::string &text, BarBases bases = {})
{
	std::istringstream in(text);
	return Trace(in, gpu.profile(), bases).replay(gpu);
}

} // namespace

// A Titan V's words after POST, and NV_PFIFO_INTR_EN_0's bits. Seen failing with writes left out.
TEST(Replay, writes_are_done_and_reads_compared)
{
	auto gpu = make_cold_gpu("gv100");
	ReplayResult r = replay(*gpu, std::string(HEAD) + R"(MARK 10.000001 PFIFO is off
R 4 10.000010 1 0xd7000000 0x140000a1 0x0 0
R 4 10.000012 1 0xd7000200 0x40000020 0x0 0
W 4 10.000014 1 0xd7000200 0x40000120 0x0 0
W 4 10.000016 1 0xd7002140 0x7fffffff 0x0 0
R 4 10.000018 1 0xd7002140 0x61810101 0x0 0
UNMAP 10.000020 1 0x0 0
)");
	EXPECT_EQ(r.report(), "3 reads: 3 equal, 0 differ, 0 not modelled, 0 of the time; 2 writes; 0 elsewhere\n");
}

// Seen failing with registers that no unit models compared, and with the bits of the last difference alone.
TEST(Replay, differences_are_listed_by_register_with_their_bits)
{
	auto gpu = make_cold_gpu("gv100");
	ReplayResult r = replay(*gpu, std::string(HEAD) + R"(R 4 10.000010 1 0xd7000200 0x40000021 0x0 0
R 4 10.000012 1 0xd7000200 0x40000024 0x0 0
R 4 10.000014 1 0xd7022430 0x6 0x0 0
R 4 10.000016 1 0xd7021d38 0x0 0x0 0
R 4 10.000018 1 0xd7345678 0x12345678 0x0 0
R 4 10.000020 1 0xf0000000 0x1 0x0 0
)");
	EXPECT_EQ(r.report(), "5 reads: 1 equal, 3 differ, 1 not modelled, 0 of the time; 0 writes; 1 elsewhere\n"
			      "bar0 0x000200: 2 times, bits 5; first 40000021 in the trace, 40000020 here\n"
			      "bar0 0x021d38: 1 times, bits c0; first 0 in the trace, c0 here\n");
}

// BAR1 and BAR2 are physical while no tables are bound. Seen failing with the PCI index as the number of the BAR.
TEST(Replay, memory_is_written_through_the_bars)
{
	auto gpu = make_cold_gpu("gv100");
	ReplayResult r = replay(*gpu, std::string(HEAD) + R"(W 8 10.000010 1 0x69b0001000 0x1122334455667788 0x0 0
R 4 10.000012 1 0x69a0001004 0x11223344 0x0 0
R 8 10.000014 1 0x69b0001000 0x1122334455667788 0x0 0
R 2 10.000016 1 0x69b0001006 0x1122 0x0 0
R 4 10.000018 1 0x69b1000000 0x0 0x0 0
)");
	EXPECT_EQ(r.report(), "3 reads: 3 equal, 0 differ, 0 not modelled, 0 of the time; 1 writes; 1 elsewhere\n");
}

// PTIMER's alarm, 100 us after 0x114_33e00000. The card's clock is 2 % faster than the timestamps, so that it rings 98
// of these microseconds later. Seen failing with a clock that stands still between the accesses, and with the timestamps'.
TEST(Replay, time_is_that_of_the_trace)
{
	auto gpu = make_cold_gpu("gv100");
	ReplayResult r = replay(*gpu, R"(R 4 1186.000000 101 0xd7009410 0x114 0x0 0
R 4 1186.000001 101 0xd7009400 0x33e00000 0x0 0
W 4 1186.000002 101 0xd7009420 0x33e186a0 0x0 0
R 4 1186.000098 101 0xd7009100 0x0 0x0 0
R 4 1186.000100 101 0xd7009100 0x1 0x0 0
R 4 1186.000200 101 0xd7009410 0x114 0x0 0
R 4 1186.000201 101 0xd7009400 0x33e31ce0 0x0 0
)",
				{0xd7000000});
	EXPECT_EQ(r.report(), "6 reads: 2 equal, 0 differ, 0 not modelled, 4 of the time; 1 writes; 0 elsewhere\n");
	EXPECT_EQ(gpu->now(), 0x11433e00000 + 204'000);
}

// Seen failing with a line that was passed over.
TEST(Replay, a_line_that_is_no_record_is_refused)
{
	auto gpu = make_cold_gpu("gv100");
	try {
		replay(*gpu, "# tracer: mmiotrace\nR 4 10.0 1 0xd7000000\n");
		FAIL();
	} catch (const std::invalid_argument &e) {
		EXPECT_STREQ(e.what(), "line 2 is no record of mmiotrace: R 4 10.0 1 0xd7000000");
	}
	EXPECT_THROW(replay(*gpu, "READ 4\n"), std::invalid_argument);
	EXPECT_THROW(replay(*gpu, "PCIDEV 0018 10de1d81 b d7000000\n"), std::invalid_argument);
}

// GPULENS_MMIOTRACE: files, separated by colons, replayed one after the other on the same GPU; _CHIP: its profile; _BARS:
// bus addresses of BAR0, BAR1, BAR2, where no PCIDEV line has them.
TEST(Replay, a_trace_of_a_card)
{
	const char *files = std::getenv("GPULENS_MMIOTRACE"), *chip = std::getenv("GPULENS_MMIOTRACE_CHIP");
	if (!files || !chip)
		GTEST_SKIP() << "GPULENS_MMIOTRACE and GPULENS_MMIOTRACE_CHIP name no trace";
	BarBases bases = {};
	if (const char *bars = std::getenv("GPULENS_MMIOTRACE_BARS")) {
		std::istringstream in(bars);
		std::string word;
		for (unsigned i = 0; i < 3 && std::getline(in, word, ','); i++)
			bases[i] = std::stoull(word, nullptr, 0);
	}
	auto gpu = make_cold_gpu(chip);
	gpu->host().enable_work();
	std::istringstream names(files);
	for (std::string name; std::getline(names, name, ':');) {
		std::ifstream in(name);
		ASSERT_TRUE(in.good()) << name;
		std::cout << name << ": " << Trace(in, gpu->profile(), bases).replay(*gpu).report();
	}
}
