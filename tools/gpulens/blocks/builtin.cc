// SPDX-License-Identifier: GPL-2.0
// The built-in scenarios, scaled to a GPU. Otterness used a Jetson TX2 with 2 SMs of 2048 threads. Block sizes are
// fractions of an SM (512 threads are a quarter, 1024 are half), and numbers of blocks are multiples of the number of
// SMs, so that kernels that fill the TX2 fill any GPU. The thesis does not give the times of 3.11 to 3.16, the size of
// K2 in 3.12 and the sizes in 3.13 and 3.14; they are chosen here.
#include "gpulens/blocks/scenario.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"
#include "lib/base/nearest_word.hpp"

#include <filesystem>
#include <fmt/format.h>

namespace tool::blocks {

namespace {

constexpr u64 NS_PER_MS = 1000000;

struct Sizes {
	explicit Sizes(const Machine &m)
		: sms(m.sms), half(m.threads_per_sm / 2), quarter(m.threads_per_sm / 4), eighth(m.threads_per_sm / 8)
	{
	}
	u32 sms, half, quarter, eighth; // threads
};

} // namespace

Kernel make_spin(const std::string &name, u32 blocks, u32 threads, u64 ms, u64 release_ms)
{
	Kernel k;

	k.name = name;
	k.blocks = blocks;
	k.threads = threads;
	k.work = ms * NS_PER_MS;
	k.release_ns = release_ms * NS_PER_MS;
	return k;
}

Scenario make_scenario(const char *name, const std::vector<std::vector<Kernel>> &kernels_of_streams)
{
	Scenario s;

	s.name = name;
	for (const std::vector<Kernel> &kernels : kernels_of_streams) {
		size_t number = s.benchmarks.size() + 1;
		s.benchmarks.push_back({.program = "multikernel",
					.label = fmt::format("Stream {}", number),
					.log_name = fmt::format("{}-{}.json", name, number),
					.kernels = kernels});
	}
	return s;
}

namespace {

Scenario fig3_9(const Machine &m)
{
	Sizes z(m);

	return make_scenario("fig3.9", {{make_spin("K1", 4 * z.sms - 1, z.quarter, 1000, 0)},
					{make_spin("K2", 2, z.half, 500, 250)},
					{make_spin("K3", 1, z.eighth, 500, 500)}});
}

Scenario fig3_11(const Machine &m)
{
	Sizes z(m);

	return make_scenario("fig3.11", {{make_spin("K1", z.sms, z.half, 1000, 0)},
					 {make_spin("K2", z.sms, z.half, 1000, 0)},
					 {make_spin("K3", z.sms, z.half, 1000, 250)},
					 {make_spin("K4", z.sms, z.half, 1000, 250)}});
}

Scenario fig3_12(const Machine &m)
{
	Sizes z(m);

	return make_scenario("fig3.12", {{make_spin("K1", 9 * z.sms, z.quarter, 500, 0)},
					 {make_spin("K2", z.sms, z.quarter, 500, 250)}});
}

Scenario fig3_13(const Machine &m)
{
	Sizes z(m);

	return make_scenario("fig3.13",
			     {{make_spin("K1", 4 * z.sms - 1, z.quarter, 1000, 0)},
			      {make_spin("K2", z.sms, z.half, 500, 250), make_spin("K3", 1, z.eighth, 250, 250)}});
}

Scenario fig3_14(const Machine &m)
{
	Sizes z(m);

	return make_scenario("fig3.14", {{make_spin("K1", 4 * z.sms, z.quarter, 500, 0),
					  make_spin("K2", 4 * z.sms, z.quarter, 500, 0)},
					 {make_spin("K3", 4 * z.sms, z.quarter, 500, 250)}});
}

Scenario fig3_15(const Machine &m)
{
	Sizes z(m);

	return make_scenario(
		"fig3.15", {{make_spin("K1", 3 * z.sms, z.quarter, 1000, 0)}, {make_spin("K2", 1, z.half, 1000, 250)}});
}

Scenario fig3_16(const Machine &m)
{
	Sizes z(m);

	return make_scenario(
		"fig3.16", {{make_spin("K1", 3 * z.sms, z.quarter, 1000, 250)}, {make_spin("K2", 1, z.half, 1000, 0)}});
}

// Nine streams with four small kernels each, released 30 ms after the previous stream. The GPU has room for all nine at
// once.
Scenario make_r2(const Machine &m)
{
	std::vector<std::vector<Kernel>> streams(9);

	for (u32 i = 0; i < streams.size(); i++)
		for (u32 j = 0; j < 4; j++)
			streams[i].push_back(
				make_spin(fmt::format("K{}", 4 * i + j + 1), 1, Sizes(m).eighth, 200, u64{30} * i));
	return make_scenario("r2", streams);
}

} // namespace

const std::vector<Builtin> &builtins()
{
	static const std::vector<Builtin> all = [] {
		std::vector<Builtin> list = {
			{"fig3.9", "K1 leaves a quarter of an SM; K2 does not fit there, K3 would",
			 "K3 does not start before K2", fig3_9},
			{"fig3.11", "four kernels of half the GPU each",
			 "K1 runs with K2; K3 and K4 as one of them ends", fig3_11},
			{"fig3.12", "K1 is more than twice the GPU, K2 smaller",
			 "K2 starts when the last blocks of K1 have started", fig3_12},
			{"fig3.13", "K2 does not fit beside K1; tiny K3 is behind K2 in its stream",
			 "K3 waits for K2, and so for K1", fig3_13},
			{"fig3.14", "K2 is behind K1 in its stream, K3 comes later in another", "K3 runs before K2",
			 fig3_14},
			{"fig3.15", "K1 leaves a quarter of each SM; K2's block is half of one", "K2 waits for K1",
			 fig3_15},
			{"fig3.16", "the same with K2 first", "they run together", fig3_16},
			{"r2", "nine streams of four kernels each, as in RTAS'24, Fig. 5",
			 "with 8 channels stream 9 waits for another to be dispatched; with 9 it does not", make_r2},
		};
		for (const std::vector<Builtin> &more : {rtss17_builtins(), walk_builtins(), rtas23_builtins()})
			list.insert(list.end(), more.begin(), more.end());
		return list;
	}();
	return all;
}

Scenario load_scenario(const std::string &name, const Machine &machine)
{
	for (const Builtin &builtin : builtins())
		if (name == builtin.name)
			return builtin.make(machine);
	std::error_code error;
	if (name != "-" && !std::filesystem::exists(name, error)) {
		std::vector<std::string> names;
		for (const Builtin &builtin : builtins())
			names.emplace_back(builtin.name);
		throw Error(
			Error::Source,
			fmt::format(
				"{}: there is no such file and no such scenario{}; gpulens-lab probe-kernels --list "
				"lists the scenarios",
				name, suggestion_of(name, names)));
	}
	return parse_scenario(read_json_file(name), name_of_file(name));
}

} // namespace tool::blocks
