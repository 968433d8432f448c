// SPDX-License-Identifier: GPL-2.0
// Formats engines and TSGs as columns. A row of the table of TSGs has 79 columns, and one more for the selection.
#include "gpulens/top/text.hpp"

#include "gpulens/out/text.hpp"
#include "lib/base/format.hpp"
#include "lib/model/recording.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tool {

namespace {

constexpr int BAR_COLUMNS = 20;

std::string ms_text(const std::optional<u64> &ns)
{
	return ns ? fmt::format("{:.3f}", static_cast<double>(*ns) / 1e6) : "-";
}

std::string percent_text(const std::optional<double> &share, u64 observations)
{
	return share ? format_share(*share, observations) : "-";
}

std::string draw_bar(double share)
{
	int full = std::clamp(static_cast<int>(std::lround(share * BAR_COLUMNS)), 0, BAR_COLUMNS);

	return fmt::format("[{:<{}}]", std::string(static_cast<size_t>(full), '|'), BAR_COLUMNS);
}

} // namespace

TopColumns TopColumns::of(const std::vector<const Picture *> &pictures, size_t width)
{
	TopColumns columns{.gpu = pictures.size() > 1};

	columns.owner = std::any_of(pictures.begin(), pictures.end(), [](const Picture *p) { return p->has_owners; });
	columns.narrow = columns.owner && width && top_tsg_titles(columns).size() >= width;
	return columns;
}

std::string top_sampling(const Picture &p, u64 delay_ns, const std::string &no_samples)
{
	double window = static_cast<double>(p.window_ns) / 1e9;

	if (p.sampled && !p.period_ns)
		return fmt::format("each context switch, {} lost, in {:.1f} s", p.lost, window);
	if (p.sampled)
		return fmt::format("sampled every {} ({} requested), {} of {} ticks lost, in {:.1f} s",
				   format_duration(p.step_ns), format_duration(p.period_ns), p.lost, p.ticks + p.lost,
				   window);
	if (!p.has_runlists)
		return "not sampled" + (no_samples.empty() ? "" : ": " + no_samples);
	return fmt::format("sampled {:.2g} times a second from snapshots, {} in {:.1f} s{}",
			   1e9 / static_cast<double>(delay_ns), p.snapshots, window,
			   no_samples.empty() ? "" : ": " + no_samples);
}

// The longest step counts, and all ticks; what is not sampled has a sentence of its own.
std::string top_sampling(const std::vector<TopPart> &parts, u64 delay_ns)
{
	Picture all;
	std::string others;

	if (parts.size() == 1)
		return top_sampling(*parts[0].picture, delay_ns, parts[0].no_samples);
	for (const TopPart &part : parts) {
		const Picture &p = *part.picture;
		if (!part.error.empty()) {
			others += fmt::format("; {}: not readable", p.short_title);
			continue;
		}
		if (!p.sampled) {
			others += fmt::format("; {}: {}", p.short_title, top_sampling(p, delay_ns, part.no_samples));
			continue;
		}
		all.sampled = true;
		all.step_ns = std::max(all.step_ns, p.step_ns);
		all.period_ns = std::max(all.period_ns, p.period_ns);
		all.ticks += p.ticks;
		all.lost += p.lost;
		all.window_ns = std::max(all.window_ns, p.window_ns);
	}
	std::string text = all.sampled ? top_sampling(all, delay_ns, "") + others : others;
	return text.starts_with("; ") ? text.substr(2) : text;
}

std::string top_engine_titles()
{
	return fmt::format("{:>5} {:<12.12} {:<20} {:<22} {:>6}", "RL", "ENGINE", "CURRENT TSG", "TIME WITH A TSG",
			   "BUSY%");
}

std::string top_engine_line(const TopEngine &e)
{
	return fmt::format("{:>5} {:<12.12} {:<20.20} {} {:>6}", e.runlist, e.name, e.now, draw_bar(e.on.value_or(0)),
			   percent_text(e.busy, e.observations));
}

std::string top_tsg_titles(const TopColumns &columns)
{
	std::string out = columns.gpu ? "GPU " : "";

	out += fmt::format("{:>6} {:>3} {:<10} {:>5} {:>8} {:>8}", "TSG", "RL", "ENGINE", "UTIL%", "TURN ms",
			   "SLICE ms");
	if (!columns.narrow)
		out += fmt::format(" {:>7} {:>4} {:>4} {:>4} {:>4} {:>5}", "TURNS/s", "CHAN", "RUN", "WAIT", "OFF",
				   "FAULT");
	if (columns.owner)
		out += fmt::format(" {:>7} {:<8} {:<{}}", "PID", "USER", "PROCESS", columns.narrow ? 12 : 15);
	if (columns.owner && !columns.narrow)
		out += fmt::format(" {:<8} {}", "EVIDENCE", "CONTAINER");
	return out;
}

// "5"; "c16" of a channel in no TSG, "x52" of a context.
static std::string short_name(const TopTsg &t)
{
	if (is_context(t.bare, t.id))
		return fmt::format("x{}", t.id - static_cast<int>(FIRST_CONTEXT_ID));
	return fmt::format("{}{}", t.bare ? "c" : "", t.id);
}

std::string top_tsg_line(const TopTsg &t, const TopColumns &columns)
{
	std::string out = columns.gpu ? fmt::format("{:>3} ", t.gpu) : "";
	auto count = [&t](size_t n) { return t.counted ? std::to_string(n) : "-"; };
	auto known = [](const std::string &text) { return text.empty() ? "-" : text; };
	Owner owner = t.owner.value_or(Owner{});
	bool precise = !t.observations || t.observations >= 1000;

	out += fmt::format("{:>6} {:>3} {:<10.10} {:>5} {:>8} {:>8}", short_name(t), t.runlist, t.engine,
			   percent_text(t.share, t.observations),
			   t.slot_ns ? format_measured(*t.slot_ns, t.step_ns, "ms") : "-", ms_text(t.slice_ns));
	if (!columns.narrow)
		out += fmt::format(" {:>7} {:>4} {:>4} {:>4} {:>4} {:>5}",
				   t.slots_per_s ? fmt::format("{:.{}f}", *t.slots_per_s, precise ? 1 : 0) : "-",
				   count(t.channels.size()), count(t.running), count(t.waiting), count(t.off),
				   count(t.faulted));
	if (!columns.owner)
		return out;
	if (!t.owner)
		return out + fmt::format(" {:>7}", "unknown");
	out += fmt::format(" {:>7} {:<8.8} {:<{}.{}}", owner.pid, known(owner.user), known(owner.name),
			   columns.narrow ? 12 : 15, columns.narrow ? 12 : 15);
	if (!columns.narrow)
		out += fmt::format(" {:<8} {:<12.12}", name_of(owner.evidence), known(owner.container));
	return out;
}

std::string top_view_line(const TopView &view, size_t shown, const std::vector<TopTsg> &rows)
{
	static const char *const orders[] = {"utilisation", "runlist", "TSG", "channels waiting"};
	bool channels = !rows.empty() && std::all_of(rows.begin(), rows.end(), [](const TopTsg &t) { return t.bare; });

	return fmt::format(
		"{}{} {}{} by {}{}{}", shown == rows.size() ? "" : fmt::format("{} of ", shown), rows.size(),
		channels ? "channel" : "TSG", rows.size() == 1 ? "" : "s", orders[static_cast<int>(view.sort)],
		view.filter.empty() ? "" : ", filter \"" + view.filter + "\"", view.paused ? ", PAUSED" : "");
}

std::vector<TopTsg> top_rows(const std::vector<const Picture *> &pictures)
{
	std::vector<TopTsg> rows;

	for (const Picture *p : pictures)
		rows.insert(rows.end(), p->tsgs.begin(), p->tsgs.end());
	return rows;
}

std::string top_batch_text(const std::vector<TopPart> &parts, const TopView &view, u64 delay_ns)
{
	std::vector<const Picture *> pictures;
	std::string out;

	for (const TopPart &part : parts) {
		const Picture &p = *part.picture;
		if (!part.error.empty())
			continue;
		pictures.push_back(&p);
		out += p.title + '\n' + top_sampling(p, delay_ns, part.no_samples) + '\n';
		for (const std::string &note : p.notes)
			out += note + '\n';
		out += top_engine_titles() + '\n';
		for (const TopEngine &e : p.engines)
			out += top_engine_line(e) + '\n';
	}
	TopColumns columns = TopColumns::of(pictures, 0);
	columns.gpu = parts.size() > 1;
	std::vector<TopTsg> all = top_rows(pictures), rows = arrange(all, view.sort, view.filter);
	out += top_view_line(view, rows.size(), all) + '\n' + top_tsg_titles(columns) + '\n';
	for (const TopTsg &t : rows) {
		std::string line = top_tsg_line(t, columns);
		out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
	}
	return out;
}

const std::vector<std::string> &top_help()
{
	static const std::vector<std::string> lines = {
		"q            quit",
		"up, down, j, k, PgUp, PgDn  select a TSG",
		"s            sort by utilisation, runlist, TSG, waiting",
		"/            filter: part of an engine's name, a TSG, a process",
		"             Enter keeps it, Esc clears it",
		"p, space     pause",
		"d, e         disable, enable all channels of the TSG",
		"x            preempt the TSG",
		"g            next GPU, or all of them",
		"+, -         sample twice as often, half as often",
		"?            these keys",
		"UTIL%        share of the window with the TSG on the engine, busy",
		"             or not; 3/10: of 10 snapshots; BUSY%: with work",
		"TURN ms      median time on the engine; SLICE ms: configured",
		"WAIT         channels with work that are not on the engine",
	};

	return lines;
}

} // namespace tool
