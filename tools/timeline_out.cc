// SPDX-License-Identifier: GPL-2.0
// A timeline for other programs: CSV and Perfetto's trace format; and its tables as text.
#include "timeline.hpp"

#include "perfetto_trace.pb.h"
#include "table.hpp"
#include "text.hpp"

#include <fmt/format.h>

namespace tool {

namespace {

const char *phase_name(Phase p)
{
	static const char *const names[] = {"on", "switching", "error"};

	return names[static_cast<int>(p)];
}

std::string label(const Interval &i)
{
	if (i.phase == Phase::Error)
		return "unreadable";
	return fmt::format("{}{} {}", i.phase == Phase::Switching ? "switching, " : "", i.bare ? "channel" : "TSG",
			   i.tsg);
}

// A process may call itself anything.
std::string csv_text(const std::string &s)
{
	std::string out;

	if (s.find_first_of(",\"\r\n") == std::string::npos)
		return s;
	for (char c : s)
		out += c == '"' ? std::string("\"\"") : std::string(1, c);
	return '"' + out + '"';
}

const char *gap_name(int kind)
{
	switch (kind) {
	case GPULENS_SAMPLE_FULL: return "no room for samples";
	case GPULENS_SAMPLE_LATE: return "sampling came too late";
	case GPULENS_SAMPLE_ASLEEP: return "the GPU slept";
	default: return "no samples";
	}
}

constexpr u32 SEQUENCE = 1;          // any number: all is written by one
constexpr u32 MONOTONIC = 3;         // ClockSnapshot
constexpr u64 ROOT = 0x67706c656e73; // "gpulens"; a track's uuid need only be its own
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3 };

class PerfettoWriter {
public:
	explicit PerfettoWriter(const Timeline &t) : t_(t) {}

	std::string write()
	{
		gpulens::perfetto::TracePacket *first = packet();
		first->set_sequence_flags(1);
		first->mutable_clock_snapshot()->set_primary_trace_clock(MONOTONIC);
		gpulens::perfetto::ClockSnapshot::Clock *clock = first->mutable_clock_snapshot()->add_clocks();
		clock->set_clock_id(MONOTONIC);
		clock->set_timestamp(t_.start_ns);
		track(ROOT, 0, t_.name());
		for (size_t i = 0; i < t_.tracks.size(); i++) {
			track(ROOT + 1 + i, ROOT, t_.tracks[i].engine.short_name());
			for (const Interval &one : t_.tracks[i].intervals)
				slice(ROOT + 1 + i, one);
		}
		for (const Gap &g : t_.gaps) {
			gpulens::perfetto::TrackEvent *e = event(ROOT, g.time_ns, INSTANT);
			e->set_name(gap_name(g.kind));
			annotate(e, "ticks", g.ticks);
		}
		return trace_.SerializeAsString();
	}

private:
	gpulens::perfetto::TracePacket *packet()
	{
		gpulens::perfetto::TracePacket *p = trace_.add_packet();

		p->set_trusted_packet_sequence_id(SEQUENCE);
		return p;
	}

	void track(u64 uuid, u64 parent, const std::string &name)
	{
		gpulens::perfetto::TrackDescriptor *d = packet()->mutable_track_descriptor();

		d->set_uuid(uuid);
		d->set_name(name);
		if (parent)
			d->set_parent_uuid(parent);
	}

	gpulens::perfetto::TrackEvent *event(u64 uuid, u64 time_ns, u32 type)
	{
		gpulens::perfetto::TracePacket *p = packet();

		p->set_timestamp(time_ns);
		p->set_timestamp_clock_id(MONOTONIC);
		p->mutable_track_event()->set_type(type);
		p->mutable_track_event()->set_track_uuid(uuid);
		return p->mutable_track_event();
	}

	static void annotate(gpulens::perfetto::TrackEvent *e, const char *name, u64 value)
	{
		gpulens::perfetto::DebugAnnotation *a = e->add_debug_annotations();

		a->set_name(name);
		a->set_uint_value(value);
	}

	static void annotate(gpulens::perfetto::TrackEvent *e, const char *name, const std::string &value)
	{
		gpulens::perfetto::DebugAnnotation *a = e->add_debug_annotations();

		a->set_name(name);
		a->set_string_value(value);
	}

	void slice(u64 uuid, const Interval &one)
	{
		std::optional<Owner> who = t_.owner(one);
		gpulens::perfetto::TrackEvent *e = event(uuid, one.start_ns, SLICE_BEGIN);

		e->set_name(label(one) + (who ? fmt::format(" ({})", who->text()) : ""));
		e->add_categories(phase_name(one.phase));
		if (one.channel != LENS_NONE)
			annotate(e, "channel", static_cast<u64>(one.channel));
		if (who) {
			annotate(e, "pid", u64{who->pid});
			annotate(e, "process", who->name);
		}
		annotate(e, "samples", one.samples);
		annotate(e, "busy", one.busy);
		event(uuid, one.end_ns, SLICE_END);
	}

	const Timeline &t_;
	gpulens::perfetto::Trace trace_;
};

} // namespace

std::string timeline_csv(const Timeline &t)
{
	std::string out = "start_ns,end_ns,engine,runlist,state,tsg,channel,samples,busy,pid,process\n";
	auto id = [](int v) { return v == LENS_NONE ? "" : std::to_string(v); };

	for (const Track &track : t.tracks) {
		for (const Interval &i : track.intervals) {
			std::optional<Owner> who = t.owner(i);
			out += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", i.start_ns, i.end_ns,
					   track.engine.short_name(), id(track.engine.runlist), phase_name(i.phase),
					   i.bare ? "" : id(i.tsg), i.bare ? id(i.tsg) : id(i.channel), i.samples,
					   i.busy, who ? std::to_string(who->pid) : "", who ? csv_text(who->name) : "");
		}
	}
	for (const Gap &g : t.gaps)
		out += fmt::format("{},,,,{},,,{},,,\n", g.time_ns, gap_name(g.kind), g.ticks);
	return out;
}

std::string timeline_perfetto(const Timeline &t)
{
	return PerfettoWriter(t).write();
}

const std::vector<std::string> &turn_titles()
{
	static const std::vector<std::string> titles = {"Engine",    "TSG",         "Time",     "Turns",
							"Slice set", "Median turn", "Shortest", "Longest"};

	return titles;
}

std::vector<std::vector<std::string>> turn_rows(const Timeline &t, const std::string &none)
{
	std::vector<std::vector<std::string>> rows;
	double whole = static_cast<double>(std::max<u64>(1, t.end_ns - t.start_ns));

	for (size_t i = 0; i < t.tracks.size(); i++) {
		for (const Turns &one : t.turns(i)) {
			auto [least, most] = std::minmax_element(one.lengths_ns.begin(), one.lengths_ns.end());
			bool any = !one.lengths_ns.empty();
			rows.push_back({t.tracks[i].engine.short_name(),
					fmt::format("{}{}{}", one.bare ? "channel " : "", one.tsg,
						    one.owner ? fmt::format(" ({})", one.owner->text()) : ""),
					fmt::format("{:.1f}%", 100 * static_cast<double>(one.on_ns) / whole),
					std::to_string(one.lengths_ns.size()),
					one.slice_ns ? duration(*one.slice_ns) : none,
					any ? duration(one.median_ns()) : none, any ? duration(*least) : none,
					any ? duration(*most) : none});
		}
	}
	return rows;
}

std::string timeline_text(const Timeline &t)
{
	std::string out = fmt::format("{}: {:.3f} s, {} ticks ", t.name(), t.seconds(), t.ticks);

	out += fmt::format("every {} asked for, {} reached (99% within {}, longest {}); {} ticks lost\n",
			   duration(u64{t.period_us} * 1000), duration(t.step_median_ns), duration(t.step_p99_ns),
			   duration(t.step_max_ns), t.lost);
	std::vector<std::string> titles = turn_titles();
	titles[0] = '<' + titles[0];
	Table table(titles);
	for (const std::vector<std::string> &row : turn_rows(t, "-"))
		table.add({row.begin(), row.end()});
	return out + (table.empty() ? "nothing was on any engine\n" : table.str({}));
}

} // namespace tool
