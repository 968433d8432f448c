// SPDX-License-Identifier: GPL-2.0
// Runs the evaluation in a thread per processor.
#include "lab/evaluate/evaluate.hpp"

#include "gpulens/plan/plan.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <thread>

namespace tool::plan {

namespace {

// A set of tasks to generate and plan.
struct Unit {
	size_t experiment, point;
	u32 set;
};

// Returns whether the tasks fit.
using Way = std::function<bool(const Problem &problem)>;

Way make_way(const std::string &name, const Evaluation &evaluation)
{
	if (name == "exact")
		return [](const Problem &problem) { return find_optimum(problem).fits; };
	if (name == "auto")
		return [](const Problem &problem) { return find_allocation(problem, {}).back().allocation.fits; };
	if (name == "bound")
		return [](const Problem &problem) {
			Allocation a = allocate(problem, {.whole = true});
			return !a.too_much && a.impossible.empty();
		};
	std::vector<Heuristic> all = all_heuristics();
	Heuristic heuristic =
		*std::find_if(all.begin(), all.end(), [&](const Heuristic &h) { return h.name() == name; });
	heuristic.start = evaluation.start;
	heuristic.ties = evaluation.ties;
	return [heuristic](const Problem &problem) { return allocate(problem, heuristic).fits; };
}

class Workers {
public:
	Workers(const Evaluation &evaluation, Results &results)
		: evaluation_(evaluation), results_(results), us_(evaluation.utilizations())
	{
		for (u32 n : evaluation.tasks)
			results.experiments.push_back(
				{n, std::vector<std::vector<Outcome>>(us_.size(),
								      std::vector<Outcome>(evaluation.ways.size()))});
		for (const std::string &name : evaluation.ways)
			ways_.push_back(make_way(name, evaluation));
		all_ = u64{evaluation.tasks.size()} * us_.size() * evaluation.sets;
	}

	void run(const std::function<void(u64, u64)> &progress)
	{
		std::vector<std::jthread> threads;
		for (unsigned i = 0; i < std::max(std::thread::hardware_concurrency(), 1U); i++)
			threads.emplace_back([this] { plan_units(); });
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
	void plan_units()
	{
		try {
			for (u64 i = next_++; i < all_ && !failed_; i = next_++) {
				u64 point = i / evaluation_.sets;
				plan_unit({point / us_.size(), point % us_.size(),
					   static_cast<u32>(i % evaluation_.sets)});
				done_++;
			}
		} catch (...) {
			std::scoped_lock lock(mutex_);
			failure_ = std::current_exception();
			failed_ = true;
		}
	}

	void plan_unit(const Unit &unit)
	{
		u32 n = evaluation_.tasks[unit.experiment];
		std::seed_seq seed{static_cast<u32>(evaluation_.seed), static_cast<u32>(evaluation_.seed >> 32), n,
				   static_cast<u32>(us_[unit.point] * 1000), unit.set};
		std::mt19937_64 random(seed);
		Generator generator = evaluation_.generator;
		generator.tasks = n;
		generator.utilization = us_[unit.point];
		generator.tpcs = evaluation_.tpcs;
		std::vector<Task> tasks = generate(random, generator);
		Problem problem(tasks, {evaluation_.tpcs, evaluation_.quantum, evaluation_.least}, evaluation_.test,
				evaluation_.sharing);

		for (size_t h = 0; h < ways_.size(); h++) {
			auto began = std::chrono::steady_clock::now();
			bool fits = ways_[h](problem);
			std::chrono::nanoseconds took = std::chrono::steady_clock::now() - began;
			std::scoped_lock lock(mutex_);
			Outcome &outcome = results_.experiments[unit.experiment].points[unit.point][h];
			outcome.fits += fits;
			outcome.time_ns += static_cast<u64>(took.count());
		}
	}

	const Evaluation &evaluation_;
	Results &results_;
	std::vector<Way> ways_;
	std::vector<double> us_;
	u64 all_;
	std::atomic<u64> next_ = 0, done_ = 0;
	std::atomic<bool> failed_ = false;
	std::mutex mutex_; // of results and failure
	std::exception_ptr failure_;
};

} // namespace

std::vector<std::string> heuristic_names()
{
	std::vector<std::string> names;

	for (const Heuristic &h : all_heuristics())
		names.emplace_back(h.name());
	return names;
}

std::vector<std::string> all_ways()
{
	std::vector<std::string> names = heuristic_names();

	names.insert(names.end(), {"auto", "exact", "bound"});
	return names;
}

std::pair<double, double> confidence_of(u32 fits, u32 sets)
{
	constexpr double Z = 1.959964;
	double n = sets, p = fits / n, whole = 1 + Z * Z / n, middle = (p + Z * Z / (2 * n)) / whole;
	double half = Z * std::sqrt(p * (1 - p) / n + Z * Z / (4 * n * n)) / whole;

	return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

std::vector<double> Evaluation::utilizations() const
{
	std::vector<double> list;
	double most = to > 0 ? to : tpcs;

	for (u32 i = 0; from + i * step <= most + 1e-9; i++)
		list.push_back(from + i * step);
	return list;
}

Results evaluate(const Evaluation &evaluation, const std::function<void(u64 done, u64 all)> &progress)
{
	Results results;

	results.evaluation = evaluation;
	Workers(results.evaluation, results).run(progress);
	return results;
}

} // namespace tool::plan
