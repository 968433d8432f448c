// SPDX-License-Identifier: GPL-2.0
// Says what records of calls show, as text and JSON, and from where it is known.
#include "gpulens/cmd/pitfalls.hpp"

#include "gpulens/out/table.hpp"
#include "lib/base/format.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tool {

using gpulens::CallKind;
using json = nlohmann::ordered_json;

namespace {

constexpr int PITFALLS_JSON_VERSION = 1;
constexpr size_t MAX_ROWS = 20; // of the text

std::string symbol_of(gpulens::Call call)
{
	return std::string(gpulens::CUDA_CALLS[static_cast<u32>(call)].symbol);
}

CallKind kind_of(const PitfallRow &row)
{
	return gpulens::CUDA_CALLS[static_cast<u32>(row.call)].kind;
}

// "train+0x1234 (release at train.cc:37)", as addr2line takes the number.
std::string frame_text(const CallFrame &frame)
{
	if (frame.module.empty())
		return "unknown";
	std::string text = fmt::format("{}+{:#x}", frame.module.substr(frame.module.rfind('/') + 1), frame.offset);
	std::string place = frame.function + (frame.line.empty() ? "" : " at " + frame.line);
	return place.empty() ? text : text + " (" + place + ")";
}

// "cuLaunchKernel from train+0x1234 (launch)" of each, separated by commas.
std::string waiters_text(const std::vector<PitfallRow::Waiter> &waiters)
{
	std::vector<std::string> texts;

	texts.reserve(waiters.size());
	for (const PitfallRow::Waiter &w : waiters)
		texts.push_back(symbol_of(w.call) + " from " + frame_text(w.place));
	return fmt::format("{}", fmt::join(texts, ", "));
}

// "4711", "4711, 4712" or "5 threads".
std::string threads_text(const std::set<u32> &threads)
{
	if (threads.size() > 2)
		return fmt::format("{} threads", threads.size());
	return threads.empty() ? "-" : fmt::format("{}", fmt::join(threads, ", "));
}

std::string count_text(u64 count, const char *singular)
{
	return fmt::format("{} {}{}", count, singular, count == 1 ? "" : "s");
}

// The rule of CUDA's documentation about such a call; empty: none is known.
std::string rule_of(const PitfallRow &row, const ProcessPitfalls &process)
{
	if (row.synchronizing) {
		std::string streams = process.most_blocking_streams
					      ? count_text(process.most_blocking_streams, "stream") +
							" made without CU_STREAM_NON_BLOCKING"
					      : "per-thread default streams";
		return fmt::format("{} in the legacy default stream, beside {}: it waits for all earlier work in "
				   "those of its context, and their later work waits for it (CUDA driver API, Stream "
				   "synchronization behavior)",
				   count_text(row.synchronizing, "call"), streams);
	}
	switch (kind_of(row)) {
	case CallKind::Free:
		return "it may synchronize implicitly, unless the memory is of cuMemAllocAsync (cuda.h 13.0, "
		       "cuMemFree)";
	case CallKind::Allocate:
		return "it makes the GPU synchronize across all executing streams (CUDA Programming Guide 13, 4.3.1)";
	case CallKind::Wait:
		return "explicit synchronization: its thread waits for earlier work (CUDA driver API); it is not said "
		       "to hold up other threads";
	default: return "";
	}
}

json frame_json(const CallFrame &frame)
{
	return {{"module", text_or_null(frame.module)},
		{"offset", frame.module.empty() ? json(nullptr) : json(fmt::format("{:#x}", frame.offset))},
		{"function", text_or_null(frame.function)},
		{"line", text_or_null(frame.line)}};
}

double to_us(u64 ns)
{
	return static_cast<double>(ns) / 1000;
}

json row_json(const PitfallRow &row, const ProcessPitfalls &process)
{
	json frames = json::array(), statements = json::array(), waiters = json::array();

	for (const CallFrame &frame : row.frames)
		frames.push_back(frame_json(frame));
	for (const PitfallStatement &s : state_pitfall(row, process))
		statements.push_back({{"basis", s.measured ? "measured" : "rule"}, {"text", s.text}});
	for (const PitfallRow::Waiter &w : row.waits.waiters)
		waiters.push_back({{"function", symbol_of(w.call)},
				   {"site", frame_json(w.place)},
				   {"calls", w.count},
				   {"waited_us", to_us(w.ns)}});
	return {{"function", symbol_of(row.call)},
		{"site", frame_json(row.place)},
		{"frames", frames},
		{"threads", row.threads},
		{"legacy_stream", row.legacy},
		{"calls", row.calls},
		{"total_us", to_us(row.total_ns)},
		{"longest_us", to_us(row.longest_ns)},
		{"in_progress", row.in_progress},
		{"synchronizing", row.synchronizing},
		{"others",
		 {{"calls", row.waits.count},
		  {"waited_us", to_us(row.waits.ns)},
		  {"ended_together", row.waits.ended_together},
		  {"alone", row.waits.alone},
		  {"threads", row.waits.threads},
		  {"waiters", waiters}}},
		{"statements", statements}};
}

std::string process_text(const ProcessPitfalls &process)
{
	std::string text =
		fmt::format("gpulens: calls of CUDA's driver by process {} ({}): {} in {}, {} of {} or more\n",
			    process.pid, process.command, process.calls, count_text(process.threads, "thread"),
			    process.long_calls, format_duration(gpulens::LONG_CALL_NS));
	Table table({"Others waited", "<Call", "<From", "<Thread", "Calls", "Longest", "Waiting", "Ended with it",
		     "Alone"});

	for (size_t i = 0; i < std::min(process.rows.size(), MAX_ROWS); i++) {
		const PitfallRow &row = process.rows[i];
		const PitfallRow::Waits &w = row.waits;
		auto or_dash = [&](u64 count) { return w.count ? std::to_string(count) : "-"; };
		table.add({w.count ? format_duration(w.ns) : "-",
			   symbol_of(row.call) + (row.legacy ? ", legacy stream" : ""), frame_text(row.place),
			   threads_text(row.threads), std::to_string(row.calls), format_duration(row.longest_ns),
			   or_dash(w.count), or_dash(w.ended_together), or_dash(w.alone)});
	}
	if (table.empty())
		return text;
	text += table.str({});
	if (process.rows.size() > MAX_ROWS)
		text += fmt::format("{} more rows are in the JSON of --pitfalls-json\n",
				    process.rows.size() - MAX_ROWS);
	for (size_t i = 0; i < std::min(process.rows.size(), MAX_ROWS); i++)
		for (const PitfallStatement &s : state_pitfall(process.rows[i], process))
			text += fmt::format("{} from {}: {}: {}\n", symbol_of(process.rows[i].call),
					    frame_text(process.rows[i].place), s.measured ? "measured" : "rule",
					    s.text);
	return text;
}

} // namespace

std::vector<PitfallStatement> state_pitfall(const PitfallRow &row, const ProcessPitfalls &process)
{
	std::vector<PitfallStatement> statements;
	const PitfallRow::Waits &w = row.waits;

	if (w.count)
		statements.push_back(
			{true, fmt::format("{} of {} ({}) took {} or more while it was in progress, {} of that at the "
					   "same time; {} ended when it did (within {} % of that time); during {}, no "
					   "call of a third thread was in progress that could be meant",
					   count_text(w.count, "asynchronous call"),
					   count_text(w.threads.size(), "other thread"), waiters_text(w.waiters),
					   format_duration(gpulens::LONG_CALL_NS), format_duration(w.ns),
					   w.ended_together, ENDED_TOGETHER_PERCENT, w.alone)});
	if (row.in_progress)
		statements.push_back({true, fmt::format("{} had not returned when the process ended",
							count_text(row.in_progress, "call"))});
	if (std::string rule = rule_of(row, process); !rule.empty())
		statements.push_back({false, rule});
	return statements;
}

std::vector<std::string> pitfall_notes(const std::vector<ProcessPitfalls> &processes)
{
	std::vector<std::string> notes;
	auto count = [&](u64 ProcessPitfalls::*member) {
		u64 sum = 0;
		for (const ProcessPitfalls &process : processes)
			sum += process.*member;
		return sum;
	};

	if (processes.empty())
		return {"no process of the program called a function of CUDA's driver that is recorded"};
	notes.emplace_back("calls that overlap are measured; that one waited for the other is not proven by it");
	notes.emplace_back("which work on the GPU was held up is unknown: only calls are seen");
	u64 sited = 0;
	for (const ProcessPitfalls &process : processes)
		for (const PitfallRow &row : process.rows)
			sited += row.synchronizing;
	if (u64 all = count(&ProcessPitfalls::synchronizing); sited < all)
		notes.push_back(
			fmt::format("of {} calls in the legacy stream beside other streams, the call sites of {} "
				    "were looked for: the first {} of a thread, and then every {}nd",
				    all, sited, gpulens::ALL_SITES, gpulens::EACH_SITE));
	if (u64 lost = count(&ProcessPitfalls::unrecorded))
		notes.push_back(fmt::format("{} found no room, and are only counted", count_text(lost, "long call")));
	if (u64 lost = count(&ProcessPitfalls::unsited))
		notes.push_back(fmt::format("the call site of {} found no room", count_text(lost, "call")));
	if (u64 lost = count(&ProcessPitfalls::uncounted))
		notes.push_back(fmt::format("{} of threads beyond {} are counted, but not if they had not returned",
					    count_text(lost, "call"), gpulens::MAX_CALL_THREADS));
	return notes;
}

std::string pitfalls_text(const std::vector<ProcessPitfalls> &processes)
{
	std::string text;

	for (const ProcessPitfalls &process : processes)
		text += process_text(process);
	for (const std::string &note : pitfall_notes(processes))
		text += "gpulens: note: " + note + '\n';
	return text;
}

json pitfalls_json(const std::vector<std::string> &program, const std::vector<ProcessPitfalls> &processes)
{
	json list = json::array();

	for (const ProcessPitfalls &process : processes) {
		json rows = json::array();
		for (const PitfallRow &row : process.rows)
			rows.push_back(row_json(row, process));
		list.push_back({{"pid", process.pid},
				{"command", process.command},
				{"threads", process.threads},
				{"calls", process.calls},
				{"long_calls", process.long_calls},
				{"synchronizing", process.synchronizing},
				{"unrecorded", process.unrecorded},
				{"uncounted", process.uncounted},
				{"unsited", process.unsited},
				{"most_blocking_streams", process.most_blocking_streams},
				{"per_thread_stream", process.per_thread_stream},
				{"rows", rows}});
	}
	return {{"version", PITFALLS_JSON_VERSION},
		{"command", "run"},
		{"program", program},
		{"long_call_us", to_us(gpulens::LONG_CALL_NS)},
		{"ended_together_percent", ENDED_TOGETHER_PERCENT},
		{"processes", list},
		{"notes", pitfall_notes(processes)}};
}

} // namespace tool
