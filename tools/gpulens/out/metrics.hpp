// SPDX-License-Identifier: GPL-2.0
// Metrics of GPUs in Prometheus' text exposition format 0.0.4. Names begin with gpulens_, times are in seconds, sizes in
// bytes; docs/export.md describes each metric. Label values contain neither blanks nor commas, except names of files. The
// number of series is bounded by hardware or by EngineTimes::MAX_SERIES.
#pragma once
#include "lib/model/model.hpp"

#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tool {

using Labels = std::vector<std::pair<const char *, std::string>>;

// A metric with its samples. A second sample with the same labels is dropped, because Prometheus would reject the whole
// text.
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
	// Returns the text of all metrics, in the order of their first use.
	std::string text() const;

private:
	Family &family(const std::string &name, const char *type, const std::string &help);

	std::deque<Family> families_;
};

// Returns the value of the label engine: short_name() without the blanks of "Unknown (type 51) 0".
std::string engine_label(const Engine &engine);
// Returns a text without blanks and commas, for the names of processes, which choose them themselves.
std::string process_label(std::string text);

// Adds pid, process, user, container and pod; pid 0: unknown, all are empty.
void add_owner_labels(Labels &labels, const Owner &owner);

// Adds the metrics of a GPU. label: the X of /proc/gpuX or the file's name. uuid: "GPU-..."; empty: unknown.
void add_gpu(Metrics &metrics, const Gpu &gpu, const std::string &label, const std::string &uuid = "");
// Adds the counters of /proc/gpuX/stats, the cost of reading this GPU. stats: the text of the file.
void add_stats(Metrics &metrics, const std::string &stats, const std::string &label);

} // namespace tool
