// SPDX-License-Identifier: GPL-2.0
// Writes a timeline as a self-contained HTML page, which loads nothing. The drawing has a row for each TSG of each
// engine, as Fig. 6 of RTAS'24 has a row for each task. The mouse wheel with Ctrl zooms and dragging moves; without scripts
// the page shows the whole recording.
#include "gpulens/out/svg.hpp"
#include "gpulens/out/text.hpp"
#include "gpulens/out/timeline_csv.hpp"
#include "gpulens/out/timeline_out.hpp"
#include "lib/base/format.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <queue>

namespace tool {

namespace {

// Browsers get slow with more rectangles. If there are more intervals, the first half of the rectangles are intervals,
// and the other half show shares of time.
constexpr size_t MAX_RECTANGLES = 20000, MAX_FIRST_INTERVALS = MAX_RECTANGLES / 2;
constexpr size_t MAX_GAPS = 2000;               // if there are more, close ones are drawn together
constexpr int ROW_HEIGHT = 22, BAR_HEIGHT = 16; // pixels

const char STYLE_ELEMENT[] = R"(<style>
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
i.gap { width: 2em; background: repeating-linear-gradient(135deg, #888 0 2px, #0000 2px 4px); }
</style>)";

// Zooms and moves by changing the viewBox, whose unit is a microsecond; rectangles do not change. Charts with a common time
// axis are zoomed and moved together; at first they show where the last of their recordings begins.
const char SCRIPT_ELEMENT[] = R"(<script>
const all = [...document.querySelectorAll('.chart')];
for (const charts of all[0]?.matches('.common') ? [all] : all.map(chart => [chart])) {
const views = charts.map(chart => {
  const svg = chart.querySelector('svg'), [x,, whole, height] = svg.getAttribute('viewBox').split(' ').map(Number);
  return {svg, axis: chart.querySelector('.axis'), hatch: chart.querySelector('pattern'), x, whole, height};
});
const whole = views[0].whole;
let from = -Math.min(...views.map(view => view.x)), width = Math.min(whole, 50000), held = null;
function drawView({svg, axis, hatch, x, height}) {
  const pixels = svg.clientWidth || 1, most = Math.max(1, Math.min(10, pixels / 120)); // a label takes up to 80
  svg.setAttribute('viewBox', `${from + x} 0 ${width} ${height}`);
  hatch.setAttribute('patternTransform', `scale(${width / pixels} 1) rotate(45)`);
  let step = 10 ** Math.floor(Math.log10(width / 5));
  while (width / step > most) step *= step.toString()[0] == '2' ? 2.5 : 2;
  axis.textContent = '';
  for (let t = Math.ceil(from / step) * step; t <= from + width; t += step) {
    const mark = document.createElement('span');
    mark.textContent = +(t / 1000).toFixed(4) + ' ms';
    mark.style.left = (t - from) / width * 100 + '%';
    if ((from + width - t) / width * pixels < 40) mark.style.transform = 'translateX(-100%)';
    axis.append(mark);
  }
}
function show() {
  width = Math.min(whole, Math.max(20, width));
  from = Math.min(whole - width, Math.max(0, from));
  views.forEach(drawView);
}
for (const {svg} of views) {
svg.addEventListener('wheel', e => {
  if (!e.ctrlKey) return;
  e.preventDefault();
  const at = from + width * e.offsetX / svg.clientWidth, by = e.deltaY > 0 ? 1.25 : 0.8;
  from = at - (at - from) * by; width *= by; show();
}, {passive: false});
svg.addEventListener('pointerdown', e => { held = e.clientX; svg.setPointerCapture(e.pointerId); });
svg.addEventListener('pointermove', e => {
  if (held === null) return;
  from -= (e.clientX - held) / svg.clientWidth * width; held = e.clientX; show();
});
svg.addEventListener('pointerup', () => held = null);
svg.addEventListener('dblclick', () => { from = 0; width = whole; show(); });
}
addEventListener('resize', show);
show();
}
</script>)";

const char *const TSG_COLOURS[] = {palette::BLUE,     palette::ORANGE,     palette::GREEN,      palette::PURPLE,
				   palette::SKY_BLUE, palette::VERMILLION, palette::DARK_YELLOW};

// A row of the drawing: a TSG, a channel that is in no TSG (bare), or the heading of an engine.
struct Row {
	size_t track;
	int tsg; // or channel
	bool bare;
	bool is_engine;
	std::optional<Owner> owner{};
};

// The time axis of a chart. Its coordinates begin at the start of its recording.
struct Axis {
	u64 before_ns = 0, whole_ns = 0;      // from the axis' zero to that start; length of the axis
	std::optional<u64> zero_unix_ns = {}; // of an axis that all charts of the page have
};

// Returns a common axis by the wall clocks; if a recording has none, an axis of each chart.
std::vector<Axis> find_axes(std::span<const Timeline> gpus)
{
	std::vector<Axis> axes;
	u64 first = ~u64{0}, last = 0;
	bool common = gpus.size() > 1;

	for (const Timeline &t : gpus) {
		common = common && t.clocks;
		if (!common || !t.end_ns) // without samples it has no chart
			continue;
		first = std::min(first, *t.unix_ns(t.start_ns));
		last = std::max(last, *t.unix_ns(t.end_ns));
	}
	for (const Timeline &t : gpus)
		axes.push_back(common ? Axis{*t.unix_ns(t.start_ns) - first, last - first, first}
				      : Axis{0, t.end_ns - t.start_ns});
	return axes;
}

// Reads the intervals of a track without its gaps: an interval that goes on after one is two.
class SeenIntervals {
public:
	SeenIntervals(const Timeline &t, size_t track)
		: intervals_(t.intervals_of(track)), gaps_(t, track), gap_(gaps_.next())
	{
	}

	const Interval *next()
	{
		const Interval *from = rest_ ? &*rest_ : intervals_.next();

		if (!from)
			return nullptr;
		part_ = *from;
		rest_.reset();
		while (gap_ && gap_->to_ns <= part_.start_ns)
			gap_ = gaps_.next();
		if (!gap_ || gap_->from_ns >= part_.end_ns)
			return &part_;
		if (gap_->to_ns < part_.end_ns) {
			rest_ = part_;
			rest_->start_ns = gap_->to_ns;
		}
		part_.end_ns = std::max(part_.start_ns, gap_->from_ns);
		return &part_;
	}

private:
	TimelineReader<Interval> intervals_;
	UnseenGaps gaps_;
	const SampleGap *gap_;
	Interval part_;
	std::optional<Interval> rest_; // what is left of the last interval
};

// What a first pass over all intervals finds.
struct Survey {
	std::vector<Row> rows;
	size_t intervals = 0, gaps = 0;
	u64 first_until_ns = 0; // intervals that start before are drawn one by one, or all if there are few

	bool draws_all() const { return intervals <= MAX_RECTANGLES; }
};

Survey survey_of(const Timeline &t)
{
	Survey s;
	std::priority_queue<u64> first; // the earliest starts

	for (size_t i = 0; i < t.tracks.size(); i++) {
		std::map<std::pair<bool, int>, std::optional<Owner>> owners; // by (bare, tsg)
		SeenIntervals intervals(t, i);
		while (const Interval *interval = intervals.next()) {
			if (interval->phase == Phase::Error)
				continue;
			std::optional<Owner> &owner = owners[{interval->bare, interval->tsg}];
			owner = owner ? owner : t.owner(t.tracks[i].engine.runlist, *interval);
			s.intervals++;
			if (first.size() <= MAX_FIRST_INTERVALS || interval->start_ns < first.top())
				first.push(interval->start_ns);
			if (first.size() > MAX_FIRST_INTERVALS + 1)
				first.pop();
		}
		if (owners.empty())
			continue;
		UnseenGaps gaps(t, i);
		while (gaps.next())
			s.gaps++;
		s.rows.push_back({i, LENS_NONE, false, true, {}});
		for (const auto &[key, owner] : owners)
			s.rows.push_back({i, key.second, key.first, false, owner});
	}
	if (!s.draws_all())
		s.first_until_ns = first.top();
	return s;
}

std::string describe_row(const Row &r)
{
	return fmt::format("{}{}", name_task(r.bare, r.tsg),
			   r.owner ? escape_xml(fmt::format(" ({})", r.owner->text())) : "");
}

double to_us(u64 ns)
{
	return static_cast<double>(ns) / 1000;
}

// By process, or by TSG where the process is unknown.
using Colours = std::map<std::string, const char *>;

// The part of the page of one GPU.
class Page {
public:
	// number: of the chart on the whole page, of count charts.
	Page(const Timeline &t, const Axis &axis, size_t number, size_t count, Colours &colours)
		: t_(t), axis_(axis), number_(number), count_(count), colours_(colours), survey_(survey_of(t)),
		  rows_(survey_.rows)
	{
		rest_ns_ = survey_.draws_all() ? 0 : t.end_ns - std::min(t.end_ns, survey_.first_until_ns);
		shares_ = std::max<size_t>(1, MAX_FIRST_INTERVALS / std::max<size_t>(1, rows_.size()));
		share_ns_ = std::max<u64>(1, (rest_ns_ + shares_ - 1) / shares_);
		TimelineReader<DroppedTicks> dropped = t.all_dropped();
		while (const DroppedTicks *d = dropped.next()) {
			dropped_++;
			lost_ += d->kind != GPULENS_SAMPLE_LATE;
		}
	}

	std::string write() const
	{
		return "<h1>" + escape_xml(t_.name()) + "</h1>\n" + draw_sampling() + draw_chart() + draw_table();
	}

private:
	const char *colour_of(const Row &r) const
	{
		std::string key = r.owner ? fmt::format("process {} of {}", r.owner->pid, t_.label)
					  : fmt::format("{} of chart {}", name_task(r.bare, r.tsg), number_);

		return colours_.try_emplace(key, TSG_COLOURS[colours_.size() % std::size(TSG_COLOURS)]).first->second;
	}

	const char *name_unseen() const { return t_.period_us ? "not sampled" : "not recorded"; }

	// Time on the axis, ms.
	double to_axis_ms(u64 ns) const { return to_us(ns - t_.start_ns + axis_.before_ns) / 1000; }

	std::string draw_sampling() const
	{
		if (!t_.period_us)
			return fmt::format("<p>{:.3f} s, each context switch by the driver's records; {} lost{}.</p>\n",
					   t_.seconds(), t_.lost,
					   t_.clock_error.empty() ? "" : ", times to within " + t_.clock_error);
		std::string out = fmt::format(
			"<p>{:.3f} s, {} samples of each engine, one every {} (99% within {}, longest {}; "
			"{} requested). A turn is the uninterrupted time of a TSG on an engine, known to within one "
			"of these periods.</p>\n",
			t_.seconds(), t_.ticks, format_duration(t_.step_median_ns), format_duration(t_.step_p99_ns),
			format_duration(t_.step_max_ns), format_duration(u64{t_.period_us} * 1000));

		if (t_.lost)
			out += fmt::format("<p>{} ticks have no samples, in {} places{}.</p>\n", t_.lost, dropped_,
					   lost_ ? "" : ": the sampler was late");
		return out;
	}

	// rest: attributes, the end of the tag and the beginning of its title.
	static std::string draw_rectangle(double x, size_t y, double width, const std::string &rest)
	{
		return fmt::format("<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\"{}</title></rect>\n", x,
				   y + (ROW_HEIGHT - BAR_HEIGHT) / 2, width, BAR_HEIGHT, rest);
	}

	std::string draw_bar(const Row &r, size_t y, const Interval &interval) const
	{
		bool pale = interval.phase == Phase::Switching;

		return draw_rectangle(
			to_us(interval.start_ns - t_.start_ns), y, to_us(interval.end_ns - interval.start_ns),
			fmt::format("{}><title>{}{}: {} at {:.3f} ms{}", pale ? " opacity=\".35\"" : "",
				    describe_row(r), pale ? " switching" : "",
				    format_duration(interval.end_ns - interval.start_ns), to_axis_ms(interval.start_ns),
				    r.bare || interval.channel == LENS_NONE
					    ? ""
					    : fmt::format(", channel {}", interval.channel)));
	}

	// Time of a row on the engine, ns, in each part of the time that is not drawn interval by interval.
	using Shares = std::vector<u64>;

	void add_to(Shares &shares, const Interval &interval) const
	{
		u64 from = interval.start_ns - survey_.first_until_ns, to = interval.end_ns - survey_.first_until_ns;

		shares.resize(shares_);
		for (u64 at = from; at < to;) {
			size_t part = std::min<size_t>(shares_ - 1, at / share_ns_);
			u64 end = part + 1 == shares_ ? to : std::min(to, (part + 1) * share_ns_);
			shares[part] += end - at;
			at = end;
		}
	}

	std::string draw_shares(const Row &r, size_t y, const Shares &shares) const
	{
		std::string out;

		for (size_t i = 0; i < shares.size(); i++) {
			double share = std::min(1.0, static_cast<double>(shares[i]) / static_cast<double>(share_ns_));
			double at = to_us(survey_.first_until_ns - t_.start_ns + i * share_ns_);
			if (shares[i])
				out += draw_rectangle(
					at, y, to_us(share_ns_),
					fmt::format(" opacity=\"{:.2f}\"><title>{}: {:.1f}% of {} at {:.3f} ms",
						    std::max(0.05, share), describe_row(r), 100 * share,
						    format_duration(share_ns_),
						    to_axis_ms(survey_.first_until_ns + i * share_ns_)));
		}
		return out;
	}

	// Draws the bars of an engine's rows: count elements of rows_, from index first on. y: position of the first
	// row.
	std::string draw_engine(size_t first, size_t count, size_t y) const
	{
		std::map<std::pair<bool, int>, size_t> row_of_tsg; // from first on
		std::vector<std::string> drawn(count);
		std::vector<Shares> shares(count);
		SeenIntervals intervals(t_, rows_[first].track);
		std::string out = draw_gaps(rows_[first].track, y, count * ROW_HEIGHT);

		for (size_t i = 0; i < count; i++)
			row_of_tsg[{rows_[first + i].bare, rows_[first + i].tsg}] = i;
		while (const Interval *interval = intervals.next()) {
			if (interval->phase == Phase::Error)
				continue;
			size_t i = row_of_tsg.at({interval->bare, interval->tsg});
			if (survey_.draws_all() || interval->start_ns < survey_.first_until_ns)
				drawn[i] += draw_bar(rows_[first + i], y + i * ROW_HEIGHT, *interval);
			else if (interval->phase == Phase::On)
				add_to(shares[i], *interval);
		}
		for (size_t i = 0; i < count; i++)
			out += fmt::format("<g fill=\"{}\">\n{}{}</g>\n", colour_of(rows_[first + i]), drawn[i],
					   draw_shares(rows_[first + i], y + i * ROW_HEIGHT, shares[i]));
		return out;
	}

	// Draws nothing without a length. from_ns may be before the recording.
	std::string draw_gap(u64 from_ns, u64 length_ns, size_t y, size_t height, const char *what = "") const
	{
		if (!length_ns)
			return "";
		return fmt::format("<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"url(#gap{})\">"
				   "<title>{}{}: {} at {:.3f} ms</title></rect>\n",
				   static_cast<double>(static_cast<int64_t>(from_ns - t_.start_ns)) / 1000, y,
				   to_us(length_ns), height, number_, what, name_unseen(), format_duration(length_ns),
				   to_axis_ms(from_ns));
	}

	// Hatches the gaps of an engine, at the height of its rows.
	std::string draw_gaps(size_t track, size_t y, size_t height) const
	{
		u64 close = survey_.gaps > MAX_GAPS ? (t_.end_ns - t_.start_ns) / MAX_GAPS * t_.tracks.size() : 0;
		std::optional<SampleGap> joined;
		bool whole = true;
		std::string out;
		UnseenGaps gaps(t_, track);
		auto draw = [&] {
			if (joined)
				out += draw_gap(joined->from_ns, joined->to_ns - joined->from_ns, y, height,
						whole ? "" : "partly ");
		};

		while (const SampleGap *gap = gaps.next()) {
			if (close && joined && gap->from_ns <= joined->to_ns + close) {
				joined->to_ns = std::max(joined->to_ns, gap->to_ns);
				whole = false;
				continue;
			}
			draw();
			joined = *gap;
			whole = true;
		}
		draw();
		return out;
	}

	std::string explain_shares() const
	{
		if (survey_.draws_all())
			return "";
		return fmt::format(
			" Of {} intervals those of the first {} are drawn; after that, how dark a bar is tells the "
			"share of {} that a TSG had.",
			survey_.intervals, format_duration(survey_.first_until_ns - t_.start_ns),
			format_duration(share_ns_));
	}

	std::string explain_axis() const
	{
		if (axis_.zero_unix_ns)
			return fmt::format(" All GPUs have one time axis: 0 ms is {} UTC.",
					   utc_text(*axis_.zero_unix_ns));
		return count_ > 1 ? " Each GPU has a time axis of its own, as not all recordings have a wall clock."
				  : "";
	}

	std::string draw_chart() const
	{
		size_t height = rows_.size() * ROW_HEIGHT;
		std::string names, out;

		if (rows_.empty())
			return "<p>All engines were idle.</p>\n";
		out += draw_gap(t_.start_ns - axis_.before_ns, axis_.before_ns, 0, height) +
		       draw_gap(t_.end_ns, axis_.whole_ns - axis_.before_ns - (t_.end_ns - t_.start_ns), 0, height);
		for (size_t i = 0; i < rows_.size(); i++) {
			const Row &r = rows_[i];
			names += r.is_engine ? fmt::format("<div class=\"engine\">{}</div>",
							   escape_xml(t_.tracks[r.track].engine.short_name()))
					     : fmt::format("<div><i style=\"background:{}\"></i>{}</div>", colour_of(r),
							   describe_row(r));
			size_t count = 0;
			while (r.is_engine && i + 1 + count < rows_.size() && !rows_[i + 1 + count].is_engine)
				count++;
			if (count)
				out += draw_engine(i + 1, count, (i + 1) * ROW_HEIGHT);
		}
		double whole = std::max(1.0, to_us(axis_.whole_ns));
		return fmt::format("<h2>Timeline</h2>\n<p class=\"soft\">Shows {}: the wheel with Ctrl zooms, dragging "
				   "moves, a double click shows everything.{}{} Each process has a colour, and each "
				   "TSG of which no process is known. Pale: context switch. <i "
				   "class=\"gap\"></i>{}{}.</p>\n",
				   axis_.zero_unix_ns ? "50 ms from the start of the last recording"
						      : "the first 50 ms",
				   explain_axis(), explain_shares(), name_unseen(),
				   t_.period_us ? " for more than three periods" : "") +
		       fmt::format("<div class=\"chart{}\"><div class=\"names\">{}</div>\n<div><svg "
				   "viewBox=\"{:.1f} 0 {:.1f} {}\" height=\"{}\" preserveAspectRatio=\"none\" "
				   "role=\"img\" aria-label=\"what was on each engine\">\n<pattern id=\"gap{}\" "
				   "width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform="
				   "\"scale({:.3f} 1) rotate(45)\"><path d=\"M0 0V6\" stroke=\"#888\" "
				   "stroke-width=\"4\"/></pattern>\n",
				   axis_.zero_unix_ns ? " common" : "", names, 0 - to_us(axis_.before_ns), whole,
				   height, height, number_, whole / 1000) +
		       out + "</svg>\n<div class=\"axis\"></div></div></div>\n";
	}

	std::string draw_table() const
	{
		std::string out = "<h2>Turns and time slices</h2>\n<table><thead><tr>";

		SlotTable slots = slot_table(t_, "–");
		for (const std::string &title : slots.titles)
			out += "<th>" + title + "</th>";
		out += "</tr></thead><tbody>\n";
		for (const std::vector<std::string> &row : slots.rows) {
			out += "<tr>";
			for (const std::string &cell : row)
				out += "<td>" + escape_xml(cell) + "</td>";
			out += "</tr>\n";
		}
		return out + "</tbody></table>\n<p class=\"soft\">Turns that are cut off by the ends of the recording, "
			     "or by a gap of more than three sampling periods, are not measured, but count in "
			     "Time.</p>\n";
	}

	const Timeline &t_;
	const Axis &axis_;
	size_t number_, count_;
	Colours &colours_;
	Survey survey_;
	const std::vector<Row> &rows_;
	size_t shares_;                 // number of parts of the time that is not drawn interval by interval
	size_t dropped_ = 0, lost_ = 0; // number of DroppedTicks; of those, without samples that were only late
	u64 rest_ns_, share_ns_;        // length of that time, and of a part
};

} // namespace

void write_html(std::span<const Timeline> gpus, const Sink &sink)
{
	std::string names;

	for (const Timeline &t : gpus)
		names += (names.empty() ? "" : "; ") + t.name();
	sink("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>" +
	     escape_xml("gpulens: " + names) + "</title>\n" + STYLE_ELEMENT + "\n</head>\n<body>\n");
	std::vector<Axis> axes = find_axes(gpus);
	Colours colours;
	for (size_t i = 0; i < gpus.size(); i++)
		sink(Page(gpus[i], axes[i], i, gpus.size(), colours).write());
	sink(SCRIPT_ELEMENT);
	sink("\n</body>\n</html>\n");
}

} // namespace tool
