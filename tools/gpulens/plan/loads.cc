// SPDX-License-Identifier: GPL-2.0
// Adds up utilizations by class, in conflict and alone.
#include "gpulens/plan/loads.hpp"

namespace tool::plan {

namespace {

void add_to(std::vector<double> &sums, const std::vector<double> &more)
{
	for (size_t i = 0; i < more.size(); i++)
		sums[i] += more[i];
}

} // namespace

Loads::Loads(const Problem &problem, std::span<const u32> tasks) : serial_(problem.sharing().serial)
{
	u32 tpcs = problem.sizes().tpcs;

	for (Sums *s : {&compute_, &memory_}) {
		s->alone.resize(tpcs);
		s->conflict.resize(tpcs);
	}
	for (u32 i : tasks) {
		const Task &t = problem.tasks()[i];
		Sums &s = t.kind == Class::Memory ? memory_ : compute_;
		s.tasks++;
		for (u32 m = 0; m < tpcs; m++) {
			s.alone[m] += double(t.alone_ns[m]) / double(t.period_ns);
			s.conflict[m] += double(t.conflict_ns[m]) / double(t.period_ns);
		}
	}
}

void Loads::add(const Loads &other)
{
	for (auto [sums, more] : {std::pair(&compute_, &other.compute_), {&memory_, &other.memory_}}) {
		add_to(sums->alone, more->alone);
		add_to(sums->conflict, more->conflict);
		sums->tasks += more->tasks;
	}
}

double least_load(const Loads &a, const Loads &b, u32 tpcs)
{
	auto load_of = [&](const Loads::Sums &first, const Loads::Sums &second) {
		bool conflict = !a.serial_ && first.tasks + second.tasks > 1;
		return conflict ? first.conflict[tpcs - 1] + second.conflict[tpcs - 1]
				: first.alone[tpcs - 1] + second.alone[tpcs - 1];
	};

	return load_of(a.compute_, b.compute_) + load_of(a.memory_, b.memory_);
}

} // namespace tool::plan
