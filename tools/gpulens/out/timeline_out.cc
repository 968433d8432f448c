// SPDX-License-Identifier: GPL-2.0
// Writes timelines in Perfetto's trace format, and as tables.
#include "gpulens/out/timeline_out.hpp"

#include "gpulens/out/schedule_tracks.hpp"
#include "gpulens/out/table.hpp"
#include "gpulens/out/text.hpp"
#include "gpulens/out/timeline_csv.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "perfetto_trace.pb.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <initializer_list>
#include <set>

namespace tool {

namespace {

std::string interval_label(const Interval &i)
{
	if (i.phase == Phase::Error)
		return "unreadable";
	return (i.phase == Phase::Switching ? "switching, " : "") + name_task(i.bare, i.tsg);
}

constexpr size_t SLOT_COLUMNS = 8;    // of the table of slots, without those of owners
constexpr size_t SHORTEST_COLUMN = 6; // of the table of slots; it and those behind it are left out first
constexpr size_t MAX_HEAD_BYTES = 10; // of a packet's tag and length
constexpr u32 TRACE_PACKET = 1;       // field number of Trace.packet
constexpr u32 STATE_CLEARED = 1;      // SEQ_INCREMENTAL_STATE_CLEARED of TracePacket.sequence_flags
// Of ClockSnapshot (protos/perfetto/common/builtin_clock.proto)
constexpr u32 CLOCK_ID_REALTIME = 1, CLOCK_ID_MONOTONIC = 3, CLOCK_ID_BOOTTIME = 6;
// Clocks from 64 to 127 are those of a packet sequence alone (clock_snapshot.proto): those of one machine among several.
constexpr u32 CLOCK_ID_OWN_MONOTONIC = 64, CLOCK_ID_OWN_BOOTTIME = 65;
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3 };

// Writes the trace packet by packet, because a protobuf message of the whole trace would be limited to 2 GB and would
// have to fit into memory.
class PerfettoWriter {
public:
	PerfettoWriter(const Sink &sink, TraceClock clock) : sink_(sink), clock_(clock) {}

	void write(std::span<const Timeline> gpus)
	{
		// Trace processor takes the clock of the trace from its first packets only.
		if (clock_ == TraceClock::Boottime)
			add_machine_clocks(gpus);
		else
			for (const Timeline &t : gpus)
				add_own_clocks(t);
		for (const Timeline &t : gpus)
			write(t);
		end_packet();
		sink_(bytes_);
	}

private:
	// Ids that traces of other machines, and of other GPUs, do not have: FNV-1a, 64 bits.
	static u64 hash(std::initializer_list<std::string_view> parts)
	{
		u64 value = 0xcbf29ce484222325;

		for (std::string_view part : parts) {
			for (char c : part)
				value = (value ^ static_cast<u8>(c)) * 0x100000001b3;
			value *= 0x100000001b3; // as a zero between the parts
		}
		return value ? value : 1;
	}

	static std::string gpu_key(const Timeline &t)
	{
		return t.gpu && !t.gpu->chip.device.empty() ? t.gpu->chip.device : std::to_string(t.index);
	}

	// Packets that come after are of this GPU's recording.
	void begin_sequence(const Timeline &t)
	{
		u64 id = hash({t.machine, gpu_key(t), std::to_string(t.unix_ns(t.start_ns).value_or(t.start_ns))});

		sequence_ = static_cast<u32>(id ^ id >> 32);
		sequence_ += sequence_ == 0;
	}

	void write(const Timeline &t)
	{
		std::string gpu = gpu_key(t), machine = t.machine.empty() || !t.label.empty() ? "" : t.machine + ": ";
		u64 root = hash({t.machine, gpu});

		begin_sequence(t);
		add_track(root, 0, machine + t.name());
		for (size_t i = 0; i < t.tracks.size(); i++) {
			const Engine &engine = t.tracks[i].engine;
			u64 track = hash({t.machine, gpu, engine.short_name()});
			add_track(track, root, engine.short_name());
			TimelineReader<Interval> intervals = t.intervals_of(i);
			while (const Interval *interval = intervals.next())
				add_slice(track, *interval, t.owner(engine.runlist, *interval));
		}
		TimelineReader<DroppedTicks> dropped = t.all_dropped();
		while (const DroppedTicks *d = dropped.next()) {
			gpulens::perfetto::TrackEvent *e = add_event(root, d->time_ns, INSTANT);
			e->set_name(dropped_name(d->kind));
			annotate(e, "ticks", d->ticks);
		}
		add_schedule(t, root);
	}

	// For each task of a policy a track with the times in which it was chosen or held, and one with its jobs.
	void add_schedule(const Timeline &t, u64 root)
	{
		ScheduleTracks tracks = schedule_tracks(t);
		std::string gpu = gpu_key(t);

		for (const ScheduleMark &m : tracks.marks)
			add_event(root, m.time_ns, INSTANT)->set_name(m.name);
		for (const TaskTrack &task : tracks.tasks) {
			u64 states = hash({t.machine, gpu, "task", task.name});
			u64 jobs = hash({t.machine, gpu, "jobs", task.name});
			add_track(states, root, "task " + task.name);
			for (const ScheduleSpan &s : task.states)
				add_span(states, s, s.kind == ScheduleSpan::Held ? "held" : "chosen");
			add_track(jobs, root, "jobs of " + task.name);
			for (const ScheduleSpan &s : task.jobs) {
				gpulens::perfetto::TrackEvent *e = add_event(jobs, s.start_ns, SLICE_BEGIN);
				e->set_name(s.open ? "job, not ended" : s.missed ? "job, missed" : "job");
				if (s.deadline_ns)
					annotate(e, "deadline_ns", s.deadline_ns);
				add_event(jobs, s.end_ns, SLICE_END);
			}
			for (const ScheduleMark &m : task.marks)
				add_event(jobs, m.time_ns, INSTANT)->set_name(m.name);
		}
	}

	void add_span(u64 track, const ScheduleSpan &s, const char *name)
	{
		add_event(track, s.start_ns, SLICE_BEGIN)->set_name(name);
		add_event(track, s.end_ns, SLICE_END);
	}

	// Writes the current packet and returns a new one.
	gpulens::perfetto::TracePacket *begin_packet()
	{
		end_packet();
		begun_ = true;
		packet_.set_trusted_packet_sequence_id(sequence_);
		if (begun_sequences_.insert(sequence_).second)
			packet_.set_sequence_flags(STATE_CLEARED);
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
		p->set_timestamp_clock_id(clock_ == TraceClock::Boottime ? CLOCK_ID_MONOTONIC : CLOCK_ID_OWN_MONOTONIC);
		p->mutable_track_event()->set_type(type);
		p->mutable_track_event()->set_track_uuid(uuid);
		return p->mutable_track_event();
	}

	// The clocks at the earliest time. Perfetto's own traces are in BOOTTIME.
	void add_machine_clocks(std::span<const Timeline> gpus)
	{
		std::optional<Clocks> clocks; // of any of them: they are one machine's
		u64 start_ns = ~u64{0};

		for (const Timeline &t : gpus) {
			start_ns = std::min(start_ns, t.start_ns);
			clocks = clocks ? clocks : t.clocks;
		}
		if (!gpus.empty())
			begin_sequence(gpus[0]);
		gpulens::perfetto::TracePacket *packet = begin_packet();
		packet->mutable_clock_snapshot()->set_primary_trace_clock(clocks ? CLOCK_ID_BOOTTIME
										 : CLOCK_ID_MONOTONIC);
		add_clock(packet, CLOCK_ID_MONOTONIC, start_ns);
		if (!clocks)
			return;
		u64 since_ns = start_ns - clocks->monotonic_ns; // wraps, as the sums do
		add_clock(packet, CLOCK_ID_BOOTTIME, clocks->boottime_ns + since_ns);
		add_clock(packet, CLOCK_ID_REALTIME, clocks->realtime_ns + since_ns);
	}

	// How this GPU's machine's clocks relate to the one that all machines have.
	void add_own_clocks(const Timeline &t)
	{
		if (!t.clocks)
			throw Error(
				Error::Source,
				t.name() +
					": its recording has no wall clock: it is of an older version, or cut short");
		begin_sequence(t);
		gpulens::perfetto::TracePacket *packet = begin_packet();
		u64 since_ns = t.start_ns - t.clocks->monotonic_ns;
		packet->mutable_clock_snapshot()->set_primary_trace_clock(CLOCK_ID_REALTIME);
		add_clock(packet, CLOCK_ID_REALTIME, t.clocks->realtime_ns + since_ns);
		add_clock(packet, CLOCK_ID_OWN_MONOTONIC, t.start_ns);
		add_clock(packet, CLOCK_ID_OWN_BOOTTIME, t.clocks->boottime_ns + since_ns);
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
			annotate(e, "pod", owner->pod);
			annotate(e, "evidence", std::string(name_of(owner->evidence)));
		}
		annotate(e, "samples", interval.samples);
		annotate(e, "busy", interval.busy);
		add_event(uuid, interval.end_ns, SLICE_END);
	}

	const Sink &sink_;
	TraceClock clock_;
	std::string bytes_;
	u32 sequence_ = 1;              // trusted_packet_sequence_id
	std::set<u32> begun_sequences_; // those that have a packet
	gpulens::perfetto::TracePacket packet_;
	bool begun_ = false; // packet_ is in use
};

} // namespace

void write_perfetto(std::span<const Timeline> gpus, const Sink &sink, TraceClock clock)
{
	PerfettoWriter(sink, clock).write(gpus);
}

SlotTable slot_table(const Timeline &t, const std::string &none)
{
	SlotTable table{{"Engine", "TSG", "Time", "Turns", "Timeslice", "Median turn", "Shortest", "Longest"}, {}};
	double whole = static_cast<double>(std::max<u64>(1, t.end_ns - t.start_ns));
	bool owners = !t.owners.empty();

	if (owners)
		table.titles.insert(table.titles.end(), {"User", "Evidence", "Container"});
	for (size_t i = 0; i < t.tracks.size(); i++) {
		for (const Slots &slots : t.slots(i)) {
			const Lengths &lengths = slots.lengths_ns;
			bool any = lengths.count();
			table.rows.push_back({t.tracks[i].engine.short_name(),
					      (slots.bare ? name_task(true, slots.tsg) : std::to_string(slots.tsg)) +
						      (slots.owner ? fmt::format(" ({})", slots.owner->text()) : ""),
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

std::string timeline_text(const Timeline &t, const Style &style)
{
	std::string out = fmt::format("{}: {:.3f} s, ", t.name(), t.seconds());

	if (t.period_us)
		out += fmt::format("{} samples, one in {} (asked: {}; 99% within {}, longest {}); {} lost\n", t.ticks,
				   format_duration(t.step_median_ns), format_duration(u64{t.period_us} * 1000),
				   format_duration(t.step_p99_ns), format_duration(t.step_max_ns), t.lost);
	else
		out += fmt::format("each context switch, by the driver's records; {} lost{}\n", t.lost,
				   t.clock_error.empty() ? "" : ", times to within " + t.clock_error);
	if (!t.why_sampled.empty())
		out += fmt::format("sampled, as the driver gives no records of context switches: {}\n", t.why_sampled);
	SlotTable slots = slot_table(t, "-");
	for (size_t i = 0; i < slots.titles.size(); i++) {
		if (!i || i >= SLOT_COLUMNS)
			slots.titles[i] = '<' + slots.titles[i];
		if (i >= SHORTEST_COLUMN)
			slots.titles[i] = '~' + slots.titles[i];
	}
	Table table(slots.titles);
	for (const std::vector<std::string> &row : slots.rows)
		table.add({row.begin(), row.end()});
	out += table.empty() ? "all engines were idle\n" : table.str(style);
	return out + schedule_tracks_text(t);
}

} // namespace tool
