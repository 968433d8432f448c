// SPDX-License-Identifier: GPL-2.0
// Panels of kernels (each slice one line higher than the one before, as in Fig. 6) and of copies (progress, as in Fig. 7).
#include "lab/experiment/report.hpp"

#include "gpulens/out/svg.hpp"
#include "lab/blocks/timeline_svg.hpp"
#include "gpulens/out/axes.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <regex>

namespace tool::experiment {

namespace {

constexpr double FIRST_PANEL = 120, GAP = 24;

using Tracks = std::vector<const Track *>;

class Picture {
public:
	explicit Picture(const Trace &trace) : trace_(trace)
	{
		for (const Track &t : trace.tracks) {
			(t.bytes ? copies_ : kernels_).push_back(&t);
			for (const Span &s :
			     {t.spans.empty() ? Span{} : t.spans.front(), t.spans.empty() ? Span{} : t.spans.back()})
				x_ = {std::min(x_.first, to_ms(s.from)), std::max(x_.second, to_ms(s.to))};
		}
	}

	std::string draw(const std::string &title, const Verdict &verdict)
	{
		double y = 12;
		std::string head = text_lines(title, y, " class=\"title\"") + text_lines(verdict_line(verdict), y);
		top_ = std::max(FIRST_PANEL, y + 40);
		if (trace_.experiment == "fig10")
			add_times();
		else if (trace_.experiment == "r1")
			add_calls();
		else {
			if (!kernels_.empty())
				add_kernels();
			if (!copies_.empty())
				add_copies();
		}
		return svg_head(PICTURE_WIDTH, top_, title, AXES_STYLE) + head + body_ + "</svg>\n";
	}

private:
	std::string name_of(const Track &track) const { return track.task; }

	// Regions in which a copy advances whose task is compared with a kernel.
	std::string shades(const Axes &axes) const
	{
		const Track *copy = trace_.experiment == "fig9" && !copies_.empty() ? copies_[0] : nullptr;
		Spans regions;
		std::string out;

		if (trace_.experiment == "fig8")
			for (const Track *t : copies_)
				copy = t->task == kernels_.back()->task ? t : copy;
		if (copy)
			regions = active_spans(*copy);
		for (const Span &s : regions)
			out += fmt::format("<rect class=\"shade\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.2f}\" "
					   "height=\"{:.1f}\"/>\n",
					   axes.x(to_ms(s.from)), top_, axes.x(to_ms(s.to)) - axes.x(to_ms(s.from)),
					   PANEL_HEIGHT);
		return out;
	}

	void add_kernels()
	{
		size_t most = 1;

		for (const Track *t : kernels_)
			most = std::max(most, t->spans.size());
		Axes axes(top_, x_, {0, static_cast<double>(most)});
		body_ += shades(axes) + axes.frame("kernels: each slice is a line", "time, ms", "slice");
		for (size_t i = 0; i < kernels_.size(); i++) {
			std::string path;
			for (size_t j = 0; j < kernels_[i]->spans.size(); j++) {
				const Span &s = kernels_[i]->spans[j];
				path += fmt::format("M{:.2f} {:.1f}H{:.2f}", axes.x(to_ms(s.from)),
						    axes.y(static_cast<double>(j) + 0.5), axes.x(to_ms(s.to)));
			}
			body_ += fmt::format("<path class=\"kernel\" fill=\"none\" stroke=\"{}\" stroke-width=\"3\" "
					     "d=\"{}\"/>\n",
					     curve_colour(i), path);
			body_ += axes.legend(i, name_of(*kernels_[i]), curve_colour(i));
		}
		top_ += PANEL_PITCH;
	}

	void add_copies()
	{
		std::vector<std::vector<std::pair<double, double>>> curves;
		double most = 0;

		for (const Track *t : copies_) {
			double mib = 0, chunk = static_cast<double>(t->bytes) / (1 << 20);
			curves.emplace_back();
			for (const Span &s : t->spans) {
				// A chunk that was interrupted advanced at its end.
				if (curves.back().empty())
					curves.back().emplace_back(to_ms(s.from), 0);
				curves.back().emplace_back(to_ms(s.to), mib += chunk);
			}
			most = std::max(most, mib);
		}
		Axes axes(top_, x_, {0, most});
		body_ += shades(axes) + axes.frame("copies: progress", "time, ms", "MiB");
		for (size_t i = 0; i < curves.size(); i++) {
			size_t colour = i + kernels_.size();
			for (size_t j = 0; j < kernels_.size(); j++)
				colour = kernels_[j]->task == copies_[i]->task ? j : colour;
			body_ += axes.line(curves[i], curve_colour(colour)) +
				 axes.legend(i, name_of(*copies_[i]), curve_colour(colour));
		}
		top_ += PANEL_PITCH;
	}

	void add_times()
	{
		double most = 0, count = 0;

		for (const Track *t : copies_) {
			count = std::max(count, static_cast<double>(t->spans.size()));
			for (double ms : lengths_ms(t->spans))
				most = std::max(most, ms);
		}
		Axes axes(top_, {0, count + 1}, {0, most});
		body_ += axes.frame("time of each copy", "copy", "ms");
		for (size_t i = 0; i < copies_.size(); i++) {
			std::vector<double> ms = lengths_ms(copies_[i]->spans);
			for (size_t j = 0; j < ms.size(); j++)
				body_ += axes.marker(static_cast<double>(j + 1), ms[j], ms[j], ms[j], curve_colour(i));
			body_ += axes.legend(i, copies_[i]->task + " uploads", curve_colour(i));
		}
		top_ += PANEL_PITCH;
	}

	// A row for each kind of call, with a rectangle for each call.
	void add_calls()
	{
		double rows = static_cast<double>(trace_.tracks.size());
		Axes axes(top_, x_, {0, std::max(rows, 1.0)});

		body_ += axes.frame("calls of the task; shaded: its channels are disabled", "time, ms", "");
		if (trace_.held)
			body_ += fmt::format("<rect class=\"shade\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
					     "height=\"{:.1f}\"/>\n",
					     axes.x(to_ms(trace_.held->from)), top_,
					     axes.x(to_ms(trace_.held->to)) - axes.x(to_ms(trace_.held->from)),
					     PANEL_HEIGHT);
		for (size_t i = 0; i < trace_.tracks.size(); i++) {
			double low = axes.y(static_cast<double>(i) + 0.2), high = axes.y(static_cast<double>(i) + 0.8);
			for (const Span &s : trace_.tracks[i].spans)
				body_ += fmt::format("<rect class=\"call\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" "
						     "height=\"{:.1f}\" fill=\"{}\"/>\n",
						     axes.x(to_ms(s.from)), high,
						     std::max(0.3, axes.x(to_ms(s.to)) - axes.x(to_ms(s.from)) - 0.3),
						     low - high, curve_colour(i));
			body_ += axes.legend(i, work_name(trace_.tracks[i].work), curve_colour(i));
		}
		top_ += PANEL_PITCH;
	}

	const Trace &trace_;
	Tracks kernels_, copies_;
	std::pair<double, double> x_{0, 0};
	double top_ = FIRST_PANEL;
	std::string body_;
};

// Two timelines of blocks, one above the other, as Fig. 5.
std::string timelines_svg(const Trace &trace, const std::string &title, const Verdict &verdict)
{
	double y = 12, width = PICTURE_WIDTH;
	std::string body = text_lines(title, y, " class=\"title\"") + text_lines(verdict_line(verdict), y);
	static const std::regex size("width=\"(\\d+)\" height=\"(\\d+)\">");

	for (const blocks::Log &log : trace.logs) {
		std::string svg = blocks::timeline_svg(log, blocks::Colours::Stream, true);
		std::smatch found;
		std::regex_search(svg, found, size);
		y += GAP;
		body += svg_text("start", 20, y, fmt::format("{} channels", log.machine.channels), " class=\"title\"");
		body += fmt::format("<g transform=\"translate(0 {:.0f})\">\n{}</g>\n", y, svg);
		y += std::stod(found[2]);
		width = std::max(width, std::stod(found[1]));
	}
	return svg_head(width, y + GAP, title, AXES_STYLE) + body + "</svg>\n";
}

} // namespace

std::string trace_svg(const Trace &trace, const Verdict &verdict)
{
	std::string title = "RTAS'24, " + title_of(trace.experiment, trace.gpu, trace.simulated, trace.without);

	return trace.logs.empty() ? Picture(trace).draw(title, verdict) : timelines_svg(trace, title, verdict);
}

} // namespace tool::experiment
