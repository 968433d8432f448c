// SPDX-License-Identifier: GPL-2.0
// Writes a play as a table, as JSON (docs/plan-schema.json) and as a Gantt chart.
#include "gpulens/out/svg.hpp"
#include "gpulens/plan/play.hpp"
#include "lib/base/format.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tool::plan {

using json = nlohmann::ordered_json;

namespace {

constexpr double LEFT = 200, WIDTH = 860, RIGHT = 24, TOP = 48, ROW = 30, BAR = 14, GAP = 22, BOTTOM = 44; // pixels
constexpr double MAX_GRID_LINES = 12;
const char *const COLOURS[] = {palette::BLUE,     palette::ORANGE, palette::GREEN,      palette::PURPLE,
			       palette::SKY_BLUE, palette::GREY,   palette::DARK_YELLOW};
const char STYLE_ELEMENT[] = R"(<style>
text { font: 13px system-ui, sans-serif; fill: #222; }
.title { font-weight: 600; }
.small { font-size: 11px; }
.grid { stroke: #8885; }
.release { stroke: #555; fill: none; }
.deadline { stroke: #222; }
.missed { stroke: #d55e00; stroke-width: 2.5; }
@media (prefers-color-scheme: dark) { .paper { fill: #181818; } text { fill: #ddd; } .release, .deadline { stroke: #ccc; } }
</style>
)";

std::string ms_text(double ns)
{
	return fmt::format("{:.6g}", ns / 1e6);
}

class Chart {
public:
	Chart(const Plan &plan, const Play &play) : plan_(plan), play_(play), rows_(plan.file.tasks.size())
	{
		u64 longest = 0;

		for (const Task &t : plan.file.tasks)
			longest = std::max(longest, t.period_ns);
		shown_ns_ = std::min(play.end_ns, 2 * longest);
	}

	std::string draw()
	{
		std::string rows = draw_names(), marks;

		for (const PlayedSpan &s : play_.spans)
			if (s.from_ns < shown_ns_)
				rows += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" "
						    "fill=\"{}\"><title>{}: {} ms at {} ms</title></rect>\n",
						    x(s.from_ns), rows_[s.task] - BAR,
						    x(std::min(s.to_ns, shown_ns_)) - x(s.from_ns), BAR,
						    COLOURS[s.task % std::size(COLOURS)],
						    escape_xml(plan_.file.tasks[s.task].name),
						    ms_text(double(s.to_ns - s.from_ns)), ms_text(double(s.from_ns)));
		for (const PlayedJob &job : play_.jobs)
			marks += draw_job(job);
		return svg_head(LEFT + WIDTH + RIGHT, bottom_ + BOTTOM, title(), STYLE_ELEMENT) +
		       svg_text("start", 12, 24, title(), " class=\"title\"") + draw_grid() + rows + marks + "</svg>\n";
	}

private:
	double x(u64 ns) const { return LEFT + double(ns) / double(shown_ns_) * WIDTH; }

	std::string title() const
	{
		return fmt::format("Plan by test {}, simulated; {}: {} of {} jobs missed their deadlines in {}",
				   criterion_name(plan_.test),
				   play_.measured ? "times as measured" : "each job as long as planned", play_.missed(),
				   play_.jobs.size(), format_duration(play_.end_ns));
	}

	// Also finds the rows of the tasks.
	std::string draw_names()
	{
		const std::vector<Partition> &partitions = plan_.allocation().partitions;
		std::string out;
		double y = TOP;

		for (size_t i = 0; i < partitions.size(); i++) {
			out += svg_text("start", 12, y + 12,
					fmt::format("partition {}, {} TPC{}", i, partitions[i].tpcs,
						    partitions[i].tpcs == 1 ? "" : "s"),
					" class=\"small\"");
			y += GAP - 6;
			for (u32 task : partitions[i].tasks) {
				rows_[task] = y += ROW;
				out += svg_text("end", LEFT - 10, y - 3, plan_.file.tasks[task].name);
				out += fmt::format("<path class=\"grid\" d=\"M{} {:.1f}h{}\"/>\n", LEFT, y, WIDTH);
			}
			y += GAP - 10;
		}
		bottom_ = y;
		return out;
	}

	std::string draw_grid() const
	{
		double step =
			grid_step(double(shown_ns_) / 1e6,
				  std::pow(10, std::floor(std::log10(double(shown_ns_) / 1e6)) - 2), MAX_GRID_LINES);
		std::string out;

		for (double ms = 0; ms * 1e6 <= double(shown_ns_); ms += step)
			out += fmt::format("<path class=\"grid\" d=\"M{0:.1f} {1}V{2:.1f}\"/>\n", x(u64(ms * 1e6)), TOP,
					   bottom_) +
			       svg_text("middle", x(u64(ms * 1e6)), bottom_ + 16, fmt::format("{:g}", ms),
					" class=\"small\"");
		return out + svg_text("start", 12, bottom_ + 34,
				      "ms; arrow up: a job is released, bar: its deadline, thick and red: missed",
				      " class=\"small\"");
	}

	std::string draw_job(const PlayedJob &job) const
	{
		std::string out;
		double y = rows_[job.task];

		if (job.release_ns <= shown_ns_)
			out += fmt::format("<path class=\"release\" d=\"M{0:.1f} {1:.1f}v-24m-3 5l3 -5l3 5\"/>\n",
					   x(job.release_ns), y);
		if (job.deadline_ns <= shown_ns_)
			out += fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}v-20\"/>\n",
					   job.is_missed(play_.end_ns) ? "missed" : "deadline", x(job.deadline_ns), y);
		return out;
	}

	const Plan &plan_;
	const Play &play_;
	std::vector<double> rows_; // lower end, by task
	u64 shown_ns_;
	double bottom_ = 0;
};

} // namespace

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

std::string play_svg(const Plan &plan, const Play &play)
{
	return Chart(plan, play).draw();
}

} // namespace tool::plan
