// SPDX-License-Identifier: GPL-2.0
// Collects times by stream and sorts them.
#include "lab/blocks/summary.hpp"

#include "gpulens/out/axes.hpp"
#include "gpulens/out/svg.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace tool::blocks {

namespace {

// Quotes a field as RFC 4180 does.
std::string quote_field(const std::string &text)
{
	std::string quoted = "\"";

	for (char c : text)
		quoted += c == '"' ? "\"\"" : std::string(1, c);
	return quoted + '"';
}

struct Times {
	std::vector<s64> jobs, kernels, blocks; // ns
};

std::vector<Times> times_of_streams(const Log &log)
{
	std::vector<Times> times(log.streams.size());
	std::map<std::pair<u32, u32>, std::pair<s64, s64>> jobs; // by stream and iteration

	for (const Ran &k : log.kernels) {
		Times &t = times[k.stream];
		t.kernels.push_back(k.last_end() - k.first_start());
		for (const Block &b : k.blocks)
			t.blocks.push_back(b.end - b.start);
		if (!k.launched)
			continue;
		s64 end = std::max((*k.launched)[2], k.last_end());
		auto [job, added] = jobs.try_emplace({k.stream, k.iteration}, k.calls()[0], end);
		job->second = {std::min(job->second.first, k.calls()[0]), std::max(job->second.second, end)};
	}
	for (const auto &[of, job] : jobs)
		times[of.first].jobs.push_back(job.second - job.first);
	for (Times &t : times)
		for (std::vector<s64> *list : {&t.jobs, &t.kernels, &t.blocks})
			std::sort(list->begin(), list->end());
	return times;
}

constexpr std::pair<const char *, std::vector<s64> Times::*> KINDS[] = {
	{"job", &Times::jobs}, {"kernel", &Times::kernels}, {"block", &Times::blocks}};

} // namespace

std::string cdf_svg(const Log &log)
{
	constexpr double TOP = 40;
	std::vector<Times> times = times_of_streams(log);
	std::string body;
	double top = TOP;

	for (const auto &[what, kind] : KINDS) {
		s64 longest = 0;
		for (const Times &t : times)
			longest = std::max(longest, (t.*kind).empty() ? 0 : (t.*kind).back());
		if (!longest)
			continue;
		Axes axes(top, {0, double(longest) / 1e6}, {0, 1});
		body += axes.frame(fmt::format("Times of {}s: share that is not longer", what), "ms", "share");
		for (size_t stream = 0; stream < times.size(); stream++) {
			const std::vector<s64> &list = times[stream].*kind;
			std::vector<std::pair<double, double>> shares{{0, 0}};
			for (size_t i = 0; i < list.size(); i++)
				shares.emplace_back(double(list[i]) / 1e6, double(i + 1) / double(list.size()));
			if (list.empty())
				continue;
			const std::string &label = log.streams[stream].label;
			body += axes.stairs(shares, curve_colour(stream)) +
				axes.legend(stream, label.empty() ? fmt::format("stream {}", stream + 1) : label,
					    curve_colour(stream));
		}
		top += PANEL_PITCH;
	}
	return svg_head(PICTURE_WIDTH, top, "Distributions of times, " + log.scenario, AXES_STYLE) + body + "</svg>\n";
}

std::string cdf_csv(const Log &log)
{
	std::string text = "what,process,stream,label,seconds,fraction\n";
	std::vector<Times> times = times_of_streams(log);

	for (u32 stream = 0; stream < times.size(); stream++) {
		const Stream &s = log.streams[stream];
		for (const auto &[what, kind] : KINDS) {
			const std::vector<s64> &list = times[stream].*kind;
			for (size_t i = 0; i < list.size(); i++)
				text += fmt::format("{},{},{},{},{:.9f},{:.6f}\n", what, s.process + 1, stream + 1,
						    quote_field(s.label), static_cast<double>(list[i]) / 1e9,
						    static_cast<double>(i + 1) / static_cast<double>(list.size()));
		}
	}
	return text;
}

} // namespace tool::blocks
