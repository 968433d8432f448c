// SPDX-License-Identifier: GPL-2.0
// The built-in scenarios of RTSS'17 (T. Amert et al., "GPU Scheduling on the NVIDIA TX2: Hidden Details Revealed"), scaled to a
// GPU as in builtin.cc. Sizes and times are those of the authors' files: configs/rtss_2017_fig*.json of
// cuda_scheduling_examiner.
#include "gpulens/blocks/scenario.hpp"

#include <fmt/format.h>

namespace tool::blocks {

namespace {

constexpr int HIGH = -1, LOW = 0; // priorities

// Threads of blocks: shares of an SM, of which the TX2's has 2048 threads.
struct Threads {
	explicit Threads(const Machine &m)
		: half(m.threads_per_sm / 2), three_eighths(m.threads_per_sm * 3 / 8), quarter(m.threads_per_sm / 4),
		  eighth(m.threads_per_sm / 8)
	{
	}
	u32 half, three_eighths, quarter, eighth;
};

Scenario make_fig5(const Machine &m)
{
	Threads t(m);
	Scenario s = make_scenario("rtss17-fig5", {{make_spin("K1", 3 * m.sms, t.three_eighths, 1000, 0)},
						   {make_spin("K2", 1, t.half, 1000, 200)},
						   {make_spin("K3", 2 * m.sms, t.eighth, 1000, 400),
						    make_spin("K4", 2 * m.sms, t.eighth, 1000, 400)},
						   {make_spin("K5", 1, t.half, 1000, 600)},
						   {make_spin("K6", m.sms, t.eighth, 1000, 800)}});

	for (size_t i = 0; i < s.benchmarks.size(); i++)
		s.benchmarks[i].stream = i == 1 || i == 3 ? StreamKind::Null : StreamKind::Blocking;
	return s;
}

Scenario make_fig6(const Machine &m)
{
	Threads t(m);
	Scenario s = make_scenario("rtss17-fig6", {{make_spin("K1", 4 * m.sms, t.half, 500, 0)},
						   {make_spin("K2", 8 * m.sms, t.half, 500, 200)},
						   {make_spin("K3", 8 * m.sms, t.half, 500, 500)}});

	s.benchmarks[1].priority = s.benchmarks[2].priority = HIGH;
	return s;
}

Scenario make_fig7(const Machine &m)
{
	Threads t(m);
	Scenario s = make_scenario("rtss17-fig7", {{make_spin("K1", 4 * m.sms, t.half, 500, 0)},
						   {make_spin("K2", 4 * m.sms, t.half, 500, 200)},
						   {make_spin("K3", 4 * m.sms, t.half, 500, 300)},
						   {make_spin("K4", 4 * m.sms, t.half, 500, 1200)}});

	s.benchmarks[2].priority = HIGH;
	return s;
}

// K1 to K7 leave a quarter of an SM.
Scenario make_fig8(const Machine &m)
{
	Threads t(m);
	constexpr u32 SMALL = 7;
	u32 blocks = m.sms / 2, first = 4 * m.sms - 1 - (SMALL - 1) * blocks;
	std::vector<std::vector<Kernel>> streams;

	for (u32 i = 0; i < SMALL; i++)
		streams.push_back(
			{make_spin(fmt::format("K{}", i + 1), i ? blocks : first, t.quarter, 1000, u64{100} * i)});
	streams.push_back({make_spin("K8", 1, t.half, 500, 650)});
	streams.push_back({make_spin("K9", 1, t.quarter, 1000, 700)});
	Scenario s = make_scenario("rtss17-fig8", streams);
	for (Benchmark &b : s.benchmarks)
		b.priority = b.kernels[0].name == "K8" ? HIGH : LOW;
	return s;
}

} // namespace

std::vector<Builtin> rtss17_builtins()
{
	return {
		{"rtss17-fig5", "K2 and K5 are in the NULL stream; K1, K3, K4 and K6 in three others",
		 "K2 waits for K1, K3 for K2, K5 for K4, and K6 for K5", make_fig5},
		{"rtss17-fig6", "K1 of a low priority runs; K2 and K3 of a high one come",
		 "K1's other blocks wait until all of K2 and K3 have started", make_fig6},
		{"rtss17-fig7", "K1, K2 and K4 of a low priority, K3 of a high one",
		 "K3 starts as K1's first blocks end, before K1's others", make_fig7},
		{"rtss17-fig8", "K8 of a high priority does not fit; K9 of a low one would",
		 "K9 does not start before K8", make_fig8},
	};
}

} // namespace tool::blocks
