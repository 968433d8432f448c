// SPDX-License-Identifier: GPL-2.0
// Formats engines and TSGs as columns. A row of the table of TSGs has 79 columns, and one more for the selection.
#include "gpulens/top/text.hpp"

#include "gpulens/out/text.hpp"
#include "lib/base/format.hpp"

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

std::string percent_text(const std::optional<double> &share)
{
	return share ? fmt::format("{:.1f}", *share * 100) : "-";
}

std::string draw_bar(double share)
{
	int full = std::clamp(static_cast<int>(std::lround(share * BAR_COLUMNS)), 0, BAR_COLUMNS);

	return fmt::format("[{:<{}}]", std::string(static_cast<size_t>(full), '|'), BAR_COLUMNS);
}

} // namespace

std::string top_sampling(const Picture &p, u64 delay_ns, const std::string &no_samples)
{
	double window = static_cast<double>(p.window_ns) / 1e9;

	if (p.sampled)
		return fmt::format("sampled every {} ({} requested), {} of {} ticks lost, in {:.1f} s",
				   format_duration(p.step_ns), format_duration(p.period_ns), p.lost, p.ticks + p.lost,
				   window);
	return fmt::format("sampled {:.2g} times a second from snapshots, {} in {:.1f} s{}",
			   1e9 / static_cast<double>(delay_ns), p.snapshots, window,
			   no_samples.empty() ? "" : ": " + no_samples);
}

std::string top_engine_titles()
{
	return fmt::format("{:>5} {:<12.12} {:<20} {:<22} {:>6}", "RL", "ENGINE", "CURRENT TSG", "TIME WITH A TSG",
			   "BUSY%");
}

std::string top_engine_line(const TopEngine &e)
{
	return fmt::format("{:>5} {:<12.12} {:<20.20} {} {:>6}", e.runlist, e.name, e.now, draw_bar(e.on.value_or(0)),
			   percent_text(e.busy));
}

std::string top_tsg_titles()
{
	return fmt::format("{:>6} {:>3} {:<10} {:>5} {:>8} {:>8} {:>7} {:>4} {:>4} {:>4} {:>4} {:>5}", "TSG", "RL",
			   "ENGINE", "UTIL%", "SLOT ms", "SLICE ms", "SLOTS/s", "CHAN", "RUN", "WAIT", "OFF", "FAULT");
}

std::string top_tsg_line(const TopTsg &t)
{
	return fmt::format("{:>6} {:>3} {:<10.10} {:>5} {:>8} {:>8} {:>7} {:>4} {:>4} {:>4} {:>4} {:>5}",
			   fmt::format("{}{}", t.bare ? "c" : "", t.id), t.runlist, t.engine, percent_text(t.share),
			   ms_text(t.slot_ns), ms_text(t.slice_ns),
			   t.slots_per_s ? fmt::format("{:.1f}", *t.slots_per_s) : "-", t.channels.size(), t.running,
			   t.waiting, t.off, t.faulted);
}

std::string top_view_line(const TopView &view, size_t shown, size_t all)
{
	static const char *const orders[] = {"utilisation", "runlist", "TSG", "channels waiting"};

	return fmt::format("{}{} {} by {}{}{}", shown == all ? "" : fmt::format("{} of ", shown), all,
			   all == 1 ? "TSG" : "TSGs", orders[static_cast<int>(view.sort)],
			   view.filter.empty() ? "" : ", filter \"" + view.filter + "\"",
			   view.paused ? ", PAUSED" : "");
}

std::string top_batch_text(const Picture &p, const TopView &view, u64 delay_ns, const std::string &no_samples)
{
	std::vector<TopTsg> rows = arrange(p.tsgs, view.sort, view.filter);
	std::string out = p.title + '\n' + top_sampling(p, delay_ns, no_samples) + '\n' + top_engine_titles() + '\n';

	for (const TopEngine &e : p.engines)
		out += top_engine_line(e) + '\n';
	out += top_view_line(view, rows.size(), p.tsgs.size()) + '\n' + top_tsg_titles() + '\n';
	for (const TopTsg &t : rows)
		out += top_tsg_line(t) + '\n';
	return out;
}

const std::vector<std::string> &top_help()
{
	static const std::vector<std::string> lines = {
		"q            quit",
		"up, down, j, k, PgUp, PgDn  select a TSG",
		"s            sort by utilisation, runlist, TSG, waiting",
		"/            filter: part of an engine's name or of a TSG",
		"             Enter keeps it, Esc clears it",
		"p, space     pause",
		"d, e         disable, enable all channels of the TSG",
		"x            preempt the TSG",
		"g            next GPU",
		"+, -         sample twice as often, half as often",
		"UTIL%        share of the window with the TSG on the engine,",
		"             busy or not; BUSY%: share with the engine busy",
		"SLOT ms      median time on the engine; SLICE ms: configured",
		"WAIT         channels with work that are not on the engine",
	};

	return lines;
}

} // namespace tool
