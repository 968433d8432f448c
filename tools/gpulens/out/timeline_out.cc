// SPDX-License-Identifier: GPL-2.0
// Writes timelines as CSV, in Perfetto's trace format, and as tables.
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

std::string interval_label(const Interval &i)
{
	if (i.phase == Phase::Error)
		return "unreadable";
	return fmt::format("{}{} {}", i.phase == Phase::Switching ? "switching, " : "", i.bare ? "channel" : "TSG",
			   i.tsg);
}

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

const char *dropped_name(int kind)
{
	switch (kind) {
	case GPULENS_SAMPLE_FULL: return "no room for samples";
	case GPULENS_SAMPLE_LATE: return "sampling came too late";
	case GPULENS_SAMPLE_ASLEEP: return "the GPU slept";
	default: return "no samples";
	}
}

constexpr size_t CHUNK_BYTES = 1 << 16; // written at once
constexpr size_t MAX_HEAD_BYTES = 10;   // of a packet's tag and length
constexpr u32 TRACE_PACKET = 1;         // field number of Trace.packet
constexpr u32 SEQUENCE_ID = 1;          // any number: there is only one writer
// Of ClockSnapshot (protos/perfetto/common/builtin_clock.proto)
constexpr u32 CLOCK_ID_REALTIME = 1, CLOCK_ID_MONOTONIC = 3, CLOCK_ID_BOOTTIME = 6;
constexpr u64 ROOT_TRACK = 0x67706c656e73; // uuid: "gpulens"; any number that no other track has
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3 };

// Writes the trace packet by packet, because a protobuf message of the whole trace would be limited to 2 GB and would
// have to fit into memory.
class PerfettoWriter {
public:
	PerfettoWriter(const Timeline &t, const Sink &sink) : t_(t), sink_(sink) {}

	void write()
	{
		gpulens::perfetto::TracePacket *first = begin_packet();
		first->set_sequence_flags(1);
		// Perfetto's own traces are in BOOTTIME.
		first->mutable_clock_snapshot()->set_primary_trace_clock(t_.clocks ? CLOCK_ID_BOOTTIME
										   : CLOCK_ID_MONOTONIC);
		add_clock(first, CLOCK_ID_MONOTONIC, t_.start_ns);
		if (t_.clocks) {
			u64 since_ns = t_.start_ns - t_.clocks->monotonic_ns; // wraps, as the sums do
			add_clock(first, CLOCK_ID_BOOTTIME, t_.clocks->boottime_ns + since_ns);
			add_clock(first, CLOCK_ID_REALTIME, t_.clocks->realtime_ns + since_ns);
		}
		add_track(ROOT_TRACK, 0, t_.name());
		for (size_t i = 0; i < t_.tracks.size(); i++) {
			add_track(ROOT_TRACK + 1 + i, ROOT_TRACK, t_.tracks[i].engine.short_name());
			TimelineReader<Interval> intervals = t_.intervals_of(i);
			while (const Interval *interval = intervals.next())
				add_slice(ROOT_TRACK + 1 + i, *interval);
		}
		TimelineReader<DroppedTicks> dropped = t_.all_dropped();
		while (const DroppedTicks *d = dropped.next()) {
			gpulens::perfetto::TrackEvent *e = add_event(ROOT_TRACK, d->time_ns, INSTANT);
			e->set_name(dropped_name(d->kind));
			annotate(e, "ticks", d->ticks);
		}
		end_packet();
		sink_(bytes_);
	}

private:
	// Writes the current packet and returns a new one.
	gpulens::perfetto::TracePacket *begin_packet()
	{
		end_packet();
		begun_ = true;
		packet_.set_trusted_packet_sequence_id(SEQUENCE_ID);
		return &packet_;
	}

	void end_packet()
	{
		using google::protobuf::io::CodedOutputStream;

		if (!begun_)
			return;
		size_t size = packet_.ByteSizeLong(), at = bytes_.size();
		bytes_.resize(at + MAX_HEAD_BYTES + size);
		u8 *begin = reinterpret_cast<u8 *>(bytes_.data()) + at;
		constexpr u32 LENGTH_DELIMITED = 2; // wire type
		u8 *end = CodedOutputStream::WriteTagToArray(TRACE_PACKET << 3 | LENGTH_DELIMITED, begin);
		end = CodedOutputStream::WriteVarint32ToArray(static_cast<u32>(size), end);
		end = packet_.SerializeWithCachedSizesToArray(end);
		bytes_.resize(at + static_cast<size_t>(end - begin));
		packet_.Clear();
		if (bytes_.size() < CHUNK_BYTES)
			return;
		sink_(bytes_);
		bytes_.clear();
	}

	void add_track(u64 uuid, u64 parent, const std::string &name)
	{
		gpulens::perfetto::TrackDescriptor *d = begin_packet()->mutable_track_descriptor();

		d->set_uuid(uuid);
		d->set_name(name);
		if (parent)
			d->set_parent_uuid(parent);
	}

	gpulens::perfetto::TrackEvent *add_event(u64 uuid, u64 time_ns, u32 type)
	{
		gpulens::perfetto::TracePacket *p = begin_packet();

		p->set_timestamp(time_ns);
		p->set_timestamp_clock_id(CLOCK_ID_MONOTONIC);
		p->mutable_track_event()->set_type(type);
		p->mutable_track_event()->set_track_uuid(uuid);
		return p->mutable_track_event();
	}

	static void add_clock(gpulens::perfetto::TracePacket *packet, u32 id, u64 time_ns)
	{
		gpulens::perfetto::ClockSnapshot::Clock *clock = packet->mutable_clock_snapshot()->add_clocks();

		clock->set_clock_id(id);
		clock->set_timestamp(time_ns);
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

	void add_slice(u64 uuid, const Interval &interval)
	{
		std::optional<Owner> owner = t_.owner(interval);
		gpulens::perfetto::TrackEvent *e = add_event(uuid, interval.start_ns, SLICE_BEGIN);

		e->set_name(interval_label(interval) + (owner ? fmt::format(" ({})", owner->text()) : ""));
		e->add_categories(phase_name(interval.phase));
		if (interval.channel != LENS_NONE)
			annotate(e, "channel", static_cast<u64>(interval.channel));
		if (owner) {
			annotate(e, "pid", u64{owner->pid});
			annotate(e, "process", owner->name);
		}
		annotate(e, "samples", interval.samples);
		annotate(e, "busy", interval.busy);
		add_event(uuid, interval.end_ns, SLICE_END);
	}

	const Timeline &t_;
	const Sink &sink_;
	std::string bytes_;
	gpulens::perfetto::TracePacket packet_;
	bool begun_ = false; // packet_ is in use
};

} // namespace

void write_csv(const Timeline &t, const Sink &sink)
{
	std::string out = "start_ns,end_ns,engine,runlist,state,tsg,channel,samples,busy,pid,process\n";
	auto id = [](int v) { return v == LENS_NONE ? "" : std::to_string(v); };
	auto flush = [&](size_t least) { // if there are at least so many bytes
		if (out.size() < least)
			return;
		sink(out);
		out.clear();
	};

	for (size_t n = 0; n < t.tracks.size(); n++) {
		std::string engine = t.tracks[n].engine.short_name(), runlist = id(t.tracks[n].engine.runlist);
		TimelineReader<Interval> intervals = t.intervals_of(n);
		while (const Interval *i = intervals.next()) {
			std::optional<Owner> owner = t.owner(*i);
			fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},{},{},{},{},{}\n", i->start_ns,
				       i->end_ns, engine, runlist, phase_name(i->phase), i->bare ? "" : id(i->tsg),
				       i->bare ? id(i->tsg) : id(i->channel), i->samples, i->busy,
				       owner ? std::to_string(owner->pid) : "", owner ? quote_csv(owner->name) : "");
			flush(CHUNK_BYTES);
		}
	}
	TimelineReader<DroppedTicks> dropped = t.all_dropped();
	while (const DroppedTicks *d = dropped.next()) {
		out += fmt::format("{},,,,{},,,{},,,\n", d->time_ns, dropped_name(d->kind), d->ticks);
		flush(CHUNK_BYTES);
	}
	flush(0);
}

void write_perfetto(const Timeline &t, const Sink &sink)
{
	PerfettoWriter(t, sink).write();
}

const std::vector<std::string> &slot_titles()
{
	static const std::vector<std::string> titles = {"Engine",    "TSG",         "Time",     "Slots",
							"Timeslice", "Median slot", "Shortest", "Longest"};

	return titles;
}

std::vector<std::vector<std::string>> slot_rows(const Timeline &t, const std::string &none)
{
	std::vector<std::vector<std::string>> rows;
	double whole = static_cast<double>(std::max<u64>(1, t.end_ns - t.start_ns));

	for (size_t i = 0; i < t.tracks.size(); i++) {
		for (const Slots &slots : t.slots(i)) {
			const Lengths &lengths = slots.lengths_ns;
			bool any = lengths.count();
			rows.push_back({t.tracks[i].engine.short_name(),
					fmt::format("{}{}{}", slots.bare ? "channel " : "", slots.tsg,
						    slots.owner ? fmt::format(" ({})", slots.owner->text()) : ""),
					fmt::format("{:.1f}%", 100 * static_cast<double>(slots.on_ns) / whole),
					std::to_string(lengths.count()),
					slots.slice_ns ? format_duration(*slots.slice_ns) : none,
					any ? format_duration(lengths.median()) : none,
					any ? format_duration(lengths.least()) : none,
					any ? format_duration(lengths.most()) : none});
		}
	}
	return rows;
}

std::string timeline_text(const Timeline &t)
{
	std::string out = fmt::format("{}: {:.3f} s, {} ticks ", t.name(), t.seconds(), t.ticks);

	out += fmt::format("every {} requested, {} measured (99% within {}, longest {}); {} ticks lost\n",
			   format_duration(u64{t.period_us} * 1000), format_duration(t.step_median_ns),
			   format_duration(t.step_p99_ns), format_duration(t.step_max_ns), t.lost);
	std::vector<std::string> titles = slot_titles();
	titles[0] = '<' + titles[0];
	Table table(titles);
	for (const std::vector<std::string> &row : slot_rows(t, "-"))
		table.add({row.begin(), row.end()});
	return out + (table.empty() ? "all engines were idle\n" : table.str({}));
}

} // namespace tool
