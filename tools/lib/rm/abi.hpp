// SPDX-License-Identifier: GPL-2.0
// NVIDIA's driver interface through /dev/nvidiactl, as far as this tool uses it: ioctls, the classes that are allocated,
// and the parameters of the controls that are sent. Names and layouts are those of NVIDIA's
// open-gpu-kernel-modules 580.142; below src/common/sdk/nvidia/inc where no other path is named.
//
// Layouts differ between versions (layouts.hpp), and the resource manager refuses parameters of another size
// (NV_ERR_INVALID_PARAM_STRUCT: src/nvidia/src/libraries/resserv/src/rs_resource.c). scripts/check-rm holds both against
// the headers of each version; docs/rm.md says which differ.
#pragma once
#include "gpulens/types.h"

#include <sys/ioctl.h>

namespace tool::rm {

constexpr const char *NODE = "/dev/nvidiactl";
// Versions whose layouts are known: those below are of 580, where another one differs, layouts.hpp has the difference. Each
// different layout has a different size, so a driver of another version refuses it.
constexpr const char *COMPARED_VERSIONS[] = {"535", "550", "570", "575", "580", "590", "595"};

// -- ioctls: kernel-open/common/inc/nv-ioctl-numbers.h, src/nvidia/arch/nvalloc/unix/include/nv_escape.h

constexpr unsigned char NV_IOCTL_MAGIC = 'F';
constexpr unsigned NV_ESC_RM_FREE = 0x29, NV_ESC_RM_CONTROL = 0x2a, NV_ESC_RM_ALLOC = 0x2b, NV_ESC_RM_MAP_MEMORY = 0x4e;
constexpr unsigned NV_ESC_CHECK_VERSION_STR = 200 + 10;

// kernel-open/common/inc/nv-ioctl.h, nv_ioctl_rm_api_version_t
struct Version {
	u32 cmd = '2'; // NV_RM_API_VERSION_CMD_QUERY: only report the version
	u32 reply = 0;
	char text[64] = {};
};

// nvos.h, NVOS00_PARAMETERS
struct Free {
	u32 root = 0, parent = 0, object = 0;
	u32 status = 0;
};

// nvos.h, NVOS21_PARAMETERS
struct Alloc {
	u32 root = 0, parent = 0;
	u32 object = 0; // 0: to be chosen and returned
	u32 cls = 0;
	u64 params = 0;
	u32 params_size = 0;
	u32 status = 0;
};

// nvos.h, NVOS64_PARAMETERS: the other form, of another size
struct AllocWithRights {
	u32 root = 0, parent = 0, object = 0, cls = 0;
	u64 params = 0, rights = 0;
	u32 params_size = 0, flags = 0;
	u32 status = 0;
};

// nvos.h, NVOS54_PARAMETERS
struct Control {
	u32 client = 0, object = 0, cmd = 0, flags = 0;
	u64 params = 0;
	u32 params_size = 0;
	u32 status = 0;
};

// src/nvidia/arch/nvalloc/unix/include/nv-unix-nvos-params-wrappers.h, nv_ioctl_nvos33_parameters_with_fd. After it, the file
// of the driver's node can be mapped.
struct MapMemory {
	static constexpr u32 READ_ONLY = 1; // NVOS33_FLAGS_ACCESS
	u32 client = 0, device = 0;         // device: the client, of memory without one
	u32 memory = 0;
	alignas(8) u64 offset = 0;
	u64 length = 0, address = 0;
	u32 status = 0, flags = 0;
	alignas(8) int fd = -1;
};

static_assert(sizeof(MapMemory) == 56 && sizeof(Version) == 72 && sizeof(Free) == 16 && sizeof(Alloc) == 32 &&
	      sizeof(AllocWithRights) == 48 && sizeof(Control) == 32);

// -- classes: class/cl0041.h, cl0080.h, cl2080.h

constexpr u32 NV01_ROOT_CLIENT = 0x41, NV01_DEVICE_0 = 0x80, NV20_SUBDEVICE_0 = 0x2080;
constexpr u32 NV2080_ENGINE_TYPE_GR0 = 1, NV2080_ENGINE_TYPE_GR7 = 8; // class/cl2080_notification.h
constexpr u32 KEPLER_CHANNEL_GROUP_A = 0xa06c;                        // class/cla06c.h; of all later generations, too

struct DeviceAlloc { // NV0080_ALLOC_PARAMETERS
	u32 device_id = 0;
	u32 client_share = 0, target_client = 0, target_device = 0;
	u32 flags = 0;
	u64 va_space_size = 0, va_start = 0, va_limit = 0;
	u32 va_mode = 0;
};

struct GroupAlloc { // nvos.h, NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS
	u32 error = 0, ecc_error = 0, va_space = 0;
	u32 engine = 0; // NV2080_ENGINE_TYPE_*
	u8 vgpu_plugin = 0;
};

struct SubdeviceAlloc { // NV2080_ALLOC_PARAMETERS
	u32 subdevice_id = 0;
};

constexpr u32 NV01_MEMORY_DEVICELESS = 0x90ce, NV_EVENT_BUFFER = 0x90cd; // class/cl90ce.h, cl90cd.h

struct MemoryAlloc {                         // nvos.h, NV_MEMORY_ALLOCATION_PARAMS
	static constexpr u32 OLD_SIZE = 120; // before 550
	u32 owner = 0, type = 0, flags = 0, width = 0, height = 0, pitch = 0;
	u32 attr = 5U << 29;  // NVOS32_ATTR_COHERENCY_WRITE_BACK
	u32 attr2 = 1U << 22; // NVOS32_ATTR2_PROTECTION_USER_READ_ONLY
	u32 unused_1[8] = {};
	u64 size = 0;
	u64 unused_2[7] = {};
};

struct EventBufferAlloc { // class/cl90cd.h, NV_EVENT_BUFFER_ALLOC_PARAMETERS
	u64 header_address = 0, records_address = 0;
	u32 record_bytes = 0, records = 0; // of a record: with its header; how many there is room for
	u64 vardata_address = 0;
	u32 vardata_bytes = 0, records_threshold = 0;
	u64 notification = 0;
	u32 vardata_threshold = 0, subdevice = 0, flags = 0;
	u32 header = 0, record_buffer = 0, vardata_buffer = 0; // handles of memory
};

// The two memories of an event buffer, which the driver writes.
struct EventBufferHeader { // class/cl90cd.h
	u32 get, put;      // indices of records
	u64 count, dropped, vardata_dropped;
};

struct SwitchRecord { // class/cl90cd.h, NV_EVENT_BUFFER_RECORD_HEADER; class/cl90cdfecs.h, NV_EVENT_BUFFER_FECS_RECORD_V2
	static constexpr u8 START = 6, END = 7, ENGINE_RESET = 0xfe,
			    INVALID_TIMESTAMP = 0xff; // NV_EVENT_BUFFER_FECS_CTXSWTAG_*
	static constexpr u32 KERNEL_PID = 0xffffffff; // NV_EVENT_BUFFER_KERNEL_PID
	u16 type, subtype;
	u32 vardata;
	u8 tag, vmid;
	u16 number; // one more with each record, also where one was dropped
	u32 context; // of a channel, counted up since the driver was loaded (src/nvidia/src/kernel/gpu/fifo/kernel_channel.c, cid)
	u32 pid;
	u16 reserved;
	u8 gpu_instance, compute_instance; // of MIG
	u64 time_ns;                       // of the GPU's timer
};

struct SwitchRecords {                      // as many as an event buffer is made for
	static constexpr u32 COUNT = 65536; // seconds of 16 programs that take turns of 100 us
	SwitchRecord records[COUNT];
};

static_assert(sizeof(MemoryAlloc) == 128 && sizeof(EventBufferAlloc) == 72 && sizeof(EventBufferHeader) == 32 &&
	      sizeof(SwitchRecord) == 32);
static_assert(sizeof(DeviceAlloc) == 56 && sizeof(GroupAlloc) == 20 && sizeof(SubdeviceAlloc) == 4);

// -- status: nvstatuscodes.h

enum Status : u32 {
	NV_OK = 0,
	NV_ERR_INSUFFICIENT_RESOURCES = 0x1a,
	NV_ERR_INSUFFICIENT_PERMISSIONS = 0x1b,
	NV_ERR_INVALID_ARGUMENT = 0x1f,
	NV_ERR_INVALID_CHANNEL = 0x21,
	NV_ERR_INVALID_CLASS = 0x22,
	NV_ERR_INVALID_CLIENT = 0x23,
	NV_ERR_INVALID_PARAM_STRUCT = 0x3a,
	NV_ERR_INVALID_REQUEST = 0x3f,
	NV_ERR_INVALID_STATE = 0x40,
	NV_ERR_NOT_SUPPORTED = 0x56,
	NV_ERR_OBJECT_NOT_FOUND = 0x57,
	NV_ERR_OUT_OF_RANGE = 0x5b,
};

// -- controls. CMD and the name are of the constant, the fields of its _PARAMS.

struct AttachedIds { // ctrl/ctrl0000/ctrl0000gpu.h
	static constexpr u32 CMD = 0x201;
	static constexpr const char *NAME = "NV0000_CTRL_CMD_GPU_GET_ATTACHED_IDS";
	static constexpr u32 NONE = 0xffffffff;
	u32 gpu_ids[32] = {};
};

struct IdInfo { // ctrl/ctrl0000/ctrl0000gpu.h
	static constexpr u32 CMD = 0x205;
	static constexpr const char *NAME = "NV0000_CTRL_CMD_GPU_GET_ID_INFO_V2";
	u32 gpu_id = 0, flags = 0, device = 0, subdevice = 0, sli_status = 0, board_id = 0, gpu_instance = 0;
	int numa_id = 0;
};

struct PciInfo { // ctrl/ctrl0000/ctrl0000gpu.h
	static constexpr u32 CMD = 0x21b;
	static constexpr const char *NAME = "NV0000_CTRL_CMD_GPU_GET_PCI_INFO";
	u32 gpu_id = 0, domain = 0;
	u16 bus = 0, slot = 0;
};

struct ArchInfo { // ctrl/ctrl2080/ctrl2080mc.h
	static constexpr u32 CMD = 0x20801701;
	static constexpr const char *NAME = "NV2080_CTRL_CMD_MC_GET_ARCH_INFO";
	u32 architecture = 0, implementation = 0, revision = 0;
	u8 subrevision = 0;
};

constexpr u32 MAX_ENGINES = 0x54; // NV2080_GPU_MAX_ENGINES_LIST_SIZE
// Values from here on in place of a runlist, its registers or a hardware id: _ERROR, and 0xffffffff is _NULL.
constexpr u32 NO_VALUE = 0xfffffffb;

struct Engines { // ctrl/ctrl2080/ctrl2080gpu.h
	static constexpr u32 CMD = 0x20800170;
	static constexpr const char *NAME = "NV2080_CTRL_CMD_GPU_GET_ENGINES_V2";
	u32 count = 0, types[MAX_ENGINES] = {}; // NV2080_ENGINE_TYPE_*
};

struct EngineRunlists { // ctrl/ctrl2080/ctrl2080gpu.h; root only
	static constexpr u32 CMD = 0x20800179;
	static constexpr const char *NAME = "NV2080_CTRL_CMD_GPU_GET_ENGINE_RUNLIST_PRI_BASE";
	u32 types[MAX_ENGINES] = {}; // ends with NV2080_ENGINE_TYPE_NULL
	u32 pri_base[MAX_ENGINES] = {}, runlist[MAX_ENGINES] = {};
};

struct HwEngineIds { // ctrl/ctrl2080/ctrl2080gpu.h
	static constexpr u32 CMD = 0x2080017a;
	static constexpr const char *NAME = "NV2080_CTRL_CMD_GPU_GET_HW_ENGINE_ID";
	u32 types[MAX_ENGINES] = {}, ids[MAX_ENGINES] = {};
};

struct FaultInfo { // ctrl/ctrl2080/ctrl2080gpu.h
	static constexpr u32 CMD = 0x20800125;
	static constexpr const char *NAME = "NV2080_CTRL_CMD_GPU_GET_ENGINE_FAULT_INFO";
	u32 type = 0, mmu_fault_id = 0;
	u8 subcontexts = 0;
};

struct PceMask { // ctrl/ctrl2080/ctrl2080ce.h
	static constexpr u32 CMD = 0x20802a02;
	static constexpr const char *NAME = "NV2080_CTRL_CMD_CE_GET_CE_PCE_MASK";
	u32 type = 0, mask = 0;
};

struct CopyCaps { // ctrl/ctrl2080/ctrl2080ce.h
	static constexpr u32 CMD = 0x20802a03;
	static constexpr const char *NAME = "NV2080_CTRL_CMD_CE_GET_CAPS_V2";
	static constexpr u8 GRCE = 1, SHARED = 2; // of table[0]
	u32 type = 0;
	u8 table[2] = {};
};

struct AllocatedChannels { // ctrl/ctrl2080/ctrl2080fifo.h; root only
	static constexpr u32 CMD = 0x20801119;
	static constexpr const char *NAME = "NV2080_CTRL_CMD_FIFO_GET_ALLOCATED_CHANNELS";
	static constexpr u32 MAX = 4096;
	u32 runlist = 0, mask[MAX / 32] = {};
};

struct GrRoute { // ctrl/ctrl2080/ctrl2080gr.h; all zero: the only graphics engine
	u32 flags = 0;
	alignas(8) u64 route = 0;
};

struct GpcMask { // ctrl/ctrl2080/ctrl2080gr.h
	static constexpr u32 CMD = 0x2080122a;
	static constexpr const char *NAME = "NV2080_CTRL_CMD_GR_GET_GPC_MASK";
	GrRoute route;
	u32 mask = 0; // set bit: enabled
};

struct TpcMask { // ctrl/ctrl2080/ctrl2080gr.h
	static constexpr u32 CMD = 0x2080122b;
	static constexpr const char *NAME = "NV2080_CTRL_CMD_GR_GET_TPC_MASK";
	GrRoute route;
	u32 gpc = 0, mask = 0; // a physical GPC; set bit: enabled
};

struct GrInfo { // ctrl/ctrl2080/ctrl2080gr.h
	static constexpr u32 CMD = 0x20801228;
	static constexpr const char *NAME = "NV2080_CTRL_CMD_GR_GET_INFO_V2";
	// ctrl/ctrl0080/ctrl0080gr.h, NV0080_CTRL_GR_INFO_INDEX_*
	static constexpr u32 LITTER_NUM_GPCS = 0x14, LITTER_NUM_TPC_PER_GPC = 0x17;
	u32 count = 0;
	struct {
		u32 index = 0, value = 0;
	} list[58] = {};
	GrRoute route;
};

struct GlobalSmOrder {                        // ctrl/ctrl2080/ctrl2080gr.h
	static constexpr u16 ABSENT = 0xffff; // a field that the driver's version does not have
	static constexpr u32 CMD = 0x2080121b;
	static constexpr const char *NAME = "NV2080_CTRL_CMD_GR_GET_GLOBAL_SM_ORDER";
	static constexpr u32 MAX = 512;
	struct {
		u16 gpc = 0, local_tpc = 0, local_sm = 0, global_tpc = 0, virtual_gpc = 0, migratable_tpc = 0, ugpu = 0,
		    physical_cpc = 0, virtual_tpc = 0;
	} sms[MAX] = {};
	u16 count = 0, tpcs = 0;
	GrRoute route;
};

struct ResidentChannel { // ctrl/ctrl2080/ctrl2080gr.h; NV_ERR_INVALID_CHANNEL where no context is alive
	static constexpr u32 CMD = 0x2080121c;
	static constexpr const char *NAME = "NV2080_CTRL_CMD_GR_GET_CURRENT_RESIDENT_CHANNEL";
	u32 channel = 0;
	GrRoute route;
};

struct TimerTime { // ctrl/ctrl2080/ctrl2080tmr.h
	static constexpr u32 CMD = 0x20800403;
	static constexpr const char *NAME = "NV2080_CTRL_CMD_TIMER_GET_TIME";
	u64 ns = 0; // of the GPU's timer
};

// Has the records of context switches of the graphics engine written to an event buffer, until the client ends. It is an
// interface for profilers: who is no administrator gets the records of its own processes, or none (NVreg_RestrictProfilingToAdminUsers).
struct BindSwitches { // ctrl/ctrl2080/ctrl2080gr.h
	static constexpr u32 CMD = 0x20801238;
	static constexpr const char *NAME = "NV2080_CTRL_CMD_GR_FECS_BIND_EVTBUF_FOR_UID_V2";
	static constexpr u32 SIMPLE =
		1; // NV2080_CTRL_GR_FECS_BIND_EVTBUF_LOD_SIMPLE; others are for the kernel's clients
	u32 buffer = 0, record_bytes = 24, detail = SIMPLE, filter = 0;
	u8 all_users = 1;
	u32 reason = 0; // NV2080_CTRL_GR_FECS_BIND_REASON_CODE_*
};

// Of an event buffer: ctrl/ctrl90cd.h
struct EnableEvents {
	static constexpr u32 CMD = 0x90cd0101;
	static constexpr const char *NAME = "NV_EVENT_BUFFER_CTRL_CMD_ENABLE_EVENTS";
	u8 enable = 1;
	u32 flags = 2; // NV_EVENT_BUFFER_FLAG_OVERFLOW_POLICY_KEEP_NEWEST
};

struct UpdateGet {
	static constexpr u32 CMD = 0x90cd0102;
	static constexpr const char *NAME = "NV_EVENT_BUFFER_CTRL_CMD_UPDATE_GET";
	u32 get = 0, vardata_get = 0;
};

constexpr u32 FLUSH_EVENTS = 0x90cd0104; // NV_EVENT_BUFFER_CTRL_CMD_FLUSH, without parameters

static_assert(sizeof(TimerTime) == 8 && sizeof(BindSwitches) == 24 && sizeof(EnableEvents) == 8 &&
	      sizeof(UpdateGet) == 8);

// Of a channel group, and of its device; only the client that owns the group may query it.

struct GroupInfo { // ctrl/ctrla06c.h
	static constexpr u32 CMD = 0xa06c0106;
	static constexpr const char *NAME = "NVA06C_CTRL_CMD_GET_INFO";
	u32 tsg = 0;
};

struct GroupTimeslice { // ctrl/ctrla06c.h
	static constexpr u32 CMD = 0xa06c0104;
	static constexpr const char *NAME = "NVA06C_CTRL_CMD_GET_TIMESLICE";
	u64 us = 0;
};

struct ChannelList { // ctrl/ctrl0080/ctrl0080fifo.h
	static constexpr u32 CMD = 0x80170d;
	static constexpr const char *NAME = "NV0080_CTRL_CMD_FIFO_GET_CHANNELLIST";
	u32 count = 0;
	u64 handles = 0, ids = 0; // addresses of arrays
};

// ctrl/ctrl2080/ctrl2080gr.h; of a channel with a graphics context, by the client that owns it; NV_ERR_NOT_SUPPORTED:
// its engine has no such modes. What 1 and 2 mean: NV2080_CTRL_SET_CTXSW_PREEMPTION_MODE_COMPUTE_*, _GFX_*.
struct CtxswModes {
	static constexpr u32 CMD = 0x20801235;
	static constexpr const char *NAME = "NV2080_CTRL_CMD_GR_GET_CTXSW_MODES";
	u32 channel = 0; // its handle
	u32 zcull = 0, pm = 0, smpc = 0;
	u32 compute = 0;  // 0 WFI, 1 CTA, 2 CILP
	u32 graphics = 0; // 0 WFI, 1 GFXP, 2 GFXP_POOL
};

struct FsInfo { // ctrl/ctrl2080/ctrl2080grmgr.h
	static constexpr u32 CMD = 0x20803801;
	static constexpr const char *NAME = "NV2080_CTRL_CMD_GRMGR_GET_GR_FS_INFO";
	static constexpr u16 CHIPLET_GPC_MAP = 2; // in: logical GPC; out: physical GPC
	u16 count = 0;
	u8 reserved[6] = {};
	struct {
		u16 type = 0;
		u8 reserved[2] = {};
		u32 status = 0;
		u32 in = 0, out = 0;
		u32 more = 0;
	} queries[96] = {};
};

struct NameString { // ctrl/ctrl2080/ctrl2080gpu.h; only ASCII, and 68 bytes, in 595
	static constexpr u32 CMD = 0x20800110;
	static constexpr const char *NAME = "NV2080_CTRL_CMD_GPU_GET_NAME_STRING";
	u32 flags = 0; // NV2080_CTRL_GPU_GET_NAME_STRING_FLAGS_TYPE_ASCII
	char ascii[128] = {};
};

struct FbInfo { // ctrl/ctrl2080/ctrl2080fb.h
	static constexpr u32 CMD = 0x20801303;
	static constexpr const char *NAME = "NV2080_CTRL_CMD_FB_GET_INFO_V2";
	static constexpr u32 TOTAL_RAM_SIZE = 8; // KiB
	u32 count = 0;
	struct {
		u32 index = 0, value = 0;
	} list[128] = {};
};

struct ClassList { // ctrl/ctrl2080/ctrl2080gpu.h
	static constexpr u32 CMD = 0x20800124;
	static constexpr const char *NAME = "NV2080_CTRL_CMD_GPU_GET_ENGINE_CLASSLIST";
	u32 type = 0, count = 0;
	u64 classes = 0; // address of an array; 0: only count
};

struct Pids { // ctrl/ctrl2080/ctrl2080gpu.h
	static constexpr u32 CMD = 0x2080018d;
	static constexpr const char *NAME = "NV2080_CTRL_CMD_GPU_GET_PIDS";
	static constexpr u32 MAX = 950;
	u32 id_type = 0; // NV2080_CTRL_GPU_GET_PIDS_ID_TYPE_CLASS: id is a class
	u32 id = 0, count = 0, pids[MAX] = {};
};

struct PidInfo { // ctrl/ctrl2080/ctrl2080gpu.h
	static constexpr u32 CMD = 0x2080018e;
	static constexpr const char *NAME = "NV2080_CTRL_CMD_GPU_GET_PID_INFO";
	static constexpr u32 MAX = 200;
	struct Entry {
		u32 pid = 0;
		u32 index = 0; // NV2080_CTRL_GPU_PID_INFO_INDEX_VIDEO_MEMORY_USAGE
		u32 result = 0;
		u64 own = 0, shared = 0, shared_of_others = 0; // bytes
		u64 protected_own = 0, protected_shared = 0, protected_of_others = 0;
		u32 compute_instance = 0, gpu_instance = 0; // of MIG, or NO_INSTANCE
	};
	static constexpr u32 NO_INSTANCE = 0xffffffff; // PARTITIONID_INVALID
	u32 count = 0;
	Entry list[MAX] = {};
};

struct UtilSamples { // ctrl/ctrl2080/ctrl2080perf.h
	static constexpr u32 CMD = 0x20802096;
	static constexpr const char *NAME = "NV2080_CTRL_CMD_PERF_GET_GPUMON_PERFMON_UTIL_SAMPLES_V2";
	static constexpr u32 NO_PID = 0xffffffff; // NV2080_GPUMON_PID_INVALID
	struct Engine {
		u32 util = 0, vgpu_scale = 0; // percent * 100
		u32 pid = 0, vgpu_pid = 0;    // active when the sample was taken
		char vgpu_name[100] = {};
		u64 pid_info = 0;
	};
	struct Sample {          // every 0.2 s
		u64 time_ns = 0; // of the GPU, see UtilClock; 0: none yet
		Engine fb, gr, nvenc, nvdec, nvjpg, ofa;
	};
	u8 type = 2; // NV2080_CTRL_GPUMON_SAMPLE_TYPE_PERFMON_UTIL
	u32 size = sizeof(samples), count = 0, tracker = 0;
	Sample samples[72] = {}; // a ring
};

static_assert(sizeof(UtilSamples) == 55888);
static_assert(sizeof(GroupInfo) == 4 && sizeof(GroupTimeslice) == 8 && sizeof(ChannelList) == 24);
static_assert(sizeof(ResidentChannel) == 24 && sizeof(GlobalSmOrder) == 9240 && sizeof(FsInfo) == 1928 &&
	      sizeof(NameString) == 132 && sizeof(FbInfo) == 1028 && sizeof(ClassList) == 16 && sizeof(Pids) == 3812 &&
	      sizeof(PidInfo) == 14408);
static_assert(sizeof(AttachedIds) == 128 && sizeof(IdInfo) == 32 && sizeof(PciInfo) == 12 && sizeof(ArchInfo) == 16);
static_assert(sizeof(Engines) == 340 && sizeof(EngineRunlists) == 1008 && sizeof(HwEngineIds) == 672 &&
	      sizeof(FaultInfo) == 12);
static_assert(sizeof(PceMask) == 8 && sizeof(CopyCaps) == 8 && sizeof(AllocatedChannels) == 516);
static_assert(sizeof(GpcMask) == 24 && sizeof(TpcMask) == 24 && sizeof(GrInfo) == 488);

// Controls that change something: of the program's own TSGs and channels, and only in the program itself
// (preload/agent.hpp). NV_OK says that the request was permitted, not that it had an effect.

struct GroupSetTimeslice { // ctrl/ctrla06c.h, NVA06C_CTRL_TIMESLICE_PARAMS
	static constexpr u32 CMD = 0xa06c0103;
	static constexpr const char *NAME = "NVA06C_CTRL_CMD_SET_TIMESLICE";
	u64 us = 0;
};

struct GroupPreempt { // ctrl/ctrla06c.h
	static constexpr u32 CMD = 0xa06c0105;
	static constexpr const char *NAME = "NVA06C_CTRL_CMD_PREEMPT";
	u8 wait = 1, manual_timeout = 1;
	u32 timeout_us = 0; // at most 1,000,000
};

struct GroupSchedule { // ctrl/ctrla06f/ctrla06fgpfifo.h
	static constexpr u32 CMD = 0xa06c0101;
	static constexpr const char *NAME = "NVA06C_CTRL_CMD_GPFIFO_SCHEDULE";
	static constexpr u32 OLD_SIZE = 2; // before 575: without skip_enable
	u8 enable = 1, skip_submit = 0, skip_enable = 0;
};

struct DisableChannels { // ctrl/ctrl2080/ctrl2080fifo.h
	static constexpr u32 CMD = 0x2080110b;
	static constexpr const char *NAME = "NV2080_CTRL_CMD_FIFO_DISABLE_CHANNELS";
	u8 disable = 0;
	u32 count = 0;
	u8 only_scheduling = 0; // 1: a running channel goes on
	u8 rewind_gp_put = 0;   // 1 would drop what is queued
	u64 event = 0;          // for clients in the kernel only
	u32 clients[64] = {}, channels[64] = {};
};

struct CtxswStats { // ctrl/ctrl2080/ctrl2080gr.h
	static constexpr u32 CMD = 0x20801215;
	static constexpr const char *NAME = "NV2080_CTRL_CMD_GR_GET_CTXSW_STATS";
	u32 channel = 0; // its handle, or that of its TSG
	u32 flags = 0;
	u32 saves = 0, restores = 0, wfi_saves = 0, cta_saves = 0, cilp_saves = 0, gfxp_saves = 0;
};

static_assert(sizeof(GroupSetTimeslice) == 8 && sizeof(GroupPreempt) == 8 && sizeof(GroupSchedule) == 3);
static_assert(sizeof(DisableChannels) == 536 && sizeof(CtxswStats) == 32);

} // namespace tool::rm
