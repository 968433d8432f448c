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

constexpr size_t SLOT_COLUMNS = 8;      // of the table of slots, without those of owners
constexpr size_t CHUNK_BYTES = 1 << 16; // written at once
constexpr size_t MAX_HEAD_BYTES = 10;   // of a packet's tag and length
constexpr u32 TRACE_PACKET = 1;         // field number of Trace.packet
constexpr u32 SEQUENCE_ID = 1;          // any number: there is only one writer
// Of ClockSnapshot (protos/perfetto/common/builtin_clock.proto)
constexpr u32 CLOCK_ID_REALTIME = 1, CLOCK_ID_MONOTONIC = 3, CLOCK_ID_BOOTTIME = 6;
// uuid of the first GPU's track: "gpulens"; any number that no other track has. Those of its engines follow it.
constexpr u64 ROOT_TRACK = 0x67706c656e73, TRACKS_OF_GPU = 1024;
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3 };

// Writes the trace packet by packet, because a protobuf message of the whole trace would be limited to 2 GB and would
// have to fit into memory.
class PerfettoWriter {
public:
	explicit PerfettoWriter(const Sink &sink) : sink_(sink) {}

	void write(std::span<const Timeline> gpus)
	{
		u64 root = ROOT_TRACK;

		gpulens::perfetto::TracePacket *first = begin_packet();
		first->set_sequence_flags(1);
		add_clocks(first, gpus);
		for (const Timeline &t : gpus) {
			write(t, root);
			root += TRACKS_OF_GPU;
		}
		end_packet();
		sink_(bytes_);
	}

private:
	void write(const Timeline &t, u64 root)
	{
		add_track(root, 0, t.name());
		for (size_t i = 0; i < t.tracks.size(); i++) {
			add_track(root + 1 + i, root, t.tracks[i].engine.short_name());
			TimelineReader<Interval> intervals = t.intervals_of(i);
			while (const Interval *interval = intervals.next())
				add_slice(root + 1 + i, *interval, t.owner(t.tracks[i].engine.runlist, *interval));
		}
		TimelineReader<DroppedTicks> dropped = t.all_dropped();
		while (const DroppedTicks *d = dropped.next()) {
			gpulens::perfetto::TrackEvent *e = add_event(root, d->time_ns, INSTANT);
			e->set_name(dropped_name(d->kind));
			annotate(e, "ticks", d->ticks);
		}
	}

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

	// The clocks at the earliest time. Perfetto's own traces are in BOOTTIME.
	static void add_clocks(gpulens::perfetto::TracePacket *packet, std::span<const Timeline> gpus)
	{
		std::optional<Clocks> clocks; // of any of them: they are one machine's
		u64 start_ns = ~u64{0};

		for (const Timeline &t : gpus) {
			start_ns = std::min(start_ns, t.start_ns);
			clocks = clocks ? clocks : t.clocks;
		}
		packet->mutable_clock_snapshot()->set_primary_trace_clock(clocks ? CLOCK_ID_BOOTTIME
										 : CLOCK_ID_MONOTONIC);
		add_clock(packet, CLOCK_ID_MONOTONIC, start_ns);
		if (!clocks)
			return;
		u64 since_ns = start_ns - clocks->monotonic_ns; // wraps, as the sums do
		add_clock(packet, CLOCK_ID_BOOTTIME, clocks->boottime_ns + since_ns);
		add_clock(packet, CLOCK_ID_REALTIME, clocks->realtime_ns + since_ns);
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

	void add_slice(u64 uuid, const Interval &interval, const std::optional<Owner> &owner)
	{
		gpulens::perfetto::TrackEvent *e = add_event(uuid, interval.start_ns, SLICE_BEGIN);

		e->set_name(interval_label(interval) + (owner ? fmt::format(" ({})", owner->text()) : ""));
		e->add_categories(phase_name(interval.phase));
		if (interval.channel != LENS_NONE)
			annotate(e, "channel", static_cast<u64>(interval.channel));
		if (owner) {
			annotate(e, "pid", u64{owner->pid});
			annotate(e, "process", owner->name);
			annotate(e, "user", owner->user);
			annotate(e, "container", owner->container);
			annotate(e, "evidence", std::string(name_of(owner->evidence)));
		}
		annotate(e, "samples", interval.samples);
		annotate(e, "busy", interval.busy);
		add_event(uuid, interval.end_ns, SLICE_END);
	}

	const Sink &sink_;
	std::string bytes_;
	gpulens::perfetto::TracePacket packet_;
	bool begun_ = false; // packet_ is in use
};

} // namespace

namespace {

// Lines of CSV, written when there are many.
class CsvWriter {
public:
	explicit CsvWriter(const Sink &sink) : sink_(sink)
	{
		out_ = "start_ns,end_ns,engine,runlist,state,tsg,channel,samples,busy,pid,process,gpu,user,container,"
		       "evidence\n";
	}

	void write(const Timeline &t)
	{
		std::string gpu = id(t.index);

		for (size_t n = 0; n < t.tracks.size(); n++) {
			const Engine &engine = t.tracks[n].engine;
			std::string name = engine.short_name(), runlist = id(engine.runlist);
			TimelineReader<Interval> intervals = t.intervals_of(n);
			while (const Interval *i = intervals.next()) {
				Owner owner = t.owner(engine.runlist, *i).value_or(Owner{});
				fmt::format_to(std::back_inserter(out_),
					       "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", i->start_ns, i->end_ns,
					       name, runlist, phase_name(i->phase), i->bare ? "" : id(i->tsg),
					       i->bare ? id(i->tsg) : id(i->channel), i->samples, i->busy,
					       owner.pid ? std::to_string(owner.pid) : "", quote_csv(owner.name), gpu,
					       quote_csv(owner.user), owner.container,
					       owner.pid ? name_of(owner.evidence) : "");
				flush(CHUNK_BYTES);
			}
		}
		TimelineReader<DroppedTicks> dropped = t.all_dropped();
		while (const DroppedTicks *d = dropped.next()) {
			out_ += fmt::format("{},,,,{},,,{},,,,{},,,\n", d->time_ns, dropped_name(d->kind), d->ticks,
					    gpu);
			flush(CHUNK_BYTES);
		}
	}

	// Writes if there are at least so many bytes.
	void flush(size_t least)
	{
		if (out_.size() < least)
			return;
		sink_(out_);
		out_.clear();
	}

private:
	static std::string id(int v) { return v == LENS_NONE ? "" : std::to_string(v); }

	const Sink &sink_;
	std::string out_;
};

} // namespace

void write_csv(std::span<const Timeline> gpus, const Sink &sink)
{
	CsvWriter writer(sink);

	for (const Timeline &t : gpus)
		writer.write(t);
	writer.flush(0);
}

void write_perfetto(std::span<const Timeline> gpus, const Sink &sink)
{
	PerfettoWriter(sink).write(gpus);
}

SlotTable slot_table(const Timeline &t, const std::string &none)
{
	SlotTable table{{"Engine", "TSG", "Time", "Slots", "Timeslice", "Median slot", "Shortest", "Longest"}, {}};
	double whole = static_cast<double>(std::max<u64>(1, t.end_ns - t.start_ns));
	bool owners = !t.owners.empty();

	if (owners)
		table.titles.insert(table.titles.end(), {"User", "Evidence", "Container"});
	for (size_t i = 0; i < t.tracks.size(); i++) {
		for (const Slots &slots : t.slots(i)) {
			const Lengths &lengths = slots.lengths_ns;
			bool any = lengths.count();
			table.rows.push_back({t.tracks[i].engine.short_name(),
					      fmt::format("{}{}{}", slots.bare ? "channel " : "", slots.tsg,
							  slots.owner ? fmt::format(" ({})", slots.owner->text()) : ""),
					      format_share(static_cast<double>(slots.on_ns) / whole, t.ticks) +
						      (t.ticks && t.ticks < 100 ? "" : "%"),
					      std::to_string(lengths.count()),
					      slots.slice_ns ? format_duration(*slots.slice_ns) : none,
					      any ? format_measured(lengths.median(), t.step_median_ns) : none,
					      any ? format_measured(lengths.least(), t.step_median_ns) : none,
					      any ? format_measured(lengths.most(), t.step_median_ns) : none});
			if (!owners)
				continue;
			Owner owner = slots.owner.value_or(Owner{});
			for (const std::string &text :
			     {owner.user, std::string(slots.owner ? name_of(owner.evidence) : "unknown"),
			      owner.container.substr(0, 12)})
				table.rows.back().push_back(text.empty() ? none : text);
		}
	}
	return table;
}

std::string timeline_text(const Timeline &t)
{
	std::string out = fmt::format("{}: {:.3f} s, {} ticks ", t.name(), t.seconds(), t.ticks);

	out += fmt::format("every {} requested, {} measured (99% within {}, longest {}); {} ticks lost\n",
			   format_duration(u64{t.period_us} * 1000), format_duration(t.step_median_ns),
			   format_duration(t.step_p99_ns), format_duration(t.step_max_ns), t.lost);
	SlotTable slots = slot_table(t, "-");
	for (size_t i = 0; i < slots.titles.size(); i++)
		if (!i || i >= SLOT_COLUMNS)
			slots.titles[i] = '<' + slots.titles[i];
	Table table(slots.titles);
	for (const std::vector<std::string> &row : slots.rows)
		table.add({row.begin(), row.end()});
	return out + (table.empty() ? "all engines were idle\n" : table.str({}));
}

} // namespace tool
