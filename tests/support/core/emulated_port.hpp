// SPDX-License-Identifier: GPL-2.0
// An emulated GPU as a back end of policies has it: the core writes the registers, jobs are the emulator's, and time is the GPU's.
#pragma once
#include "lib/base/errors.hpp"
#include "lib/schedule/live/channel_backend.hpp"
#include "lib/schedule/simulation.hpp"
#include "model/host.hpp"
#include "parse.h"
#include "support/core/emulated.hpp"

#include <gtest/gtest.h>
#include <map>

namespace test {

using namespace tool::schedule;
using nlohmann::json;

constexpr u64 US = 1000, MS = 1000000;

struct Program {
	u64 tsg;
	json jobs; // null: endless
	u64 slice_us = 1048;
};

// TSG n has channel 10 + n, on runlist 0.
inline json make_scenario(const std::vector<Program> &programs)
{
	json processes = json::array();

	for (const Program &p : programs) {
		json channel = {{"id", 10 + p.tsg}};
		if (!p.jobs.is_null())
			channel["jobs"] = p.jobs;
		json tsg = {{"id", p.tsg},
			    {"runlist", 0},
			    {"timeslice", {{"us", p.slice_us}}},
			    {"compute_preemption", "cilp"},
			    {"channels", {channel}}};
		processes.push_back({{"name", "p" + std::to_string(p.tsg)}, {"tsgs", {tsg}}});
	}
	return {{"processes", processes}};
}

// The GPU through the core. Reading takes LOOK_NS, as if the module read it.
class EmulatedPort : public GpuPort {
public:
	static constexpr u64 LOOK_NS = 50 * US;

	EmulatedPort(const std::string &chip, const std::vector<Program> &programs) : gpu_(chip)
	{
		gpu_.emu->load_scenario(make_scenario(programs));
		start_ = gpu_.emu->now() - 200 * US; // loading takes that long
		EXPECT_EQ(gpu_.attach(), 0);
		per_runlist = gpu_.gpu->chip->ids_per_runlist;
	}

	tool::Gpu read_gpu() override
	{
		emu::Host &host = gpu_.emu->host();
		tool::Gpu gpu;

		gpu_.emu->advance(LOOK_NS);
		end_holds();
		gpu.index = 0;
		gpu.chip.ids_per_runlist = per_runlist;
		for (emu::Runlist &list : host.runlists()) {
			tool::Runlist &rl = gpu.runlists.emplace_back();
			rl.id = static_cast<u32>(list.info.id);
			for (const emu::ListTsg &t : list.list.tsgs) {
				tool::Tsg &tsg = rl.tsgs.emplace_back();
				tsg.id = t.id;
				for (const emu::ListChannel &c : t.channels) {
					const emu::Channel &channel = *host.channel(list, c.id);
					tool::Channel &out = tsg.channels.emplace_back();
					out.id = c.id;
					out.runlist = rl.id;
					out.state.enable = channel.enabled;
					out.state.busy = channel.work;
					out.state.chram = true;
					out.state.on_eng = list.now.set && list.now.tsg == t.id;
					out.inst = per_runlist ? c.inst.addr : channel.inst.addr;
				}
			}
		}
		return gpu;
	}

	int write_file(const char *file, const std::string &text) override
	{
		std::string name = file;
		lens_ref ref{};
		int runlist = 0;

		writes.push_back(name + " " + text);
		end_holds();
		if (refuse)
			return refuse;
		if (lens_parse_ref(text.data(), text.size(), &ref))
			return EINVAL;
		if (name == "enable_channel")
			held_.erase(text);
		if (name == "disable_channel" || name == "enable_channel")
			return -lens_channel_enable(gpu_.gpu.get(), &ref, name == "enable_channel", &runlist);
		if (name == "preempt_tsg")
			return -lens_tsg_preempt(gpu_.gpu.get(), &ref, &runlist);
		return ENOENT;
	}

	// As the module's file.
	int hold_channel(const std::string &text) override
	{
		lens_ref ref{};
		u32 ms = 0;
		int runlist = 0;
		bool enabled = false;
		lens_channel channel{};

		writes.push_back("hold_channel " + text);
		end_holds();
		if (refuse || inert)
			return refuse;
		if (lens_parse_request(text.data(), text.size(), LENS_FORM_HOLD, &ref, &ms) || !ms)
			return EINVAL;
		if (ref.runlist == LENS_ALL) {
			for (auto &[id, end] : held_)
				end = now() + ms * MS;
			return held_.empty() ? ENOENT : 0;
		}
		std::string id = text.substr(0, text.find(' '));
		if (int err = lens_channel_find(gpu_.gpu.get(), &ref, &channel, &enabled, &runlist))
			return -err;
		if (!enabled && !held_.contains(id))
			return EALREADY;
		held_[id] = now() + ms * MS;
		return -lens_channel_enable(gpu_.gpu.get(), &ref, false, &runlist);
	}

	// Submits a list with the TSGs of runlist 0 in this order, as a driver would up to Volta. Returns 0 or a negative errno.
	int order_tsgs(const std::vector<u32> &tsgs)
	{
		constexpr u64 AT = 0x70000000;
		u32 size = gpu_.gpu->chip->entry_words, n = 0;

		gpu_.give_system_memory();
		test::Snap list(gpu_, 0);
		for (u32 id : tsgs) {
			u32 tsg = 0;
			for (u32 i = 0; i < list.snap.n; i++) {
				const u32 *words = list.snap.entries + size_t{i} * size;
				lens_entry e{};
				gpu_.gpu->chip->host->decode_entry(words, &e);
				tsg = e.is_tsg ? e.id : tsg;
				for (u32 w = 0; tsg == id && w < size; w++)
					if (int err = gpu_.io()->ops->store32(gpu_.io(), LENS_SYS,
									      AT + u64{n * size + w} * 4, words[w]))
						return err;
				n += tsg == id;
			}
		}
		gpu_.io()->ops->wr32(gpu_.io(), 0x2270, 2U << 28 | static_cast<u32>(AT >> 12));
		gpu_.io()->ops->wr32(gpu_.io(), 0x2274, n);
		return 0;
	}

	u64 now() override { return gpu_.emu->now(); }
	u64 start() const { return start_; }
	json command(const json &c) { return gpu_.emu->control(c); }
	u64 ran_ns(u64 tsg)
	{
		json answer = command({{"cmd", "runtime"}});
		for (const json &t : answer["tsgs"])
			if (t["id"] == tsg && t["runlist"] == 0)
				return t["ns"];
		return 0;
	}
	void advance_to(u64 time)
	{
		if (time > now())
			gpu_.emu->advance(time - now());
	}

	// Finished jobs in the order of their end, times from the load; task: index of the program.
	std::vector<FinishedJob> finished(const std::vector<Program> &programs)
	{
		std::vector<FinishedJob> list;
		json answer = command({{"cmd", "jobs"}});
		for (const json &c : answer["channels"])
			for (size_t i = 0; i < programs.size(); i++)
				for (const json &job : c["finished"])
					if (c["id"] == 10 + programs[i].tsg)
						list.push_back({i, job["arrived_ns"].get<u64>() - start_,
								job["ended_ns"].get<u64>() - start_});
		std::sort(list.begin(), list.end(), [](auto &a, auto &b) { return a.end < b.end; });
		return list;
	}

	std::vector<std::string> writes;
	bool per_runlist = false;
	bool inert = false; // disabling answers 0 and does nothing
	int refuse = 0;

private:
	// Those whose time is over.
	void end_holds()
	{
		for (auto at = held_.begin(); at != held_.end();) {
			lens_ref ref{};
			int runlist = 0;
			if (now() < at->second) {
				++at;
				continue;
			}
			lens_parse_ref(at->first.data(), at->first.size(), &ref);
			lens_channel_enable(gpu_.gpu.get(), &ref, true, &runlist);
			at = held_.erase(at);
		}
	}

	Emulated gpu_;
	u64 start_ = 0;
	std::map<std::string, u64> held_; // until when
};

} // namespace test
