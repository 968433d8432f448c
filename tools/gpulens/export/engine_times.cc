// SPDX-License-Identifier: GPL-2.0
// Adds up intervals, and ends series.
#include "gpulens/export/engine_times.hpp"

#include "lib/base/format.hpp"

#include <set>

namespace tool {

void EngineTimes::drop(Order::iterator series)
{
	by_key_.erase(series->key);
	series_.erase(series);
}

void EngineTimes::add_engine(const Engine &engine)
{
	engines_[engine_label(engine)];
}

void EngineTimes::add(const Engine &engine, const Interval &i)
{
	std::string name = engine_label(engine);
	EngineTime &time = engines_[name];
	u64 ns = i.end_ns - i.start_ns;

	if (i.phase != Phase::Error) {
		if (i.samples) // otherwise the rest of an interval, since the last add()
			time.busy_share = static_cast<double>(i.busy) / i.samples;
		time.busy_ns += static_cast<double>(ns) * time.busy_share;
	}
	if (i.phase == Phase::Switching)
		time.switch_ns += ns;
	if (i.phase != Phase::On)
		return;
	Key key{engine.runlist, i.bare ? LENS_NONE : i.tsg, name};
	auto found = by_key_.find(key);
	if (found == by_key_.end()) {
		if (series_.size() >= max_series_) {
			drop(std::prev(series_.end()));
			evicted_++;
		}
		series_.push_front({key});
		by_key_[key] = series_.begin();
	} else {
		series_.splice(series_.begin(), series_, found->second);
	}
	Series &series = series_.front();
	// The id is another TSG's now, unless it has not left the engine: a counter that begins again at zero.
	if (series.ended && i.start_ns >= series.end_ns && i.start_ns != series.last_ns)
		series = {key};
	series.on_ns += ns;
	series.last_ns = i.end_ns;
}

void EngineTimes::end_absent(const Gpu &snapshot, Clock::time_point now)
{
	std::map<int, std::set<int>> listed; // by runlist

	for (auto at = series_.begin(); at != series_.end();) {
		auto series = at++;
		if (series->ended && now - series->end >= keep_ended_)
			drop(series);
	}
	if (!snapshot.time_ns)
		return;
	for (const Runlist &rl : snapshot.runlists) {
		if (rl.err || rl.torn)
			continue;
		std::set<int> &tsgs = listed[static_cast<int>(rl.id)];
		for (const Tsg &tsg : rl.tsgs)
			tsgs.insert(static_cast<int>(tsg.id));
	}
	for (Series &series : series_) {
		auto tsgs = listed.find(series.key.runlist);
		if (tsgs == listed.end() || series.key.tsg == LENS_NONE)
			continue;
		if (!tsgs->second.count(series.key.tsg)) {
			if (!series.ended) {
				series.ended = true;
				series.end_ns = snapshot.time_ns;
				series.end = now;
			}
		} else if (series.ended) { // another TSG that has the id, and has not been on an engine yet
			series = {series.key};
		}
	}
}

void EngineTimes::add_work_to(Metrics &metrics, const std::string &gpu) const
{
	for (const auto &[engine, time] : engines_) {
		metrics.counter("gpulens_engine_busy_seconds_total", "Time in which an engine had work, from samples.")
			.add({{"gpu", gpu}, {"engine", engine}}, to_seconds(time.busy_ns));
		metrics.counter("gpulens_engine_switch_seconds_total",
				"Time in which an engine switched contexts, from samples.")
			.add({{"gpu", gpu}, {"engine", engine}}, to_seconds(time.switch_ns));
	}
}

void EngineTimes::add_to(Metrics &metrics, const std::string &gpu, bool with_work) const
{
	// In the order of the keys, so that a page differs from the next one in numbers only.
	for (const auto &[key, series] : by_key_)
		metrics.counter("gpulens_tsg_engine_seconds_total", "Time of a TSG on an engine, from samples.")
			.add({{"gpu", gpu},
			      {"engine", key.engine},
			      {"runlist", key.runlist == LENS_NONE ? "" : std::to_string(key.runlist)},
			      {"tsg", key.tsg == LENS_NONE ? "none" : std::to_string(key.tsg)}},
			     to_seconds(series->on_ns));
	if (with_work)
		add_work_to(metrics, gpu);
	metrics.counter("gpulens_tsg_series_evicted_total",
			"Series of TSGs that ended early because there were too many; their time is lost.")
		.add({{"gpu", gpu}}, evicted_);
}

} // namespace tool
