// SPDX-License-Identifier: GPL-2.0
// The samples of an interval are divided among days by differences of running sums, so that the parts add up to the whole.
// The text of a time is kept for a second: only the microseconds in it are replaced.
#include "gpulens/out/timeline_csv.hpp"

#include "gpulens/out/timeline_out.hpp"

#include <chrono>
#include <fmt/format.h>
#include <iterator>

namespace tool {

namespace {

// An interval of a damaged recording may be of centuries; it is one line.
constexpr u64 MAX_DAYS = 400;

// Quotes a field where necessary: a process chooses its name itself.
std::string quote_csv(const std::string &s)
{
	std::string out;

	if (s.find_first_of(",\"\r\n") == std::string::npos)
		return s;
	for (char c : s)
		out += c == '"' ? std::string("\"\"") : std::string(1, c);
	return '"' + out + '"';
}

std::string id_text(int v)
{
	return v == LENS_NONE ? "" : std::to_string(v);
}

// Appends the fields that depend on the wall clock and the machine, and writes lines.
class LineWriter {
public:
	LineWriter(const Timeline &t, bool partitioned, const LineSink &sink)
		: t_(t), partitioned_(partitioned), sink_(sink), machine_(quote_csv(t.machine)),
		  gpu_(fmt::format("{},{}", quote_csv(t.gpu ? t.gpu->chip.device : ""), quote_csv(t.gpu_uuid)))
	{
	}

	// line: the fields before device. The times are of CLOCK_MONOTONIC; end_ns: nothing for an instant.
	void write(std::string &line, u64 start_ns, std::optional<u64> end_ns)
	{
		std::optional<u64> start = t_.unix_ns(start_ns);
		u64 day = start ? *start / NS_PER_DAY : 0;

		line += ',' + gpu_;
		if (start)
			fmt::format_to(std::back_inserter(line), ",{},{},{}", *start,
				       end_ns ? std::to_string(*start + (*end_ns - start_ns)) : "", utc(*start));
		else
			line += ",,,";
		if (!partitioned_)
			line += (start ? ',' + day_text(*start) : ",") + ',' + machine_;
		line += '\n';
		sink_(day, line);
	}

private:
	// utc_text(), which is mostly of the same second as before.
	const std::string &utc(u64 unix_ns)
	{
		u64 second = unix_ns / 1000000000;

		if (utc_.empty() || second != second_)
			utc_ = utc_text(unix_ns);
		else
			fmt::format_to(utc_.begin() + 20, "{:06}", unix_ns % 1000000000 / 1000);
		second_ = second;
		return utc_;
	}

	const Timeline &t_;
	bool partitioned_;
	const LineSink &sink_;
	std::string machine_, gpu_, utc_;
	u64 second_ = 0; // of utc_
};

// Returns how many of an interval's samples are counted to its first part_ns, by their share of its length.
u64 share_of(u32 samples, u64 part_ns, u64 whole_ns)
{
	return whole_ns ? static_cast<u64>(static_cast<unsigned __int128>(samples) * part_ns / whole_ns) : 0;
}

// Calls f(part) for the interval, or for each day's part of it.
template <typename F> void each_day(const Timeline &t, const Interval &whole, F f)
{
	std::optional<u64> start = t.unix_ns(whole.start_ns);
	u64 length = whole.end_ns - whole.start_ns, done = 0;

	if (!start || !length || length / NS_PER_DAY > MAX_DAYS) {
		f(whole);
		return;
	}
	while (done < length) {
		u64 until = std::min(length, done + NS_PER_DAY - (*start + done) % NS_PER_DAY);
		Interval part = whole;
		part.start_ns = whole.start_ns + done;
		part.end_ns = whole.start_ns + until;
		part.samples = static_cast<u32>(share_of(whole.samples, until, length) -
						share_of(whole.samples, done, length));
		part.busy = static_cast<u32>(share_of(whole.busy, until, length) - share_of(whole.busy, done, length));
		f(part);
		done = until;
	}
}

} // namespace

std::string utc_text(u64 unix_ns)
{
	using namespace std::chrono;
	sys_time<nanoseconds> time{nanoseconds(unix_ns % NS_PER_DAY)};
	hh_mm_ss clock{time.time_since_epoch()};

	return fmt::format("{} {:02}:{:02}:{:02}.{:06}", day_text(unix_ns), clock.hours().count(),
			   clock.minutes().count(), clock.seconds().count(), unix_ns % 1000000000 / 1000);
}

std::string day_text(u64 unix_ns)
{
	using namespace std::chrono;
	year_month_day date{sys_days(days(unix_ns / NS_PER_DAY))};

	return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
			   static_cast<unsigned>(date.day()));
}

std::string csv_head(bool partitioned)
{
	return fmt::format("start_ns,end_ns,engine,runlist,state,tsg,channel,samples,busy,pid,process,gpu,user,"
			   "container,evidence,pod,device,gpu_uuid,start_unix_ns,end_unix_ns,start_utc{}\n",
			   partitioned ? "" : ",day,machine");
}

void write_csv_lines(const Timeline &t, bool partitioned, const LineSink &sink)
{
	LineWriter writer(t, partitioned, sink);
	std::string gpu = id_text(t.index), line;

	for (size_t n = 0; n < t.tracks.size(); n++) {
		const Engine &engine = t.tracks[n].engine;
		std::string name = engine.short_name(), runlist = id_text(engine.runlist);
		TimelineReader<Interval> intervals = t.intervals_of(n);
		while (const Interval *interval = intervals.next()) {
			Owner owner = t.owner(engine.runlist, *interval).value_or(Owner{});
			std::string process = fmt::format(
				"{},{},{},{},{},{},{}", owner.pid ? std::to_string(owner.pid) : "",
				quote_csv(owner.name), gpu, quote_csv(owner.user), quote_csv(owner.container),
				owner.pid ? name_of(owner.evidence) : "", quote_csv(owner.pod));
			each_day(t, *interval, [&](const Interval &i) {
				line.clear();
				fmt::format_to(std::back_inserter(line), "{},{},{},{},{},{},{},{},{},{}", i.start_ns,
					       i.end_ns, name, runlist, phase_name(i.phase),
					       i.bare ? "" : id_text(i.tsg),
					       id_text(is_context(i.bare, i.tsg) ? LENS_NONE
						       : i.bare                  ? i.tsg
										 : i.channel),
					       i.samples, i.busy, process);
				writer.write(line, i.start_ns, i.end_ns);
			});
		}
	}
	TimelineReader<DroppedTicks> dropped = t.all_dropped();
	while (const DroppedTicks *d = dropped.next()) {
		line.clear();
		fmt::format_to(std::back_inserter(line), "{},,,,{},,,{},,,,{},,,,", d->time_ns, dropped_name(d->kind),
			       d->ticks, gpu);
		writer.write(line, d->time_ns, std::nullopt);
	}
}

void write_csv(std::span<const Timeline> gpus, const Sink &sink)
{
	std::string out = csv_head(false);

	for (const Timeline &t : gpus)
		write_csv_lines(t, false, [&](u64, std::string_view line) {
			out += line;
			if (out.size() < CHUNK_BYTES)
				return;
			sink(out);
			out.clear();
		});
	sink(out);
}

} // namespace tool
