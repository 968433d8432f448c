// SPDX-License-Identifier: GPL-2.0
// A timeline as a page of its own: no file beside it, nothing from a network. A row for each TSG of each engine, as
// Fig. 6 of RTAS'24 has a row for each task; wheel and drag zoom and move, which without scripts shows all of it.
#include "timeline.hpp"

#include "text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace tool {

namespace {

constexpr size_t MOST = 20000; // rectangles; browsers get slow beyond, and a note says what was left out
constexpr int ROW = 22, BAR = 16;

const char STYLE[] = R"(<style>
:root { color-scheme: light dark; --line: #8884; --soft: #888; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 1200px; padding: 0 1em; }
h1 { font-size: 1.3em; margin-bottom: 0; } h2 { font-size: 1.05em; margin: 1.6em 0 .4em; }
p { margin: .3em 0; } .soft { color: var(--soft); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .15em .8em .15em 0; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; }
.chart { display: grid; grid-template-columns: max-content 1fr; column-gap: .8em; }
.names div { height: 22px; line-height: 20px; white-space: nowrap; text-align: right; }
.names .engine { font-weight: 600; text-align: left; }
svg { width: 100%; display: block; cursor: grab; background: linear-gradient(var(--line), var(--line)) no-repeat bottom / 100% 1px; }
.axis { position: relative; height: 1.6em; color: var(--soft); font-size: 12px; }
.axis span { position: absolute; transform: translateX(-50%); white-space: nowrap; }
i { display: inline-block; width: .8em; height: .8em; margin-right: .4em; vertical-align: -1px; }
</style>)";

// The view is a viewBox in microseconds; rectangles stay as they are.
const char SCRIPT[] = R"(<script>
const svg = document.querySelector('svg'), axis = document.querySelector('.axis');
const [,, whole, height] = svg.getAttribute('viewBox').split(' ').map(Number);
let from = 0, width = Math.min(whole, 50000);
function show() {
  width = Math.min(whole, Math.max(20, width));
  from = Math.min(whole - width, Math.max(0, from));
  svg.setAttribute('viewBox', `${from} 0 ${width} ${height}`);
  let step = 10 ** Math.floor(Math.log10(width / 5));
  while (width / step > 10) step *= step.toString()[0] == '2' ? 2.5 : 2;
  axis.textContent = '';
  for (let t = Math.ceil(from / step) * step; t <= from + width; t += step) {
    const mark = document.createElement('span');
    mark.textContent = +(t / 1000).toPrecision(8) + ' ms';
    mark.style.left = (t - from) / width * 100 + '%';
    axis.append(mark);
  }
}
svg.addEventListener('wheel', e => {
  e.preventDefault();
  const at = from + width * e.offsetX / svg.clientWidth, by = e.deltaY > 0 ? 1.25 : 0.8;
  from = at - (at - from) * by; width *= by; show();
}, {passive: false});
let held = null;
svg.addEventListener('pointerdown', e => { held = e.clientX; svg.setPointerCapture(e.pointerId); });
svg.addEventListener('pointermove', e => {
  if (held === null) return;
  from -= (e.clientX - held) / svg.clientWidth * width; held = e.clientX; show();
});
svg.addEventListener('pointerup', () => held = null);
svg.addEventListener('dblclick', () => { from = 0; width = whole; show(); });
show();
</script>)";

std::string escaped(const std::string &s)
{
	std::string out;

	for (char c : s) {
		switch (c) {
		case '<': out += "&lt;"; break;
		case '>': out += "&gt;"; break;
		case '&': out += "&amp;"; break;
		case '"': out += "&quot;"; break;
		default: out += c;
		}
	}
	return out;
}

// Okabe and Ito's colours, which the colour-blind can tell apart.
const char *colour(size_t n)
{
	static const char *const colours[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
					      "#56b4e9", "#d55e00", "#b3a500"};

	return colours[n % 7];
}

struct Row {
	size_t track;
	int tsg;
	bool bare;
	bool is_engine; // its heading
	std::optional<Owner> owner{};
};

std::vector<Row> rows_of(const Timeline &t)
{
	std::vector<Row> rows;

	for (size_t i = 0; i < t.tracks.size(); i++) {
		std::map<std::pair<bool, int>, std::optional<Owner>> who;
		for (const Interval &one : t.tracks[i].intervals) {
			if (one.phase == Phase::Error)
				continue;
			std::optional<Owner> &owner = who[{one.bare, one.tsg}];
			owner = owner ? owner : t.owner(one);
		}
		if (who.empty())
			continue;
		rows.push_back({i, LENS_NONE, false, true, {}});
		for (const auto &[key, owner] : who)
			rows.push_back({i, key.second, key.first, false, owner});
	}
	return rows;
}

std::string who(const Row &r)
{
	return fmt::format("{} {}{}", r.bare ? "channel" : "TSG", r.tsg,
			   r.owner ? escaped(fmt::format(" ({})", r.owner->text())) : "");
}

double us(u64 ns)
{
	return static_cast<double>(ns) / 1000;
}

class Page {
public:
	explicit Page(const Timeline &t) : t_(t), rows_(rows_of(t))
	{
		std::set<std::pair<bool, int>> all;
		for (const Row &r : rows_)
			if (!r.is_engine)
				all.insert({r.bare, r.tsg});
		for (const auto &one : all)
			order_.push_back(one);
	}

	std::string write() const
	{
		std::string title = escaped("gpulens: " + t_.name());

		return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>" + title +
		       "</title>\n" + STYLE + "\n</head>\n<body>\n<h1>" + escaped(t_.name()) + "</h1>\n" + sampling() +
		       chart() + table() + SCRIPT + "\n</body>\n</html>\n";
	}

private:
	const char *colour_of(const Row &r) const
	{
		auto at = std::find(order_.begin(), order_.end(), std::pair<bool, int>(r.bare, r.tsg));

		return colour(static_cast<size_t>(at - order_.begin()));
	}

	std::string sampling() const
	{
		std::string out =
			fmt::format("<p>{:.3f} s, {} samples of each engine, one every {} (99% within {}, longest {}; "
				    "{} asked for). A turn "
				    "is measured to within that.</p>\n",
				    t_.seconds(), t_.ticks, duration(t_.step_median_ns), duration(t_.step_p99_ns),
				    duration(t_.step_max_ns), duration(u64{t_.period_us} * 1000));

		if (t_.lost)
			out += fmt::format("<p>{} ticks have no samples, in {} places{}.</p>\n", t_.lost,
					   t_.gaps.size(),
					   blind() ? "; grey: samples were lost" : ": sampling came too late");
		return out;
	}

	bool blind() const
	{
		return std::any_of(t_.gaps.begin(), t_.gaps.end(),
				   [](const Gap &g) { return g.kind != GPULENS_SAMPLE_LATE; });
	}

	std::string bars(const Row &r, size_t y, size_t &left) const
	{
		std::string out = fmt::format("<g fill=\"{}\">\n", colour_of(r));

		for (const Interval &one : t_.tracks[r.track].intervals) {
			if (one.phase == Phase::Error || one.tsg != r.tsg || one.bare != r.bare || !left)
				continue;
			left--;
			out += fmt::format("<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"{}><title>{}{}: "
					   "{} at {:.3f} "
					   "ms{}</title></rect>\n",
					   us(one.start_ns - t_.start_ns), y + (ROW - BAR) / 2,
					   us(one.end_ns - one.start_ns), BAR,
					   one.phase == Phase::Switching ? " opacity=\".35\"" : "", who(r),
					   one.phase == Phase::Switching ? " switching" : "",
					   duration(one.end_ns - one.start_ns), us(one.start_ns - t_.start_ns) / 1000,
					   one.channel == LENS_NONE ? "" : fmt::format(", channel {}", one.channel));
		}
		return out + "</g>\n";
	}

	std::string chart() const
	{
		size_t left = MOST, height = rows_.size() * ROW, y = 0;
		std::string names, out;

		if (rows_.empty())
			return "<p>Nothing was on any engine.</p>\n";
		for (const Gap &g : t_.gaps)
			if (g.time_ns >= t_.start_ns && g.kind != GPULENS_SAMPLE_LATE)
				out += fmt::format(
					"<rect x=\"{:.1f}\" y=\"0\" width=\"{}\" height=\"{}\" fill=\"#8886\"/>\n",
					us(g.time_ns - t_.start_ns), u64{g.ticks} * t_.period_us, height);
		for (const Row &r : rows_) {
			names += r.is_engine ? fmt::format("<div class=\"engine\">{}</div>",
							   escaped(t_.tracks[r.track].engine.short_name()))
					     : fmt::format("<div><i style=\"background:{}\"></i>{}</div>", colour_of(r),
							   who(r));
			if (!r.is_engine)
				out += bars(r, y, left);
			y += ROW;
		}
		out = fmt::format("<h2>Timeline</h2>\n<p class=\"soft\">At first 50 ms: the wheel zooms, drag moves, "
				  "double click shows "
				  "all; pale is "
				  "switching.{}</p>\n<div class=\"chart\"><div class=\"names\">{}</div>\n<div><svg "
				  "viewBox=\"0 0 {:.1f} {}\" height=\"{}\" preserveAspectRatio=\"none\" role=\"img\" "
				  "aria-label=\"what was on each engine\">\n",
				  left ? "" : fmt::format(" Only the first {} intervals are drawn.", MOST), names,
				  std::max(1.0, us(t_.end_ns - t_.start_ns)), height, height) +
		      out + "</svg>\n<div class=\"axis\"></div></div></div>\n";
		return out;
	}

	std::string table() const
	{
		std::string out = "<h2>Time slices</h2>\n<table><thead><tr>";

		for (const std::string &title : turn_titles())
			out += "<th>" + title + "</th>";
		out += "</tr></thead><tbody>\n";
		for (const std::vector<std::string> &row : turn_rows(t_, "–")) {
			out += "<tr>";
			for (const std::string &cell : row)
				out += "<td>" + escaped(cell) + "</td>";
			out += "</tr>\n";
		}
		return out + "</tbody></table>\n<p class=\"soft\">Turns that the recording, or a hole of more than "
			     "three steps in it, cut off are not "
			     "measured.</p>\n";
	}

	const Timeline &t_;
	std::vector<Row> rows_;
	std::vector<std::pair<bool, int>> order_;
};

} // namespace

std::string timeline_html(const Timeline &t)
{
	return Page(t).write();
}

} // namespace tool
