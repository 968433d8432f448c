// SPDX-License-Identifier: GPL-2.0
// The sampler's reader with threads that query it, for ThreadSanitizer; or, with MEMORY defined, without memory.
// Usage: clock_program PROC, with PROC/gpu0/samples as tests/cli/test_export.py makes it, 4 ms of which are TSG 3's.
// Prints "done" and the time of TSG 3 at the end, in ms.
#include "gpulens/export/engine_clock.hpp"
#include "lib/source/module/module_source.hpp"
#include "uapi/gpulens.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <thread>
#include <vector>

namespace {

using std::chrono::milliseconds;

} // namespace

#ifdef MEMORY
static std::atomic<bool> no_memory{false};
static thread_local bool is_main = false;

void *operator new(size_t bytes)
{
	void *at = !is_main && no_memory.load() ? nullptr : std::malloc(bytes);

	if (!at)
		throw std::bad_alloc();
	return at;
}

void operator delete(void *at) noexcept
{
	std::free(at);
}

void operator delete(void *at, size_t) noexcept
{
	std::free(at);
}
#endif

namespace {

std::string sample_of(u64 time_ns, u8 kind, u16 tsg)
{
	gpulens_sample s{};

	s.time_ns = time_ns;
	s.kind = kind;
	s.flags = tsg == 0xffff ? 0 : GPULENS_SAMPLE_BUSY;
	s.at.id = tsg;
	s.at.channel = 0xffff;
	return std::string(reinterpret_cast<const char *>(&s), sizeof(s));
}

double tsg_3_ms(const tool::EngineClock &clock)
{
	tool::Metrics all;
	constexpr char NAME[] = R"(gpulens_tsg_engine_seconds_total{gpu="0",engine="GR0",runlist="0",tsg="3"} )";

	clock.add_to(all, "0");
	std::string text = all.text();
	size_t at = text.find(NAME);
	return at == text.npos ? 0 : 1000 * std::atof(text.c_str() + at + sizeof(NAME) - 1);
}

template <typename F> bool within_a_minute(F f)
{
	for (int i = 0; i < 6000 && !f(); i++)
		std::this_thread::sleep_for(milliseconds(10));
	return f();
}

#ifdef MEMORY
// Reading further needs memory, and so does beginning again a second later.
int run_out_of_memory(const std::string &samples, const tool::EngineClock &clock)
{
	no_memory = true;
	std::ofstream(samples, std::ios::app) << sample_of(9000000, GPULENS_SAMPLE_ON, 3);
	bool failed = within_a_minute([&] { return !clock.up(); });
	no_memory = false;
	bool again = within_a_minute([&] { return clock.up(); });
	std::printf("%s\n", failed && again ? "done" : failed ? "did not begin again" : "did not fail");
	return 0;
}
#else
int take_turns(const std::string &samples, const tool::EngineClock &clock)
{
	constexpr int TURNS = 200; // of 1 ms each, sampled every ms
	std::atomic<bool> over{false}, wrong{false};
	std::vector<std::thread> readers;

	readers.reserve(3);
	for (int i = 0; i < 3; i++)
		readers.emplace_back([&] {
			while (!over)
				if (!clock.up() || tsg_3_ms(clock) < 4)
					wrong = true;
		});
	std::ofstream to(samples, std::ios::app);
	for (u64 turn = 0; turn < TURNS; turn++) {
		to << sample_of((9 + turn) * 1000000, GPULENS_SAMPLE_ON, 3) << std::flush;
		std::this_thread::sleep_for(milliseconds(1));
	}
	to << sample_of((9 + TURNS) * 1000000ULL, GPULENS_SAMPLE_IDLE, 0xffff) << std::flush;
	bool all = within_a_minute([&] { return tsg_3_ms(clock) == 4 + TURNS; });
	over = true;
	for (std::thread &reader : readers)
		reader.join();
	std::printf("%s %.0f\n", all && !wrong ? "done" : "wrong", tsg_3_ms(clock));
	return 0;
}
#endif

} // namespace

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
#ifdef MEMORY
	is_main = true;
#endif
	std::string samples = std::string(argv[1]) + "/gpu0/samples";
	tool::EngineClock clock(std::make_shared<tool::ModuleSource>(argv[1]), 0, {.period_us = 1000});

	if (!within_a_minute([&] { return clock.up() && tsg_3_ms(clock) == 4; }))
		return 3;
#ifdef MEMORY
	return run_out_of_memory(samples, clock);
#else
	return take_turns(samples, clock);
#endif
}
