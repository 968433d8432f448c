// SPDX-License-Identifier: GPL-2.0
// Maps the driver's engine numbers, NV2080_ENGINE_TYPE_* of class/cl2080_notification.h (open-gpu-kernel-modules
// 580.142), to the device table's types and instances.
#pragma once
#include "gpulens/types.h"
#include "hw/ptop.h"
#include "lib/rm/abi.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <string>

namespace tool::rm {

struct EngineType {
	u32 first, last;
	u16 type, inst;   // of the first
	const char *name; // {}: its instance
};

constexpr EngineType ENGINE_TYPES[] = {
	{NV2080_ENGINE_TYPE_GR0, NV2080_ENGINE_TYPE_GR7, NV_PTOP_DEVICE_INFO_TYPE_ENUM_GRAPHICS, 0, "GR{}"},
	{0x09, 0x12, NV_PTOP_DEVICE_INFO_TYPE_ENUM_LCE, 0, "COPY{}"},
	{0x34, 0x3d, NV_PTOP_DEVICE_INFO_TYPE_ENUM_LCE, 10, "COPY{}"},
	{0x13, 0x1a, NV_PTOP_DEVICE_INFO_TYPE_ENUM_NVDEC, 0, "NVDEC{}"},
	{0x1b, 0x1d, NV_PTOP_DEVICE_INFO_TYPE_ENUM_NVENC, 0, "NVENC{}"},
	{0x3f, 0x3f, NV_PTOP_DEVICE_INFO_TYPE_ENUM_NVENC, 3, "NVENC{}"},
	{0x26, 0x26, NV_PTOP_DEVICE_INFO_TYPE_ENUM_SEC, 0, "SEC2"},
	{0x2b, 0x32, NV_PTOP_DEVICE_INFO_TYPE_ENUM_NVJPG, 0, "NVJPEG{}"},
	{0x33, 0x33, NV_PTOP_DEVICE_INFO_TYPE_ENUM_OFA, 0, "OFA{}"},
	{0x3e, 0x3e, NV_PTOP_DEVICE_INFO_TYPE_ENUM_OFA, 1, "OFA{}"},
};

// Returns nullptr for an unknown type.
inline const EngineType *find_engine_type(u32 nv2080)
{
	auto row = std::find_if(std::begin(ENGINE_TYPES), std::end(ENGINE_TYPES),
				[&](const EngineType &t) { return t.first <= nv2080 && nv2080 <= t.last; });

	return row == std::end(ENGINE_TYPES) ? nullptr : row;
}

// Returns "COPY2", the end of the driver's name; "engine 0x35" for an unknown type.
inline std::string engine_name(u32 nv2080)
{
	const EngineType *row = find_engine_type(nv2080);

	return row ? fmt::format(fmt::runtime(row->name), row->inst + nv2080 - row->first)
		   : fmt::format("engine {:#x}", nv2080);
}

// Returns the driver's number of an engine; 0, NV2080_ENGINE_TYPE_NULL, if the table has none.
inline u32 nv2080_of(u16 type, u16 inst)
{
	for (const EngineType &t : ENGINE_TYPES)
		if (t.type == type && inst >= t.inst && inst - t.inst <= static_cast<int>(t.last - t.first))
			return t.first + (inst - t.inst);
	return 0;
}

} // namespace tool::rm
