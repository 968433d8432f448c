// SPDX-License-Identifier: GPL-2.0
// Judges and simulates probes of calls. What the thesis saw: CUDA 8 and 9 on Maxwell, Pascal and Volta.
#include "lab/experiment/call_table.hpp"

#include "lab/experiment/report.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tool::experiment {

using json = nlohmann::ordered_json;

namespace {

constexpr double AFTER_MS = 1; // error of times of kernels

double round_ms(double ms)
{
	return std::round(ms * 1000) / 1000;
}

Held held_by(double took, double remained)
{
	return remained <= 0                   ? Held::Unknown
	       : took >= WAITED * remained     ? Held::Yes
	       : took <= NOT_WAITED * remained ? Held::No
					       : Held::Unknown;
}

const char *held_name(Held held)
{
	return held == Held::Yes ? "held" : held == Held::No ? "not held" : "cannot be told";
}

std::string effect_text(const CallVerdict &v)
{
	if (v.launches == Held::Yes)
		return "other threads' launches";
	if (v.launches == Held::Unknown || v.kernels == Held::Unknown)
		return "cannot be told";
	if (v.kernels == Held::Yes)
		return "other streams' kernels";
	return v.caller == Held::Yes ? "only the caller" : v.caller == Held::No ? "nobody" : "cannot be told";
}

// Whether a verdict is what the thesis saw; Unknown also where the thesis says nothing.
Held compare_with_thesis(const CallProbe &probe, const CallVerdict &v)
{
	auto same = [](Held held, bool seen) {
		return held == Held::Unknown ? Held::Unknown : (held == Held::Yes) == seen ? Held::Yes : Held::No;
	};
	Held all[] = {same(v.caller, probe.caller), same(v.launches, probe.launches), same(v.kernels, probe.kernels)};

	if (!*probe.thesis || std::count(std::begin(all), std::end(all), Held::No))
		return *probe.thesis ? Held::No : Held::Unknown;
	return std::count(std::begin(all), std::end(all), Held::Unknown) ? Held::Unknown : Held::Yes;
}

} // namespace

const std::vector<CallProbe> &call_probes()
{
	static const std::vector<CallProbe> all = {
		{"none", "none", "", false, false, false},
		{"cuMemAlloc", "cudaMalloc", "nobody (Pitfall 3.2)", false, false, false},
		{"cuMemFree", "cudaFree", "other threads' launches (Pitfalls 3.3, 3.4; Fig. 3.19)", true, true, true},
		{"cuMemHostAlloc", "cudaMallocHost", "nobody (Pitfall 3.2)", false, false, false},
		{"cuLaunchKernel, legacy stream", "<<<>>>", "other streams' kernels (Fig. 3.18)", false, false, true},
		{"cuCtxSynchronize", "cudaDeviceSynchronize", "only the caller (Pitfall 3.1; Fig. 3.17)", true, false,
		 false},
		{"cuStreamCreate", "cudaStreamCreate", "", false, false, false},
		{"cuMemcpyDtoH", "cudaMemcpy", "", false, false, false},
	};
	return all;
}

CallVerdict judge_call(const CallTimes &t)
{
	CallVerdict v;
	double after_end = t.kernel_at - t.long_ms;

	v.caller = held_by(t.call, t.long_ms - t.call_at);
	v.launches = held_by(t.launch, t.long_ms - t.launch_at);
	// Not held: it began in the first half of what remained. A kernel whose launch waited is late anyway.
	v.kernels = after_end >= -AFTER_MS                                       ? Held::Yes
		    : t.kernel_at <= t.launch_at + (t.long_ms - t.launch_at) / 2 ? Held::No
										 : Held::Unknown;
	v.text = effect_text(v);
	return v;
}

Verdict judge_calls(const CallTable &table)
{
	Verdict verdict{.finding = Finding::Seen, .rule = "P3.1-P3.4"};
	std::vector<std::string> parts;
	json calls = json::object();

	for (size_t i = 0; i < table.rows.size(); i++) {
		const CallProbe &probe = call_probes()[i];
		CallVerdict v = judge_call(table.rows[i]);
		calls[probe.call] = v.text;
		if (!i) {
			// Without a call, both kernels have to run at once, or nothing is shown by the others.
			if (v.launches == Held::No && v.kernels == Held::No)
				continue;
			verdict.finding = Finding::Unknown;
			verdict.sentence = "a kernel does not run beside another one here even without a call";
			return verdict;
		}
		Held same = compare_with_thesis(probe, v);
		if (*probe.thesis && same == Held::No)
			verdict.finding = Finding::NotSeen;
		else if (*probe.thesis && same == Held::Unknown && verdict.finding == Finding::Seen)
			verdict.finding = Finding::Unknown;
		parts.push_back(fmt::format("{}: {}", probe.call, v.text));
	}
	verdict.numbers["holds_up"] = calls;
	verdict.sentence = fmt::format("while a kernel runs, each call holds up: {}", fmt::join(parts, "; "));
	return verdict;
}

std::string calls_text(const CallTable &table, const Verdict &verdict, const Style &style)
{
	Table t({"<Call", "Alone ms", "Took ms", "Launch ms", "Kernel ms", "<Holds up", "<In the thesis"});
	auto ms = [](double value) { return fmt::format("{:.3f}", value); };

	for (size_t i = 0; i < table.rows.size(); i++) {
		const CallTimes &row = table.rows[i];
		const CallProbe &probe = call_probes()[i];
		t.add({probe.call, ms(row.alone), ms(row.call), ms(row.launch), ms(row.kernel_at), judge_call(row).text,
		       *probe.thesis ? probe.thesis : "-"});
	}
	return title_of(table.experiment, table.gpu, table.simulated, table.without) + '\n' + t.str(style) +
	       replace_controls(verdict_line(verdict)) + '\n';
}

json calls_json(const CallTable &table, const Verdict &verdict)
{
	json out = result_head(table, verdict);
	json rows = json::array();

	for (size_t i = 0; i < table.rows.size(); i++) {
		const CallTimes &t = table.rows[i];
		const CallProbe &probe = call_probes()[i];
		CallVerdict v = judge_call(t);
		Held same = compare_with_thesis(probe, v);
		rows.push_back({{"call", probe.call},
				{"runtime", probe.runtime},
				{"alone_ms", round_ms(t.alone)},
				{"call_at_ms", round_ms(t.call_at)},
				{"call_ms", round_ms(t.call)},
				{"launch_at_ms", round_ms(t.launch_at)},
				{"launch_ms", round_ms(t.launch)},
				{"kernel_at_ms", round_ms(t.kernel_at)},
				{"long_kernel_ms", round_ms(t.long_ms)},
				{"caller", held_name(v.caller)},
				{"launches", held_name(v.launches)},
				{"kernels", held_name(v.kernels)},
				{"holds_up", v.text},
				{"thesis", *probe.thesis ? json(probe.thesis) : json(nullptr)},
				{"as_thesis", same == Held::Unknown ? json(nullptr) : json(same == Held::Yes)}});
	}
	out["calls"] = rows;
	return out;
}

CallTable simulate_calls(const std::string &without)
{
	CallTable table{.simulated = true, .without = without};

	if (!without.empty() && without != "P3.4")
		throw Error(Error::Input,
			    fmt::format("--without {}: {} does not depend on it, but on P3.4", without, PITFALLS));
	for (const CallProbe &probe : call_probes()) {
		bool broken = without == "P3.4" && std::string(probe.call) == "cuMemFree";
		CallTimes t{.alone = 0.01,
			    .call = 0.01,
			    .launch = 0.005,
			    .call_at = CALL_AT_MS,
			    .launch_at = LAUNCH_AT_MS,
			    .kernel_at = LAUNCH_AT_MS + 0.01,
			    .long_ms = LONG_MS};
		if (probe.caller && !broken)
			t.call = LONG_MS - CALL_AT_MS;
		if (probe.launches && !broken)
			t.launch = LONG_MS - LAUNCH_AT_MS;
		if (probe.kernels && !broken)
			t.kernel_at = LONG_MS + 0.01;
		table.rows.push_back(t);
	}
	return table;
}

} // namespace tool::experiment
