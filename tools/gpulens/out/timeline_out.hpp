// SPDX-License-Identifier: GPL-2.0
// Writes timelines as CSV, Perfetto traces, HTML pages and tables.
#pragma once
#include "gpulens/out/table.hpp"
#include "lib/timeline/timeline.hpp"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

constexpr size_t CHUNK_BYTES = 1 << 16; // of a file, written at once

// The table of slots: a row for each TSG of each engine.
struct SlotTable {
	std::vector<std::string> titles;
	std::vector<std::vector<std::string>> rows;
};
// none: text of values that were not measured. User, evidence and container have columns if any owner is known.
SlotTable slot_table(const Timeline &t, const std::string &none);

// Takes the next bytes of a file.
using Sink = std::function<void(std::string_view)>;

// The timelines of one or more GPUs. A line for each interval, and one for each group of dropped ticks; docs/recordings.md
// describes the columns.
void write_csv(std::span<const Timeline> gpus, const Sink &sink);

// The clock of a trace.
enum class TraceClock {
	Boottime, // of the machine: other traces of the same machine are in it, or say how it relates to theirs
	Realtime, // that of all machines
};
// Perfetto's trace format (perfetto_trace.proto). Timelines of several machines need Realtime. Throws Error (Source) if it
// is unknown.
void write_perfetto(std::span<const Timeline> gpus, const Sink &sink, TraceClock clock = TraceClock::Boottime);
// A self-contained page with a drawing of the engines over time, as Fig. 6 of RTAS'24, and the table of slots. For a
// long recording only the beginning is drawn interval by interval; the rest is drawn as shares of time.
void write_html(std::span<const Timeline> gpus, const Sink &sink);
// The timeline of one GPU.
inline void write_csv(const Timeline &t, const Sink &sink)
{
	write_csv(std::span(&t, 1), sink);
}
inline void write_perfetto(const Timeline &t, const Sink &sink)
{
	write_perfetto(std::span(&t, 1), sink);
}
inline void write_html(const Timeline &t, const Sink &sink)
{
	write_html(std::span(&t, 1), sink);
}
// Returns the table of slots as text, after a line on the quality of the sampling.
std::string timeline_text(const Timeline &t, const Style &style = {});

} // namespace tool
