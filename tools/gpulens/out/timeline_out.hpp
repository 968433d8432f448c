// SPDX-License-Identifier: GPL-2.0
// Timelines as tables, pages and traces.
#pragma once
#include "lib/timeline/timeline.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

// What all engines' TSGs had, a row each, as text; none stands for what was not measured.
const std::vector<std::string> &turn_titles();
std::vector<std::vector<std::string>> turn_rows(const Timeline &t, const std::string &none);

// Takes a file's bytes piece by piece.
using Sink = std::function<void(std::string_view)>;

void write_csv(const Timeline &t, const Sink &sink);
// Perfetto's format: tools/gpulens/out/perfetto_trace.proto.
void write_perfetto(const Timeline &t, const Sink &sink);
// A page of its own: an SVG of the engines over time and tables of turns, as Fig. 6 of RTAS'24. Of a long recording the
// beginning is drawn interval by interval, and the rest as shares of time.
void write_html(const Timeline &t, const Sink &sink);
// The tables as text, with how well the sampling went.
std::string timeline_text(const Timeline &t);

} // namespace tool
