// SPDX-License-Identifier: GPL-2.0
// An unknown value is a word in tables and null in JSON. Queues are shown with whether they are in the runlist only if no
// part is named, because only then are both mqds and rls read for them.
#include "gpulens/cmd/amd_queues.hpp"

#include "lib/base/format.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>

namespace tool {

using json = nlohmann::ordered_json;
using amd::KfdState;

namespace {

const char *const NEVER_SEEN =
	"read from the files of the kernel's driver (amdkfd); tried on published files of real GPUs, "
	"not on a machine with one";
const char *const UNKNOWN = "unknown";

bool is_wanted(const std::string &part, const char *name)
{
	return part.empty() || part == name;
}

template <typename T> std::string text_of(const std::optional<T> &value)
{
	return value ? fmt::format("{}", *value) : UNKNOWN;
}

template <typename T> json json_of(const std::optional<T> &value)
{
	return value ? json(*value) : json();
}

std::string format_hex(u64 value)
{
	return fmt::format("{:#x}", value);
}

std::string gfx_of(const amd::KfdGpu &gpu)
{
	return gpu.gfx ? amd::format_gfx(*gpu.gfx) : UNKNOWN;
}

// Returns the words of all dies, with blanks between dies; "all" where each enables every CU.
std::string mask_of(const amd::Queue &queue)
{
	std::string text;
	bool all = !queue.dies.empty();

	for (const amd::ComputeMqd &die : queue.dies) {
		text += text.empty() ? "" : " ";
		for (size_t se = 0; se < die.cu_mask.size(); se++) {
			text += (se ? "," : "") + format_hex(die.cu_mask[se]);
			all = all && die.cu_mask[se] == ~u32{0};
		}
	}
	return all ? "all" : text.empty() ? "-" : text;
}

// The cells PID and Queue.
std::pair<std::string, std::string> owner_of(const KfdState &state, const std::optional<amd::QueueRef> &ref)
{
	if (!ref)
		return {UNKNOWN, UNKNOWN};
	return {std::to_string(state.processes[ref->process].pid), std::to_string(ref->queue)};
}

json owner_json(const KfdState &state, const std::optional<amd::QueueRef> &ref)
{
	return ref ? json{{"pid", state.processes[ref->process].pid}, {"queue", ref->queue}} : json();
}

std::string gpus_text(const KfdState &state, const Style &style)
{
	Table table({"Node", "~GPU id", "<Name", "<GFX", "<PCI", "CUs", "~SEs", "~Dies", "CP slots", "SDMA slots"});

	for (const amd::KfdGpu &gpu : state.gpus)
		table.add({std::to_string(gpu.node), format_hex(gpu.gpu_id), gpu.name, gfx_of(gpu),
			   text_of(gpu.address), std::to_string(gpu.cus), std::to_string(gpu.ses),
			   std::to_string(gpu.dies), text_of(gpu.compute_slots), text_of(gpu.sdma_slots)});
	return state.gpus.empty() ? "No AMD GPU in the topology\n" : table.str(style);
}

// The cells from Doorbell to CU mask.
std::vector<Cell> state_cells(const amd::Queue &queue)
{
	if (queue.sdma) {
		const amd::SdmaMqd &sdma = *queue.sdma;
		return {format_hex(sdma.doorbell),
			format_hex(sdma.ring),
			std::to_string(sdma.ring_bytes),
			format_hex(sdma.read_pointer),
			format_hex(sdma.write_pointer),
			"-",
			"-",
			"-"};
	}
	if (queue.dies.empty())
		return std::vector<Cell>(8, Cell(UNKNOWN));
	const amd::QueueState &mqd = queue.dies[0].state;
	return {format_hex(mqd.doorbell),
		format_hex(mqd.ring),
		std::to_string(mqd.ring_bytes),
		format_hex(mqd.read_pointer),
		format_hex(mqd.write_pointer),
		std::to_string(mqd.pending_words()),
		fmt::format("{}/{}", mqd.pipe_priority, mqd.queue_priority),
		mask_of(queue)};
}

std::string queues_text(const KfdState &state, const Style &style, bool with_runlist)
{
	std::vector<std::string> titles{"PID",   "PASID", "Queue", "<Type",   "GPU id",   "Doorbell", "Ring",
					"Bytes", "Read",  "Write", "Pending", "Priority", "<CU mask"};
	if (with_runlist)
		titles.insert(titles.begin() + 5, "<Runlist");
	Table table(titles);

	for (const amd::Process &process : state.processes)
		for (size_t q = 0; q < process.queues.size(); q++) {
			const amd::Queue &queue = process.queues[q];
			std::vector<Cell> cells{std::to_string(process.pid), text_of(queue.pasid), std::to_string(q),
						amd::name_queue_type(queue.type), format_hex(queue.gpu_id)};
			if (with_runlist)
				cells.emplace_back(!queue.mapped ? UNKNOWN : *queue.mapped ? "yes" : "no");
			for (Cell &cell : state_cells(queue))
				cells.push_back(std::move(cell));
			table.add(std::move(cells));
		}
	return table.empty() ? "No process has a queue\n" : table.str(style);
}

// Returns "1 compute queue", "2 compute queues".
std::string count_of(size_t n, const char *what, const char *plural = "s")
{
	return fmt::format("{} {}{}", n, what, n == 1 ? "" : plural);
}

std::string describe_oversubscription(const amd::Oversubscription &judged)
{
	std::vector<std::string> why;

	if (!judged.chained)
		return "not oversubscribed";
	if (judged.is_queues())
		why.push_back(fmt::format("{} for {} slots", count_of(judged.compute_queues, "compute queue"),
					  *judged.compute_slots));
	if (judged.is_processes())
		why.push_back(fmt::format("{}, {} at once", count_of(judged.processes, "process", "es"),
					  *judged.processes_at_once));
	return "oversubscribed: " +
	       (why.empty() ? "the file does not tell why" : fmt::format("{}", fmt::join(why, "; ")));
}

const amd::KfdGpu &gpu_of(const KfdState &state, u32 gpu_id)
{
	return *std::find_if(state.gpus.begin(), state.gpus.end(),
			     [&](const amd::KfdGpu &gpu) { return gpu.gpu_id == gpu_id; });
}

const char *name_kind(u32 kind)
{
	const char *const names[] = {"normal", "debug", "normal latency, static", "low latency, static"};

	return names[kind];
}

std::string engine_of(const amd::MappedQueue &queue)
{
	return queue.sdma_engine ? fmt::format("SDMA {}", *queue.sdma_engine) : "compute";
}

std::string runlist_text(const KfdState &state, const amd::Runlist &list, const Style &style)
{
	Table table({"PASID", "PID", "Queue", "<Engine", "Doorbell", "MQD", "<GWS", "<Kind"});
	std::string head = fmt::format("Runlist of GPU {:#x}: ", list.gpu_id);

	if (!list.active)
		return head + "none is active\n";
	if (!list.decoded)
		return head + UNKNOWN + '\n';
	for (const amd::MappedProcess &process : list.processes)
		for (const amd::MappedQueue &queue : process.queues) {
			auto [pid, number] = owner_of(state, state.find_queue(list.gpu_id, queue));
			table.add({std::to_string(process.pasid), pid, number, engine_of(queue),
				   format_hex(queue.doorbell), format_hex(queue.mqd),
				   queue.gws ? *queue.gws ? "yes" : "no" : UNKNOWN, name_kind(queue.kind)});
		}
	return head +
	       fmt::format("{}, {}, {}, {}\n", count_of(list.processes.size(), "process", "es"),
			   count_of(list.count_compute_queues(), "compute queue"),
			   count_of(list.count_sdma_queues(), "SDMA queue"),
			   describe_oversubscription(amd::judge_oversubscription(gpu_of(state, list.gpu_id), list))) +
	       (table.empty() ? "" : table.str(style));
}

const char *name_slot_kind(amd::SlotKind kind)
{
	return kind == amd::SlotKind::Hiq ? "HIQ" : kind == amd::SlotKind::Compute ? "CP" : "SDMA";
}

std::string slots_text(const KfdState &state, const amd::GpuSlots &gpu, const Style &style)
{
	Table table({"<Kind", "Die", "Pipe", "Slot", "<State", "~VMID", "PID", "Queue", "~Doorbell", "~Read", "~Write",
		     "Pending"});
	std::string head = fmt::format("Hardware queues of GPU {:#x}: ", gpu.gpu_id);
	size_t used = 0;

	if (gpu.stopped)
		return head + "the device is stopped\n";
	for (const amd::Slot &slot : gpu.slots) {
		used += slot.active.value_or(false);
		if (!slot.active || !*slot.active)
			continue;
		bool compute = slot.kind != amd::SlotKind::Sdma;
		auto [pid, number] = slot.kind == amd::SlotKind::Hiq
					     ? std::pair<std::string, std::string>("-", "-")
					     : owner_of(state, state.find_queue(gpu.gpu_id, slot));
		table.add({name_slot_kind(slot.kind), std::to_string(slot.die), std::to_string(slot.pipe),
			   std::to_string(slot.queue), "active", compute ? std::to_string(slot.state.vmid) : "-", pid,
			   number, format_hex(slot.doorbell), compute ? format_hex(slot.state.read_pointer) : "-",
			   compute ? format_hex(slot.state.write_pointer) : "-",
			   compute ? std::to_string(slot.state.pending_words()) : "-"});
	}
	size_t unknown =
		size_t(std::count_if(gpu.slots.begin(), gpu.slots.end(), [](const amd::Slot &s) { return !s.active; }));
	return head +
	       fmt::format("{} active, {} idle, {} unknown\n", used, gpu.slots.size() - used - unknown, unknown) +
	       (table.empty() ? "" : table.str(style));
}

json gpus_json(const KfdState &state)
{
	json list = json::array();

	for (const amd::KfdGpu &gpu : state.gpus)
		list.push_back({{"node", gpu.node},
				{"gpu_id", gpu.gpu_id},
				{"name", gpu.name},
				{"gfx", gpu.gfx ? json(amd::format_gfx(*gpu.gfx)) : json()},
				{"address", json_of(gpu.address)},
				{"cus", gpu.cus},
				{"ses", gpu.ses},
				{"dies", gpu.dies},
				{"compute_slots", json_of(gpu.compute_slots)},
				{"sdma_slots", json_of(gpu.sdma_slots)}});
	return list;
}

json mqd_json(const amd::Queue &queue)
{
	if (queue.sdma)
		return {{"doorbell", queue.sdma->doorbell},
			{"ring", format_hex(queue.sdma->ring)},
			{"ring_bytes", queue.sdma->ring_bytes},
			{"read_pointer", queue.sdma->read_pointer},
			{"write_pointer", queue.sdma->write_pointer},
			{"sdma_engine", queue.sdma->engine},
			{"sdma_queue", queue.sdma->queue}};
	if (queue.dies.empty())
		return json();
	const amd::QueueState &mqd = queue.dies[0].state;
	json masks = json::array();
	for (const amd::ComputeMqd &die : queue.dies) {
		json words = json::array();
		for (u32 word : die.cu_mask)
			words.push_back(format_hex(word));
		masks.push_back(words);
	}
	return {{"doorbell", mqd.doorbell},
		{"ring", format_hex(mqd.ring)},
		{"ring_bytes", mqd.ring_bytes},
		{"read_pointer", mqd.read_pointer},
		{"write_pointer", mqd.write_pointer},
		{"pending_words", mqd.pending_words()},
		{"read_report", format_hex(mqd.read_report)},
		{"write_poll", format_hex(mqd.write_poll)},
		{"pipe_priority", mqd.pipe_priority},
		{"queue_priority", mqd.queue_priority},
		{"mqd", format_hex(mqd.mqd)},
		{"cu_masks", masks}};
}

json processes_json(const KfdState &state, bool with_runlist)
{
	json list = json::array();

	for (const amd::Process &process : state.processes) {
		json queues = json::array();
		for (size_t q = 0; q < process.queues.size(); q++) {
			const amd::Queue &queue = process.queues[q];
			json entry{{"queue", q},
				   {"type", amd::name_queue_type(queue.type)},
				   {"gpu_id", queue.gpu_id},
				   {"pasid", json_of(queue.pasid)},
				   {"line", queue.line},
				   {"mqd", mqd_json(queue)}};
			if (with_runlist)
				entry["in_runlist"] = json_of(queue.mapped);
			queues.push_back(entry);
		}
		list.push_back({{"pid", process.pid}, {"queues", queues}});
	}
	return list;
}

json runlist_json(const KfdState &state, const amd::Runlist &list)
{
	amd::Oversubscription judged = amd::judge_oversubscription(gpu_of(state, list.gpu_id), list);
	json processes = json::array();

	if (!list.active || !list.decoded)
		return {{"gpu_id", list.gpu_id},
			{"active", list.active},
			{"processes", json()},
			{"oversubscription", json()}};
	for (const amd::MappedProcess &process : list.processes) {
		json queues = json::array();
		for (const amd::MappedQueue &queue : process.queues)
			queues.push_back({{"owner", owner_json(state, state.find_queue(list.gpu_id, queue))},
					  {"sdma_engine", json_of(queue.sdma_engine)},
					  {"kind", name_kind(queue.kind)},
					  {"doorbell", queue.doorbell},
					  {"mqd", format_hex(queue.mqd)},
					  {"write_poll", format_hex(queue.write_pointer)},
					  {"gws", json_of(queue.gws)}});
		processes.push_back({{"pasid", process.pasid},
				     {"quantum", process.quantum},
				     {"queues_declared", process.queues_declared},
				     {"gws", process.gws},
				     {"queues", queues}});
	}
	return {{"gpu_id", list.gpu_id},
		{"active", true},
		{"processes", processes},
		{"oversubscription",
		 {{"chained", judged.chained},
		  {"compute_queues", judged.compute_queues},
		  {"compute_slots", json_of(judged.compute_slots)},
		  {"processes", judged.processes},
		  {"processes_at_once", json_of(judged.processes_at_once)}}}};
}

json slots_json(const KfdState &state, const amd::GpuSlots &gpu)
{
	json slots = json::array();

	for (const amd::Slot &slot : gpu.slots) {
		bool active = slot.active.value_or(false), compute = slot.kind != amd::SlotKind::Sdma;
		json entry{{"kind", name_slot_kind(slot.kind)},
			   {"die", slot.die},
			   {"pipe", slot.pipe},
			   {"slot", slot.queue},
			   {"active", json_of(slot.active)}};
		if (active) {
			entry["owner"] = slot.kind == amd::SlotKind::Hiq
						 ? json()
						 : owner_json(state, state.find_queue(gpu.gpu_id, slot));
			entry["doorbell"] = slot.doorbell;
		}
		if (active && compute) {
			entry["vmid"] = slot.state.vmid;
			entry["mqd"] = format_hex(slot.state.mqd);
			entry["read_pointer"] = slot.state.read_pointer;
			entry["write_pointer"] = slot.state.write_pointer;
			entry["ring_bytes"] = slot.state.ring_bytes;
			entry["pending_words"] = slot.state.pending_words();
		}
		slots.push_back(entry);
	}
	return {{"gpu_id", gpu.gpu_id}, {"stopped", gpu.stopped}, {"slots", slots}};
}

} // namespace

std::string amd_text(const KfdState &state, const std::string &part, const Style &style)
{
	std::string text;

	if (is_wanted(part, "gpus"))
		text += gpus_text(state, style) + '\n';
	if (is_wanted(part, "queues") && state.has_processes)
		text += queues_text(state, style, part.empty()) + '\n';
	if (is_wanted(part, "runlist"))
		for (const amd::Runlist &list : state.runlists)
			text += runlist_text(state, list, style) + '\n';
	if (is_wanted(part, "slots"))
		for (const amd::GpuSlots &gpu : state.slots)
			text += slots_text(state, gpu, style) + '\n';
	return text + notes_text(state.notes, style) + notes_text({NEVER_SEEN}, style);
}

json amd_json(const KfdState &state, const std::string &part)
{
	json document{{"version", 1}, {"command", "amd"}, {"gpus", gpus_json(state)}};
	json lists = json::array(), slots = json::array(), notes = state.notes;

	for (const amd::Runlist &list : state.runlists)
		lists.push_back(runlist_json(state, list));
	for (const amd::GpuSlots &gpu : state.slots)
		slots.push_back(slots_json(state, gpu));
	if (is_wanted(part, "queues"))
		document["processes"] = state.has_processes ? processes_json(state, part.empty()) : json();
	if (is_wanted(part, "runlist"))
		document["runlists"] = state.has_runlists ? lists : json();
	if (is_wanted(part, "slots"))
		document["hardware_queues"] = state.has_slots ? slots : json();
	notes.push_back(NEVER_SEEN);
	document["notes"] = notes;
	return document;
}

int show_amd(const Options &options, const AmdOptions &amd)
{
	KfdState state = amd::read_kfd_state(amd.root, {.mqds = amd.part != "gpus",
							.rls = is_wanted(amd.part, "runlist"),
							.hqds = is_wanted(amd.part, "slots"),
							.partly = amd.part.empty()});
	bool printed = print_text(options.json ? json_text(amd_json(state, amd.part))
					       : amd_text(state, amd.part, options.style()));

	return printed && state.whole ? EXIT_DONE : EXIT_PART;
}

} // namespace tool
