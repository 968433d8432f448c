// SPDX-License-Identifier: GPL-2.0
// Places the blocks of a log in rows of SMs, and draws them with axes, legend and arrows for launches.
#include "lab/blocks/timeline_svg.hpp"

#include "lab/blocks/trace.hpp"

#include "gpulens/out/svg.hpp"
#include "lib/base/format.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace tool::blocks {

namespace {

// Pixels.
constexpr double AXES_WIDTH = 880, LEFT_MARGIN = 66, RIGHT_MARGIN = 20, TOP_MARGIN = 44;
constexpr double MAX_ROW_HEIGHT = 130, MIN_ROW_HEIGHT = 6; // of an SM's row
constexpr double ROWS_HEIGHT = 760;                        // of all rows together, within the limits for each
constexpr double LETTER_WIDTH = 7, LABEL_HEIGHT = 12;      // of 11-pixel type, roughly
constexpr double LEGEND_LINE_HEIGHT = 20;
constexpr double LANE_HEIGHT = 18; // of a row of the CPU, or of copies
constexpr double ARROW_LENGTH = 22, ARROW_LINE_HEIGHT = 15;
// Numbers.
constexpr size_t MAX_LEGEND_ENTRIES = 40, ARROW_LINES = 4;

const char STYLE_ELEMENT[] = R"(<style>
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

const char MASK_STYLE_ELEMENT[] = R"(<style>
.outside { fill: #d55e00; fill-opacity: .25; }
.excluded { fill: #8882; }
</style>
)";

const char *const BLOCK_COLOURS[] = {palette::BLUE,     palette::ORANGE, palette::GREEN,  palette::VERMILLION,
				     palette::SKY_BLUE, palette::PURPLE, palette::YELLOW, palette::GREY};
constexpr size_t COLOUR_COUNT = std::size(BLOCK_COLOURS);

// The first SM is the lowest row, as in the papers.
class Picture {
public:
	Picture(const Log &log, Colours colour_by, bool only_used, bool cpu, const std::optional<Within> &within)
		: log_(log), colour_by_(colour_by), cpu_(cpu), within_(within), row_of_(std::max(log.machine.sms, 1U)),
		  processes_(log.processes())
	{
		std::vector<bool> shown(row_of_.size(), !only_used);
		for (const Ran &k : log.kernels)
			for (const Block &b : k.blocks)
				shown[b.sm] = true;
		for (u32 sm = 0; sm < row_of_.size(); sm++)
			if (shown[sm]) {
				row_of_[sm] = row_count_++;
				sms_.push_back(sm);
			}
		row_count_ = std::max(row_count_, 1U);
		row_height_ = std::clamp(ROWS_HEIGHT / row_count_, MIN_ROW_HEIGHT, MAX_ROW_HEIGHT);
		for (const Ran &k : log.kernels) {
			from_ = std::min(from_, k.launched ? (*k.launched)[0] : k.first_start());
			from_ = std::min(from_, k.first_start());
			to_ = std::max(to_, k.last_end());
			if (!cpu)
				continue;
			from_ = std::min({from_, k.begin(), k.launched ? k.calls()[0] : k.begin()});
			to_ = std::max({to_, k.end(), k.launched ? (*k.launched)[2] : k.end()});
		}
		to_ = std::max(to_, from_ + 1);
		stack_blocks();
	}

	std::string draw()
	{
		std::string body = draw_legend();
		top_ = TOP_MARGIN + legend_height_;
		if (cpu_)
			body += draw_lanes();
		body += draw_outside() + draw_axes();
		for (size_t i = 0; i < log_.kernels.size(); i++)
			body += draw_kernel(i);
		body += names_;
		double height = bottom() + 46;
		body += draw_arrows(height);
		return svg_head(LEFT_MARGIN + AXES_WIDTH + RIGHT_MARGIN, height, title(), STYLE_ELEMENT) +
		       svg_text("start", LEFT_MARGIN, 26, title(), " class=\"title\"") + body + "</svg>\n";
	}

private:
	double x(s64 ns) const
	{
		return LEFT_MARGIN + static_cast<double>(ns - from_) / static_cast<double>(to_ - from_) * AXES_WIDTH;
	}
	double bottom() const { return top_ + row_height_ * row_count_; }
	double y(u32 sm, u32 threads) const
	{
		return bottom() - row_height_ * (row_of_[sm] + double(threads) / capacity_);
	}

	std::string title() const
	{
		const Machine &m = log_.machine;
		std::string text = log_.scenario + (log_.simulated ? ", simulated" : "");

		if (!m.name.empty())
			text += ", " + m.name;
		if (sms_.size() < row_of_.size())
			text += fmt::format(", {} of", sms_.size());
		else
			text += ",";
		text += fmt::format(" {} SMs", row_of_.size()) +
			(m.threads_per_sm ? fmt::format(" of {} threads", m.threads_per_sm) : "");
		if (within_)
			text += fmt::format("; within {}: {}", within_->mask,
					    within_->outside.empty()
						    ? "no block outside"
						    : fmt::format("blocks on {} SM{} outside", within_->outside.size(),
								  within_->outside.size() == 1 ? "" : "s"));
		return text;
	}

	size_t colour_of(size_t kernel) const
	{
		return colour_by_ == Colours::Kernel ? kernel : log_.kernels[kernel].stream;
	}

	// Colours 8 to 15 are colours 0 to 7 with half the opacity, and so on.
	static bool is_faint(size_t colour) { return colour / COLOUR_COUNT % 2; }

	static std::string fill_attributes(size_t colour)
	{
		return fmt::format("fill=\"{}\"{}", BLOCK_COLOURS[colour % COLOUR_COUNT],
				   is_faint(colour) ? " fill-opacity=\".5\"" : "");
	}

	// Stacks the blocks of an SM: each block gets the lowest free place of its height at the time when it starts.
	void stack_blocks()
	{
		struct PlacedBlock {
			s64 start, end;
			size_t kernel, block;
			u32 low, high;
		};
		std::vector<std::vector<PlacedBlock>> blocks_of_sm(row_of_.size());

		capacity_ = std::max(log_.machine.threads_per_sm, 1U);
		low_.resize(log_.kernels.size());
		for (size_t i = 0; i < log_.kernels.size(); i++) {
			const Ran &k = log_.kernels[i];
			low_[i].resize(k.blocks.size());
			for (size_t j = 0; j < k.blocks.size(); j++)
				blocks_of_sm[k.blocks[j].sm].push_back(
					{k.blocks[j].start, k.blocks[j].end, i, j, 0, 0});
		}
		for (std::vector<PlacedBlock> &row : blocks_of_sm) {
			std::vector<PlacedBlock> running; // by low
			std::sort(row.begin(), row.end(), [](const PlacedBlock &a, const PlacedBlock &b) {
				return std::tie(a.start, a.kernel, a.block) < std::tie(b.start, b.kernel, b.block);
			});
			for (PlacedBlock &b : row) {
				std::erase_if(running, [&](const PlacedBlock &o) { return o.end <= b.start; });
				u32 threads = log_.kernels[b.kernel].threads;
				auto at = running.begin();
				for (; at != running.end() && at->low < b.low + threads; ++at)
					b.low = at->high;
				// The free threads may not be contiguous: draw the block over others at the top.
				if (log_.machine.threads_per_sm && b.low + threads > capacity_)
					b.low = capacity_ > threads ? capacity_ - threads : 0;
				b.high = b.low + threads;
				low_[b.kernel][b.block] = b.low;
				if (!log_.machine.threads_per_sm)
					capacity_ = std::max(capacity_, b.high);
				running.insert(std::upper_bound(running.begin(), running.end(), b,
								[](const PlacedBlock &x,
								   const PlacedBlock &y) { return x.low < y.low; }),
					       b);
			}
		}
	}

	std::string draw_legend()
	{
		std::map<size_t, std::string> entries;
		std::string out;
		double at = LEFT_MARGIN;

		for (size_t i = 0; i < log_.kernels.size(); i++) {
			const Ran &k = log_.kernels[i];
			const std::string &label = log_.streams[k.stream].label;
			std::string stream = fmt::format("Stream {}", k.stream + 1);
			if (processes_ > 1)
				stream = fmt::format("Process {}, {}", log_.streams[k.stream].process + 1,
						     label.empty() ? stream : label);
			if (colour_by_ == Colours::Kernel)
				entries[i] = label.empty() ? k.name : fmt::format("{} ({})", k.name, label);
			else
				entries[k.stream] = label.empty() || label == stream || processes_ > 1
							    ? stream
							    : fmt::format("{}: {}", stream, label);
		}
		for (const auto &[colour, label] : entries) {
			bool more = &entries.at(colour) != &entries.rbegin()->second && colour >= MAX_LEGEND_ENTRIES;
			std::string shown = more ? "..." : label;
			double width = 22 + LETTER_WIDTH * double(shown.size()) + 14;
			if (at > LEFT_MARGIN && at + width > LEFT_MARGIN + AXES_WIDTH) {
				at = LEFT_MARGIN;
				legend_height_ += LEGEND_LINE_HEIGHT;
			}
			if (!more)
				out += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"13\" height=\"13\" {}/>\n",
						   at, TOP_MARGIN + legend_height_ - 4, fill_attributes(colour));
			out += svg_text("start", at + 18, TOP_MARGIN + legend_height_ + 7, shown);
			at += width;
			if (more)
				break;
		}
		legend_height_ += LEGEND_LINE_HEIGHT;
		return out;
	}

	// Returns a rectangle in a row above the SMs.
	std::string draw_span(double top, u32 stream, s64 from, s64 to, const std::string &text, bool faint) const
	{
		double left = x(from), width = std::max(x(to) - left, 1.0);

		return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\""
				   "{}><title>{}</title></rect>\n",
				   left, top + 2, width, LANE_HEIGHT - 4, BLOCK_COLOURS[stream % COLOUR_COUNT],
				   faint ? " fill-opacity=\".35\"" : "", escape_xml(replace_controls(text)));
	}

	// Draws above the SMs a row for what the CPU did for each stream, and one for the copies of each direction, by the
	// same time axis.
	std::string draw_lanes()
	{
		std::string out;

		auto add_lane = [&](const std::string &name, const std::string &content) {
			if (content.empty())
				return;
			out += svg_text("end", LEFT_MARGIN - 8, top_ + 13, name, " class=\"small\"") + content;
			top_ += LANE_HEIGHT;
		};
		for (u32 i = 0; i < log_.streams.size(); i++) {
			std::string content;
			for (const CpuSpan &c : cpu_spans(log_, i))
				content +=
					draw_span(top_, i, c.from, c.to, fmt::format("{} {}", c.what, c.kernel->name),
						  std::string_view(c.what) == "wait");
			add_lane(fmt::format("CPU, {}", i + 1), content);
		}
		for (bool in : {true, false}) {
			std::string content;
			for (const Ran &k : log_.kernels)
				if (const std::optional<Copy> &c = in ? k.copy_in : k.copy_out)
					content += draw_span(top_, k.stream, c->start, c->end,
							     fmt::format("{} {}", k.name, in ? "in" : "out"), false);
			add_lane(in ? "copy in" : "copy out", content);
		}
		top_ += 6;
		return out;
	}

	// Marks the rows of SMs that are not in the mask, those with blocks in a warning colour.
	std::string draw_outside() const
	{
		std::string out = within_ ? MASK_STYLE_ELEMENT : "";

		for (size_t row = 0; within_ && row < sms_.size(); row++) {
			u32 sm = sms_[row];
			if (within_->allowed[sm])
				continue;
			bool used = std::any_of(within_->outside.begin(), within_->outside.end(),
						[sm](const Outside &o) { return o.sm == sm; });
			out += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.2f}\" width=\"{:.1f}\" "
					   "height=\"{:.2f}\"><title>SM {}{}</title></rect>\n",
					   used ? "outside" : "excluded", LEFT_MARGIN,
					   bottom() - row_height_ * static_cast<double>(row + 1), AXES_WIDTH,
					   row_height_, sm, used ? ", outside" : ", not in the mask");
		}
		return out;
	}

	std::string draw_axes() const
	{
		double step = grid_step(to_seconds(to_ - from_), 1e-9, 12);
		std::string out;
		u32 every = 1; // label every n-th SM

		for (s64 i = static_cast<s64>(std::ceil(to_seconds(from_) / step - 1e-9));
		     double(i) * step <= to_seconds(to_); i++) {
			double at = x(std::llround(double(i) * step * 1e9));
			out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n", at, top_,
					   bottom() + 5);
			out += svg_text("middle", at, bottom() + 19, fmt::format("{:g}", double(i) * step),
					" class=\"small\"");
		}
		out += svg_text("end", LEFT_MARGIN - 8, bottom() + 19, "time, s", " class=\"small\"");
		while (every * row_height_ < 1.5 * LABEL_HEIGHT)
			every *= every == 2 ? 5 : 2; // 1, 2, 10, 20
		for (u32 row = 0; row <= row_count_; row++) {
			double at = bottom() - row_height_ * row;
			if (row_height_ >= 4 * LETTER_WIDTH || row % every == 0 || row == row_count_)
				out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}h{:.1f}\"/>\n", LEFT_MARGIN,
						   at, AXES_WIDTH);
			if (row < sms_.size() && row % every == 0)
				out += svg_text("end", LEFT_MARGIN - 8, at - row_height_ / 2 + 4,
						fmt::format("SM {}", sms_[row]), " class=\"small\"");
		}
		return out;
	}

	std::string draw_kernel(size_t i)
	{
		const Ran &k = log_.kernels[i];
		double height = row_height_ * k.threads / capacity_;
		bool outlined = height >= 4; // the outline of a lower block would hide the block
		std::string path, labels;

		for (size_t j = 0; j < k.blocks.size(); j++) {
			const Block &b = k.blocks[j];
			double left = x(b.start), width = std::max(x(b.end) - left - (outlined ? 0 : 0.8), 0.5);
			double low = y(b.sm, low_[i][j]);
			std::string name = fmt::format("{}:{}", k.name, j);
			path += fmt::format("M{:.1f} {:.2f}h{:.1f}v{:.2f}h-{:.1f}z", left, low, width, -height, width);
			if (height >= LABEL_HEIGHT && width >= LETTER_WIDTH * double(name.size()))
				labels += svg_text("middle", left + width / 2, low - height / 2 + 4, name,
						   " class=\"name\"");
		}
		// If no block has room for its label, label the kernel once, at a block that depends on its number, so
		// that labels of concurrent kernels do not overlap.
		if (labels.empty()) {
			size_t j = k.blocks.size() * (1 + i % 5) / 6;
			const Block &b = k.blocks[j];
			if (k.blocks.size() > 1 || x(b.end) - x(b.start) >= LETTER_WIDTH * double(k.name.size()))
				labels = svg_text("middle", (x(b.start) + x(b.end)) / 2, y(b.sm, low_[i][j]) + 4,
						  k.name, " class=\"name\"");
		}
		names_ += labels;
		std::string tip = k.tpcs ? fmt::format("{}, sm_mask {}", k.name, sm_mask_text(*k.tpcs)) : k.name;
		return fmt::format("<g id=\"kernel-{}\"><title>{}</title><path{} {} d=\"{}\"/></g>\n", i + 1,
				   escape_xml(replace_controls(tip)), outlined ? " class=\"b\"" : "",
				   fill_attributes(colour_of(i)), path);
	}

	// Draws an arrow for each launch below the time axis. Launches that are close share an arrow, and names are
	// placed on the first line with room. Increases height, of the drawing, as needed.
	std::string draw_arrows(double &height) const
	{
		std::vector<double> ends(ARROW_LINES, 0); // where the last name on each line ends
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
			std::string text = log_.kernels[i].name + (last == i       ? ""
								   : last == i + 1 ? ", " + log_.kernels[last].name
										   : " .. " + log_.kernels[last].name);
			double half = LETTER_WIDTH * double(text.size()) / 2;
			auto free = std::find_if(ends.begin(), ends.end(), [&](double end) { return end < at - half; });
			double line = under + ARROW_LENGTH + ARROW_LINE_HEIGHT * (1 + double(free - ends.begin()));
			out += fmt::format("<path d=\"M{0:.1f} {1:.1f}v{2:.1f}M{3:.1f} {4:.1f}L{0:.1f} {1:.1f}L{5:.1f} "
					   "{4:.1f}\" fill=\"none\" stroke=\"{6}\"{7} stroke-width=\"2\"/>\n",
					   at, under, ARROW_LENGTH, at - 4, under + 7, at + 4,
					   BLOCK_COLOURS[colour_of(i) % COLOUR_COUNT],
					   is_faint(colour_of(i)) ? " stroke-opacity=\".5\"" : "");
			if (free != ends.end()) {
				out += svg_text("middle", at, line - 3, text, " class=\"small\"");
				*free = at + half;
				height = std::max(height, line + 6);
			}
			i = last + 1;
		}
		return out;
	}

	const Log &log_;
	Colours colour_by_;
	bool cpu_;
	const std::optional<Within> &within_;
	std::vector<u32> row_of_, sms_; // the row of each SM, the SM of each row
	u32 processes_;
	u32 row_count_ = 0, capacity_ = 1; // capacity_: threads that the height of a row stands for
	double row_height_ = 0, top_ = TOP_MARGIN, legend_height_ = 0;
	s64 from_ = 0, to_ = 0;
	std::vector<std::vector<u32>> low_; // by kernel and block: threads drawn below the block
	std::string names_;                 // drawn after all blocks, so that none covers them
};

} // namespace

std::string timeline_svg(const Log &log, Colours colour_by, bool only_used, const std::optional<Within> &within,
			 bool cpu)
{
	return Picture(log, colour_by, only_used, cpu, within).draw();
}

} // namespace tool::blocks
