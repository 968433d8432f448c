// SPDX-License-Identifier: GPL-2.0
// A timeline as a page of its own: no file beside it, nothing from a network. A row for each TSG of each engine, as
// Fig. 6 of RTAS'24 has a row for each task; wheel and drag zoom and move, which without scripts shows all of it.
#include "gpulens/out/text.hpp"
#include "gpulens/out/timeline_out.hpp"
#include "lib/base/format.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <queue>

namespace tool {

namespace {

// Rectangles; browsers get slow beyond. Where there are more intervals, so many of the first are drawn as they are, and as
// many rectangles show the shares of time of the rest.
constexpr size_t MOST = 20000, FIRST = MOST / 2;
constexpr size_t MOST_GAPS = 2000; // where there are more, close ones are drawn as one
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

// What a page is drawn from that all intervals have to be seen for.
struct Survey {
	std::vector<Row> rows;
	size_t intervals = 0;
	u64 first_until_ns = ~u64{0}; // those that start before are the first
};

Survey survey_of(const Timeline &t)
{
	Survey s;
	std::priority_queue<u64> first; // the lowest starts

	for (size_t i = 0; i < t.tracks.size(); i++) {
		std::map<std::pair<bool, int>, std::optional<Owner>> who;
		TimelineReader<Interval> intervals = t.intervals_of(i);
		while (const Interval *one = intervals.next()) {
			if (one->phase == Phase::Error)
				continue;
			std::optional<Owner> &owner = who[{one->bare, one->tsg}];
			owner = owner ? owner : t.owner(*one);
			s.intervals++;
			if (first.size() <= FIRST || one->start_ns < first.top())
				first.push(one->start_ns);
			if (first.size() > FIRST + 1)
				first.pop();
		}
		if (who.empty())
			continue;
		s.rows.push_back({i, LENS_NONE, false, true, {}});
		for (const auto &[key, owner] : who)
			s.rows.push_back({i, key.second, key.first, false, owner});
	}
	if (s.intervals > MOST)
		s.first_until_ns = first.top();
	return s;
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
	explicit Page(const Timeline &t) : t_(t), survey_(survey_of(t)), rows_(survey_.rows)
	{
		for (const Row &r : rows_)
			if (!r.is_engine)
				order_[{r.bare, r.tsg}] = 0;
		size_t n = 0;
		for (auto &[key, place] : order_)
			place = n++;
		rest_ns_ = t.end_ns - std::min(t.end_ns, survey_.first_until_ns);
		shares_ = std::max<size_t>(1, FIRST / std::max<size_t>(1, rows_.size()));
		share_ns_ = std::max<u64>(1, (rest_ns_ + shares_ - 1) / shares_);
		TimelineReader<Gap> gaps = t.all_gaps();
		while (const Gap *g = gaps.next()) {
			gaps_++;
			blind_ += g->kind != GPULENS_SAMPLE_LATE;
		}
	}

	std::string write() const
	{
		std::string title = escaped("gpulens: " + t_.name());

		return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>" + title +
		       "</title>\n" + STYLE + "\n</head>\n<body>\n<h1>" + escaped(t_.name()) + "</h1>\n" + sampling() +
		       chart() + table() + SCRIPT + "\n</body>\n</html>\n";
	}

private:
	const char *colour_of(const Row &r) const { return colour(order_.at({r.bare, r.tsg})); }

	std::string sampling() const
	{
		std::string out =
			fmt::format("<p>{:.3f} s, {} samples of each engine, one every {} (99% within {}, longest {}; "
				    "{} asked for). A turn "
				    "is measured to within that.</p>\n",
				    t_.seconds(), t_.ticks, duration(t_.step_median_ns), duration(t_.step_p99_ns),
				    duration(t_.step_max_ns), duration(u64{t_.period_us} * 1000));

		if (t_.lost)
			out += fmt::format("<p>{} ticks have no samples, in {} places{}.</p>\n", t_.lost, gaps_,
					   blind_ ? "; grey: samples were lost" : ": sampling came too late");
		return out;
	}

	static std::string rectangle(double x, size_t y, double width, const std::string &rest)
	{
		return fmt::format("<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"{}</title></rect>\n", x,
				   y + (ROW - BAR) / 2, width, BAR, rest);
	}

	std::string bar(const Row &r, size_t y, const Interval &one) const
	{
		bool pale = one.phase == Phase::Switching;

		return rectangle(us(one.start_ns - t_.start_ns), y, us(one.end_ns - one.start_ns),
				 fmt::format("{}><title>{}{}: {} at {:.3f} ms{}", pale ? " opacity=\".35\"" : "",
					     who(r), pale ? " switching" : "", duration(one.end_ns - one.start_ns),
					     us(one.start_ns - t_.start_ns) / 1000,
					     one.channel == LENS_NONE ? "" : fmt::format(", channel {}", one.channel)));
	}

	// Time of a row on the engine, by part of the rest.
	using Shares = std::vector<u64>;

	void add_to(Shares &shares, const Interval &one) const
	{
		u64 from = one.start_ns - survey_.first_until_ns, to = one.end_ns - survey_.first_until_ns;

		shares.resize(shares_);
		for (u64 at = from; at < to;) {
			size_t part = std::min<size_t>(shares_ - 1, at / share_ns_);
			u64 end = part + 1 == shares_ ? to : std::min(to, (part + 1) * share_ns_);
			shares[part] += end - at;
			at = end;
		}
	}

	std::string bars_of_shares(const Row &r, size_t y, const Shares &shares) const
	{
		std::string out;

		for (size_t i = 0; i < shares.size(); i++) {
			double share = std::min(1.0, static_cast<double>(shares[i]) / static_cast<double>(share_ns_));
			double at = us(survey_.first_until_ns - t_.start_ns + i * share_ns_);
			if (shares[i])
				out += rectangle(
					at, y, us(share_ns_),
					fmt::format(" opacity=\"{:.2f}\"><title>{}: {:.1f}% of {} at {:.3f} ms",
						    std::max(0.05, share), who(r), 100 * share, duration(share_ns_),
						    at / 1000));
		}
		return out;
	}

	// The bars of an engine's rows, which are rows_ from that index on; y: of the first.
	std::string bars(size_t first, size_t count, size_t y) const
	{
		std::map<std::pair<bool, int>, size_t> place;
		std::vector<std::string> drawn(count);
		std::vector<Shares> shares(count);
		TimelineReader<Interval> intervals = t_.intervals_of(rows_[first].track);
		std::string out;

		for (size_t i = 0; i < count; i++)
			place[{rows_[first + i].bare, rows_[first + i].tsg}] = i;
		while (const Interval *one = intervals.next()) {
			if (one->phase == Phase::Error)
				continue;
			size_t i = place.at({one->bare, one->tsg});
			if (one->start_ns < survey_.first_until_ns)
				drawn[i] += bar(rows_[first + i], y + i * ROW, *one);
			else if (one->phase == Phase::On)
				add_to(shares[i], *one);
		}
		for (size_t i = 0; i < count; i++)
			out += fmt::format("<g fill=\"{}\">\n{}{}</g>\n", colour_of(rows_[first + i]), drawn[i],
					   bars_of_shares(rows_[first + i], y + i * ROW, shares[i]));
		return out;
	}

	std::string gaps(size_t height) const
	{
		u64 close = blind_ > MOST_GAPS ? (t_.end_ns - t_.start_ns) / MOST_GAPS : 0;
		u64 from = 0, to = 0;
		std::string out;
		auto draw = [&] {
			if (to > from)
				out += fmt::format(
					"<rect x=\"{:.1f}\" y=\"0\" width=\"{}\" height=\"{}\" fill=\"#8886\"/>\n",
					us(from - t_.start_ns), (to - from) / 1000, height);
		};

		TimelineReader<Gap> all = t_.all_gaps();
		while (const Gap *g = all.next()) {
			if (g->time_ns < t_.start_ns || g->kind == GPULENS_SAMPLE_LATE)
				continue;
			u64 end = g->time_ns + u64{g->ticks} * t_.period_us * 1000;
			if (!close || to == 0 || g->time_ns > to + close) {
				draw();
				from = g->time_ns;
			}
			to = std::max(close ? to : 0, end);
		}
		draw();
		return out;
	}

	std::string how_drawn() const
	{
		if (survey_.intervals <= MOST)
			return "";
		return fmt::format(
			" Of {} intervals those of the first {} are drawn; after that, how dark a bar is tells the "
			"share of {} that a TSG had.",
			survey_.intervals, duration(survey_.first_until_ns - t_.start_ns), duration(share_ns_));
	}

	std::string chart() const
	{
		size_t height = rows_.size() * ROW;
		std::string names, out;

		if (rows_.empty())
			return "<p>Nothing was on any engine.</p>\n";
		out += gaps(height);
		for (size_t i = 0; i < rows_.size(); i++) {
			const Row &r = rows_[i];
			names += r.is_engine ? fmt::format("<div class=\"engine\">{}</div>",
							   escaped(t_.tracks[r.track].engine.short_name()))
					     : fmt::format("<div><i style=\"background:{}\"></i>{}</div>", colour_of(r),
							   who(r));
			size_t count = 0;
			while (r.is_engine && i + 1 + count < rows_.size() && !rows_[i + 1 + count].is_engine)
				count++;
			if (count)
				out += bars(i + 1, count, (i + 1) * ROW);
		}
		out = fmt::format("<h2>Timeline</h2>\n<p class=\"soft\">At first 50 ms: the wheel zooms, drag moves, "
				  "double click shows "
				  "all; pale is "
				  "switching.{}</p>\n<div class=\"chart\"><div class=\"names\">{}</div>\n<div><svg "
				  "viewBox=\"0 0 {:.1f} {}\" height=\"{}\" preserveAspectRatio=\"none\" role=\"img\" "
				  "aria-label=\"what was on each engine\">\n",
				  how_drawn(), names, std::max(1.0, us(t_.end_ns - t_.start_ns)), height, height) +
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
	Survey survey_;
	const std::vector<Row> &rows_;
	std::map<std::pair<bool, int>, size_t> order_; // of TSGs, for their colours
	size_t shares_, gaps_ = 0, blind_ = 0;         // shares_: parts of the time that is not drawn by interval
	u64 rest_ns_, share_ns_;
};

} // namespace

void write_html(const Timeline &t, const Sink &sink)
{
	sink(Page(t).write());
}

} // namespace tool
