// SPDX-License-Identifier: GPL-2.0
// A timeline for other programs: CSV and Perfetto's trace format; and its tables as text.
#include "gpulens/out/timeline_out.hpp"

#include "gpulens/out/table.hpp"
#include "gpulens/out/text.hpp"
#include "lib/base/format.hpp"
#include "perfetto_trace.pb.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <iterator>

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

constexpr size_t PIECE = 1 << 16;    // bytes handed over at once
constexpr size_t HEAD = 10;          // bytes that a packet's tag and length take at most
constexpr u32 TRACE_PACKET = 1;      // Trace.packet
constexpr u32 SEQUENCE = 1;          // any number: all is written by one
constexpr u32 MONOTONIC = 3;         // ClockSnapshot
constexpr u64 ROOT = 0x67706c656e73; // "gpulens"; a track's uuid need only be its own
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3 };

// A trace is a sequence of packets, each written when it is done: no memory for all of them, and no limit of 2 GB, which
// a message of protobuf has.
class PerfettoWriter {
public:
	PerfettoWriter(const Timeline &t, const Sink &sink) : t_(t), sink_(sink) {}

	void write()
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
			TimelineReader<Interval> intervals = t_.intervals_of(i);
			while (const Interval *one = intervals.next())
				slice(ROOT + 1 + i, *one);
		}
		TimelineReader<Gap> gaps = t_.all_gaps();
		while (const Gap *g = gaps.next()) {
			gpulens::perfetto::TrackEvent *e = event(ROOT, g->time_ns, INSTANT);
			e->set_name(gap_name(g->kind));
			annotate(e, "ticks", g->ticks);
		}
		end_packet();
		sink_(bytes_);
	}

private:
	// A new one, after the one before it was written.
	gpulens::perfetto::TracePacket *packet()
	{
		end_packet();
		any_ = true;
		packet_.set_trusted_packet_sequence_id(SEQUENCE);
		return &packet_;
	}

	void end_packet()
	{
		using google::protobuf::io::CodedOutputStream;

		if (!any_)
			return;
		size_t size = packet_.ByteSizeLong(), at = bytes_.size();
		bytes_.resize(at + HEAD + size);
		u8 *begin = reinterpret_cast<u8 *>(bytes_.data()) + at;
		u8 *end = CodedOutputStream::WriteTagToArray(TRACE_PACKET << 3 | 2, begin); // a field with a length
		end = CodedOutputStream::WriteVarint32ToArray(static_cast<u32>(size), end);
		end = packet_.SerializeWithCachedSizesToArray(end);
		bytes_.resize(at + static_cast<size_t>(end - begin));
		packet_.Clear();
		if (bytes_.size() < PIECE)
			return;
		sink_(bytes_);
		bytes_.clear();
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
	const Sink &sink_;
	std::string bytes_;
	gpulens::perfetto::TracePacket packet_;
	bool any_ = false;
};

} // namespace

void write_csv(const Timeline &t, const Sink &sink)
{
	std::string out = "start_ns,end_ns,engine,runlist,state,tsg,channel,samples,busy,pid,process\n";
	auto id = [](int v) { return v == LENS_NONE ? "" : std::to_string(v); };
	auto hand_over = [&](size_t least) {
		if (out.size() < least)
			return;
		sink(out);
		out.clear();
	};

	for (size_t n = 0; n < t.tracks.size(); n++) {
		std::string engine = t.tracks[n].engine.short_name(), runlist = id(t.tracks[n].engine.runlist);
		TimelineReader<Interval> intervals = t.intervals_of(n);
		while (const Interval *i = intervals.next()) {
			std::optional<Owner> who = t.owner(*i);
			fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},{},{},{},{},{}\n", i->start_ns,
				       i->end_ns, engine, runlist, phase_name(i->phase), i->bare ? "" : id(i->tsg),
				       i->bare ? id(i->tsg) : id(i->channel), i->samples, i->busy,
				       who ? std::to_string(who->pid) : "", who ? csv_text(who->name) : "");
			hand_over(PIECE);
		}
	}
	TimelineReader<Gap> gaps = t.all_gaps();
	while (const Gap *g = gaps.next()) {
		out += fmt::format("{},,,,{},,,{},,,\n", g->time_ns, gap_name(g->kind), g->ticks);
		hand_over(PIECE);
	}
	hand_over(0);
}

void write_perfetto(const Timeline &t, const Sink &sink)
{
	PerfettoWriter(t, sink).write();
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
			const Lengths &all = one.lengths_ns;
			bool any = all.count();
			rows.push_back({t.tracks[i].engine.short_name(),
					fmt::format("{}{}{}", one.bare ? "channel " : "", one.tsg,
						    one.owner ? fmt::format(" ({})", one.owner->text()) : ""),
					fmt::format("{:.1f}%", 100 * static_cast<double>(one.on_ns) / whole),
					std::to_string(all.count()), one.slice_ns ? duration(*one.slice_ns) : none,
					any ? duration(all.median()) : none, any ? duration(all.least()) : none,
					any ? duration(all.most()) : none});
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
