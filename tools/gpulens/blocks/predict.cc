// SPDX-License-Identifier: GPL-2.0
// An event-driven simulation: launches and ends of blocks are the events.
#include "gpulens/blocks/predict.hpp"

#include "lib/base/errors.hpp"

#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <queue>
#include <set>

namespace tool::blocks {

namespace {

constexpr u32 WARP_THREADS = 32;

u32 round_up_to_warps(u32 threads)
{
	return (threads + WARP_THREADS - 1) / WARP_THREADS * WARP_THREADS;
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
			progress_.push_back({k.blocks, k.blocks, static_cast<s64>(k.work)});
		}
		for (size_t i = 0; i < log_.kernels.size(); i++) {
			Ran &k = log_.kernels[i];
			k.per_sm =
				std::min(machine.threads_per_sm / round_up_to_warps(k.threads), machine.blocks_per_sm);
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
	// What is free on an SM.
	struct FreeSm {
		u32 threads, blocks;
	};
	// Progress of a kernel.
	struct Progress {
		u32 to_start, to_end; // number of blocks
		s64 block_ns;         // run time of a block
	};
	struct StreamState {
		std::deque<size_t> kernels; // launched, not ended
		bool channel = false;       // holds a channel
		bool queued = false;        // its first kernel is in the primary queue, or runs
	};
	struct RunningBlock {
		s64 end;
		size_t kernel;
		u32 sm;
		bool operator>(const RunningBlock &o) const
		{
			return std::tie(end, kernel) > std::tie(o.end, o.kernel);
		}
	};

	void launch(size_t kernel)
	{
		Ran &k = log_.kernels[kernel];
		StreamState &s = streams_[k.stream];

		k.launched = {k.release, k.release, k.release};
		s.kernels.push_back(kernel);
		if (!s.channel && std::find(waiting_.begin(), waiting_.end(), k.stream) == waiting_.end())
			waiting_.push_back(k.stream);
		give_channels();
		enter_queue(s);
	}

	// Rule A: the first kernel of a stream enters the primary queue.
	void enter_queue(StreamState &s)
	{
		if (s.channel && !s.queued && !s.kernels.empty()) {
			primary_.push_back(s.kernels.front());
			s.queued = true;
		}
	}

	// Rule R2: a stream keeps its channel until the last of its kernels is dispatched. Returns whether a stream got
	// one.
	bool give_channels()
	{
		bool given = false;

		for (StreamState &s : streams_)
			if (s.channel && (s.kernels.empty() || !progress_[s.kernels.back()].to_start)) {
				s.channel = false;
				held_--;
			}
		for (; !waiting_.empty() && held_ < log_.machine.channels; waiting_.pop_front()) {
			StreamState &s = streams_[waiting_.front()];
			s.channel = given = true;
			held_++;
			enter_queue(s);
		}
		return given;
	}

	// Rules B and C: dispatches a block of the kernel at the head of the primary queue. Returns false if it does
	// not fit.
	bool dispatch(s64 now)
	{
		if (primary_.empty())
			return false;
		size_t kernel = primary_.front();
		Ran &k = log_.kernels[kernel];
		u32 threads = round_up_to_warps(k.threads);
		auto at = std::max_element(sms_.begin(), sms_.end(), [](const FreeSm &a, const FreeSm &b) {
			return (a.blocks ? a.threads : 0) < (b.blocks ? b.threads : 0);
		});
		if (!at->blocks || at->threads < threads)
			return false;
		u32 sm = static_cast<u32>(at - sms_.begin());
		at->threads -= threads;
		at->blocks--;
		k.blocks.push_back({now, now + progress_[kernel].block_ns, sm});
		running_.push({k.blocks.back().end, kernel, sm});
		if (!--progress_[kernel].to_start)
			primary_.pop_front();
		return true;
	}

	// Rule D: the last block of a kernel takes the kernel out of its stream.
	void end_block(const RunningBlock &block, s64 now)
	{
		Ran &k = log_.kernels[block.kernel];
		StreamState &s = streams_[k.stream];

		sms_[block.sm].threads += round_up_to_warps(k.threads);
		sms_[block.sm].blocks++;
		if (--progress_[block.kernel].to_end)
			return;
		(*k.launched)[2] = now;
		s.kernels.pop_front();
		s.queued = false;
		enter_queue(s);
	}

	Log log_;
	std::vector<FreeSm> sms_;
	std::vector<StreamState> streams_;
	std::vector<Progress> progress_; // by kernel
	std::deque<size_t> primary_;
	std::deque<u32> waiting_; // streams that wait for a channel
	u32 held_ = 0;            // number of channels in use
	std::priority_queue<RunningBlock, std::vector<RunningBlock>, std::greater<>> running_;
};

} // namespace

Log predict(const Scenario &scenario, const Machine &machine)
{
	check_fits(scenario, machine);
	for (const Benchmark &b : scenario.benchmarks)
		for (const Kernel &k : b.kernels) {
			std::string where = fmt::format("{}: kernel \"{}\": ", scenario.name, k.name);
			if (k.kind != Kind::Spin)
				throw Error(Error::Input,
					    where + "only the run time of a spin kernel is known in advance");
			if (k.shared)
				throw Error(Error::Input, where + "shared memory is not simulated");
			if (b.priority != scenario.benchmarks.front().priority)
				throw Error(Error::Input, where + "the rules do not cover priorities");
		}
	return Simulation(scenario, machine).run();
}

} // namespace tool::blocks
