// SPDX-License-Identifier: GPL-2.0
// Which calls were in progress together, from records of calls that are made here. Times in ms.
#include "gpulens/cmd/pitfalls.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

using namespace tool;
using gpulens::Call;
using gpulens::CallEvent;
using gpulens::CallLog;

namespace {

constexpr u64 MS = 1000000;

class Pitfalls : public testing::Test {
protected:
	Pitfalls()
	{
		std::strcpy(folder_.data(), (testing::TempDir() + "pitfalls-XXXXXX").c_str());
		EXPECT_TRUE(mkdtemp(folder_.data()));
		log_->magic = CallLog::MAGIC;
		log_->pid = 7;
		log_->calls = gpulens::CALL_COUNT;
		std::strcpy(log_->command, "made");
	}
	~Pitfalls() override { std::filesystem::remove_all(folder_.data()); }

	// A call from a site of its own.
	CallEvent &add(u32 thread, Call call, u64 begin_ms, u64 end_ms)
	{
		gpulens::CallSite &site = log_->site[log_->sites++];
		CallEvent &event = log_->event[log_->events++];

		site.call = event.call = static_cast<u32>(call);
		site.ready = 1;
		site.frames = 1;
		site.addresses[0] = 0x1000 * log_->sites;
		site.modules[0] = log_->modules = 1;
		site.calls = 1;
		std::strcpy(log_->module[0].path, "/nowhere/program");
		event.begin = begin_ms * MS;
		event.end = end_ms * MS;
		event.thread = thread;
		event.site = log_->sites;
		return event;
	}
	ProcessPitfalls find(u64 now_ms = 100)
	{
		std::ofstream(std::string(folder_.data()) + "/calls-7-0", std::ios::binary)
			.write(reinterpret_cast<const char *>(log_.get()), sizeof(CallLog));
		std::vector<ProcessPitfalls> found = read_pitfalls(folder_.data(), now_ms * MS);
		EXPECT_EQ(found.size(), 1U);
		return found.at(0);
	}

	std::vector<char> folder_ = std::vector<char>(4096);
	std::unique_ptr<CallLog> log_ = std::make_unique<CallLog>();
};

const PitfallRow &row_of(const ProcessPitfalls &process, Call call)
{
	for (const PitfallRow &row : process.rows)
		if (row.call == call)
			return row;
	throw std::runtime_error("no row of that call");
}

// Two calls may be meant: neither is alone, and only the free ended when the launch did.
TEST_F(Pitfalls, TwoCallsMayBeMeant)
{
	add(1, Call::cuMemFree_v2, 10, 20);
	add(2, Call::cuCtxSynchronize, 12, 22);
	add(3, Call::cuLaunchKernel, 14, 20);
	ProcessPitfalls process = find();
	const PitfallRow::Waits &free = row_of(process, Call::cuMemFree_v2).waits;
	const PitfallRow::Waits &wait = row_of(process, Call::cuCtxSynchronize).waits;

	EXPECT_EQ(free.count, 1U);
	EXPECT_EQ(free.ns, 6 * MS);
	EXPECT_EQ(free.ended_together, 1U);
	EXPECT_EQ(free.alone, 0U);
	EXPECT_EQ(wait.ns, 6 * MS);
	EXPECT_EQ(wait.ended_together, 0U);
	EXPECT_EQ(wait.alone, 0U);
	EXPECT_EQ(free.threads, std::set<u32>{3});
	ASSERT_EQ(free.waiters.size(), 1U);
	EXPECT_EQ(free.waiters[0].place.offset, 0x3000U);
	EXPECT_EQ(row_of(process, Call::cuLaunchKernel).waits.count, 0U);
}

// A launch that loads code may hold up one that begins later, and not the other way round.
TEST_F(Pitfalls, ALaunchIsMeantWhereNothingElseIs)
{
	add(1, Call::cuLaunchKernel, 10, 30);
	add(2, Call::cuEventRecord, 15, 30);
	ProcessPitfalls process = find();

	EXPECT_EQ(row_of(process, Call::cuLaunchKernel).waits.count, 1U);
	EXPECT_EQ(row_of(process, Call::cuLaunchKernel).waits.alone, 1U);
	EXPECT_EQ(row_of(process, Call::cuEventRecord).waits.count, 0U);
}

// Two threads free at once: the time of the launch counts once for the row.
TEST_F(Pitfalls, ARowCountsAWaitOnce)
{
	add(1, Call::cuMemFree_v2, 10, 20);
	add(2, Call::cuMemFree_v2, 10, 18).site = 1;
	log_->sites = 1;
	log_->event[1].site = 1;
	add(3, Call::cuLaunchKernel, 12, 20);
	ProcessPitfalls process = find();

	EXPECT_EQ(row_of(process, Call::cuMemFree_v2).waits.count, 1U);
	EXPECT_EQ(row_of(process, Call::cuMemFree_v2).waits.ns, 8 * MS);
}

// Calls of the same thread, calls that follow one another, waits for a thread's own work and copies do not count.
TEST_F(Pitfalls, WhatDoesNotOverlapDoesNotWait)
{
	add(1, Call::cuMemFree_v2, 10, 20);
	add(2, Call::cuLaunchKernel, 20, 25);
	add(2, Call::cuStreamSynchronize, 12, 19);
	add(3, Call::cuMemcpyDtoH_v2, 12, 19);
	add(3, Call::cuMemcpyHtoDAsync_v2, 12, 19); // may wait for itself
	ProcessPitfalls process = find();

	EXPECT_EQ(process.long_calls, 5U);
	for (const PitfallRow &row : process.rows)
		EXPECT_EQ(row.waits.count, 0U);
}

// A call that is made within another one of its thread is no waiter of it.
TEST_F(Pitfalls, AThreadDoesNotWaitForItself)
{
	add(1, Call::cuMemFree_v2, 10, 20);
	add(1, Call::cuEventRecord, 12, 15);
	ProcessPitfalls process = find();

	EXPECT_EQ(process.long_calls, 2U);
	for (const PitfallRow &row : process.rows)
		EXPECT_EQ(row.waits.count, 0U);
}

// A call that has not returned lasts until now.
TEST_F(Pitfalls, ACallMayNotHaveReturned)
{
	gpulens::CallThread &thread = log_->thread[4];

	thread.thread = 9;
	thread.call = static_cast<u32>(Call::cuMemFree_v2);
	thread.begin = 30 * MS;
	thread.from = 0x1000;
	add(2, Call::cuLaunchKernel, 40, 90);
	ProcessPitfalls process = find(100);
	const PitfallRow &free = row_of(process, Call::cuMemFree_v2);

	EXPECT_EQ(free.in_progress, 1U);
	EXPECT_EQ(free.longest_ns, 70 * MS);
	EXPECT_EQ(free.waits.ns, 50 * MS);
	EXPECT_EQ(free.waits.ended_together, 0U);
}

// A program can write anything into its record.
TEST_F(Pitfalls, NonsenseIsPassedOver)
{
	add(1, Call::cuMemFree_v2, 20, 10);
	add(1, Call::cuMemFree_v2, 10, 20).site = 4000000000;
	add(1, Call::cuMemFree_v2, 10, 20).call = 4000000000;
	add(2, Call::cuLaunchKernel, 12, 20);
	log_->site[0].call = 4000000000;
	log_->site[1].frames = 4000000000;
	log_->site[2].modules[0] = 4000000000;
	log_->site[3].addresses[0] = 0;
	std::memset(log_->module[0].path, 'x', sizeof(log_->module[0].path));
	std::memset(log_->command, '\033', sizeof(log_->command));
	log_->modules = log_->sites = log_->threads = 4000000000;
	log_->thread[3].begin = 1;
	log_->thread[3].call = 4000000000;
	log_->events = 300000;
	ProcessPitfalls process = find();

	EXPECT_EQ(process.command, std::string(16, '?'));
	EXPECT_EQ(process.unrecorded, 300000U - 262144U);
	EXPECT_EQ(process.long_calls, 2U);
	EXPECT_EQ(process.threads, 256U);
	EXPECT_FALSE(pitfalls_text({process}).empty());
	EXPECT_FALSE(pitfalls_json({"x"}, {process}).dump().empty());
}

} // namespace
