// SPDX-License-Identifier: GPL-2.0
// Arithmetic of intervals.
#include "lab/experiment/trace.hpp"

#include <algorithm>

namespace tool::experiment {

namespace {

constexpr s64 LEAST_GAP_NS = 100'000;
constexpr double GAP_FACTOR = 3; // of the median chunk

} // namespace

const char *work_name(Work work)
{
	switch (work) {
	case Work::CopyToGpu: return "copy to the GPU";
	case Work::CopyToHost: return "copy to the host";
	case Work::Allocation: return "allocation";
	default: return "kernel";
	}
}

double to_ms(s64 ns)
{
	return static_cast<double>(ns) / 1e6;
}

std::string title_of(const std::string &experiment, const std::string &gpu, bool simulated, const std::string &without)
{
	return experiment + (gpu.empty() ? "" : ", " + gpu) + (simulated ? ", simulated" : "") +
	       (without.empty() ? "" : " without " + without);
}

double median_of(std::vector<double> values)
{
	std::sort(values.begin(), values.end());
	return values.empty() ? 0 : (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

std::vector<double> lengths_ms(const Spans &spans)
{
	std::vector<double> lengths;

	lengths.reserve(spans.size());
	for (const Span &s : spans)
		lengths.push_back(to_ms(s.to - s.from));
	return lengths;
}

s64 chunk_ns(const Track &track)
{
	return track.bytes ? static_cast<s64>(median_of(lengths_ms(track.spans)) * 1e6) : 0;
}

Spans active_spans(const Track &track)
{
	Spans active;

	if (!track.bytes)
		return track.spans;
	s64 median = chunk_ns(track);
	s64 limit = std::max(static_cast<s64>(GAP_FACTOR * static_cast<double>(median)), median + LEAST_GAP_NS);
	for (const Span &chunk : track.spans) {
		if (chunk.to - chunk.from > limit)
			continue;
		if (!active.empty() && chunk.from - active.back().to <= LEAST_GAP_NS)
			active.back().to = chunk.to;
		else
			active.push_back(chunk);
	}
	return active;
}

Spans clip(const Spans &spans, Span window)
{
	Spans inside;

	for (const Span &s : spans) {
		Span part{std::max(s.from, window.from), std::min(s.to, window.to)};
		if (part.from < part.to)
			inside.push_back(part);
	}
	return inside;
}

s64 total_length(const Spans &spans)
{
	s64 sum = 0;

	for (const Span &s : spans)
		sum += s.to - s.from;
	return sum;
}

s64 overlap(const Spans &a, const Spans &b)
{
	s64 sum = 0;

	for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
		sum += std::max<s64>(0, std::min(a[i].to, b[j].to) - std::max(a[i].from, b[j].from));
		a[i].to < b[j].to ? i++ : j++;
	}
	return sum;
}

Span common_window(const std::vector<Spans> &all)
{
	Span window{INT64_MIN, INT64_MAX};

	for (const Spans &spans : all) {
		if (spans.empty())
			return {};
		window.from = std::max(window.from, spans.front().from);
		window.to = std::min(window.to, spans.back().to);
	}
	return window.from < window.to ? window : Span{};
}

Spans gaps_of(const Spans &spans)
{
	Spans gaps;

	for (size_t i = 1; i < spans.size(); i++)
		if (spans[i - 1].to < spans[i].from)
			gaps.push_back({spans[i - 1].to, spans[i].from});
	return gaps;
}

} // namespace tool::experiment
