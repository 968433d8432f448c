// SPDX-License-Identifier: GPL-2.0
// Jobs of channels: when they end, worked out by hand from the model's durations (emulator/README.md: list fetched 20 us
// after it is submitted, on GV100 2, switch request 2, save 40 by WFI, load 10, idle gap 1). Times count from the load of
// the scenario.
#include "common.hpp"

using namespace emu_test;

namespace {

constexpr uint64_t US = 1000, LOADED = 200 * US;

// TSG 1 with channel 2 and TSG 2 with channel 4 on runlist 0, both with a time slice of 1 048 576 ns.
json two_channels(const json &first, const json &second)
{
	auto tsg = [](int id, int channel, const json &jobs) {
		json c = {{"id", channel}};
		if (!jobs.is_null())
			c["jobs"] = jobs;
		return json{
			{"id", id}, {"runlist", 0}, {"timeslice", {{"timeout", 128}, {"scale", 3}}}, {"channels", {c}}};
	};
	return {{"processes", {{{"name", "p"}, {"tsgs", {tsg(1, 2, first), tsg(2, 4, second)}}}}}};
}

// When the jobs of a channel ended, in ns.
std::vector<uint64_t> list_ends(emu::EmulatedGpu &gpu, int channel, uint64_t start = 0)
{
	std::vector<uint64_t> ends;
	json answer = send_command(gpu, {{"cmd", "jobs"}});
	for (const auto &c : answer.at("channels"))
		if (c.at("id") == channel)
			for (const auto &job : c.at("finished"))
				ends.push_back(job.at("ended_ns").get<uint64_t>() - start);
	return ends;
}

uint64_t read_semaphore(emu::EmulatedGpu &gpu, int channel)
{
	json answer = send_command(gpu, {{"cmd", "jobs"}});
	for (const auto &c : answer.at("channels"))
		if (c.at("id") == channel)
			return send_command(gpu, {{"cmd", "peek"}, {"addr", c.at("semaphore")}}).at("words").at(0);
	return ~0ull;
}

const char *const CHIPS[] = {"gk110", "gp106", "gv100", "tu102", "ga100", "ad102", "gh100", "gb100"};

} // namespace

class Jobs : public testing::TestWithParam<const char *> {
protected:
	// When the first TSG is on the engine.
	uint64_t begin() const { return std::string(GetParam()) == "gv100" ? 12 * US : 30 * US; }
};

// A load of 10 us, then 500 us of work; the next one arrives 2 ms after the first.
TEST_P(Jobs, a_job_takes_its_length_on_the_engine_and_leaves_the_channel_idle)
{
	auto gpu = make_gpu(GetParam(),
			    two_channels({{"length_us", 500}, {"every_us", 2000}, {"first_us", 1000}}, json::object()));
	uint64_t start = gpu->now() - LOADED;
	EXPECT_EQ(send_command(*gpu, {{"cmd", "state"}}).at("channels").at(0).at("busy"), false);
	gpu->advance(1'400 * US - LOADED);
	EXPECT_EQ(send_command(*gpu, {{"cmd", "state"}}).at("channels").at(0).at("busy"), true);
	EXPECT_EQ(read_semaphore(*gpu, 2), 0u);
	gpu->advance(5'500 * US);
	EXPECT_EQ(list_ends(*gpu, 2, start), (std::vector<uint64_t>{1'510 * US, 3'510 * US, 5'510 * US}));
	EXPECT_EQ(read_semaphore(*gpu, 2), 3u);
	EXPECT_EQ(query_runtime(*gpu, "channels", 2).ns, 1'500 * US);
	EXPECT_EQ(send_command(*gpu, {{"cmd", "state"}}).at("channels").at(0).at("busy"), false);
}

// Beside endless work, a job of 1.5 ms needs two time slices, and the context switches before each.
TEST_P(Jobs, a_job_waits_for_the_other_time_slices)
{
	auto gpu = make_gpu(GetParam(), two_channels(nullptr, {{"length_us", 1500}, {"first_us", 500}}));
	uint64_t start = gpu->now() - LOADED;
	gpu->advance(6'000 * US);
	// TSG 2 a slice and 52 us of switching after TSG 1, and the rest of its work after another slice
	uint64_t slice = 1'048'576, switching = 52 * US;
	uint64_t first = begin() + slice + switching, second = first + slice + switching + slice + switching;
	EXPECT_EQ(list_ends(*gpu, 4, start), (std::vector<uint64_t>{second + (1'500 * US - slice)}));
}

TEST_P(Jobs, a_preempted_and_disabled_channel_keeps_what_is_left)
{
	auto gpu = make_gpu(GetParam(), two_channels({{"length_us", 400}}, json::object()));
	uint64_t start = gpu->now() - LOADED, ran = LOADED - begin();
	emu::Host &host = gpu->host();
	emu::Runlist &rl = *host.runlist(0);
	host.channel(rl, 2)->enabled = false;
	bool bare = rl.list.tsgs.at(0).bare;
	host.preempt_tsg(rl, rl.list.tsgs.at(0).id, bare);
	gpu->advance(10'000 * US);
	EXPECT_EQ(list_ends(*gpu, 2), std::vector<uint64_t>{});
	EXPECT_EQ(query_runtime(*gpu, "channels", 2).ns, ran);
	host.channel(rl, 2)->enabled = true;
	host.channel_changed();
	gpu->advance(1'000 * US);
	EXPECT_EQ(list_ends(*gpu, 2, start), (std::vector<uint64_t>{10'200 * US + 10 * US + (400 * US - ran)}));
}

INSTANTIATE_TEST_SUITE_P(Chips, Jobs, testing::ValuesIn(CHIPS));

TEST(JobCommands, jobs_arrive_by_request_and_end_in_order)
{
	auto gpu =
		make_gpu("gp106", two_channels(json::object(), {{"length_us", 10}, {"count", 2}, {"every_us", 100}}));
	send_command(*gpu, {{"cmd", "job"}, {"runlist", 0}, {"channel", 2}, {"length_us", 300}, {"count", 2}});
	uint64_t asked = gpu->now();
	gpu->advance(5'000 * US);
	EXPECT_EQ(list_ends(*gpu, 2, asked), (std::vector<uint64_t>{310 * US, 610 * US}));
	EXPECT_EQ(list_ends(*gpu, 4).size(), 2u);
	auto error = [&](const json &command) { return gpu->control(command).value("error", ""); };
	EXPECT_EQ(error({{"cmd", "job"}, {"runlist", 0}, {"channel", 3}, {"length_us", 1}}),
		  "channel 3 has no jobs in the scenario");
	EXPECT_EQ(error({{"cmd", "job"}, {"runlist", 0}, {"channel", 2}, {"length_us", 0}}),
		  "length_us must be 1 to 1000000000");
	EXPECT_EQ(error({{"cmd", "scenario"}, {"data", two_channels({{"length_us", 0}}, nullptr)}}),
		  "scenario: processes[0].tsgs[0].channels[0].jobs.length_us: a job takes a microsecond at least");
}

// A doorbell is no job, and a channel with jobs does not become endlessly busy by one.
TEST(JobCommands, a_doorbell_brings_no_job)
{
	auto gpu = make_gpu("ad102", two_channels(json::object(), json::object()));
	wr32(*gpu, 0xbb0090, 2);
	gpu->advance(1'000 * US);
	EXPECT_EQ(query_runtime(*gpu, "channels", 2).ns, 0u);
	EXPECT_EQ(send_command(*gpu, {{"cmd", "state"}}).at("channels").at(0).at("busy"), false);
}
