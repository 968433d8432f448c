// SPDX-License-Identifier: GPL-2.0
// Headings with and without a die have different indents. The heading of a GPU selects the layout for the slots below it;
// without a layout their registers are passed over, and whether they are active stays unknown.
#include "lib/amd/hqds.hpp"

#include <fmt/format.h>

namespace tool::amd {

namespace {

constexpr size_t HQD_INDENT = 4; // of the rows of registers

// Parses the heading of a slot.
std::optional<Slot> parse_heading(const std::string &line)
{
	Slot slot;
	u32 mec = 0;

	if (scan_line(line, "  HIQ on MEC %d Pipe %d Queue %d", {&mec, &slot.pipe, &slot.queue}) ||
	    scan_line(line, "   Inst %d, HIQ on MEC %d Pipe %d Queue %d", {&slot.die, &mec, &slot.pipe, &slot.queue}))
		slot.kind = SlotKind::Hiq;
	else if (scan_line(line, "  CP Pipe %d, Queue %d", {&slot.pipe, &slot.queue}) ||
		 scan_line(line, " Inst %d,  CP Pipe %d, Queue %d", {&slot.die, &slot.pipe, &slot.queue}))
		slot.kind = SlotKind::Compute;
	else if (scan_line(line, "  SDMA Engine %d, RLC %d", {&slot.pipe, &slot.queue}))
		slot.kind = SlotKind::Sdma;
	else
		return std::nullopt;
	return slot;
}

Slot take_slot(KfdText &text, Slot slot, const MqdLayout *layout)
{
	std::string place = fmt::format("{}:{}", text.name(), text.number());

	text.advance();
	std::vector<WordRow> rows = text.take_registers(HQD_INDENT);
	if (rows.empty())
		throw Error(Error::Input, place + ": no registers follow the slot's heading");
	if (!layout || (slot.kind == SlotKind::Sdma && !layout->sdma))
		return slot;
	if (slot.kind == SlotKind::Sdma) {
		SdmaHqd hqd = decode_sdma_hqd(rows, place);
		slot.active = hqd.active;
		slot.doorbell = hqd.doorbell;
	} else {
		slot.state = decode_hqd(*layout, rows, place);
		slot.active = slot.state.active;
		slot.doorbell = slot.state.doorbell;
	}
	return slot;
}

} // namespace

std::vector<GpuSlots> parse_hqds(const std::string &content, const std::string &name, const std::vector<KfdGpu> &gpus)
{
	KfdText text(name, content);
	std::vector<GpuSlots> all;
	const MqdLayout *layout = nullptr;

	while (!text.at_end()) {
		GpuSlots gpu;
		std::optional<Slot> slot;
		if (scan_line(text.line(), "Node %d, gpu_id %x:", {&gpu.node, &gpu.gpu_id})) {
			layout = find_layout(find_gpu(text, gpus, gpu.gpu_id).gfx);
			all.push_back(gpu);
			text.advance();
		} else if (all.empty()) {
			text.refuse_line();
		} else if (text.line() == " Device is stopped") {
			all.back().stopped = true;
			text.advance();
		} else if ((slot = parse_heading(text.line()))) {
			all.back().slots.push_back(take_slot(text, *slot, layout));
		} else {
			text.refuse_line();
		}
	}
	return all;
}

} // namespace tool::amd
