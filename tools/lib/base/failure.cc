// SPDX-License-Identifier: GPL-2.0
// Names of parts, and texts for errors.
#include "lib/base/failure.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <iterator>

namespace tool {

namespace {

constexpr size_t MAX_NAMED = 4; // addresses in a message

// {0}: the id, {1}: the channel, {2}: the name.
constexpr struct {
	Part part;
	const char *text;
} PARTS[] = {
	{Part::Gpu, "{2}"},
	{Part::Chip, "chip"},
	{Part::ProductName, "product's name"},
	{Part::MemorySize, "size of memory"},
	{Part::Engines, "engines"},
	{Part::EngineRunlists, "runlists of engines"},
	{Part::EngineIds, "ids of engines"},
	{Part::FaultIds, "fault ids of engines"},
	{Part::Gpcs, "gpcs"},
	{Part::GpcMask, "GPC mask"},
	{Part::GpcCounts, "GPCs of the chip"},
	{Part::TpcMask, "TPC mask of GPC {0}"},
	{Part::LogicalGpcs, "logical GPCs"},
	{Part::Sms, "SMs"},
	{Part::Copy, "copy"},
	{Part::Pces, "PCEs of LCE {0}"},
	{Part::Memory, "memory"},
	{Part::Bars, "bars"},
	{Part::Runlists, "runlists"},
	{Part::Runlist, "runlist {0}"},
	{Part::Channel, "runlist {0} channel {1}"},
	{Part::AllocatedChannels, "allocated channels"},
	{Part::Processes, "processes"},
	{Part::ProcFile, "{2}"},
};

} // namespace

std::string to_string(const Missing &m)
{
	return fmt::format("{} {:#0{}x}", m.kind, m.addr, m.kind == 'r' ? 10 : 11);
}

std::string Subject::text() const
{
	auto row = std::find_if(std::begin(PARTS), std::end(PARTS), [this](const auto &p) { return p.part == part; });

	return fmt::format(fmt::runtime(row->text), id, channel, name);
}

std::string Failure::errno_name() const
{
	const char *name = strerrorname_np(-err);

	return name ? name : std::to_string(-err);
}

std::string Failure::text() const
{
	if (!missing.empty()) {
		std::string s = "not recorded: ";
		for (size_t i = 0; i < missing.size() && i < MAX_NAMED; i++)
			s += (i ? ", " : "") + to_string(missing[i]);
		if (missing.size() > MAX_NAMED)
			s += " and " + std::to_string(missing.size() - MAX_NAMED) + " more";
		return s;
	}
	if (!reason.empty())
		return reason;
	switch (-err) {
	case EIO: return "the words read are error codes of failed reads, or inconsistent";
	case EOPNOTSUPP: return "not published for this chip";
	case ENODEV: return "unknown chip";
	case ENOENT: return "it does not exist";
	case EPERM: return "not shown without CAP_PERFMON or CAP_SYS_ADMIN";
	case EACCES: return "GPU memory is needed, and the module was loaded with vram=off";
	case ETIMEDOUT: return "the GPU answers too slowly";
	case ENODATA: return "no driver has set it up yet";
	default: return errno_name();
	}
}

std::string describe_dropped_engines(int err, uint32_t dropped)
{
	return err == -ENOSPC ? fmt::format("{} more exceed the number that is supported", dropped) : "";
}

} // namespace tool
