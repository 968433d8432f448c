// SPDX-License-Identifier: GPL-2.0
// GPUs as Prometheus' text format (version 0.0.4 of the exposition format). Names begin with gpulens_, times are
// seconds, sizes bytes. What a label can be is bounded by hardware, or cut at MAX_TSGS.
#pragma once
#include "lib/model/model.hpp"

#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tool {

// TSGs of a runlist, or of an engine, that get a series each.
constexpr size_t MAX_TSGS = 256;

using Labels = std::vector<std::pair<const char *, std::string>>;

// One metric: what it is, and its samples. A second sample with the same labels is left out, as Prometheus would refuse
// all of them.
class Family {
public:
	Family(std::string name, std::string type, std::string help);

	void add(const Labels &labels, u64 value);
	void add(const Labels &labels, double value);
	const std::string &name() const { return name_; }
	std::string text() const;

private:
	std::string name_, head_, samples_;
	std::set<std::string> seen_;
};

class Metrics {
public:
	Family &counter(const std::string &name, const std::string &help) { return family(name, "counter", help); }
	Family &gauge(const std::string &name, const std::string &help) { return family(name, "gauge", help); }
	// All of them, those of one metric together, in the order they were first named.
	std::string text() const;

private:
	Family &family(const std::string &name, const char *type, const std::string &help);

	std::deque<Family> families_;
};

// A snapshot or an image. gpu: the label, the X of /proc/gpuX or the file's name.
void add_gpu(Metrics &to, const Gpu &gpu, const std::string &label);
// The text of /proc/gpuX/stats: what reading this GPU has cost so far.
void add_stats(Metrics &to, const std::string &stats, const std::string &label);

} // namespace tool
