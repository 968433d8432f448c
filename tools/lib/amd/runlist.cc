// SPDX-License-Identifier: GPL-2.0
// The length of a packet is checked against the words that are left before any of them is read. A header of 0 ends the list,
// and only zeros may follow. Fields of GFX8 have other widths than those of later generations (v9_).
#include "lib/amd/runlist.hpp"

#include "lib/amd/mqd.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace tool::amd {

namespace {

constexpr size_t DUMP_INDENT = 2;
constexpr u32 MAP_PROCESS = 0xa1, MAP_QUEUES = 0xa2, RUN_LIST = 0xa5; // opcodes
constexpr u32 MAP_PROCESS_WORDS = 16, MAP_PROCESS_DEBUG_WORDS = 21, MAP_QUEUES_WORDS = 7, RUN_LIST_WORDS = 4;

u32 get_bits(u32 word, u32 shift, u32 count)
{
	return word >> shift & ((1U << count) - 1);
}

// The words of a dump, whose positions are lines for messages.
class Packets {
public:
	Packets(const KfdText &text, u32 first_line, std::vector<u32> words, bool v9)
		: text_(text), first_line_(first_line), words_(std::move(words)), v9_(v9)
	{
	}

	void decode(Runlist &list);

private:
	[[noreturn]] void refuse(const std::string &reason) const
	{
		text_.refuse_at(first_line_ + u32(at_ / ROW_WORDS),
				fmt::format("word {} of the runlist: {}", at_, reason));
	}
	// Checks the length of the packet.
	void check_length(const char *packet, u32 words, std::initializer_list<u32> allowed) const;
	MappedProcess decode_process(const u32 *words) const;
	MappedQueue decode_queue(const u32 *words) const;

	const KfdText &text_;
	u32 first_line_;
	std::vector<u32> words_;
	bool v9_;
	size_t at_ = 0;
};

void Packets::check_length(const char *packet, u32 words, std::initializer_list<u32> allowed) const
{
	if (std::find(allowed.begin(), allowed.end(), words) == allowed.end())
		refuse(fmt::format("{} of {} words, which the driver does not write", packet, words));
	if (words > words_.size() - at_)
		refuse(fmt::format("{} of {} words, of which {} are there; the file was cut off", packet, words,
				   words_.size() - at_));
}

MappedProcess Packets::decode_process(const u32 *words) const
{
	return {.pasid = get_bits(words[1], 0, 16),
		.quantum = get_bits(words[1], 25, 7),
		.queues_declared = get_bits(words[13], 22, 10),
		.gws = get_bits(words[13], 0, v9_ ? 7 : 6)};
}

MappedQueue Packets::decode_queue(const u32 *words) const
{
	u32 engine = get_bits(words[1], 26, 3), extended = v9_ ? get_bits(words[1], 2, 2) : 0;
	MappedQueue queue{.kind = get_bits(words[1], 21, 3),
			  .doorbell = get_bits(words[2], 2, v9_ ? 26 : 21),
			  .mqd = join_words(&words[3]),
			  .write_pointer = join_words(&words[5])};

	if (get_bits(words[1], 29, 3) != 1)
		refuse("MAP_QUEUES of other than one queue, which the driver does not write");
	if (queue.kind > 3)
		refuse(fmt::format("MAP_QUEUES with queue type {}, which is not known", queue.kind));
	if (extended == 3 || (extended == 0 && engine != 0 && engine != 2 && engine != 3))
		refuse(fmt::format("MAP_QUEUES with engine {}, which is not known", engine));
	if (extended) // engines 0 to 7, or 8 to 15
		queue.sdma_engine = engine + (extended - 1) * 8;
	else if (engine)
		queue.sdma_engine = engine - 2;
	if (v9_)
		queue.gws = get_bits(words[1], 12, 1) != 0;
	return queue;
}

void Packets::decode(Runlist &list)
{
	while (at_ < words_.size() && words_[at_]) {
		const u32 *words = &words_[at_];
		u32 opcode = get_bits(*words, 8, 8), length = get_bits(*words, 16, 14) + 2;
		if (*words >> 30 != 3)
			refuse(fmt::format("{:#010x} is no header of a packet", *words));
		if (list.chain)
			refuse("a packet after RUN_LIST, which the driver does not write");
		if (opcode == MAP_PROCESS) {
			check_length("MAP_PROCESS", length,
				     v9_ ? std::initializer_list<u32>{MAP_PROCESS_WORDS, MAP_PROCESS_DEBUG_WORDS}
					 : std::initializer_list<u32>{MAP_PROCESS_WORDS});
			list.processes.push_back(decode_process(words));
		} else if (opcode == MAP_QUEUES) {
			check_length("MAP_QUEUES", length, {MAP_QUEUES_WORDS});
			if (list.processes.empty())
				refuse("MAP_QUEUES before any MAP_PROCESS");
			list.processes.back().queues.push_back(decode_queue(words));
		} else if (opcode == RUN_LIST) {
			check_length("RUN_LIST", length, {RUN_LIST_WORDS});
			list.chain = {.address = join_words(&words[1]) & ~u64{3},
				      .words = get_bits(words[3], 0, 20),
				      .processes = get_bits(words[3], 24, 4),
				      .chained = get_bits(words[3], 20, 1) != 0};
		} else {
			refuse(fmt::format("opcode {:#x}, which the driver does not write there", opcode));
		}
		at_ += length;
	}
	for (; at_ < words_.size(); at_++)
		if (words_[at_])
			refuse("a word that is not 0 after the last packet");
}

} // namespace

size_t Runlist::count_compute_queues() const
{
	size_t n = 0;

	for (const MappedProcess &process : processes)
		for (const MappedQueue &queue : process.queues)
			n += !queue.sdma_engine;
	return n;
}

size_t Runlist::count_sdma_queues() const
{
	size_t n = 0;

	for (const MappedProcess &process : processes)
		n += process.queues.size();
	return n - count_compute_queues();
}

std::vector<Runlist> parse_runlists(const std::string &content, const std::string &name,
				    const std::vector<KfdGpu> &gpus)
{
	KfdText text(name, content);
	std::vector<Runlist> lists;

	while (!text.at_end()) {
		Runlist list;
		if (!scan_line(text.line(), "Node %d, gpu_id %x:", {&list.node, &list.gpu_id}))
			text.refuse_line();
		const MqdLayout *layout = find_layout(find_gpu(text, gpus, list.gpu_id).gfx);
		text.advance();
		if (text.at_end())
			text.refuse("nothing follows the GPU's heading; the file was cut off");
		if (text.line() == "  No active runlist") {
			text.advance();
		} else {
			u32 first_line = text.number();
			std::vector<u32> words = text.take_dump(DUMP_INDENT);
			if (words.empty())
				text.refuse_line();
			list.active = true;
			list.decoded = layout != nullptr;
			if (layout)
				Packets(text, first_line, std::move(words), layout->packets_v9).decode(list);
		}
		lists.push_back(std::move(list));
	}
	return lists;
}

} // namespace tool::amd
