// SPDX-License-Identifier: GPL-2.0
// The experiment itself. See evaluate.hpp.
#include "gpulens/plan/evaluate.hpp"

#include "gpulens/plan/generate.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

namespace tool::plan {

namespace {

// One set of tasks to draw and to plan.
struct Unit {
	size_t experiment, point;
	u32 set;
};

class Workers {
public:
	Workers(const Evaluation &what, Results &results) : what_(what), results_(results), us_(what.utilizations())
	{
		for (u32 n : what.tasks)
			results.experiments.push_back(
				{n, std::vector<std::vector<Outcome>>(us_.size(),
								      std::vector<Outcome>(heuristics_.size()))});
		all_ = u64{what.tasks.size()} * us_.size() * what.sets;
	}

	void run(const std::function<void(u64, u64)> &progress)
	{
		std::vector<std::jthread> threads;
		for (unsigned i = 0; i < std::max(std::thread::hardware_concurrency(), 1U); i++)
			threads.emplace_back([this] { work(); });
		while (done_ < all_ && !failed_) {
			progress(done_, all_);
			std::this_thread::sleep_for(std::chrono::milliseconds(20));
		}
		threads.clear();
		if (failure_)
			std::rethrow_exception(failure_);
		progress(done_, all_);
	}

private:
	void work()
	{
		try {
			for (u64 i = next_++; i < all_ && !failed_; i = next_++) {
				u64 point = i / what_.sets;
				plan({point / us_.size(), point % us_.size(), static_cast<u32>(i % what_.sets)});
				done_++;
			}
		} catch (...) {
			std::scoped_lock lock(mutex_);
			failure_ = std::current_exception();
			failed_ = true;
		}
	}

	void plan(const Unit &unit)
	{
		u32 n = what_.tasks[unit.experiment];
		std::seed_seq seed{static_cast<u32>(what_.seed), static_cast<u32>(what_.seed >> 32), n,
				   static_cast<u32>(us_[unit.point] * 1000), unit.set};
		std::mt19937_64 random(seed);
		std::vector<Task> tasks = generate(random, {.tasks = n,
							    .utilization = us_[unit.point],
							    .tpcs = what_.tpcs,
							    .cap = what_.cap,
							    .literal = what_.literal});
		Problem problem(tasks, {what_.tpcs, what_.quantum, what_.least}, what_.test);

		for (size_t h = 0; h < heuristics_.size(); h++) {
			Heuristic how = heuristics_[h];
			how.start = what_.start;
			auto began = std::chrono::steady_clock::now();
			bool fits = allocate(problem, how).fits;
			std::chrono::nanoseconds took = std::chrono::steady_clock::now() - began;
			std::scoped_lock lock(mutex_);
			Outcome &to = results_.experiments[unit.experiment].points[unit.point][h];
			to.fits += fits;
			to.time_ns += static_cast<u64>(took.count());
		}
	}

	const Evaluation &what_;
	Results &results_;
	std::vector<Heuristic> heuristics_ = all_heuristics();
	std::vector<double> us_;
	u64 all_;
	std::atomic<u64> next_ = 0, done_ = 0;
	std::atomic<bool> failed_ = false;
	std::mutex mutex_; // of results and failure
	std::exception_ptr failure_;
};

} // namespace

std::vector<double> Evaluation::utilizations() const
{
	std::vector<double> list;
	double most = to > 0 ? to : tpcs;

	for (u32 i = 0; from + i * step <= most + 1e-9; i++)
		list.push_back(from + i * step);
	return list;
}

Results evaluate(const Evaluation &what, const std::function<void(u64 done, u64 all)> &progress)
{
	Results results;

	results.of = what;
	Workers(results.of, results).run(progress);
	return results;
}

} // namespace tool::plan
