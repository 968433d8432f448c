// SPDX-License-Identifier: GPL-2.0
// Draws plans, and speed-ups of tasks.
#include "gpulens/out/axes.hpp"
#include "gpulens/out/svg.hpp"
#include "gpulens/plan/fit.hpp"
#include "gpulens/plan/play.hpp"
#include "lib/base/format.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tool::plan {

namespace {

constexpr double LEFT = 200, WIDTH = 860, RIGHT = 24, TOP = 48, ROW = 30, BAR = 14, GAP = 22; // pixels
constexpr double CELL = 26, CELL_HEIGHT = 18;                                                 // of a TPC
constexpr double MAX_GRID_LINES = 12;
const char PLAN_STYLE[] = R"(<style>
.cell { font-size: 9px; fill: #fff; }
.free { fill: #8882; stroke: #8885; }
.release { stroke: #555; fill: none; }
.deadline { stroke: #222; }
.missed { stroke: #d55e00; stroke-width: 2.5; }
@media (prefers-color-scheme: dark) { .cell { fill: #fff; } .release, .deadline { stroke: #ccc; } }
</style>
)";

std::string ms_text(u64 ns)
{
	return fmt::format("{:.6g}", double(ns) / 1e6);
}

class Picture {
public:
	Picture(const Plan &plan, const std::optional<Play> &play)
		: plan_(plan), play_(play), partition_of_(plan.file.tasks.size()), rows_(plan.file.tasks.size())
	{
		for (size_t i = 0; i < partitions().size(); i++)
			for (u32 task : partitions()[i].tasks)
				partition_of_[task] = i;
	}

	std::string draw()
	{
		if (!plan_.masks.empty())
			draw_gpcs();
		if (play_)
			draw_play();
		else
			draw_names(false);
		std::string title = plan_.gpu.empty() ? fmt::format("{} TPCs", plan_.map.tpcs) : plan_.gpu;
		title = fmt::format("{}: {} tasks in {} partitions, test {}", title, plan_.file.tasks.size(),
				    partitions().size(), criterion_name(plan_.test));
		return svg_head(LEFT + WIDTH + RIGHT, y_ + GAP, title, (std::string(AXES_STYLE) + PLAN_STYLE).c_str()) +
		       svg_text("start", 12, 24, title, " class=\"title\"") + body_ + "</svg>\n";
	}

private:
	const std::vector<Partition> &partitions() const { return plan_.allocation().partitions; }
	double x(u64 ns) const { return LEFT + double(ns) / double(shown_ns_) * WIDTH; }

	// A row of TPCs for each GPC.
	void draw_gpcs()
	{
		for (const GpcTpcs &gpc : plan_.map.gpcs) {
			body_ += svg_text("end", LEFT - 10, y_ + 13, fmt::format("GPC {}", gpc.gpc));
			for (size_t i = 0; i < gpc.tpcs.size(); i++)
				draw_tpc(LEFT + CELL * double(i), gpc.tpcs[i]);
			y_ += CELL_HEIGHT + 4;
		}
		y_ += GAP;
	}

	void draw_tpc(double left, u32 tpc)
	{
		size_t owner = 0;

		while (owner < plan_.masks.size() && !plan_.masks[owner].has(tpc))
			owner++;
		bool is_free = owner == plan_.masks.size();
		body_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" {}><title>TPC {}: {}"
				     "</title></rect>\n",
				     left, y_, CELL - 3, CELL_HEIGHT,
				     is_free ? "class=\"free\"" : fmt::format("fill=\"{}\"", curve_colour(owner)), tpc,
				     is_free ? "free or reserved" : fmt::format("partition {}", owner));
		if (!is_free)
			body_ += svg_text("middle", left + (CELL - 3) / 2, y_ + 12, std::to_string(tpc),
					  " class=\"cell\"");
	}

	// The names of partitions and tasks; with lines for what the tasks did.
	void draw_names(bool lines)
	{
		for (size_t i = 0; i < partitions().size(); i++) {
			body_ += fmt::format("<rect x=\"12\" y=\"{:.1f}\" width=\"10\" height=\"10\" fill=\"{}\"/>\n",
					     y_ + 3, curve_colour(i)) +
				 svg_text("start", 28, y_ + 12,
					  fmt::format("partition {}, {} TPC{}", i, partitions()[i].tpcs,
						      partitions()[i].tpcs == 1 ? "" : "s"),
					  " class=\"small\"");
			y_ += GAP - 6;
			for (u32 task : partitions()[i].tasks) {
				rows_[task] = y_ += lines ? ROW : GAP - 4;
				body_ += svg_text(lines ? "end" : "start", lines ? LEFT - 10 : 28, y_ - 3,
						  plan_.file.tasks[task].name);
				if (lines)
					body_ += fmt::format("<path class=\"grid\" d=\"M{} {:.1f}h{}\"/>\n", LEFT, y_,
							     WIDTH);
			}
			y_ += GAP - 10;
		}
	}

	void draw_play()
	{
		u64 longest = 0;

		for (const Task &t : plan_.file.tasks)
			longest = std::max(longest, t.period_ns + t.jitter_ns);
		shown_ns_ = std::min(play_->end_ns, 2 * longest);
		double top = y_;
		draw_names(true);
		draw_grid(top);
		for (const PlayedSpan &s : play_->spans)
			if (s.from_ns < shown_ns_)
				body_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" "
						     "fill=\"{}\"><title>{}: {} ms at {} ms</title></rect>\n",
						     x(s.from_ns), rows_[s.task] - BAR,
						     x(std::min(s.to_ns, shown_ns_)) - x(s.from_ns), BAR,
						     curve_colour(partition_of_[s.task]),
						     escape_xml(plan_.file.tasks[s.task].name),
						     ms_text(s.to_ns - s.from_ns), ms_text(s.from_ns));
		for (const PlayedJob &job : play_->jobs)
			draw_job(job);
		y_ += GAP * 2;
		body_ += svg_text(
			"start", 12, y_,
			fmt::format("ms. Arrow: a job is released; line: its deadline, thick and red: missed. {}: {} "
				    "of {} jobs missed their deadlines in {}",
				    play_->measured ? "Times as measured" : "Each job as long as planned",
				    play_->missed(), play_->jobs.size(), format_duration(play_->end_ns)),
			" class=\"small\"");
	}

	void draw_grid(double top)
	{
		double whole = double(shown_ns_) / 1e6;
		double step = grid_step(whole, std::pow(10, std::floor(std::log10(whole)) - 2), MAX_GRID_LINES);

		for (double ms = 0; ms <= whole; ms += step)
			body_ += fmt::format("<path class=\"grid\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/>\n",
					     x(u64(ms * 1e6)), top, y_) +
				 svg_text("middle", x(u64(ms * 1e6)), y_ + 16, fmt::format("{:g}", ms),
					  " class=\"small\"");
	}

	void draw_job(const PlayedJob &job)
	{
		double y = rows_[job.task];

		if (job.release_ns <= shown_ns_)
			body_ += fmt::format("<path class=\"release\" d=\"M{0:.1f} {1:.1f}v-24m-3 5l3 -5l3 5\"/>\n",
					     x(job.release_ns), y);
		if (job.deadline_ns <= shown_ns_)
			body_ += fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}v-20\"/>\n",
					     job.is_missed(play_->end_ns) ? "missed" : "deadline", x(job.deadline_ns),
					     y);
	}

	const Plan &plan_;
	const std::optional<Play> &play_;
	std::vector<size_t> partition_of_; // by task
	std::vector<double> rows_;         // lower end, by task
	u64 shown_ns_ = 1;
	double y_ = TOP;
	std::string body_;
};

} // namespace

std::string plan_svg(const Plan &plan, const std::optional<Play> &play)
{
	return Picture(plan, play).draw();
}

std::string fit_svg(const std::vector<Fit> &fits)
{
	double most_tpcs = 1, most = 1, top = 40;
	std::string body;
	auto speedup = [](const Fit &f, double us) { return f.times_us.begin()->second / us; };

	for (const Fit &f : fits)
		for (const auto &[tpcs, us] : f.times_us) {
			most_tpcs = std::max<double>(most_tpcs, tpcs);
			most = std::max(most, speedup(f, us));
		}
	Axes axes(top, {0, most_tpcs}, {0, most});
	body = axes.frame("How many times as fast as on the smallest measured size", "TPCs", "speed-up");
	for (size_t i = 0; i < fits.size(); i++) {
		const Fit &f = fits[i];
		std::vector<std::pair<double, double>> points;
		for (const auto &[tpcs, us] : f.times_us) {
			points.emplace_back(tpcs, speedup(f, us));
			body += axes.marker(tpcs, speedup(f, us), speedup(f, us), speedup(f, us), curve_colour(i));
		}
		body += axes.stairs(points, curve_colour(i));
		body += axes.legend(i, fmt::format("{}: {}", f.name, f.kind_known ? class_name(f.kind) : "unknown"),
				    curve_colour(i));
	}
	return svg_head(PICTURE_WIDTH, top + PANEL_PITCH, "Speed-up by the number of TPCs", AXES_STYLE) + body +
	       "</svg>\n";
}

} // namespace tool::plan
