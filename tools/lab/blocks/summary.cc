// SPDX-License-Identifier: GPL-2.0
// Tables and JSON of logs and built-in scenarios.
#include "lab/blocks/summary.hpp"

#include "gpulens/out/text.hpp"
#include "lib/base/format.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace tool::blocks {

using json = nlohmann::ordered_json;

namespace {

constexpr int SUMMARY_JSON_VERSION = 1;

std::vector<u32> sms_of(const Ran &k)
{
	std::set<u32> sms;

	for (const Block &b : k.blocks)
		sms.insert(b.sm);
	return {sms.begin(), sms.end()};
}

json summarize_copy(const std::optional<Copy> &copy)
{
	if (!copy)
		return nullptr;
	return {{"bytes", copy->bytes}, {"start", to_seconds(copy->start)}, {"end", to_seconds(copy->end)}};
}

} // namespace

std::string summary_text(const Log &log, const Style &style)
{
	const Machine &m = log.machine;
	std::string out = replace_controls(log.scenario);
	bool masks =
		std::any_of(log.kernels.begin(), log.kernels.end(), [](const Ran &k) { return k.tpcs.has_value(); });
	bool copies = std::any_of(log.kernels.begin(), log.kernels.end(),
				  [](const Ran &k) { return k.copy_in || k.copy_out; });
	bool processes = log.processes() > 1;
	std::vector<std::string> heads = {"<Kernel", "Stream",     "<Label",        "Blocks",       "Threads",
					  "SMs",     "Launched s", "First start s", "Last start s", "Last end s"};
	if (copies)
		heads.insert(heads.end(),
			     {"In bytes", "In start s", "In end s", "Out bytes", "Out start s", "Out end s"});
	if (masks)
		heads.emplace_back("<Mask");
	if (processes)
		heads.insert(heads.begin() + 1, "Process");
	Table t(heads);

	if (log.simulated)
		out += ", simulated";
	if (m.threads_per_sm)
		out += fmt::format(", {}{} SMs of {} threads, {} channels",
				   m.name.empty() ? "" : replace_controls(m.name) + ", ", m.sms, m.threads_per_sm,
				   m.channels);
	for (const Ran &k : log.kernels) {
		auto time = [](s64 ns) { return fmt::format("{:.6f}", to_seconds(ns)); };
		std::vector<Cell> row = {k.name,
					 std::to_string(k.stream + 1),
					 replace_controls(log.streams[k.stream].label),
					 std::to_string(k.blocks.size()),
					 std::to_string(k.threads),
					 std::to_string(sms_of(k).size()),
					 k.launched ? time((*k.launched)[0]) : "-",
					 time(k.first_start()),
					 time(k.last_start()),
					 time(k.last_end())};
		for (const std::optional<Copy> *copy : {&k.copy_in, &k.copy_out}) {
			if (!copies)
				break;
			row.emplace_back(*copy ? std::to_string((*copy)->bytes) : "-");
			row.emplace_back(*copy ? time((*copy)->start) : "-");
			row.emplace_back(*copy ? time((*copy)->end) : "-");
		}
		if (masks)
			row.emplace_back(k.tpcs ? sm_mask_text(*k.tpcs) : "-");
		if (processes)
			row.insert(row.begin() + 1, Cell(std::to_string(log.streams[k.stream].process + 1)));
		t.add(row);
	}
	out += '\n' + t.str(style);
	if (log.resolution_ns)
		out += fmt::format("The GPU's clock has steps of {}; launches are known to {} against it\n",
				   format_duration(*log.resolution_ns), format_duration(log.uncertainty_ns));
	return out;
}

json summary_json(const Log &log, const std::optional<Verdict> &verdict, const std::optional<Within> &within)
{
	json kernels = json::array();

	for (const Ran &k : log.kernels)
		kernels.push_back({{"kernel", k.name},
				   {"process", log.streams[k.stream].process + 1},
				   {"stream", k.stream + 1},
				   {"label", log.streams[k.stream].label},
				   {"blocks", k.blocks.size()},
				   {"threads", k.threads},
				   {"sm_mask", k.tpcs ? json(sm_mask_text(*k.tpcs)) : json(nullptr)},
				   {"sms", sms_of(k)},
				   {"launched", k.launched ? json(to_seconds((*k.launched)[0])) : json(nullptr)},
				   {"first_start", to_seconds(k.first_start())},
				   {"last_start", to_seconds(k.last_start())},
				   {"last_end", to_seconds(k.last_end())},
				   {"copy_in", summarize_copy(k.copy_in)},
				   {"copy_out", summarize_copy(k.copy_out)}});
	return {{"version", SUMMARY_JSON_VERSION},
		{"command", "blocks"},
		{"scenario", log.scenario},
		{"simulated", log.simulated},
		{"channels", log.machine.channels},
		{"kernels", kernels},
		{"check", verdict ? verdict_json(*verdict) : json(nullptr)},
		{"within", within ? within_json(*within) : json(nullptr)}};
}

std::string builtins_text(const Style &style)
{
	Table t({"<Scenario", "<What", "<What is expected"});

	for (const Builtin &b : builtins())
		t.add({b.name, b.description, b.expected});
	return t.str(style);
}

json builtins_json()
{
	json list = json::array();

	for (const Builtin &b : builtins())
		list.push_back({{"name", b.name}, {"what", b.description}, {"expected", b.expected}});
	return {{"version", SUMMARY_JSON_VERSION}, {"command", "probe-kernels"}, {"scenarios", list}};
}

} // namespace tool::blocks
