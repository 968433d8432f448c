// SPDX-License-Identifier: GPL-2.0
// See predict.hpp.
#include "gpulens/blocks/predict.hpp"

#include "lib/base/errors.hpp"

#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <queue>
#include <set>

namespace tool::blocks {

namespace {

constexpr u32 WARP = 32;

u32 whole_warps(u32 threads)
{
	return (threads + WARP - 1) / WARP * WARP;
}

class Simulation {
public:
	Simulation(const Scenario &scenario, const Machine &machine)
		: log_(empty_log(scenario, machine)),
		  sms_(machine.sms, {machine.threads_per_sm, machine.blocks_per_sm}),
		  streams_(scenario.benchmarks.size())
	{
		for (auto [benchmark, kernel] : scenario.launches()) {
			const Kernel &k = scenario.benchmarks[benchmark].kernels[kernel];
			left_.push_back({k.blocks, k.blocks, static_cast<s64>(k.work)});
		}
		for (size_t i = 0; i < log_.kernels.size(); i++) {
			Ran &k = log_.kernels[i];
			k.per_sm = std::min(machine.threads_per_sm / whole_warps(k.threads), machine.blocks_per_sm);
		}
	}

	Log run()
	{
		size_t launched = 0;

		while (launched < log_.kernels.size() || !running_.empty()) {
			s64 now = running_.empty() ? log_.kernels[launched].release : running_.top().end;
			if (launched < log_.kernels.size())
				now = std::min(now, log_.kernels[launched].release);
			for (; !running_.empty() && running_.top().end == now; running_.pop())
				end_block(running_.top(), now);
			for (; launched < log_.kernels.size() && log_.kernels[launched].release == now; launched++)
				launch(launched);
			do
				while (dispatch(now))
					;
			while (give_channels());
		}
		log_.simulated = true;
		return std::move(log_);
	}

private:
	struct Room {
		u32 threads, blocks;
	};
	struct Left {
		u32 to_start, to_end;
		s64 lasts;
	};
	struct InStream {
		std::deque<size_t> kernels; // launched and not ended
		bool channel = false, queued = false;
	};
	struct Running {
		s64 end;
		size_t kernel;
		u32 sm;
		bool operator>(const Running &o) const { return std::tie(end, kernel) > std::tie(o.end, o.kernel); }
	};

	void launch(size_t kernel)
	{
		Ran &k = log_.kernels[kernel];
		InStream &s = streams_[k.stream];

		k.launched = {k.release, k.release, k.release};
		s.kernels.push_back(kernel);
		if (!s.channel && std::find(waiting_.begin(), waiting_.end(), k.stream) == waiting_.end())
			waiting_.push_back(k.stream);
		give_channels();
		enter(s);
	}

	// Rule A.
	void enter(InStream &s)
	{
		if (s.channel && !s.queued && !s.kernels.empty()) {
			primary_.push_back(s.kernels.front());
			s.queued = true;
		}
	}

	// R2: a stream keeps its channel until the last of its kernels is dispatched.
	bool give_channels()
	{
		bool given = false;

		for (InStream &s : streams_)
			if (s.channel && (s.kernels.empty() || !left_[s.kernels.back()].to_start)) {
				s.channel = false;
				held_--;
			}
		for (; !waiting_.empty() && held_ < log_.machine.channels; waiting_.pop_front()) {
			InStream &s = streams_[waiting_.front()];
			s.channel = given = true;
			held_++;
			enter(s);
		}
		return given;
	}

	// Rules B and C: one block of the head of the primary queue, if it fits.
	bool dispatch(s64 now)
	{
		if (primary_.empty())
			return false;
		size_t kernel = primary_.front();
		Ran &k = log_.kernels[kernel];
		u32 threads = whole_warps(k.threads);
		auto at = std::max_element(sms_.begin(), sms_.end(), [](const Room &a, const Room &b) {
			return (a.blocks ? a.threads : 0) < (b.blocks ? b.threads : 0);
		});
		if (!at->blocks || at->threads < threads)
			return false;
		u32 sm = static_cast<u32>(at - sms_.begin());
		at->threads -= threads;
		at->blocks--;
		k.blocks.push_back({now, now + left_[kernel].lasts, sm});
		running_.push({k.blocks.back().end, kernel, sm});
		if (!--left_[kernel].to_start)
			primary_.pop_front();
		return true;
	}

	// Rule D, when it is the last.
	void end_block(const Running &one, s64 now)
	{
		Ran &k = log_.kernels[one.kernel];
		InStream &s = streams_[k.stream];

		sms_[one.sm].threads += whole_warps(k.threads);
		sms_[one.sm].blocks++;
		if (--left_[one.kernel].to_end)
			return;
		(*k.launched)[2] = now;
		s.kernels.pop_front();
		s.queued = false;
		enter(s);
	}

	Log log_;
	std::vector<Room> sms_;
	std::vector<InStream> streams_;
	std::vector<Left> left_; // by kernel
	std::deque<size_t> primary_;
	std::deque<u32> waiting_; // streams, for a channel
	u32 held_ = 0;            // channels
	std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
};

} // namespace

Log predict(const Scenario &scenario, const Machine &machine)
{
	check_fits(scenario, machine);
	for (const Benchmark &b : scenario.benchmarks)
		for (const Kernel &k : b.kernels) {
			std::string where = fmt::format("{}: kernel \"{}\": ", scenario.name, k.name);
			if (k.kind != Kind::Spin)
				throw BadInput(where + "only how long a spinning kernel takes is known before");
			if (k.shared)
				throw BadInput(where + "shared memory is not simulated");
			if (b.priority != scenario.benchmarks.front().priority)
				throw BadInput(where + "the rules have no priorities");
		}
	return Simulation(scenario, machine).run();
}

} // namespace tool::blocks
