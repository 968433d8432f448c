// SPDX-License-Identifier: GPL-2.0
// A resource manager for tests on machines without NVIDIA's driver: preloaded (LD_PRELOAD), it answers ioctls of
// /dev/nvidiactl with answers that were recorded on real GPUs (h200-580.json). It shares no code with tools/lib/rm:
// ioctls, sizes, offsets and commands are written here a second time; sizes and errors are the recorded ones. A recording
// made for emulated GPUs (scripts/lib/fake_driver.py) also has "bus", "slot", "pids" and "channels" of each GPU; for these
// no channel is resident.
//
//	GPULENS_FAKE_RM=FILE          the recording; without it nothing is faked
//	GPULENS_FAKE_RM_GPU=20        the recording's GPUs in the driver's order; on PCI buses 3 and 1
//	GPULENS_FAKE_RM_CLOSED=1:13   /dev/nvidia1 cannot be opened: errno 13
//	GPULENS_FAKE_RM_USER=1        gives the answers for uid 65534 instead of root
//	GPULENS_FAKE_RM_VERSION=TEXT  another driver's version, with its layouts (fake_versions.hpp)
//	GPULENS_FAKE_RM_STATE=two     the recording of so many busy processes: one, two, three
//	GPULENS_FAKE_RM_PIDS=PID      the only process, of every class but that of MPS, and with _MPS=1 of that, too
//	GPULENS_FAKE_RM_NOTES=PID     the process that the driver notes for every channel
//	GPULENS_FAKE_RM_ANSWERS=N     the first N queries of the resident channel succeed, later ones are refused
//	GPULENS_FAKE_RM_SIZES=C:N,... parameters of command C (hexadecimal) have N bytes
//	GPULENS_FAKE_RM_FULL=1        no client can be allocated: NV_ERR_INSUFFICIENT_RESOURCES
//	GPULENS_FAKE_RM_SHARED=FILE   TSGs run, and are held, as fake_schedule.hpp describes; GPULENS_FAKE_RM_VERBS names what fails
//	GPULENS_FAKE_RM_SWITCHES=HOW  the driver records context switches: fake_switches.hpp; without it, it does not
//	GPULENS_FAKE_RM_BUSY=N        the first N ioctls are answered with EAGAIN
//	GPULENS_FAKE_RM_LOG=FILE      gets a line for each ioctl: "control 0x20801701 NV_OK"
#include "fake_rm.hpp"
#include "fake_versions.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <time.h>
#include <unistd.h>

namespace fake {

namespace {

constexpr uint32_t OK = 0, RESOURCES = 0x1a, PERMISSIONS = 0x1b, ARGUMENT = 0x1f, CLIENT = 0x23, PARAM_STRUCT = 0x3a,
		   NOT_SUPPORTED = 0x56, OBJECT_NOT_FOUND = 0x57, OUT_OF_RANGE = 0x5b;
constexpr uint32_t GPU_ID = 0x100; // of the first GPU; the next has 0x101; the recording has no ids

const std::map<std::string, uint32_t> STATUS = {
	{"NV_OK", OK}, {"NV_ERR_INSUFFICIENT_PERMISSIONS", PERMISSIONS}, {"NV_ERR_NOT_SUPPORTED", NOT_SUPPORTED}};

// A pointer from a member of a program's structure.
template <typename T> T *make_pointer(uint64_t where)
{
	return reinterpret_cast<T *>(where); // NOLINT(performance-no-int-to-ptr)
}

const char *read_env(const char *name)
{
	return getenv(name) ? getenv(name) : "";
}

// A number of the recording: 5, or "0x5".
uint32_t read_number(const json &j)
{
	return j.is_string() ? static_cast<uint32_t>(std::stoul(j.get<std::string>(), nullptr, 0)) : j.get<uint32_t>();
}

} // namespace

Rm &Rm::the()
{
	static Rm rm;
	return rm;
}

Rm::Rm()
{
	if (!*read_env("GPULENS_FAKE_RM"))
		return;
	// Not a stream, which may call this library's open().
	FILE *file = fopen(read_env("GPULENS_FAKE_RM"), "r");
	if (!file) {
		perror("fake_rm: GPULENS_FAKE_RM");
		_exit(126);
	}
	facts_ = json::parse(file);
	fclose(file);
	for (const char *p = read_env("GPULENS_FAKE_RM_GPU"); *p; p++)
		gpus_.push_back(static_cast<uint32_t>(*p - '0'));
	if (gpus_.empty())
		gpus_.push_back(0);
	user_ = *read_env("GPULENS_FAKE_RM_USER");
	busy_ = atol(read_env("GPULENS_FAKE_RM_BUSY"));
	for (const json &row : facts_["queries"]) {
		asked_[read_number(row["cmd"])] = &row;
		sizes_[read_number(row["cmd"])] = row["param_size"];
	}
	// Not in the recording: ctrl0000gpu.h, ctrl2080gr.h, ctrla06c.h, ctrla06f/ctrla06fgpfifo.h of 580.142.
	sizes_.insert({{0x201, 128}, {0x21b, 12}, {0x20801235, 24}, {0xa06c0101, 3}, {0xa06c0104, 8}, {0xa06c0106, 4}});
	// Controls that change something: ctrl2080fifo.h, ctrl2080gr.h, ctrla06c.h.
	if (*read_env("GPULENS_FAKE_RM_SHARED"))
		sizes_.insert({{0x2080110b, 536}, {0x20801215, 32}, {0xa06c0103, 8}, {0xa06c0105, 8}});
	sizes_.insert({{0x20800403, 8}}); // ctrl2080tmr.h
	if (switches_.faked())            // ctrl2080gr.h, ctrl90cd.h
		sizes_.insert({{0x20801238, 24}, {0x90cd0101, 8}, {0x90cd0102, 8}, {0x90cd0104, 0}});
	sizes_580_ = sizes_;
	for (auto [cmd, size] : sizes_in(read_env("GPULENS_FAKE_RM_VERSION")))
		sizes_[cmd] = size;
	for (const char *p = read_env("GPULENS_FAKE_RM_SIZES"); *p;) {
		char *end;
		uint32_t cmd = static_cast<uint32_t>(strtoul(p, &end, 16));
		sizes_[cmd] = static_cast<uint32_t>(strtoul(end + 1, &end, 10));
		p = *end ? end + 1 : end;
	}
	if (*read_env("GPULENS_FAKE_RM_LOG"))
		log_ = fopen(read_env("GPULENS_FAKE_RM_LOG"), "a");
}

int Rm::refuses(const char *node) const
{
	std::string closed = read_env("GPULENS_FAKE_RM_CLOSED");
	size_t colon = closed.find(':');

	return colon != closed.npos && node == "/dev/nvidia" + closed.substr(0, colon)
		       ? atoi(closed.c_str() + colon + 1)
		       : 0;
}

void Rm::log(const char *what, uint32_t which, uint32_t status)
{
	std::string name;

	for (const auto &[text, value] : STATUS)
		if (value == status)
			name = text;
	if (log_) {
		fprintf(log_, "%s %#x %s\n", what, which, name.empty() ? std::to_string(status).c_str() : name.c_str());
		fflush(log_);
	}
}

// _IOWR('F', nr, size): kernel-open/common/inc/nv-ioctl-numbers.h, nv_escape.h
int Rm::ioctl(unsigned long request, void *arg)
{
	uint8_t *bytes = static_cast<uint8_t *>(arg);
	std::string version = read_env("GPULENS_FAKE_RM_VERSION");

	if (busy_ > 0) {
		busy_--;
		errno = EAGAIN;
		return -1;
	}
	switch (request) {
	case 0xc04846d2: // NV_ESC_CHECK_VERSION_STR, 72 bytes
		if (bytes[0] != '2') {
			errno = EINVAL;
			return -1;
		}
		if (version.empty())
			version = common()["version"];
		Params{bytes, 72}.put(4, 1); // recognized
		snprintf(reinterpret_cast<char *>(bytes + 8), 64, "%s", version.c_str());
		log("version", 0, OK);
		return 0;
	case 0xc020462b: // NV_ESC_RM_ALLOC, NVOS21_PARAMETERS
		alloc(bytes);
		return 0;
	case 0xc030462b: { // the same, NVOS64_PARAMETERS: size of parameters 32, status 40
		uint8_t shorter[32];
		memcpy(shorter, bytes, 24);
		memcpy(shorter + 24, bytes + 32, 4);
		alloc(shorter);
		memcpy(bytes + 8, shorter + 8, 4);
		memcpy(bytes + 40, shorter + 28, 4);
		return 0;
	}
	case 0xc020462a: // NV_ESC_RM_CONTROL, NVOS54_PARAMETERS
		control(bytes);
		return 0;
	case 0xc0104629: { // NV_ESC_RM_FREE, NVOS00_PARAMETERS
		auto object = objects_.find(Params{bytes, 16}.get(8));
		uint32_t status = object == objects_.end() ? OBJECT_NOT_FOUND : OK;
		log("free", status == OK ? object->second : 0, status);
		switches_.free(Params{bytes, 16}.get(8));
		if (status == OK) {
			std::erase_if(groups_, [&](const auto &group) { return group.first == object->first; });
			for (auto &[group, channels] : groups_)
				std::erase(channels, object->first);
			objects_.erase(object);
		}
		Params{bytes, 16}.put(12, status);
		return 0;
	}
	case 0xc038464e: // NV_ESC_RM_MAP_MEMORY, nv_ioctl_nvos33_parameters_with_fd
		map(bytes);
		return 0;
	default:
		log("ioctl", static_cast<uint32_t>(request), ARGUMENT);
		errno = EINVAL;
		return -1;
	}
}

// NVOS21: root 0, parent 4, object 8, class 12, parameters 16, their size 24, status 28
void Rm::alloc(uint8_t *bytes)
{
	static const std::map<uint32_t, std::pair<uint32_t, uint32_t>> wanted = {
		{0x41, {0, 0}},        {0x80, {0x41, 56}},    {0x2080, {0x80, 4}},   {0xa06c, {0x80, 20}},
		{0xc86f, {0xa06c, 0}}, {0xcbc0, {0xc86f, 0}}, {0xc8b5, {0xc86f, 0}}, {0x90ce, {0x41, 128}},
		{0x90cd, {0x41, 72}}}; // parent's class, size of parameters
	Params a{bytes, 32};
	auto row = wanted.find(a.get(12));
	auto parent = objects_.find(a.get(4));
	uint32_t status = OK, handle = a.get(8) ? a.get(8) : next_++, device = 0;

	if (a.get(12) == 0x41 && *read_env("GPULENS_FAKE_RM_FULL"))
		status = RESOURCES;
	else if (row == wanted.end() || (a.get(12) >> 4 == 0x90c && !switches_.faked()))
		status = 0x22; // NV_ERR_INVALID_CLASS
	else if (row->second.first && (parent == objects_.end() || parent->second != row->second.first))
		status = OBJECT_NOT_FOUND;
	else if (a.get(12) == 0x80 && !gpu_node_)
		status = PERMISSIONS; // as an H200's driver answered
	else if (auto other = sizes_.find(a.get(12));
		 a.get(24) != (other == sizes_.end() ? row->second.second : other->second))
		status = PARAM_STRUCT;
	else if (a.get(12) == 0x80) {
		uint64_t where;
		memcpy(&where, bytes + 16, 8);
		device = *make_pointer<const uint32_t>(where); // NV0080_ALLOC_PARAMETERS.deviceId
		if (device >= gpus_.size())
			status = ARGUMENT;
	}
	if (status == OK && a.get(12) >> 4 == 0x90c) {
		uint64_t where;
		memcpy(&where, bytes + 16, 8);
		status = a.get(12) == 0x90ce ? switches_.alloc_memory(handle, make_pointer<uint8_t>(where))
					     : switches_.alloc_buffer(handle, make_pointer<uint8_t>(where));
	}
	if (status == OK && a.get(12) == 0xa06c)
		groups_.push_back({handle, {}});
	for (auto &[group, channels] : groups_) {
		if (status == OK && group == a.get(4))
			channels.push_back(handle);
		if (status == OK && std::find(channels.begin(), channels.end(), a.get(4)) != channels.end())
			computes_.insert(group);
	}
	if (status == OK) {
		objects_[handle] = a.get(12);
		gpu_of_[handle] = a.get(12) == 0x80 ? device : gpu_of_[a.get(4)];
		a.put(8, handle);
	}
	a.put(28, status);
	log("alloc", a.get(12), status);
}

// NVOS54: client 0, object 4, command 8, flags 12, parameters 16, their size 24, status 28
void Rm::control(uint8_t *bytes)
{
	Params c{bytes, 32};
	uint64_t where;
	uint32_t cmd = c.get(8), status = OK;
	auto object = objects_.find(c.get(4));
	auto size = sizes_.find(cmd);
	auto row = asked_.find(cmd);

	memcpy(&where, bytes + 16, 8);
	if (objects_.count(c.get(0)) == 0)
		status = CLIENT;
	else if (object == objects_.end())
		status = OBJECT_NOT_FOUND;
	else if (size == sizes_.end())
		status = NOT_SUPPORTED;
	else if (size->second != c.get(24))
		status = PARAM_STRUCT;
	else if (row != asked_.end()) {
		const json &said = (*row->second)[user_ ? "status_uid65534" : "status_root"];
		for (const char *refusal : {"NV_ERR_INSUFFICIENT_PERMISSIONS", "NV_ERR_NOT_SUPPORTED"})
			if (said.contains(refusal) && !said.contains("NV_OK"))
				status = STATUS.at(refusal);
	}
	if (status == OK && size->second != sizes_580_[cmd]) {
		auto full = parameters_580(cmd, make_pointer<uint8_t>(where), c.get(24), sizes_580_[cmd]);
		status = answer(object->first, object->second, cmd, {full.data(), sizes_580_[cmd]});
		put_parameters(cmd, full, make_pointer<uint8_t>(where), c.get(24));
	} else if (status == OK) {
		status = answer(object->first, object->second, cmd, {make_pointer<uint8_t>(where), c.get(24)});
	}
	c.put(28, status);
	log("control", cmd, status);
}

uint32_t Rm::answer(uint32_t object, uint32_t cls, uint32_t cmd, const Params &p)
{
	static const std::map<uint32_t, uint32_t> prefix = {
		{0x41, 0}, {0x80, 0x80}, {0x2080, 0x2080}, {0xa06c, 0xa06c}, {0x90cd, 0x90cd}};

	if (prefix.at(cls) != cmd >> 16)
		return NOT_SUPPORTED;
	gpu_ = gpus_[gpu_of_[object]];
	if (cls == 0x41)
		return answer_root(cmd, p);
	if (cls == 0x80)
		return answer_device(cmd, p);
	if (cls == 0xa06c)
		return answer_group(object, cmd, p);
	if (cls == 0x90cd)
		return answer_buffer(object, cmd, p);
	switch (cmd >> 8 & 0xff) {
	case 0x12: return answer_gr(cmd, p);
	case 0x2a: return answer_copies(cmd, p);
	default: return answer_engines(cmd, p);
	}
}

// The first group that a program allocates is the first recorded TSG of process A, and so on.
const json *Rm::tsg(size_t i) const
{
	const json &tsgs = facts_["live_run2"]["processes"]["A"]["tsgs"];

	return i < tsgs.size() ? &tsgs[i] : nullptr;
}

uint32_t Rm::answer_root(uint32_t cmd, const Params &p)
{
	switch (cmd) {
	case 0x201: // GPU_GET_ATTACHED_IDS
		for (uint32_t i = 0; i < 32; i++)
			p.put(4 * i, i < gpus_.size() ? GPU_ID + i : 0xffffffff);
		return OK;
	case 0x205: // GPU_GET_ID_INFO_V2: device 8, subdevice 12
		if (p.get(0) - GPU_ID >= gpus_.size())
			return ARGUMENT;
		p.put(8, p.get(0) - GPU_ID);
		p.put(12, 0);
		return OK;
	case 0x21b: { // GPU_GET_PCI_INFO: domain 4, bus 8, slot 10
		if (p.get(0) - GPU_ID >= gpus_.size())
			return ARGUMENT;
		p.put(4, 0);
		const json &gpu = facts_["gpus"][gpus_[p.get(0) - GPU_ID]];
		p.put(8, gpu.value("bus", 1 + gpus_[p.get(0) - GPU_ID]) | gpu.value("slot", 0U) << 16);
		return OK;
	}
	default: return NOT_SUPPORTED;
	}
}

// Repeats the recorded series of resident channels; -1: none was resident.
int Rm::resident(uint64_t us) const
{
	const char *state = *read_env("GPULENS_FAKE_RM_STATE") ? read_env("GPULENS_FAKE_RM_STATE") : "two";
	const json &turns =
		facts_["live_run2"]["states"][state]["resident_channel_timeseries"]["first_changes_us_chid"];
	int chid = -1;

	if (gpu().contains("pids"))
		return chid;
	us %= turns.back()[0].get<uint64_t>() + 2000; // the end of the last was not recorded
	for (const json &turn : turns)
		if (turn[0] <= us)
			chid = turn[1];
	return chid;
}

// The pid of the process that owned the channel; all ones: none.
uint32_t Rm::owner(int chid) const
{
	if (*read_env("GPULENS_FAKE_RM_NOTES"))
		return static_cast<uint32_t>(atoi(read_env("GPULENS_FAKE_RM_NOTES")));
	for (const json &process : facts_["live_run2"]["processes"])
		for (const json &tsg : process["tsgs"])
			for (int id : tsg["chids"])
				if (id == chid)
					return process["pid"];
	return 0xffffffff;
}

bool Rm::records(uint32_t pid) const
{
	if (!facts_.contains("live_run2"))
		return false;
	for (const json &process : facts_["live_run2"]["processes"])
		if (process["pid"] == pid)
			return true;
	return false;
}

uint32_t Rm::answer_gr(uint32_t cmd, const Params &p)
{
	switch (cmd) {
	case 0x2080122a: // GR_GET_GPC_MASK
		p.put(16, read_number(gpu()["gpc_mask"]));
		return OK;
	case 0x2080122b: { // GR_GET_TPC_MASK
		const json &masks = gpu()["tpc_mask_by_physical_gpc"];
		if (p.get(16) >= masks.size())
			return ARGUMENT;
		p.put(20, read_number(masks[p.get(16)]));
		return OK;
	}
	case 0x2080121c: { // GR_GET_CURRENT_RESIDENT_CHANNEL
		if (*read_env("GPULENS_FAKE_RM_ANSWERS") && answers_++ >= atoi(read_env("GPULENS_FAKE_RM_ANSWERS")))
			return NOT_SUPPORTED;
		int chid = resident(read_clock_ns() / 1000);
		p.put(0, static_cast<uint32_t>(chid));
		usleep(100);                 // a part of the driver's time
		return chid < 0 ? 0x21 : OK; // NV_ERR_INVALID_CHANNEL
	}
	case 0x20801215: return count_switches(p);
	case 0x20801238: return switches_.bind(p.bytes);
	case 0x20801235: // GR_GET_CTXSW_MODES: channel 0, CILP 16, GFXP 20; WFI until there is an object of the engine
		for (size_t i = 0; i < groups_.size() && tsg(i); i++) {
			const std::vector<uint32_t> &channels = groups_[i].second;
			const json &modes = (*tsg(i))["preemption"];
			if (std::find(channels.begin(), channels.end(), p.get(0)) == channels.end())
				continue;
			bool begun = !modes.is_null() && computes_.count(groups_[i].first);
			p.put(16, begun ? read_number(modes["cilp"]) : 0);
			p.put(20, begun ? read_number(modes["gfxp"]) : 0);
			return OK;
		}
		return ARGUMENT;
	case 0x20801228: // GR_GET_INFO_V2
		for (uint32_t i = 0; i < p.get(0); i++) {
			static const std::map<uint32_t, const char *> names = {{0x14, "LITTER_NUM_GPCS"},
									       {0x17, "LITTER_NUM_TPC_PER_GPC"}};
			auto name = names.find(p.get(4 + 8 * i));
			if (name == names.end())
				return ARGUMENT;
			p.put(8 + 8 * i, read_number(common()["gr_info"][name->second]));
		}
		return OK;
	case 0x2080121b: { // GR_GET_GLOBAL_SM_ORDER: 18 bytes each; fields as the recording's sm_table names them
		uint32_t n = 0;
		auto put16 = [&](uint32_t off, const json &v) {
			uint16_t value = v.get<uint16_t>();
			memcpy(p.bytes + off, &value, 2);
		};
		for (const json &sm : gpu()["sm_table"]) {
			static const int order[] = {5, 6, 4, 7, 8, 9, 11, 3, 10};
			for (uint32_t i = 0; i < 9; i++)
				put16(18 * n + 2 * i, sm[order[i]]);
			n++;
		}
		put16(9216, gpu()["num_sm"]);
		put16(9218, gpu()["num_tpc"]);
		return OK;
	}
	default: return NOT_SUPPORTED;
	}
}

const json *Rm::engine(uint32_t nv2080) const
{
	for (const json &e : common()["engines"])
		if (read_number(e["nv2080_type"]) == nv2080)
			return &e;
	return nullptr;
}

uint32_t Rm::answer_engines(uint32_t cmd, const Params &p)
{
	uint32_t max = cmd == 0x20800179 ? p.size / 12 : p.size / 8;
	uint32_t n = 0;

	switch (cmd) {
	case 0x2080110b: return disable_channels(p);
	case 0x20800403: return switches_.read_timer(p.bytes);
	case 0x20801701: // MC_GET_ARCH_INFO
		p.put(0, read_number(common()["arch"]["architecture"]));
		p.put(4, read_number(common()["arch"]["implementation"]));
		p.put(8, read_number(common()["arch"]["revision"]));
		p.bytes[12] = static_cast<uint8_t>(read_number(common()["arch"]["subRevision"]));
		return OK;
	case 0x20800170: // GPU_GET_ENGINES_V2
		for (const json &e : common()["engines"])
			p.put(4 + 4 * n++, read_number(e["nv2080_type"]));
		p.put(0, n);
		return OK;
	case 0x20800179: // GPU_GET_ENGINE_RUNLIST_PRI_BASE
	case 0x2080017a: // GPU_GET_HW_ENGINE_ID
		for (uint32_t i = 0; i < max; i++) {
			const json *e = engine(p.get(4 * i));
			p.put(4 * (max + i), 0xffffffff);
			if (cmd == 0x20800179)
				p.put(4 * (2 * max + i), 0xffffffff);
			if (!e)
				continue;
			p.put(4 * (max + i),
			      read_number((*e)[cmd == 0x20800179 ? "runlist_pri_base" : "hw_engine_id_fifo_tag"]));
			if (cmd == 0x20800179)
				p.put(4 * (2 * max + i), read_number((*e)["runlist_id"]));
		}
		return OK;
	case 0x20800125: { // GPU_GET_ENGINE_FAULT_INFO
		const json *e = engine(p.get(0));
		if (!e)
			return ARGUMENT;
		p.put(4, read_number((*e)["mmu_fault_id"]));
		p.bytes[8] = (*e)["subcontexts"].get<bool>();
		return OK;
	}
	case 0x20803801: // GRMGR_GET_GR_FS_INFO, query 2: 20 bytes each
		for (uint32_t i = 0; i < (p.get(0) & 0xffff); i++) {
			const json &map = gpu()["logical_to_physical_gpc"];
			uint32_t at = 8 + 20 * i, logical = p.get(at + 8);
			bool good = (p.get(at) & 0xffff) == 2 && logical < map.size();
			p.put(at + 4, good ? OK : ARGUMENT);
			if (good)
				p.put(at + 12, read_number(map[logical]));
		}
		return OK;
	case 0x20800110: // GPU_GET_NAME_STRING
		snprintf(reinterpret_cast<char *>(p.bytes + 4), 64, "%s", common()["name"].get<std::string>().c_str());
		return OK;
	case 0x20801303: // FB_GET_INFO_V2
		if (p.get(0) != 1 || p.get(4) != 8)
			return ARGUMENT;
		p.put(8, read_number(gpu()["fb_total_ram_kib"]));
		return OK;
	case 0x20800124: { // GPU_GET_ENGINE_CLASSLIST
		const json *e = engine(p.get(0));
		uint64_t where;
		memcpy(&where, p.bytes + 8, 8);
		if (!e)
			return ARGUMENT;
		for (const json &cls : (*e)["classes"])
			if (where && n < p.get(4))
				make_pointer<uint32_t>(where)[n++] = read_number(cls);
		p.put(4, static_cast<uint32_t>((*e)["classes"].size()));
		return OK;
	}
	case 0x2080018d: { // GPU_GET_PIDS
		static const std::map<uint32_t, const char *> names = {{0x2080, "NV20_SUBDEVICE_0"},
								       {0xcbc0, "HOPPER_COMPUTE_A"},
								       {0xc8b5, "HOPPER_DMA_COPY_A"},
								       {0x900e, "MPS_COMPUTE"},
								       {0x83de, "GT200_DEBUGGER"}};
		auto name = names.find(p.get(4));
		if (p.get(0) || name == names.end())
			return ARGUMENT;
		if (*read_env("GPULENS_FAKE_RM_PIDS")) {
			if (name->first != 0x900e || *read_env("GPULENS_FAKE_RM_MPS"))
				p.put(12 + 4 * n++, static_cast<uint32_t>(atoi(read_env("GPULENS_FAKE_RM_PIDS"))));
		} else {
			for (uint32_t pid :
			     gpu().contains("pids")
				     ? gpu()["pids"]
				     : facts_["live_run2"]["states"]["two"]["pids_by_class"][name->second])
				p.put(12 + 4 * n++, pid);
		}
		p.put(8, n);
		return OK;
	}
	case 0x2080018e: // GPU_GET_PID_INFO: 72 bytes each, the pid first, memSharedOwned at 24; nothing of unknown pids
		for (uint32_t i = 0; i < p.get(0) && p.get(0) <= 200; i++) {
			const json &info = facts_["sampler_run3"]["pid_info"];
			if (records(p.get(8 + 72 * i)))
				p.put(8 + 72 * i + 24, info["memSharedOwned"]);
			p.put(8 + 72 * i + 64, info["computeInstanceId"]);
			p.put(8 + 72 * i + 68, info["gpuInstanceId"]);
		}
		return p.get(0) && p.get(0) <= 200 ? OK : ARGUMENT;
	case 0x20802096: { // PERF_GET_GPUMON_PERFMON_UTIL_SAMPLES_V2: time 0, pid of the graphics engine 144
		static constexpr uint64_t NOTES = 200000000;
		usleep(300); // a part of what four H200s took
		uint64_t now_ns = read_clock_ns(), gpu_ns = Switches::gpu_ns(now_ns);
		for (uint32_t i = 0; i < 72; i++) {
			uint64_t t = gpu_ns / NOTES * NOTES - i * NOTES;
			uint32_t at = 16 + 776 * i;
			memcpy(p.bytes + at, &t, 8);
			p.put(at + 144, owner(resident((now_ns - (gpu_ns - t)) / 1000)));
		}
		return OK;
	}
	case 0x20801119: // FIFO_GET_ALLOCATED_CHANNELS
		if (p.get(0))
			return OUT_OF_RANGE;
		for (uint32_t chid : gpu().contains("channels")
					     ? gpu()["channels"]
					     : facts_["live_run2"]["states"]["two"]["allocated_chids_runlist0"])
			p.put(4 + chid / 32 * 4, p.get(4 + chid / 32 * 4) | uint32_t{1} << chid % 32);
		return OK;
	default: return NOT_SUPPORTED;
	}
}

uint32_t Rm::answer_copies(uint32_t cmd, const Params &p)
{
	for (const json &ce : common()["copy_engines"]) {
		uint32_t caps = static_cast<uint32_t>(std::stoul(ce["caps"].get<std::string>(), nullptr, 16));
		if (ce["lce"].get<uint32_t>() + 9 != p.get(0)) // NV2080_ENGINE_TYPE_COPY0
			continue;
		switch (cmd) {
		case 0x20802a02: p.put(4, read_number(ce["pce_mask"])); return OK; // CE_GET_CE_PCE_MASK
		case 0x20802a03: // CE_GET_CAPS_V2: the bytes of the table, in order
			p.bytes[4] = static_cast<uint8_t>(caps >> 8);
			p.bytes[5] = static_cast<uint8_t>(caps);
			return OK;
		default: return NOT_SUPPORTED;
		}
	}
	return ARGUMENT;
}

} // namespace fake
