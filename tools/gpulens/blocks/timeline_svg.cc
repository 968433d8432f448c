// SPDX-License-Identifier: GPL-2.0
// See timeline_svg.hpp.
#include "gpulens/blocks/timeline_svg.hpp"

#include "gpulens/out/text.hpp"
#include "lib/base/format.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace tool::blocks {

namespace {

constexpr double WIDTH = 880, LEFT = 66, RIGHT = 20, TOP = 44;    // of the axes, and around them
constexpr double ROW_MOST = 130, ROW_LEAST = 6, ALL_ROWS = 760;   // heights of an SM's row, and of all if they allow
constexpr double LETTER = 7, LABEL_HEIGHT = 12, LEGEND_LINE = 20; // of 11-pixel type, roughly
constexpr double ARROW = 22, ARROW_LINE = 15;
constexpr size_t LEGEND_MOST = 40, ARROW_LINES = 4;

const char STYLE[] = R"(<style>
text { font: 13px system-ui, sans-serif; fill: #222; }
.title { font-weight: 600; }
.small { font-size: 11px; }
.name { font-size: 11px; fill: #000; stroke: #fff; stroke-width: 2.5px; stroke-opacity: .7; paint-order: stroke; }
.grid { stroke: #8885; stroke-width: 1; }
.b { stroke: #fff; }
@media (prefers-color-scheme: dark) { .paper { fill: #181818; } text { fill: #ddd; } .name { fill: #000; }
.b { stroke: #181818; } }
</style>
)";

// Okabe and Ito's colours, which the colour-blind can tell apart.
const char *const COLOURS[] = {"#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#f0e442", "#888888"};
constexpr size_t COLOUR_COUNT = std::size(COLOURS);

std::string escaped(const std::string &text)
{
	std::string out;

	for (char c : printable(text))
		out += c == '<'   ? "&lt;"
		       : c == '>' ? "&gt;"
		       : c == '&' ? "&amp;"
		       : c == '"' ? "&quot;"
				  : std::string(1, c);
	return out;
}

std::string text(const char *anchor, double x, double y, const std::string &words, const char *more = "")
{
	return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more,
			   escaped(words));
}

double seconds(s64 ns)
{
	return static_cast<double>(ns) / 1e9;
}

// The first SM is at the bottom, as in the papers.
class Picture {
public:
	Picture(const Log &log, Colours by, bool used) : log_(log), by_(by), row_of_(std::max(log.machine.sms, 1U))
	{
		std::vector<bool> shown(row_of_.size(), !used);
		for (const Ran &k : log.kernels)
			for (const Block &b : k.blocks)
				shown[b.sm] = true;
		for (u32 sm = 0; sm < row_of_.size(); sm++)
			if (shown[sm]) {
				row_of_[sm] = rows_++;
				sms_.push_back(sm);
			}
		rows_ = std::max(rows_, 1U);
		row_ = std::clamp(ALL_ROWS / rows_, ROW_LEAST, ROW_MOST);
		for (const Ran &k : log.kernels) {
			from_ = std::min(from_, k.launched ? (*k.launched)[0] : k.first_start());
			from_ = std::min(from_, k.first_start());
			to_ = std::max(to_, k.last_end());
		}
		to_ = std::max(to_, from_ + 1);
		stack();
	}

	std::string draw()
	{
		std::string body = legend();
		top_ = TOP + legend_;
		body += axes();
		for (size_t i = 0; i < log_.kernels.size(); i++)
			body += kernel(i);
		body += names_;
		double height = bottom() + 46;
		body += arrows(height);
		return fmt::format(
			       "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
			       "width=\"{0:.0f}\" height=\"{1:.0f}\">\n<title>{2}</title>\n{3}<rect class=\"paper\" "
			       "width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
			       LEFT + WIDTH + RIGHT, height, escaped(title()), STYLE) +
		       text("start", LEFT, 26, title(), " class=\"title\"") + body + "</svg>\n";
	}

private:
	double x(s64 ns) const
	{
		return LEFT + static_cast<double>(ns - from_) / static_cast<double>(to_ - from_) * WIDTH;
	}
	double bottom() const { return top_ + row_ * rows_; }
	double y(u32 sm, u32 threads) const { return bottom() - row_ * (row_of_[sm] + double(threads) / capacity_); }

	std::string title() const
	{
		const Machine &m = log_.machine;
		std::string t = log_.scenario + (log_.simulated ? ", simulated" : "");

		if (!m.name.empty())
			t += ", " + m.name;
		if (sms_.size() < row_of_.size())
			t += fmt::format(", {} of", sms_.size());
		else
			t += ",";
		return t + fmt::format(" {} SMs", row_of_.size()) +
		       (m.threads_per_sm ? fmt::format(" of {} threads", m.threads_per_sm) : "");
	}

	size_t colour_of(size_t kernel) const { return by_ == Colours::Kernel ? kernel : log_.kernels[kernel].stream; }

	// The second eight colours are the first, paler.
	static bool is_faint(size_t colour) { return colour / COLOUR_COUNT % 2; }

	static std::string fill(size_t colour)
	{
		return fmt::format("fill=\"{}\"{}", COLOURS[colour % COLOUR_COUNT],
				   is_faint(colour) ? " fill-opacity=\".5\"" : "");
	}

	// Blocks of an SM above each other: each as low as there is room when it starts.
	void stack()
	{
		struct One {
			s64 start, end;
			size_t kernel, block;
			u32 low, high;
		};
		std::vector<std::vector<One>> all(row_of_.size());

		capacity_ = std::max(log_.machine.threads_per_sm, 1U);
		low_.resize(log_.kernels.size());
		for (size_t i = 0; i < log_.kernels.size(); i++) {
			const Ran &k = log_.kernels[i];
			low_[i].resize(k.blocks.size());
			for (size_t j = 0; j < k.blocks.size(); j++)
				all[k.blocks[j].sm].push_back({k.blocks[j].start, k.blocks[j].end, i, j, 0, 0});
		}
		for (std::vector<One> &row : all) {
			std::vector<One> there; // by low
			std::sort(row.begin(), row.end(), [](const One &a, const One &b) {
				return std::tie(a.start, a.kernel, a.block) < std::tie(b.start, b.kernel, b.block);
			});
			for (One &one : row) {
				std::erase_if(there, [&](const One &o) { return o.end <= one.start; });
				u32 threads = log_.kernels[one.kernel].threads;
				auto at = there.begin();
				for (; at != there.end() && at->low < one.low + threads; ++at)
					one.low = at->high;
				// Room in pieces is none here; who looks still sees that it ran.
				if (log_.machine.threads_per_sm && one.low + threads > capacity_)
					one.low = capacity_ > threads ? capacity_ - threads : 0;
				one.high = one.low + threads;
				low_[one.kernel][one.block] = one.low;
				if (!log_.machine.threads_per_sm)
					capacity_ = std::max(capacity_, one.high);
				there.insert(std::upper_bound(there.begin(), there.end(), one,
							      [](const One &a, const One &b) { return a.low < b.low; }),
					     one);
			}
		}
	}

	std::string legend()
	{
		std::map<size_t, std::string> entries;
		std::string out;
		double at = LEFT;

		for (size_t i = 0; i < log_.kernels.size(); i++) {
			const Ran &k = log_.kernels[i];
			const std::string &label = log_.streams[k.stream].label;
			std::string stream = fmt::format("Stream {}", k.stream + 1);
			if (by_ == Colours::Kernel)
				entries[i] = label.empty() ? k.name : fmt::format("{} ({})", k.name, label);
			else
				entries[k.stream] = label.empty() || label == stream
							    ? stream
							    : fmt::format("{}: {}", stream, label);
		}
		for (const auto &[colour, words] : entries) {
			bool more = &entries.at(colour) != &entries.rbegin()->second && colour >= LEGEND_MOST;
			std::string shown = more ? "..." : words;
			double width = 22 + LETTER * double(shown.size()) + 14;
			if (at > LEFT && at + width > LEFT + WIDTH) {
				at = LEFT;
				legend_ += LEGEND_LINE;
			}
			if (!more)
				out += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"13\" height=\"13\" {}/>\n",
						   at, TOP + legend_ - 4, fill(colour));
			out += text("start", at + 18, TOP + legend_ + 7, shown);
			at += width;
			if (more)
				break;
		}
		legend_ += LEGEND_LINE;
		return out;
	}

	std::string axes() const
	{
		double all = seconds(to_ - from_), step = 1e-9;
		std::string out;
		u32 every = 1;

		// 1, 2, 5, 10, 20, 50, ...
		for (u32 i = 0; all / step > 12; i++)
			step *= i % 3 == 1 ? 2.5 : 2;
		for (s64 i = static_cast<s64>(std::ceil(seconds(from_) / step - 1e-9));
		     double(i) * step <= seconds(to_); i++) {
			double at = x(std::llround(double(i) * step * 1e9));
			out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n", at, top_,
					   bottom() + 5);
			out += text("middle", at, bottom() + 19, fmt::format("{:g}", double(i) * step),
				    " class=\"small\"");
		}
		out += text("end", LEFT - 8, bottom() + 19, "time, s", " class=\"small\"");
		while (every * row_ < 1.5 * LABEL_HEIGHT)
			every *= every == 2 ? 5 : 2; // 1, 2, 10, 20
		for (u32 row = 0; row <= rows_; row++) {
			double at = bottom() - row_ * row;
			if (row_ >= 4 * LETTER || row % every == 0 || row == rows_)
				out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}h{:.1f}\"/>\n", LEFT, at,
						   WIDTH);
			if (row < sms_.size() && row % every == 0)
				out += text("end", LEFT - 8, at - row_ / 2 + 4, fmt::format("SM {}", sms_[row]),
					    " class=\"small\"");
		}
		return out;
	}

	std::string kernel(size_t i)
	{
		const Ran &k = log_.kernels[i];
		double height = row_ * k.threads / capacity_;
		bool outlined = height >= 4; // a line around what is lower would be all that is seen of it
		std::string path, labels;

		for (size_t j = 0; j < k.blocks.size(); j++) {
			const Block &b = k.blocks[j];
			double left = x(b.start), width = std::max(x(b.end) - left - (outlined ? 0 : 0.8), 0.5);
			double low = y(b.sm, low_[i][j]);
			std::string name = fmt::format("{}:{}", k.name, j);
			path += fmt::format("M{:.1f} {:.2f}h{:.1f}v{:.2f}h-{:.1f}z", left, low, width, -height, width);
			if (height >= LABEL_HEIGHT && width >= LETTER * double(name.size()))
				labels +=
					text("middle", left + width / 2, low - height / 2 + 4, name, " class=\"name\"");
		}
		// Where no block has room for its label, the kernel has one; kernels at the same time not at the same place.
		if (labels.empty()) {
			size_t j = k.blocks.size() * (1 + i % 5) / 6;
			const Block &b = k.blocks[j];
			if (k.blocks.size() > 1 || x(b.end) - x(b.start) >= LETTER * double(k.name.size()))
				labels = text("middle", (x(b.start) + x(b.end)) / 2, y(b.sm, low_[i][j]) + 4, k.name,
					      " class=\"name\"");
		}
		names_ += labels;
		return fmt::format("<g id=\"kernel-{}\"><title>{}</title><path{} {} d=\"{}\"/></g>\n", i + 1,
				   escaped(k.name), outlined ? " class=\"b\"" : "", fill(colour_of(i)), path);
	}

	// Below the axis, from each launch; names of several that are close are joined, and set where there is room.
	std::string arrows(double &height) const
	{
		std::vector<double> ends(ARROW_LINES, 0); // of what is set on each line
		double under = bottom() + 26;
		std::string out;

		for (size_t i = 0; i < log_.kernels.size();) {
			if (!log_.kernels[i].launched) {
				i++;
				continue;
			}
			double at = x((*log_.kernels[i].launched)[0]);
			size_t last = i;
			while (last + 1 < log_.kernels.size() && log_.kernels[last + 1].launched &&
			       x((*log_.kernels[last + 1].launched)[0]) - at < 6)
				last++;
			std::string words = log_.kernels[i].name + (last == i       ? ""
								    : last == i + 1 ? ", " + log_.kernels[last].name
										    : " .. " + log_.kernels[last].name);
			double half = LETTER * double(words.size()) / 2;
			auto free = std::find_if(ends.begin(), ends.end(), [&](double end) { return end < at - half; });
			double line = under + ARROW + ARROW_LINE * (1 + double(free - ends.begin()));
			out += fmt::format("<path d=\"M{0:.1f} {1:.1f}v{2:.1f}M{3:.1f} {4:.1f}L{0:.1f} {1:.1f}L{5:.1f} "
					   "{4:.1f}\" fill=\"none\" stroke=\"{6}\"{7} stroke-width=\"2\"/>\n",
					   at, under, ARROW, at - 4, under + 7, at + 4,
					   COLOURS[colour_of(i) % COLOUR_COUNT],
					   is_faint(colour_of(i)) ? " stroke-opacity=\".5\"" : "");
			if (free != ends.end()) {
				out += text("middle", at, line - 3, words, " class=\"small\"");
				*free = at + half;
				height = std::max(height, line + 6);
			}
			i = last + 1;
		}
		return out;
	}

	const Log &log_;
	Colours by_;
	std::vector<u32> row_of_, sms_; // by SM; by row
	u32 rows_ = 0, capacity_ = 1;   // threads that a row is high
	double row_ = 0, top_ = TOP, legend_ = 0;
	s64 from_ = 0, to_ = 0;
	std::vector<std::vector<u32>> low_; // by kernel and block: threads below it
	std::string names_;                 // above all blocks
};

} // namespace

std::string timeline_svg(const Log &log, Colours by, bool used)
{
	return Picture(log, by, used).draw();
}

} // namespace tool::blocks
