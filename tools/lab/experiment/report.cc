// SPDX-License-Identifier: GPL-2.0
// A table of the tracks and the verdict's sentence.
#include "lab/experiment/report.hpp"

#include "lib/base/format.hpp"

#include <fmt/format.h>

namespace tool::experiment {

using json = nlohmann::ordered_json;

namespace {

constexpr size_t MAX_SPANS = 20000; // of a track in JSON

json spans_json(const Spans &spans)
{
	json list = json::array();

	for (size_t i = 0; i < std::min(spans.size(), MAX_SPANS); i++)
		list.push_back({to_ms(spans[i].from), to_ms(spans[i].to)});
	return list;
}

} // namespace

std::string verdict_text(const Trace &trace, const Verdict &verdict, const Style &style)
{
	std::string text = title_of(trace.experiment, trace.gpu, trace.simulated, trace.without) + '\n';
	Table table({"<Task", "<Work", "Slices", "Active ms", "Median ms", "+/- ms", "MiB"});

	for (const Track &t : trace.tracks) {
		Spans active = active_spans(t);
		s64 chunk = active.size() > 1 ? chunk_ns(t) : 0;
		table.add({replace_controls(t.task), work_name(t.work), std::to_string(active.size()),
			   fmt::format("{:.3f}",
				       to_ms(total_length(active) + chunk * (static_cast<s64>(active.size()) - 1))),
			   fmt::format("{:.3f}", median_of(lengths_ms(active)) + to_ms(chunk)),
			   chunk ? fmt::format("{:.3f}", to_ms(chunk)) : "-",
			   t.bytes ? fmt::format("{}", t.bytes * t.spans.size() >> 20) : "-"});
	}
	if (!trace.tracks.empty())
		text += table.str(style);
	text += notes_text(trace.notes, style);
	return text + replace_controls(verdict_line(verdict)) + '\n';
}

json verdict_json(const Trace &trace, const Verdict &verdict)
{
	json tracks = json::array(), logs = json::array();

	for (const Track &t : trace.tracks)
		tracks.push_back({{"task", t.task},
				  {"work", work_name(t.work)},
				  {"chunks", t.bytes ? t.spans.size() : 0},
				  {"chunk_bytes", t.bytes},
				  {"active_ms", spans_json(active_spans(t))}});
	for (const blocks::Log &log : trace.logs)
		logs.push_back(blocks::log_json(log));
	json out = result_head(trace, verdict);

	out["tracks"] = tracks;
	out["logs"] = logs;
	out["notes"] = trace.notes;
	return out;
}

} // namespace tool::experiment
