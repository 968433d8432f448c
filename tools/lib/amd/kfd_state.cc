// SPDX-License-Identifier: GPL-2.0
// Where mqds fails half-way, its processes are dropped and nothing is matched. An SDMA queue may have several MQDs, because
// the driver repeats its MQD after a compute queue of several dies: the first one counts.
#include "lib/amd/kfd_state.hpp"

#include "lib/base/file.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <functional>

namespace tool::amd {

namespace {

// Reads a file of debugfs. Throws Error (Source).
std::string read_debug_file(const std::string &path)
{
	std::string text;

	if (int err = read_path(path, text))
		throw Error(Error::Source,
			    explain_file(err, path) +
				    (err == ENOENT ? "; it needs CONFIG_DEBUG_FS, and debugfs mounted" : ""));
	return text;
}

// Collects the processes of mqds.
class QueueReader {
public:
	QueueReader(KfdState &state, const std::string &folder) : state_(state), folder_(folder) {}
	void read();

private:
	Queue decode(const MqdQueue &raw, const std::string &name);
	// Returns the PASID of a process on a GPU: from a file of its own, or from mqds unless the PID stands in its place.
	std::optional<u32> find_pasid(const MqdProcess &process, u32 gpu_id) const;
	void note(const std::string &text)
	{
		state_.whole = false;
		if (std::find(state_.notes.begin(), state_.notes.end(), text) == state_.notes.end())
			state_.notes.push_back(text);
	}

	KfdState &state_;
	std::string folder_;
};

std::optional<u32> QueueReader::find_pasid(const MqdProcess &process, u32 gpu_id) const
{
	std::string path = fmt::format("{}/proc/{}/pasid_{}", folder_, process.pid, gpu_id), text;
	u32 pasid = 0;

	int err = read_path(path, text);
	if (err == ENOENT)
		return process.pasid == process.pid ? std::nullopt : std::optional(process.pasid);
	if (err)
		throw Error(Error::Source, explain_file(err, path));
	if (!scan_line(text, "%d\n", {&pasid}))
		throw Error(Error::Input, path + ":1: expected a PASID");
	return pasid;
}

Queue QueueReader::decode(const MqdQueue &raw, const std::string &name)
{
	Queue queue{.type = raw.type, .gpu_id = raw.gpu_id, .line = raw.line};
	std::string place = fmt::format("{}:{}", name, raw.line);
	auto gpu = std::find_if(state_.gpus.begin(), state_.gpus.end(),
				[&](const KfdGpu &g) { return g.gpu_id == raw.gpu_id; });

	if (gpu == state_.gpus.end())
		throw Error(Error::Input, fmt::format("{}: GPU id {:x} is not in the topology", place, raw.gpu_id));
	const MqdLayout *layout = find_layout(gpu->gfx);
	if (!layout || (raw.type == QueueType::Sdma && !layout->sdma)) {
		note(fmt::format(
			"GPU id {:x}: the positions in MQDs of {} queues of GFX {} are not known here, so they are "
			"not decoded",
			raw.gpu_id, name_queue_type(raw.type),
			gpu->gfx ? format_gfx(*gpu->gfx) : "unknown (the kernel does not tell)"));
		return queue;
	}
	if (raw.type == QueueType::Sdma) { // the driver repeats its MQD after a compute queue of several dies
		queue.sdma = decode_sdma_mqd(raw.mqds[0], place);
		return queue;
	}
	if (raw.type == QueueType::Compute && raw.mqds.size() != gpu->dies)
		throw Error(Error::Input,
			    fmt::format("{}: the queue has {} MQDs, and the GPU {} dies; the file was cut off", place,
					raw.mqds.size(), gpu->dies));
	for (const std::vector<u32> &words : raw.mqds)
		queue.dies.push_back(decode_compute_mqd(*layout, words, gpu->ses / gpu->dies, gpu->dies, place));
	return queue;
}

void QueueReader::read()
{
	std::string name = folder_ + "/mqds";
	Mqds mqds = parse_mqds(read_debug_file(name), name);

	for (const MqdProcess &raw : mqds.processes) {
		Process process{.pid = raw.pid};
		for (const MqdQueue &queue : raw.queues) {
			process.queues.push_back(decode(queue, name));
			process.queues.back().pasid = find_pasid(raw, queue.gpu_id);
		}
		state_.processes.push_back(std::move(process));
	}
	for (const std::string &complaint : mqds.complaints)
		note(complaint);
}

// Marks queues of processes that are in runlists, and notes queues without a process.
void match_runlists(KfdState &state)
{
	for (const Runlist &list : state.runlists) {
		size_t unknown = 0;
		if (list.decoded || !list.active)
			for (Process &process : state.processes)
				for (Queue &queue : process.queues)
					if (queue.gpu_id == list.gpu_id && queue.doorbell())
						queue.mapped = false;
		for (const MappedProcess &process : list.processes)
			for (const MappedQueue &queue : process.queues)
				if (std::optional<QueueRef> ref = state.find_queue(list.gpu_id, queue))
					state.processes[ref->process].queues[ref->queue].mapped = true;
				else
					unknown++;
		if (list.active && !list.decoded)
			state.notes.push_back(fmt::format(
				"GPU id {:x}: the packets of its runlist are not known here, so it is not decoded",
				list.gpu_id));
		if (unknown)
			state.notes.push_back(
				fmt::format("GPU id {:x}: {} queues of the runlist are in no process of mqds; they "
					    "may have come or gone between two reads",
					    list.gpu_id, unknown));
		if ((list.active && !list.decoded) || unknown)
			state.whole = false;
	}
}

void note_slots(KfdState &state)
{
	for (const GpuSlots &gpu : state.slots) {
		size_t undecoded = 0, unknown = 0;
		for (const Slot &slot : gpu.slots) {
			undecoded += !slot.active;
			unknown += slot.active && *slot.active && slot.kind != SlotKind::Hiq &&
				   !state.find_queue(gpu.gpu_id, slot);
		}
		if (undecoded)
			state.notes.push_back(fmt::format(
				"GPU id {:x}: the registers of {} slots are not known here, so they are not decoded",
				gpu.gpu_id, undecoded));
		if (unknown)
			state.notes.push_back(fmt::format("GPU id {:x}: the queues in {} slots are in no process of "
							  "mqds; they may have come or gone between "
							  "two reads",
							  gpu.gpu_id, unknown));
		if (undecoded || unknown)
			state.whole = false;
	}
}

} // namespace

std::optional<u32> Queue::doorbell() const
{
	if (sdma)
		return sdma->doorbell;
	return dies.empty() ? std::nullopt : std::optional(dies[0].state.doorbell);
}

std::optional<QueueRef> KfdState::find_queue(u32 gpu_id, u32 doorbell, u64 mqd) const
{
	for (size_t p = 0; p < processes.size(); p++)
		for (size_t q = 0; q < processes[p].queues.size(); q++) {
			const Queue &queue = processes[p].queues[q];
			if (queue.gpu_id != gpu_id)
				continue;
			for (const ComputeMqd &die : queue.dies)
				if (die.state.doorbell == doorbell && die.state.mqd == mqd)
					return QueueRef{p, q};
		}
	return std::nullopt;
}

std::optional<QueueRef> KfdState::find_sdma_queue(u32 gpu_id, u32 doorbell) const
{
	for (size_t p = 0; p < processes.size(); p++)
		for (size_t q = 0; q < processes[p].queues.size(); q++) {
			const Queue &queue = processes[p].queues[q];
			if (queue.gpu_id == gpu_id && queue.sdma && queue.sdma->doorbell == doorbell)
				return QueueRef{p, q};
		}
	return std::nullopt;
}

std::optional<QueueRef> KfdState::find_queue(u32 gpu_id, const MappedQueue &queue) const
{
	return queue.sdma_engine ? find_sdma_queue(gpu_id, queue.doorbell)
				 : find_queue(gpu_id, queue.doorbell, queue.mqd);
}

std::optional<QueueRef> KfdState::find_queue(u32 gpu_id, const Slot &slot) const
{
	return slot.kind == SlotKind::Sdma ? find_sdma_queue(gpu_id, slot.doorbell)
					   : find_queue(gpu_id, slot.doorbell, slot.state.mqd);
}

KfdState read_kfd_state(const std::string &root, const KfdFiles &files)
{
	std::string folder = root + "/sys/kernel/debug/kfd";
	KfdState state{.gpus = read_topology(root)};

	auto read = [&](bool wanted, bool &has, const std::function<void()> &part) {
		try {
			if (wanted)
				part();
			has = wanted;
		} catch (const Error &e) {
			if (!files.partly)
				throw;
			state.notes.emplace_back(e.what());
			state.whole = false;
		}
	};
	read(files.mqds, state.has_processes, [&] { QueueReader(state, folder).read(); });
	if (!state.has_processes)
		state.processes.clear();
	read(files.rls, state.has_runlists,
	     [&] { state.runlists = parse_runlists(read_debug_file(folder + "/rls"), folder + "/rls", state.gpus); });
	read(files.hqds, state.has_slots,
	     [&] { state.slots = parse_hqds(read_debug_file(folder + "/hqds"), folder + "/hqds", state.gpus); });
	if (state.has_processes) {
		match_runlists(state);
		note_slots(state);
	}
	return state;
}

Oversubscription judge_oversubscription(const KfdGpu &gpu, const Runlist &list)
{
	Oversubscription judged{.chained = list.chain && list.chain->chained,
				.compute_queues = list.count_compute_queues(),
				.compute_slots = gpu.compute_slots,
				.processes = list.processes.size()};

	if (list.chain)
		judged.processes_at_once = list.chain->processes;
	return judged;
}

} // namespace tool::amd
