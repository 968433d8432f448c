// SPDX-License-Identifier: GPL-2.0
// An event-driven simulation: launches, ends of blocks and ends of time slices are the events.
#include "lab/blocks/predict.hpp"

#include "lab/blocks/limits.hpp"
#include "lib/base/errors.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <fmt/format.h>
#include <queue>

namespace tool::blocks {

namespace {

constexpr s64 SLICE_NS = 2'000'000; // RTAS'24, Fig. 6: about 2 ms
constexpr s64 NEVER = INT64_MAX;

// The work of one process: its streams, and what of the GPU its blocks use.
class Context {
public:
	Context(Log &log, const Machine &machine, size_t streams, const std::vector<u32> &first)
		: log_(log), first_(first), sms_(machine.sms, {machine.threads_per_sm, machine.blocks_per_sm}),
		  streams_(streams), engines_(std::clamp(machine.copy_engines, 1U, 2U))
	{
	}

	// kernel: index in the log. to_start: blocks.
	void launch(size_t kernel, u32 to_start, s64 block_ns)
	{
		u32 stream = log_.kernels[kernel].stream;
		StreamState &s = streams_[stream];

		progress_.resize(kernel + 1);
		progress_[kernel] = {to_start, to_start, block_ns};
		if (log_.kernels[kernel].copy_in)
			s.work.push_back({kernel, Part::In});
		s.work.push_back({kernel, Part::Blocks});
		if (log_.kernels[kernel].copy_out)
			s.work.push_back({kernel, Part::Out});
		if (!s.channel && std::find(waiting_.begin(), waiting_.end(), stream) == waiting_.end())
			waiting_.push_back(stream);
		give_channels();
		enter_queues();
	}

	// Whether a kernel runs, or could if the process had the SMs.
	bool has_kernels() const
	{
		return std::any_of(streams_.begin(), streams_.end(), [](const StreamState &s) {
			return !s.work.empty() && s.work.front().part == Part::Blocks;
		});
	}

	bool has_copies(size_t engine) const { return !engines_[engine].queue.empty(); }
	size_t engines() const { return engines_.size(); }

	bool is_idle(u32 stream) const { return streams_[stream].work.empty(); }

	// Returns when the next block ends.
	s64 next_block_end() const { return running_.empty() ? NEVER : running_.top().end; }

	// Returns when the engine's copy ends; NEVER if it has none.
	s64 copy_end(size_t engine) const { return engines_[engine].end; }

	void end_copies(s64 now)
	{
		for (CopyEngine &e : engines_)
			if (e.end <= now)
				end_copy(e, now);
		enter_queues();
	}

	// Rules C2 and C3: the first copy of the queue has the engine, as long as the process has it.
	void run_copy(size_t engine, s64 now)
	{
		CopyEngine &e = engines_[engine];

		if (e.end != NEVER || e.queue.empty())
			return;
		if (!e.left)
			begin_copy(e, now);
		e.end = now + e.left;
	}

	// The process loses the engine.
	void pause_copy(size_t engine, s64 now)
	{
		CopyEngine &e = engines_[engine];

		if (e.end != NEVER)
			e.left = e.end - now;
		e.end = NEVER;
	}

	// Advances to that time, in which the process has the SMs.
	void run(s64 now)
	{
		for (; !running_.empty() && running_.top().end <= now; running_.pop())
			end_block(running_.top(), now);
		enter_queues();
		do
			while (dispatch(now))
				;
		while (give_channels());
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
	enum class Part { In, Blocks, Out };
	// A copy or a kernel.
	struct Work {
		size_t kernel;
		Part part;
	};
	struct StreamState {
		std::deque<Work> work; // launched, not ended
		bool channel = false;  // holds a channel
		bool queued = false;   // its first work is in a queue, or runs
	};
	struct CopyEngine {
		std::deque<Work> queue; // the first one is copied if end is a time
		s64 left = 0; // of the first one, ns, if it has begun and its process does not have the engine
		s64 end = NEVER;
	};
	struct RunningBlock {
		s64 end;
		size_t kernel, block;
		bool operator>(const RunningBlock &o) const
		{
			return std::tie(end, kernel, block) > std::tie(o.end, o.kernel, o.block);
		}
	};

	int priority(size_t kernel) const { return log_.streams[log_.kernels[kernel].stream].priority; }

	// Rules N1 and N2: the first kernel of a stream waits for what was launched earlier, if the NULL stream orders both.
	// Kernels are numbered in the order of launches.
	bool may_enter(u32 stream) const
	{
		for (u32 other = 0; other < streams_.size(); other++)
			if (!streams_[other].work.empty() && log_.are_ordered(stream, other) &&
			    streams_[other].work.front().kernel < streams_[stream].work.front().kernel)
				return false;
		return true;
	}

	// Rules A and C1: the first kernel of each stream enters the primary queue, behind all of its priority, and a copy
	// that of its engine; those of one moment in the order of launches.
	void enter_queues()
	{
		std::vector<Work> entering;

		for (u32 i = 0; i < streams_.size(); i++) {
			StreamState &s = streams_[i];
			if (s.queued || s.work.empty() || !may_enter(i) ||
			    (!s.channel && s.work.front().part == Part::Blocks))
				continue;
			entering.push_back(s.work.front());
			s.queued = true;
		}
		std::sort(entering.begin(), entering.end(),
			  [](const Work &a, const Work &b) { return a.kernel < b.kernel; });
		for (const Work &w : entering)
			if (w.part == Part::Blocks)
				queue_.insert(std::upper_bound(
						      queue_.begin(), queue_.end(), w.kernel,
						      [this](size_t a, size_t b) { return priority(a) < priority(b); }),
					      w.kernel);
			else
				engines_[w.part == Part::Out ? engines_.size() - 1 : 0].queue.push_back(w);
	}

	Copy &copy_of(const Work &work)
	{
		Ran &k = log_.kernels[work.kernel];

		return work.part == Part::In ? *k.copy_in : *k.copy_out;
	}

	void begin_copy(CopyEngine &engine, s64 now)
	{
		Copy &copy = copy_of(engine.queue.front());

		copy.start = now;
		engine.left = static_cast<s64>(std::ceil(static_cast<double>(copy.bytes) / log_.machine.copy_rate));
	}

	void end_copy(CopyEngine &engine, s64 now)
	{
		copy_of(engine.queue.front()).end = now;
		end_work(engine.queue.front().kernel, now);
		engine.queue.pop_front();
		engine.left = 0;
		engine.end = NEVER;
	}

	// Rules C4 and D: takes the first work out of its stream.
	void end_work(size_t kernel, s64 now)
	{
		Ran &k = log_.kernels[kernel];
		StreamState &s = streams_[k.stream];

		(*k.launched)[2] = now;
		s.work.pop_front();
		s.queued = false;
	}

	// Returns the stream's place in first_; that of others is its end.
	auto rank(u32 stream) const { return std::find(first_.begin(), first_.end(), stream + 1); }

	// Rule R2: a stream keeps its channel until the last of its kernels is dispatched. Returns whether a stream got
	// one.
	bool give_channels()
	{
		bool given = false;

		for (StreamState &s : streams_)
			if (s.channel && (s.work.empty() || !progress_[s.work.back().kernel].to_start)) {
				s.channel = false;
				held_--;
			}
		while (!waiting_.empty() && held_ < log_.machine.channels) {
			auto next = std::min_element(waiting_.begin(), waiting_.end(),
						     [this](u32 a, u32 b) { return rank(a) < rank(b); });
			streams_[*next].channel = given = true;
			waiting_.erase(next);
			held_++;
		}
		if (given)
			enter_queues();
		return given;
	}

	// Rules B and C, for each set of kernels with a common TPC: starts a block of the first kernel that has blocks to
	// start, if it has a task slot. The queue also has kernels that only run, because they hold task slots. Returns
	// whether a block started.
	bool dispatch(s64 now)
	{
		std::vector<size_t> ahead; // kernels whose next block does not start
		u32 slots = 0;

		for (size_t kernel : queue_) {
			if (log_.machine.grids && slots++ == log_.machine.grids)
				break;
			const Ran &k = log_.kernels[kernel];
			if (!progress_[kernel].to_start)
				continue;
			bool waits = std::any_of(ahead.begin(), ahead.end(), [&](size_t other) {
				return overlap(log_.kernels[other].tpcs, k.tpcs);
			});
			if (!waits && start_block(kernel, now))
				return true;
			ahead.push_back(kernel);
			if (!k.tpcs)
				break;
		}
		return false;
	}

	bool start_block(size_t kernel, s64 now)
	{
		Ran &k = log_.kernels[kernel];
		u32 threads = round_up_to_warps(k.threads), best = 0;
		std::optional<u32> at;

		for (u32 sm = 0; sm < sms_.size(); sm++)
			if (sms_[sm].blocks && sms_[sm].threads >= threads && sms_[sm].threads > best &&
			    log_.may_use(k, sm)) {
				at = sm;
				best = sms_[sm].threads;
			}
		if (!at)
			return false;
		sms_[*at].threads -= threads;
		sms_[*at].blocks--;
		k.blocks.push_back({now, now + progress_[kernel].block_ns, *at});
		running_.push({k.blocks.back().end, kernel, k.blocks.size() - 1});
		progress_[kernel].to_start--;
		return true;
	}

	// The last block of a kernel ends the kernel.
	void end_block(const RunningBlock &running, s64 now)
	{
		Ran &k = log_.kernels[running.kernel];
		Block &block = k.blocks[running.block];

		block.end = now;
		sms_[block.sm].threads += round_up_to_warps(k.threads);
		sms_[block.sm].blocks++;
		if (--progress_[running.kernel].to_end)
			return;
		queue_.erase(std::find(queue_.begin(), queue_.end(), running.kernel));
		end_work(running.kernel, now);
	}

	Log &log_;
	const std::vector<u32> &first_; // streams that get a channel first, from 1
	std::vector<FreeSm> sms_;
	std::vector<StreamState> streams_;
	std::vector<Progress> progress_;  // by kernel
	std::vector<size_t> queue_;       // the primary queue and the kernels that run, by priority and time
	std::deque<u32> waiting_;         // streams that wait for a channel
	std::vector<CopyEngine> engines_; // one, or one for each direction: in, out
	u32 held_ = 0;                    // number of channels in use
	std::priority_queue<RunningBlock, std::vector<RunningBlock>, std::greater<>> running_;
};

class Simulation {
public:
	Simulation(const Scenario &scenario, const Machine &machine, const std::vector<u32> &first)
		: scenario_(scenario), log_(empty_log(scenario, machine)), loops_(scenario.benchmarks.size()),
		  contexts_(log_.processes(), Context(log_, machine, scenario.benchmarks.size(), first)),
		  engines_(contexts_[0].engines())
	{
	}

	Log run()
	{
		for (s64 now = next_launch(); now != NEVER;) {
			launch_kernels(now);
			for (Context &c : contexts_)
				c.end_copies(now);
			take_turn(now);
			// Another process may have nothing but blocks that ended meanwhile.
			for (size_t tries = 0; tries < contexts_.size(); tries++) {
				contexts_[sms_.active].run(now);
				take_turn(now);
			}
			for (size_t engine = 0; engine < engines_.size(); engine++)
				take_engine(engine, now);
			end_iterations(now);
			now = std::max(next_event(), now);
		}
		sort_by_launch(log_.kernels);
		log_.simulated = true;
		return std::move(log_);
	}

private:
	// The iterations of a benchmark.
	struct Loop {
		u32 iteration = 0, next = 0; // next: kernel to launch
		s64 base = 0;                // when the iteration began, relative to the first one
		bool ended = false;          // the last one
	};

	u32 process(size_t benchmark) const { return log_.streams[benchmark].process; }

	s64 launch_time(size_t benchmark) const
	{
		const Loop &l = loops_[benchmark];
		const std::vector<Kernel> &kernels = scenario_.benchmarks[benchmark].kernels;

		return l.ended || l.next == kernels.size() ? NEVER
							   : l.base + static_cast<s64>(kernels[l.next].release_ns);
	}

	s64 next_launch() const
	{
		s64 next = NEVER;

		for (size_t i = 0; i < loops_.size(); i++)
			next = std::min(next, launch_time(i));
		return next;
	}

	void launch_kernels(s64 now)
	{
		for (u32 i = 0; i < loops_.size(); i++)
			while (launch_time(i) <= now) {
				Loop &l = loops_[i];
				const Kernel &k = scenario_.benchmarks[i].kernels[l.next];
				Ran ran = make_ran(scenario_, i, l.next++, l.iteration, l.base);
				ran.launched = {now, now, now};
				ran.per_sm = std::min(log_.machine.threads_per_sm / round_up_to_warps(k.threads),
						      log_.machine.blocks_per_sm);
				if (k.copy_in)
					ran.copy_in = Copy{k.copy_in, {now, now}};
				if (k.copy_out)
					ran.copy_out = Copy{k.copy_out, {now, now}};
				log_.kernels.push_back(ran);
				contexts_[process(i)].launch(log_.kernels.size() - 1, k.blocks,
							     static_cast<s64>(k.work));
			}
	}

	// Begins the next iteration of benchmarks whose kernels have ended.
	void end_iterations(s64 now)
	{
		for (u32 i = 0; i < loops_.size(); i++) {
			Loop &l = loops_[i];
			const Benchmark &b = scenario_.benchmarks[i];
			if (l.ended || l.next < b.kernels.size() || !contexts_[process(i)].is_idle(i))
				continue;
			bool late = b.max_ns && now - static_cast<s64>(b.release_ns()) >= static_cast<s64>(b.max_ns);
			if (l.iteration + 1 == b.iterations || late)
				l.ended = true;
			else if (!scenario_.synchronized || is_reached_by_all(l.iteration)) {
				l = {l.iteration + 1, 0, now - static_cast<s64>(b.release_ns())};
			}
		}
	}

	// Whether all benchmarks have ended that iteration.
	bool is_reached_by_all(u32 iteration) const
	{
		for (u32 i = 0; i < loops_.size(); i++) {
			const Loop &l = loops_[i];
			bool done =
				l.next == scenario_.benchmarks[i].kernels.size() && contexts_[process(i)].is_idle(i);
			if (!l.ended && l.iteration <= iteration && !(l.iteration == iteration && done))
				return false;
		}
		return true;
	}

	// Turns of processes on the SMs, or on a copy engine.
	struct Turns {
		size_t active = 0; // the process that has them
		s64 slice_end = 0;
	};

	// Rule R4: gives the SMs, or the engine, to the next process that wants them when the time slice, or the work, has
	// ended.
	template <typename Wants> void pass_turn(Turns &turns, s64 now, Wants wants) const
	{
		if (wants(contexts_[turns.active]) && now < turns.slice_end)
			return;
		for (size_t i = 1; i <= contexts_.size(); i++) {
			size_t next = (turns.active + i) % contexts_.size();
			if (!wants(contexts_[next]))
				continue;
			turns = {next, now + SLICE_NS};
			return;
		}
	}

	void take_turn(s64 now)
	{
		pass_turn(sms_, now, [](const Context &c) { return c.has_kernels(); });
	}

	// Rule R5: whose turn it is on a copy engine does not depend on the SMs.
	void take_engine(size_t engine, s64 now)
	{
		size_t before = engines_[engine].active;

		pass_turn(engines_[engine], now, [engine](const Context &c) { return c.has_copies(engine); });
		if (engines_[engine].active != before)
			contexts_[before].pause_copy(engine, now);
		contexts_[engines_[engine].active].run_copy(engine, now);
	}

	// Returns when the time slice ends, if another process waits for that.
	template <typename Wants> s64 next_turn(const Turns &turns, Wants wants) const
	{
		return std::count_if(contexts_.begin(), contexts_.end(), wants) > 1 ? turns.slice_end : NEVER;
	}

	s64 next_event() const
	{
		s64 next = std::min(next_launch(), contexts_[sms_.active].next_block_end());

		next = std::min(next, next_turn(sms_, [](const Context &c) { return c.has_kernels(); }));
		for (size_t i = 0; i < engines_.size(); i++) {
			next = std::min(next, contexts_[engines_[i].active].copy_end(i));
			next = std::min(next,
					next_turn(engines_[i], [i](const Context &c) { return c.has_copies(i); }));
		}
		return next;
	}

	const Scenario &scenario_;
	Log log_;
	std::vector<Loop> loops_; // by benchmark
	std::vector<Context> contexts_;
	Turns sms_;
	std::vector<Turns> engines_;
};

} // namespace

Log predict(const Scenario &scenario, const Machine &machine, const std::vector<u32> &first)
{
	check_fits(scenario, machine);
	for (u32 stream : first)
		if (!stream || stream > scenario.benchmarks.size())
			throw Error(Error::Input, fmt::format("{}: has {} streams, not {}", scenario.name,
							      scenario.benchmarks.size(), stream));
	for (const Benchmark &b : scenario.benchmarks) {
		if (b.plugin && b.kernels.empty())
			throw Error(Error::Input,
				    fmt::format("{}: {}: what a plugin launches is unknown to --simulate unless its "
						"key \"kernels\" says it",
						scenario.name, b.plugin->file));
		for (const Kernel &k : b.kernels) {
			std::string where = fmt::format("{}: kernel \"{}\": ", scenario.name, k.name);
			if (k.kind != Kind::Spin)
				throw Error(Error::Input,
					    where + "only the run time of a spin kernel is known in advance");
			if (k.shared)
				throw Error(Error::Input, where + "shared memory is not simulated");
		}
	}
	return Simulation(scenario, machine, first).run();
}

} // namespace tool::blocks
