// SPDX-License-Identifier: GPL-2.0
// Only the next offset 0 separates the MQDs of a queue's dies, so MQDs of different lengths show that rows are missing.
// Lines are compared with the forms of all kernels, misspelt ones included.
#include "lib/amd/mqds.hpp"

#include <fmt/format.h>
#include <optional>
#include <utility>

namespace tool::amd {

namespace {

constexpr size_t MQD_INDENT = 4; // of the rows of an MQD

// Parses a queue's heading.
std::optional<MqdQueue> parse_queue_heading(const std::string &line)
{
	const std::pair<const char *, QueueType> headings[] = {{"  Compute queue on device %x", QueueType::Compute},
							       {"  SDMA queue on device %x", QueueType::Sdma},
							       {"  DIQ on device %x", QueueType::Diq}};

	for (auto [pattern, type] : headings)
		if (MqdQueue queue{.type = type}; scan_line(line, pattern, {&queue.gpu_id}))
			return queue;
	return std::nullopt;
}

// Returns whether the driver calls a queue bad in this line. The misspelt form is the driver's.
bool is_complaint(const std::string &line)
{
	u32 type = 0, gpu_id = 0;

	for (const char *pattern : {"  Bad user queue type %d on device %x", "  Bad kernel queue type %d on device %x",
				    "  Qeueu node with bad user queue type %d on device %x",
				    "  Queue node with bad user queue type %d on device %x"})
		if (scan_line(line, pattern, {&type, &gpu_id}))
			return true;
	return line == "  Weird: Queue node with neither kernel nor user queue";
}

MqdQueue take_queue(KfdText &text, MqdQueue queue)
{
	queue.line = text.number();
	text.advance();
	for (std::vector<u32> words; !(words = text.take_dump(MQD_INDENT)).empty();)
		queue.mqds.push_back(std::move(words));
	if (queue.mqds.empty())
		text.refuse_at(queue.line, "no MQD follows the queue's heading");
	for (const std::vector<u32> &words : queue.mqds)
		if (words.size() != queue.mqds[0].size())
			text.refuse_at(queue.line, fmt::format("its MQDs have {} and {} words; rows are missing",
							       queue.mqds[0].size(), words.size()));
	return queue;
}

} // namespace

const char *name_queue_type(QueueType type)
{
	return type == QueueType::Compute ? "compute" : type == QueueType::Sdma ? "SDMA" : "DIQ";
}

Mqds parse_mqds(const std::string &content, const std::string &name)
{
	KfdText text(name, content);
	Mqds mqds;

	while (!text.at_end()) {
		MqdProcess process;
		std::optional<MqdQueue> queue;
		// The second form since 2025, as of Linux 7.1.5.
		if (scan_line(text.line(), "Process %d PASID 0x%x:", {&process.pid, &process.pasid}) ||
		    scan_line(text.line(), "Process %d PASID %d:", {&process.pid, &process.pasid})) {
			mqds.processes.push_back(process);
			text.advance();
		} else if (mqds.processes.empty()) {
			text.refuse_line();
		} else if ((queue = parse_queue_heading(text.line()))) {
			mqds.processes.back().queues.push_back(take_queue(text, *queue));
		} else if (is_complaint(text.line())) {
			mqds.complaints.push_back(fmt::format("{}:{}:{}", name, text.number(), text.line().substr(1)));
			text.advance();
		} else {
			text.refuse_line();
		}
	}
	return mqds;
}

} // namespace tool::amd
