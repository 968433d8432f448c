// SPDX-License-Identifier: GPL-2.0
// Compares tools/lib/rm/abi.hpp and layouts.hpp with NVIDIA's own headers: scripts/check-rm compiles it with one version of
// them in its path, and passes that version. Prints a line for each structure that differs; exit status 1 if there are any.
#include "lib/rm/abi.hpp"
#include "lib/rm/engine_type.hpp"
#include "lib/rm/layouts.hpp"

#include <class/cl0080.h>
#include <class/cl2080.h>
#include <class/cl90cd.h>
#include <class/cl90cdfecs.h>
#include <ctrl/ctrl0000/ctrl0000gpu.h>
#include <ctrl/ctrl0080.h>
#include <ctrl/ctrl2080.h>
#include <ctrl/ctrl90cd.h>
#include <ctrl/ctrla06c.h>
#include <nv-ioctl.h>
#include <nv-unix-nvos-params-wrappers.h>
#include <nvos.h>

#include <cstddef>
#include <cstdio>
#include <string>

static int differences;

static void check_size(const char *name, unsigned cmd, size_t size, unsigned their_cmd, size_t their_size)
{
	if (cmd == their_cmd && size == their_size)
		return;
	differences++;
	std::printf("%s: command %#x, %zu bytes; here %#x, %zu bytes\n", name, their_cmd, their_size, cmd, size);
}

static void check_offset(const char *field, size_t offset, size_t their_offset)
{
	if (offset == their_offset)
		return;
	differences++;
	std::printf("%s: at %zu; here at %zu\n", field, their_offset, offset);
}

namespace rm = tool::rm;

static std::string version;

// What the tool expects in this version, of a control whose parameters have this size and offset in abi.hpp.
static size_t size_here(unsigned cmd, size_t size)
{
	const rm::OtherLayout *other = rm::find_layout(cmd, version);

	return other ? other->size : size;
}

static size_t offset_here(unsigned cmd, size_t offset)
{
	const rm::OtherLayout *other = rm::find_layout(cmd, version);

	return other ? rm::their_offset(*other, static_cast<unsigned>(offset)) : offset;
}

static void check_engine(const char *name, unsigned nv2080)
{
	if (rm::engine_name(nv2080) == name)
		return;
	differences++;
	std::printf("NV2080_ENGINE_TYPE_%s: %#x; here %s\n", name, nv2080, rm::engine_name(nv2080).c_str());
}

#define ENGINE(name) check_engine(#name, NV2080_ENGINE_TYPE_##name)

#define SIZE(ours, theirs) check_size(#theirs, 0, sizeof(rm::ours), 0, sizeof(theirs))
#define CONTROL(ours, space, theirs)                                                                                   \
	check_size(#space "_CTRL_CMD_" #theirs, rm::ours::CMD, size_here(rm::ours::CMD, sizeof(rm::ours)),             \
		   space##_CTRL_CMD_##theirs, sizeof(space##_CTRL_##theirs##_PARAMS))
#define PLACE(ours, field, space, theirs, their_field)                                                                 \
	check_offset(#space "_CTRL_" #theirs "_PARAMS." #their_field,                                                  \
		     offset_here(rm::ours::CMD, offsetof(rm::ours, field)),                                            \
		     offsetof(space##_CTRL_##theirs##_PARAMS, their_field))

int main(int argc, char **argv)
{
	version = argc > 1 ? argv[1] : "";
	SIZE(Version, nv_ioctl_rm_api_version_t);
	SIZE(Free, NVOS00_PARAMETERS);
	SIZE(Alloc, NVOS21_PARAMETERS);
	SIZE(AllocWithRights, NVOS64_PARAMETERS);
	SIZE(GroupAlloc, NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS);
	check_offset("NVOS64_PARAMETERS.status", offsetof(rm::AllocWithRights, status),
		     offsetof(NVOS64_PARAMETERS, status));
	check_offset("NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS.engineType", offsetof(rm::GroupAlloc, engine),
		     offsetof(NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS, engineType));
	SIZE(Control, NVOS54_PARAMETERS);
	SIZE(DeviceAlloc, NV0080_ALLOC_PARAMETERS);
	SIZE(SubdeviceAlloc, NV2080_ALLOC_PARAMETERS);
	check_offset("NVOS21_PARAMETERS.status", offsetof(rm::Alloc, status), offsetof(NVOS21_PARAMETERS, status));
	check_offset("NVOS54_PARAMETERS.status", offsetof(rm::Control, status), offsetof(NVOS54_PARAMETERS, status));

	ENGINE(GR0), ENGINE(GR7), ENGINE(COPY0), ENGINE(COPY9);
	ENGINE(NVDEC0), ENGINE(NVDEC7), ENGINE(NVENC0), ENGINE(NVENC2);
	ENGINE(SEC2), ENGINE(NVJPEG0), ENGINE(NVJPEG7);
#ifdef NV2080_ENGINE_TYPE_OFA0 // since 550
	ENGINE(OFA0);
#endif
#ifdef NV2080_ENGINE_TYPE_COPY10 // since 570
	ENGINE(COPY10), ENGINE(COPY19), ENGINE(NVENC3), ENGINE(OFA1);
#endif

	CONTROL(UtilSamples, NV2080, PERF_GET_GPUMON_PERFMON_UTIL_SAMPLES_V2);
	PLACE(UtilSamples, size, NV2080, PERF_GET_GPUMON_PERFMON_UTIL_SAMPLES_V2, bufSize);
	PLACE(UtilSamples, samples[71].time_ns, NV2080, PERF_GET_GPUMON_PERFMON_UTIL_SAMPLES_V2,
	      samples[71].base.timeStamp);
	PLACE(UtilSamples, samples[1].gr.pid, NV2080, PERF_GET_GPUMON_PERFMON_UTIL_SAMPLES_V2, samples[1].gr.procId);
	CONTROL(CtxswModes, NV2080, GR_GET_CTXSW_MODES);
	PLACE(CtxswModes, compute, NV2080, GR_GET_CTXSW_MODES, cilpPreemptMode);
	CONTROL(AttachedIds, NV0000, GPU_GET_ATTACHED_IDS);
	CONTROL(IdInfo, NV0000, GPU_GET_ID_INFO_V2);
	PLACE(IdInfo, device, NV0000, GPU_GET_ID_INFO_V2, deviceInstance);
	PLACE(IdInfo, subdevice, NV0000, GPU_GET_ID_INFO_V2, subDeviceInstance);
	CONTROL(PciInfo, NV0000, GPU_GET_PCI_INFO);
	PLACE(PciInfo, bus, NV0000, GPU_GET_PCI_INFO, bus);
	PLACE(PciInfo, slot, NV0000, GPU_GET_PCI_INFO, slot);
	CONTROL(ArchInfo, NV2080, MC_GET_ARCH_INFO);
	PLACE(ArchInfo, implementation, NV2080, MC_GET_ARCH_INFO, implementation);
	CONTROL(Engines, NV2080, GPU_GET_ENGINES_V2);
	PLACE(Engines, types, NV2080, GPU_GET_ENGINES_V2, engineList);
	CONTROL(EngineRunlists, NV2080, GPU_GET_ENGINE_RUNLIST_PRI_BASE);
	PLACE(EngineRunlists, pri_base, NV2080, GPU_GET_ENGINE_RUNLIST_PRI_BASE, runlistPriBase);
	CONTROL(HwEngineIds, NV2080, GPU_GET_HW_ENGINE_ID);
	PLACE(HwEngineIds, ids, NV2080, GPU_GET_HW_ENGINE_ID, hwEngineID);
	CONTROL(FaultInfo, NV2080, GPU_GET_ENGINE_FAULT_INFO);
	PLACE(FaultInfo, mmu_fault_id, NV2080, GPU_GET_ENGINE_FAULT_INFO, mmuFaultId);
	CONTROL(PceMask, NV2080, CE_GET_CE_PCE_MASK);
	PLACE(PceMask, mask, NV2080, CE_GET_CE_PCE_MASK, pceMask);
	CONTROL(CopyCaps, NV2080, CE_GET_CAPS_V2);
	PLACE(CopyCaps, table, NV2080, CE_GET_CAPS_V2, capsTbl);
	CONTROL(AllocatedChannels, NV2080, FIFO_GET_ALLOCATED_CHANNELS);
	PLACE(AllocatedChannels, mask, NV2080, FIFO_GET_ALLOCATED_CHANNELS, bitMask);
	CONTROL(GpcMask, NV2080, GR_GET_GPC_MASK);
	PLACE(GpcMask, mask, NV2080, GR_GET_GPC_MASK, gpcMask);
	CONTROL(TpcMask, NV2080, GR_GET_TPC_MASK);
	PLACE(TpcMask, gpc, NV2080, GR_GET_TPC_MASK, gpcId);
	PLACE(TpcMask, mask, NV2080, GR_GET_TPC_MASK, tpcMask);
	CONTROL(GrInfo, NV2080, GR_GET_INFO_V2);
	PLACE(GrInfo, list[1].value, NV2080, GR_GET_INFO_V2, grInfoList[1].data);
	PLACE(GrInfo, route, NV2080, GR_GET_INFO_V2, grRouteInfo);
	CONTROL(GlobalSmOrder, NV2080, GR_GET_GLOBAL_SM_ORDER);
	PLACE(GlobalSmOrder, count, NV2080, GR_GET_GLOBAL_SM_ORDER, numSm);
	PLACE(GlobalSmOrder, tpcs, NV2080, GR_GET_GLOBAL_SM_ORDER, numTpc);
	PLACE(GlobalSmOrder, sms[0].virtual_gpc, NV2080, GR_GET_GLOBAL_SM_ORDER, globalSmId[0].virtualGpcId);
	PLACE(GlobalSmOrder, sms[1].local_sm, NV2080, GR_GET_GLOBAL_SM_ORDER, globalSmId[1].localSmId);
	PLACE(GlobalSmOrder, sms[511].gpc, NV2080, GR_GET_GLOBAL_SM_ORDER, globalSmId[511].gpcId);
	PLACE(GlobalSmOrder, route, NV2080, GR_GET_GLOBAL_SM_ORDER, grRouteInfo);
	CONTROL(ResidentChannel, NV2080, GR_GET_CURRENT_RESIDENT_CHANNEL);
	PLACE(ResidentChannel, channel, NV2080, GR_GET_CURRENT_RESIDENT_CHANNEL, chID);
	CONTROL(GroupInfo, NVA06C, GET_INFO);
	CONTROL(GroupTimeslice, NVA06C, GET_TIMESLICE);
	CONTROL(ChannelList, NV0080, FIFO_GET_CHANNELLIST);
	PLACE(ChannelList, ids, NV0080, FIFO_GET_CHANNELLIST, pChannelList);
	CONTROL(FsInfo, NV2080, GRMGR_GET_GR_FS_INFO);
	PLACE(FsInfo, queries[1], NV2080, GRMGR_GET_GR_FS_INFO, queries[1]);
	PLACE(FsInfo, queries[0].out, NV2080, GRMGR_GET_GR_FS_INFO,
	      queries[0].queryData.chipletGpcMapData.chipletGpcMap);
	CONTROL(NameString, NV2080, GPU_GET_NAME_STRING);
	CONTROL(FbInfo, NV2080, FB_GET_INFO_V2);
	CONTROL(ClassList, NV2080, GPU_GET_ENGINE_CLASSLIST);
	PLACE(ClassList, classes, NV2080, GPU_GET_ENGINE_CLASSLIST, classList);
	CONTROL(Pids, NV2080, GPU_GET_PIDS);
	PLACE(Pids, pids, NV2080, GPU_GET_PIDS, pidTbl);
	CONTROL(PidInfo, NV2080, GPU_GET_PID_INFO);
	PLACE(PidInfo, list[1], NV2080, GPU_GET_PID_INFO, pidInfoList[1]);
	PLACE(PidInfo, list[0].result, NV2080, GPU_GET_PID_INFO, pidInfoList[0].result);
	PLACE(PidInfo, list[0].shared, NV2080, GPU_GET_PID_INFO, pidInfoList[0].data.vidMemUsage.memSharedOwned);
	check_size("NV_MEMORY_ALLOCATION_PARAMS", 0,
		   version < "550" ? rm::MemoryAlloc::OLD_SIZE : sizeof(rm::MemoryAlloc), 0,
		   sizeof(NV_MEMORY_ALLOCATION_PARAMS));
	SIZE(EventBufferAlloc, NV_EVENT_BUFFER_ALLOC_PARAMETERS);
	SIZE(EventBufferHeader, NV_EVENT_BUFFER_HEADER);
	SIZE(MapMemory, nv_ioctl_nvos33_parameters_with_fd);
	check_offset("nv_ioctl_nvos33_parameters_with_fd.fd", offsetof(rm::MapMemory, fd),
		     offsetof(nv_ioctl_nvos33_parameters_with_fd, fd));
	check_offset("NVOS33_PARAMETERS.status", offsetof(rm::MapMemory, status), offsetof(NVOS33_PARAMETERS, status));
	check_offset("NV_MEMORY_ALLOCATION_PARAMS.size", offsetof(rm::MemoryAlloc, size),
		     offsetof(NV_MEMORY_ALLOCATION_PARAMS, size));
	check_offset("NV_MEMORY_ALLOCATION_PARAMS.attr2", offsetof(rm::MemoryAlloc, attr2),
		     offsetof(NV_MEMORY_ALLOCATION_PARAMS, attr2));
	check_offset("NV_EVENT_BUFFER_ALLOC_PARAMETERS.hSubDevice", offsetof(rm::EventBufferAlloc, subdevice),
		     offsetof(NV_EVENT_BUFFER_ALLOC_PARAMETERS, hSubDevice));
	check_offset("NV_EVENT_BUFFER_ALLOC_PARAMETERS.hRecordBuffer", offsetof(rm::EventBufferAlloc, record_buffer),
		     offsetof(NV_EVENT_BUFFER_ALLOC_PARAMETERS, hRecordBuffer));
	check_size("NV_EVENT_BUFFER_FECS_RECORD_V2", 0, sizeof(rm::SwitchRecord) - 8, 0,
		   sizeof(NV_EVENT_BUFFER_FECS_RECORD_V2));
	check_offset("NV_EVENT_BUFFER_FECS_RECORD_V2.pid", offsetof(rm::SwitchRecord, pid) - 8,
		     offsetof(NV_EVENT_BUFFER_FECS_RECORD_V2, pid));
	CONTROL(BindSwitches, NV2080, GR_FECS_BIND_EVTBUF_FOR_UID_V2);
	PLACE(BindSwitches, reason, NV2080, GR_FECS_BIND_EVTBUF_FOR_UID_V2, reasonCode);
	check_size("NV_EVENT_BUFFER_CTRL_CMD_ENABLE_EVENTS", rm::EnableEvents::CMD, sizeof(rm::EnableEvents),
		   NV_EVENT_BUFFER_CTRL_CMD_ENABLE_EVENTS, sizeof(NV_EVENT_BUFFER_CTRL_CMD_ENABLE_EVENTS_PARAMS));
	check_size("NV_EVENT_BUFFER_CTRL_CMD_UPDATE_GET", rm::UpdateGet::CMD, sizeof(rm::UpdateGet),
		   NV_EVENT_BUFFER_CTRL_CMD_UPDATE_GET, sizeof(NV_EVENT_BUFFER_CTRL_CMD_UPDATE_GET_PARAMS));
	CONTROL(TimerTime, NV2080, TIMER_GET_TIME);
	CONTROL(GroupSetTimeslice, NVA06C, SET_TIMESLICE);
	CONTROL(GroupPreempt, NVA06C, PREEMPT);
	PLACE(GroupPreempt, timeout_us, NVA06C, PREEMPT, timeoutUs);
	check_size("NVA06C_CTRL_CMD_GPFIFO_SCHEDULE", rm::GroupSchedule::CMD,
		   version < "575" ? rm::GroupSchedule::OLD_SIZE : sizeof(rm::GroupSchedule),
		   NVA06C_CTRL_CMD_GPFIFO_SCHEDULE, sizeof(NVA06C_CTRL_GPFIFO_SCHEDULE_PARAMS));
	PLACE(GroupSchedule, skip_submit, NVA06C, GPFIFO_SCHEDULE, bSkipSubmit);
	CONTROL(DisableChannels, NV2080, FIFO_DISABLE_CHANNELS);
	PLACE(DisableChannels, only_scheduling, NV2080, FIFO_DISABLE_CHANNELS, bOnlyDisableScheduling);
	PLACE(DisableChannels, rewind_gp_put, NV2080, FIFO_DISABLE_CHANNELS, bRewindGpPut);
	PLACE(DisableChannels, clients, NV2080, FIFO_DISABLE_CHANNELS, hClientList);
	PLACE(DisableChannels, channels, NV2080, FIFO_DISABLE_CHANNELS, hChannelList);
	CONTROL(CtxswStats, NV2080, GR_GET_CTXSW_STATS);
	PLACE(CtxswStats, cilp_saves, NV2080, GR_GET_CTXSW_STATS, cilpSaveCnt);
	return differences != 0;
}
