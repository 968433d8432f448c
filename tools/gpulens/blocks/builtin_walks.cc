// SPDX-License-Identifier: GPL-2.0
// The memory walks of Otterness, section 3.5.3.3: 64 threads in two blocks read 256,000 words each, in 256 MB of memory. The
// number of repetitions is not in the text; it is chosen here.
#include "gpulens/blocks/scenario.hpp"

namespace tool::blocks {

namespace {

constexpr u32 BLOCKS = 2, THREADS = 32, READS = 256000, ITERATIONS = 100;
constexpr u64 BYTES = u64{256} << 20;

template <Kind kind, Memory memory> Scenario make_walk(const Machine &)
{
	Kernel k = make_spin("K1", BLOCKS, THREADS, 0, 0);
	Scenario s = make_scenario("walk", {{k}});

	k.kind = kind;
	k.memory = memory;
	k.work = BYTES;
	k.repeat = READS;
	Benchmark &b = s.benchmarks[0];
	b.kernels = {k};
	b.program = kind == Kind::RandomWalk ? "random_walk" : "inorder_walk";
	b.iterations = ITERATIONS;
	s.name = kind == Kind::RandomWalk ? "table3.1" : "table3.2";
	s.name += memory == Memory::Device ? "-traditional" : memory == Memory::ZeroCopy ? "-zero-copy" : "-unified";
	b.label = s.name;
	b.log_name = s.name + ".json";
	return s;
}

} // namespace

std::vector<Builtin> walk_builtins()
{
	constexpr const char *RANDOM = "64 threads read 256,000 words each in random order";
	constexpr const char *IN_ORDER = "64 threads read 256,000 words each in order";

	return {
		{"table3.1-traditional", RANDOM, "block times on a TX1: 671.0 to 684.7 ms",
		 make_walk<Kind::RandomWalk, Memory::Device>},
		{"table3.1-zero-copy", RANDOM, "671.9 to 684.7 ms", make_walk<Kind::RandomWalk, Memory::ZeroCopy>},
		{"table3.1-unified", RANDOM, "671.9 to 690.6 ms", make_walk<Kind::RandomWalk, Memory::Managed>},
		{"table3.2-traditional", IN_ORDER, "block times on a TX1: 3.1 to 3.2 ms",
		 make_walk<Kind::InOrderWalk, Memory::Device>},
		{"table3.2-zero-copy", IN_ORDER, "3.1 to 3.2 ms", make_walk<Kind::InOrderWalk, Memory::ZeroCopy>},
		{"table3.2-unified", IN_ORDER, "3.1 to 3.2 ms", make_walk<Kind::InOrderWalk, Memory::Managed>},
	};
}

} // namespace tool::blocks
