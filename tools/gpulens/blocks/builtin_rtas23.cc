// SPDX-License-Identifier: GPL-2.0
// The built-in scenarios of RTAS'23 (J. Bakita and J. Anderson, "Hardware Compute Partitioning on NVIDIA GPUs"), scaled to a
// GPU: shares of TPCs are kept, and numbers of blocks fill as many waves as in the figures. Sizes and times are those of the
// authors' configurations (cuda_scheduling_examiner, branch rtas23-ae: rtas23_*.json), except Fig. 14, whose job, YOLOv2, is
// replaced by a kernel that spins.
#include "gpulens/blocks/scenario.hpp"

#include "lib/base/errors.hpp"

#include <array>
#include <fmt/format.h>

namespace tool::blocks {

namespace {

// A GTX 1060 3 GB (Figs. 3, 11, 12), a Tesla P100 (Fig. 4), and a GTX 970 (Fig. 10).
const Machine GTX1060{.name = "", .sms = 9, .threads_per_sm = 2048, .blocks_per_sm = 32, .sms_per_tpc = 1, .grids = 32};
const Machine P100{.name = "", .sms = 56, .threads_per_sm = 2048, .blocks_per_sm = 32, .grids = 128};
const Machine GTX970{.name = "", .sms = 13, .threads_per_sm = 2048, .blocks_per_sm = 32, .sms_per_tpc = 1, .grids = 32};

// A GPU's TPCs, and the numbers that scale with them.
struct Tpcs {
	Tpcs(const char *scenario, const Machine &m, u32 least)
		: count(std::min(m.tpcs(), MAX_TPCS)), sms(m.sms_per_tpc), half(m.threads_per_sm / 2)
	{
		if (count < least)
			throw Error(Error::Input,
				    fmt::format("{}: {} TPCs are needed, but the GPU has {}", scenario, least, count));
	}

	// Returns TPCs first to end - 1.
	static TpcSet range(u32 first, u32 end)
	{
		TpcSet set;

		for (u32 tpc = first; tpc < end; tpc++)
			set.set(tpc);
		return set;
	}

	// Returns the number of TPCs that are to all as part is to the GTX 1060's nine.
	u32 share(u32 part) const { return (count * part + 8) / 9; }
	// Returns the number of blocks of half an SM that fill so many TPCs that often.
	u32 waves(u32 tpcs, u32 times) const { return 2 * times * tpcs * sms; }

	u32 count, sms; // sms: per TPC
	u32 half;       // threads: half an SM
};

Scenario mask_streams(Scenario s, const std::vector<TpcSet> &masks)
{
	for (size_t i = 0; i < masks.size(); i++)
		s.benchmarks[i].tpcs = masks[i];
	return s;
}

// K1 needs two waves on five of nine TPCs, K2 one on the other four.
Scenario make_fig3(const char *name, const Machine &m, bool split)
{
	Tpcs t(name, m, 2);
	u32 part = t.share(5);
	Scenario s = make_scenario(name, {{make_spin("K1", t.waves(part, 2), t.half, 250, 0)},
					  {make_spin("K2", t.waves(t.count - part, 1), t.half, 250, 10)}});

	return split ? mask_streams(s, {Tpcs::range(0, part), Tpcs::range(part, t.count)}) : s;
}

Scenario make_fig3_left(const Machine &m)
{
	return make_fig3("rtas23-fig3-left", m, false);
}

Scenario make_fig3_right(const Machine &m)
{
	return make_fig3("rtas23-fig3-right", m, true);
}

// Even and odd TPCs, two waves each.
Scenario make_fig4(const Machine &m)
{
	const char *name = "rtas23-fig4";
	Tpcs t(name, m, 2);
	TpcSet even, odd;

	for (u32 tpc = 0; tpc < t.count; tpc++)
		(tpc % 2 ? odd : even).set(tpc);
	u32 evens = static_cast<u32>(even.count()), odds = static_cast<u32>(odd.count());
	return mask_streams(make_scenario(name, {{make_spin("K1", t.waves(evens, 2), t.half, 250, 0)},
						 {make_spin("K2", t.waves(odds, 2), t.half, 250, 0)}}),
			    {even, odd});
}

// The kernels of Fig. 10, which spell HELLO RTAS. A kernel of so many blocks on TPCs of one SM has as many for each SM of a
// TPC here.
struct Letter {
	u32 blocks;
	u64 tpcs; // enabled
	u64 ms;
};
constexpr std::array STREAM_2 = {
	Letter{5, 0x3e, 500}, Letter{2, 0x28, 250}, Letter{3, 0x2c, 250},  Letter{5, 0x3e, 250}, Letter{4, 0x3a, 250},
	Letter{1, 0x1, 500},  Letter{2, 0x20, 500}, Letter{10, 0x3e, 500}, Letter{2, 0x20, 500}, Letter{1, 0x1, 500},
	Letter{5, 0x3e, 500}, Letter{2, 0x28, 500}, Letter{5, 0x3e, 500},  Letter{1, 0x1, 500},  Letter{4, 0x3a, 500},
	Letter{3, 0x2a, 500}, Letter{4, 0x2e, 500},
};
constexpr std::array STREAM_1 = {
	Letter{15, 0xfbe, 500}, Letter{4, 0x228, 250}, Letter{5, 0x22c, 250},  Letter{15, 0xfbe, 250},
	Letter{14, 0xfba, 250}, Letter{1, 0x1, 500},   Letter{10, 0xf80, 500}, Letter{6, 0xa80, 500},
	Letter{6, 0xa80, 500},  Letter{1, 0x1, 500},   Letter{15, 0xfbe, 500}, Letter{4, 0xa8, 500},
	Letter{7, 0xbe, 500},   Letter{1, 0x1, 500},   Letter{14, 0xfba, 500}, Letter{5, 0xaa, 500},
	Letter{6, 0xae, 500},   Letter{1, 0x1, 500},   Letter{10, 0xf80, 500}, Letter{4, 0x880, 500},
	Letter{10, 0xf80, 500},
};

template <size_t N> std::vector<Kernel> make_letters(const Tpcs &t, const std::array<Letter, N> &letters, u32 stream)
{
	std::vector<Kernel> kernels;

	for (const Letter &l : letters) {
		kernels.push_back(make_spin(fmt::format("S{}K{}", stream, kernels.size() + 1), l.blocks * t.sms, t.half,
					    l.ms, stream == 1 ? 1 : 0));
		kernels.back().tpcs = TpcSet(l.tpcs);
	}
	return kernels;
}

Scenario make_fig10(const Machine &m)
{
	const char *name = "rtas23-fig10";
	Tpcs t(name, m, 12);

	Scenario s = make_scenario(name, {make_letters(t, STREAM_2, 2), make_letters(t, STREAM_1, 1)});
	std::swap(s.benchmarks[0].label, s.benchmarks[1].label); // as the figure calls them
	return s;
}

// K1 may use all TPCs, K2 four of nine; together they fill the GPU.
Scenario make_fig11(const char *name, const Machine &m, bool k2_first)
{
	Tpcs t(name, m, 3);
	u32 part = t.share(4);

	return mask_streams(make_scenario(name, {{make_spin("K1", (t.count + part) * t.sms, t.half, 250, k2_first)},
						 {make_spin("K2", (t.count - part) * t.sms, t.half, 250, !k2_first)}}),
			    {Tpcs::range(0, t.count), Tpcs::range(0, part)});
}

Scenario make_fig11_left(const Machine &m)
{
	return make_fig11("rtas23-fig11-left", m, false);
}

Scenario make_fig11_right(const Machine &m)
{
	return make_fig11("rtas23-fig11-right", m, true);
}

// As many kernels of a high priority as there are task slots, and one of a lower priority in a partition of its own.
Scenario make_fig12(const Machine &m)
{
	const char *name = "rtas23-fig12";
	constexpr int HIGH = -5, LOW = -4;
	Tpcs t(name, m, 2);
	u32 part = t.share(4);
	std::vector<std::vector<Kernel>> streams;
	std::vector<TpcSet> masks;

	if (!m.grids)
		throw Error(Error::Input,
			    fmt::format("{}: how many kernels this GPU can have at once is unknown", name));
	for (u32 i = 1; i <= m.grids; i++) {
		streams.push_back({make_spin(fmt::format("K{}", i), 1, t.half / 2, 250, 150)});
		masks.push_back(Tpcs::range(0, part));
	}
	streams.push_back({make_spin(fmt::format("K{}", m.grids + 1), t.waves(t.count - part, 6), t.half, 75, 0)});
	masks.push_back(Tpcs::range(part, t.count));
	Scenario s = mask_streams(make_scenario(name, streams), masks);
	for (Benchmark &b : s.benchmarks)
		b.priority = HIGH;
	s.benchmarks.back().priority = LOW;
	return s;
}

// Two instances of a job that fills eight TPCs, on 1 to 7 and 7 to 1 of them.
Scenario make_fig14(const Machine &m)
{
	const char *name = "rtas23-fig14";
	constexpr u32 ALL = 8;
	constexpr u64 JOB_MS = 10, PERIOD_MS = 100;
	Tpcs t(name, m, ALL);
	std::vector<std::vector<Kernel>> streams(2);

	for (u32 size = 1; size < ALL; size++) {
		streams[0].push_back(
			make_spin(fmt::format("A{}", size), t.waves(ALL, 1), t.half, JOB_MS, PERIOD_MS * (size - 1)));
		streams[0].back().tpcs = Tpcs::range(0, size);
		streams[1].push_back(make_spin(fmt::format("B{}", ALL - size), t.waves(ALL, 1), t.half, JOB_MS,
					       PERIOD_MS * (size - 1)));
		streams[1].back().tpcs = Tpcs::range(size, ALL);
	}
	return make_scenario(name, streams);
}

// Two processes with two iterations of a kernel each, which would fit together.
Scenario make_turns(const Machine &m)
{
	Scenario s = make_scenario("turns", {{make_spin("K1", m.sms, m.threads_per_sm / 4, 20, 0)},
					     {make_spin("K2", m.sms, m.threads_per_sm / 4, 20, 5)}});

	s.processes = true;
	for (Benchmark &b : s.benchmarks)
		b.iterations = 2;
	return s;
}

} // namespace

std::vector<Builtin> rtas23_builtins()
{
	return {
		{"rtas23-fig3-left", "K1 needs more than all SMs, K2 comes later", "K2 waits for K1's first blocks",
		 make_fig3_left, GTX1060},
		{"rtas23-fig3-right", "the same with masks of five ninths and four ninths of the TPCs",
		 "K2 starts at once; each kernel stays on its TPCs", make_fig3_right, GTX1060},
		{"rtas23-fig4", "masks of even and odd TPCs", "each kernel on every second TPC, not SM", make_fig4,
		 P100},
		{"rtas23-fig10", "38 kernels with 19 masks in two streams",
		 "each on its TPCs, in the order of its stream", make_fig10, GTX970},
		{"rtas23-fig11-left", "K2's TPCs are some of K1's, and K1 comes first",
		 "K1 fills K2's TPCs, and K2 waits for it", make_fig11_left, GTX1060},
		{"rtas23-fig11-right", "the same with K2 first", "they run together", make_fig11_right, GTX1060},
		{"rtas23-fig12", "kernels of high priority in all task slots; the last one has TPCs of its own",
		 "the last kernel starts no blocks until a slot is free", make_fig12, GTX1060, 32},
		{"rtas23-fig14", "two instances of a job on 1 to 7 and 7 to 1 of eight TPCs",
		 "more TPCs take less time, in steps", make_fig14, P100},
		{"turns", "two processes, two kernels each, one after another",
		 "the processes take turns (RTAS'24, R4)", make_turns},
	};
}

} // namespace tool::blocks
