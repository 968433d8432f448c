// SPDX-License-Identifier: GPL-2.0
// Writes a play as a table, and as JSON (docs/plan-schema.json).
#include "gpulens/plan/play.hpp"
#include "lib/base/format.hpp"

#include <fmt/format.h>

namespace tool::plan {

using json = nlohmann::ordered_json;

std::string play_text(const Plan &plan, const Play &play, const Style &style)
{
	Table t({"Partition", "<Task", "Jobs", "Missed", "~Mean us", "Worst us", "Deadline us"});
	const std::vector<Partition> &partitions = plan.allocation().partitions;

	for (size_t i = 0; i < partitions.size(); i++)
		for (u32 index : partitions[i].tasks) {
			const PlayedTask &p = play.tasks[index];
			t.add({std::to_string(i), plan.file.tasks[index].name, std::to_string(p.jobs),
			       std::to_string(p.missed), p.jobs ? us_text(p.total_ns / p.jobs) : "-",
			       p.jobs ? us_text(p.worst_ns) : "-", us_text(plan.file.tasks[index].deadline_ns)});
		}
	return fmt::format("Simulated for {}, {}; response times:\n", format_duration(play.end_ns),
			   play.measured ? "with times as measured" : "each job as long as planned") +
	       t.str(style);
}

json play_json(const Plan &plan, const Play &play)
{
	json tasks = json::array();

	for (size_t i = 0; i < play.tasks.size(); i++) {
		const PlayedTask &p = play.tasks[i];
		tasks.push_back({{"name", plan.file.tasks[i].name},
				 {"jobs", p.jobs},
				 {"missed", p.missed},
				 {"mean_response_us",
				  p.jobs ? json(double(p.total_ns) / double(p.jobs) / 1000) : json(nullptr)},
				 {"worst_response_us", p.jobs ? json(double(p.worst_ns) / 1000) : json(nullptr)}});
	}
	return {{"for_us", double(play.end_ns) / 1000}, {"measured", play.measured}, {"tasks", tasks}};
}

} // namespace tool::plan
