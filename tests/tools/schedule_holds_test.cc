// SPDX-License-Identifier: GPL-2.0
// Holds under random deaths: the coordinator's and the watchdog's own code runs against a GPU of eight channels and a clock.
// At any step a process is killed, stopped for a while or stopped for good, and requests are refused. Whatever happens,
// every channel is enabled again in time. What becomes of holds when both are killed is the module's: tests/vm/test_hold.py and
// test_schedule_live.py. GPULENS_DEATHS is the number of sequences, by default 100,000 in each test.
#include "lib/schedule/holds.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <gtest/gtest.h>
#include <memory>
#include <random>

namespace {

using namespace tool::schedule;

constexpr u64 MS = 1000000, LEASE = 50 * MS, LOOKS = 10 * MS; // the watchdog looks that often
constexpr size_t CHANNELS = 8;

struct Death {};

int count_sequences()
{
	const char *text = std::getenv("GPULENS_DEATHS");

	return text ? std::atoi(text) : 100000;
}

enum class Fate { None, Killed, Stopped, WatchKilled };

class Machine {
public:
	explicit Machine(u64 seed) : random_(seed), table_(std::make_unique<HoldTable>()), port_(*this) { restart(); }

	u64 number(u64 least, u64 greatest) { return least + random_() % (greatest - least + 1); }

	// One sequence: some requests of the coordinator, and what befalls it. Returns what was found wrong; empty: nothing.
	std::string run_sequence()
	{
		restart();
		fate_ = static_cast<Fate>(number(0, 3));
		left_ = number(1, 90);
		HoldWriter writer(*table_, port_, LEASE);
		try {
			writer.extend_lease();
			for (u64 i = number(2, 14); i--;)
				request_something(writer);
		} catch (const Death &) {
		}
		return finish_sequence(writer);
	}

	u64 holds = 0, deaths = 0, stops = 0, expired = 0;

private:
	struct Port : HoldPort {
		explicit Port(Machine &m) : machine(m) {}
		int disable_channel(u64 channel) override { return machine.set_channel(channel, false); }
		int enable_channel(u64 channel) override { return machine.set_channel(channel, true); }
		u64 now() override { return machine.now_; }
		void pass_step() override { machine.pass_step(); }
		Machine &machine;
	};

	void restart()
	{
		table_->entries = 0;
		table_->lease_end = 0;
		off_since_.fill(0);
		now_ = 1000 * MS;
		alive_ = watched_ = true;
		watching_ = false;
		wrong_.clear();
	}

	int set_channel(u64 channel, bool on)
	{
		size_t i = channel & 0xff;

		pass_step();
		if (refuse_ && number(0, 9) == 0)
			return number(0, 1) ? EBUSY : EIO;
		if (on)
			off_since_[i] = 0;
		else if (!off_since_[i])
			off_since_[i] = now_;
		holds += !on;
		pass_step();
		return 0;
	}

	// Time passes, and the watchdog looks.
	void advance(u64 ns)
	{
		for (u64 end = now_ + ns; now_ < end;) {
			now_ = std::min(end, now_ + LOOKS);
			if (!watched_)
				continue;
			watching_ = true;
			HoldWatch watch(*table_, port_);
			watch.enforce(alive_);
			expired += watch.expired();
			watching_ = false;
			for (u64 since : off_since_)
				if (since && !refuse_ && now_ - since > MAX_HOLD_NS + LOOKS)
					wrong_ = "a hold lasted for more than a second";
		}
	}

	// Between two steps of the coordinator: what befalls it.
	void pass_step()
	{
		if (watching_ || fate_ == Fate::None || !alive_ || --left_)
			return;
		switch (fate_) {
		case Fate::Stopped: // SIGSTOP, and SIGCONT later; then it goes on where it was
			stops++;
			left_ = number(1, 60);
			advance(number(1, 400) * 5 * MS);
			return;
		case Fate::WatchKilled: watched_ = false; return;
		default:
			deaths++;
			alive_ = false;
			throw Death();
		}
	}

	void request_something(HoldWriter &writer)
	{
		u64 channel = number(0, CHANNELS - 1) | (number(0, 1) << 32);

		channel = (channel & 0xff) | 1ull << 32; // one runlist: a number is one channel
		switch (number(0, 7)) {
		case 0: writer.release(channel); break;
		case 1: writer.release_all(); break;
		case 2: advance(number(1, 30) * MS); break;
		case 3: writer.extend_lease(); break;
		case 4: refuse_ = number(0, 3) == 0; break;
		default: writer.hold(channel); break;
		}
		// A channel that is off is in the table, unless this very sequence was told that enabling failed and is still in it.
		for (size_t i = 0; i < CHANNELS; i++)
			if (off_since_[i] && !writer.holds(i | 1ull << 32))
				wrong_ = "a channel is off and not in the table";
		if (!watched_) { // the coordinator sees that its watchdog ended, and gives up
			refuse_ = false;
			writer.release_all();
			throw Death();
		}
	}

	std::string finish_sequence(HoldWriter &writer)
	{
		refuse_ = false;
		if (alive_ && watched_) { // stopped for good, or it does nothing any more
			advance(60 * MS + LEASE);
		} else if (!alive_ && watched_) {
			advance(60 * MS);
		}
		(void)writer;
		if (!wrong_.empty())
			return wrong_;
		for (u64 since : off_since_)
			if (since)
				return "a channel stays off";
		return "";
	}

	std::mt19937_64 random_;
	std::unique_ptr<HoldTable> table_;
	Port port_;
	std::array<u64, CHANNELS> off_since_{};
	u64 now_ = 0, left_ = 0;
	bool alive_ = true, watched_ = true, watching_ = false, refuse_ = false;
	Fate fate_ = Fate::None;
	std::string wrong_;
};

TEST(ScheduleHolds, EveryChannelIsEnabledAgainWhoeverDies)
{
	Machine machine(1);
	int n = count_sequences();

	for (int i = 0; i < n; i++) {
		std::string wrong = machine.run_sequence();
		ASSERT_EQ(wrong, "") << "sequence " << i;
	}
	EXPECT_GT(machine.holds, u64(n));
	EXPECT_GT(machine.deaths, u64(n) / 20);
	EXPECT_GT(machine.stops, u64(n) / 20);
	EXPECT_GT(machine.expired, u64(n) / 10);
}

/* -- what one process does, by hand -- */

struct OnePort : HoldPort {
	int disable_channel(u64 channel) override
	{
		log += "-" + std::to_string(channel & 0xffff);
		return error;
	}
	int enable_channel(u64 channel) override
	{
		log += "+" + std::to_string(channel & 0xffff);
		return 0;
	}
	u64 now() override { return time; }
	std::string log;
	u64 time = 1000 * MS;
	int error = 0;
};

TEST(ScheduleHolds, AHoldIsReleasedByTheWatchdogAfterTheLeaseOrAfterASecond)
{
	auto table = std::make_unique<HoldTable>();
	OnePort port;
	HoldWriter writer(*table, port, LEASE);
	HoldWatch watch(*table, port);

	EXPECT_TRUE(writer.extend_lease());
	EXPECT_EQ(writer.hold(8), 0);
	port.time += 50 * MS;
	EXPECT_EQ(watch.enforce(true), 0u);
	EXPECT_EQ(port.log, "-8");
	port.time += 1;
	watch.enforce(true);
	watch.enforce(true); // the coordinator may disable it late, so that it is enabled each time
	EXPECT_EQ(port.log, "-8+8+8");
	EXPECT_EQ(writer.hold(9), ETIME);
	EXPECT_FALSE(writer.extend_lease()); // it was over
	EXPECT_EQ(port.log, "-8+8+8+8");

	EXPECT_EQ(writer.hold(8), 0);
	for (int i = 0; i < 99; i++) {
		port.time += 10 * MS;
		EXPECT_TRUE(writer.extend_lease());
		watch.enforce(true);
	}
	EXPECT_EQ(port.log, "-8+8+8+8-8");
	port.time += 10 * MS; // a second
	watch.enforce(true);
	EXPECT_EQ(port.log, "-8+8+8+8-8+8");
}

TEST(ScheduleHolds, ARefusedHoldIsUndone)
{
	auto table = std::make_unique<HoldTable>();
	OnePort port;
	HoldWriter writer(*table, port, LEASE);

	writer.extend_lease();
	port.error = EBUSY;
	EXPECT_EQ(writer.hold(3), EBUSY);
	EXPECT_EQ(port.log, "-3+3");
	EXPECT_FALSE(writer.holds(3));
	port.error = 0;
	writer.hold(4);
	writer.hold(5);
	writer.release(4);
	EXPECT_EQ(writer.release_all(), 0);
	EXPECT_EQ(port.log, "-3+3-4-5+4+5");
	for (u64 i = 0; i < MAX_HOLDS + 2; i++)
		writer.hold(100 + i);
	EXPECT_EQ(writer.hold(1), ENOSPC);
}

// Somebody else has disabled it, and is to enable it.
TEST(ScheduleHolds, ADisabledChannelIsNeitherHeldNorEnabled)
{
	auto table = std::make_unique<HoldTable>();
	OnePort port;
	HoldWriter writer(*table, port, LEASE);
	HoldWatch watch(*table, port);

	writer.extend_lease();
	port.error = EALREADY;
	EXPECT_EQ(writer.hold(3), EALREADY);
	EXPECT_FALSE(writer.holds(3));
	EXPECT_EQ(writer.release(3), 0);
	EXPECT_EQ(writer.release_all(), 0);
	EXPECT_EQ(watch.enforce(false), 0u);
	EXPECT_EQ(port.log, "-3");
}

} // namespace
