// SPDX-License-Identifier: GPL-2.0
// Sends ioctls to /dev/nvidiactl.
#include "lib/rm/client.hpp"

#include "lib/rm/layouts.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <sys/mman.h>
#include <unistd.h>

namespace tool::rm {

namespace {

constexpr struct {
	u32 status;
	const char *name;
} STATUS[] = {
	{NV_OK, "NV_OK"},
	{NV_ERR_INSUFFICIENT_RESOURCES, "NV_ERR_INSUFFICIENT_RESOURCES"},
	{NV_ERR_INSUFFICIENT_PERMISSIONS, "NV_ERR_INSUFFICIENT_PERMISSIONS"},
	{NV_ERR_INVALID_ARGUMENT, "NV_ERR_INVALID_ARGUMENT"},
	{NV_ERR_INVALID_CHANNEL, "NV_ERR_INVALID_CHANNEL"},
	{NV_ERR_INVALID_CLASS, "NV_ERR_INVALID_CLASS"},
	{NV_ERR_INVALID_CLIENT, "NV_ERR_INVALID_CLIENT"},
	{NV_ERR_INVALID_PARAM_STRUCT, "NV_ERR_INVALID_PARAM_STRUCT"},
	{NV_ERR_INVALID_REQUEST, "NV_ERR_INVALID_REQUEST"},
	{NV_ERR_INVALID_STATE, "NV_ERR_INVALID_STATE"},
	{NV_ERR_NOT_SUPPORTED, "NV_ERR_NOT_SUPPORTED"},
	{NV_ERR_OBJECT_NOT_FOUND, "NV_ERR_OBJECT_NOT_FOUND"},
	{NV_ERR_OUT_OF_RANGE, "NV_ERR_OUT_OF_RANGE"},
};

constexpr int BUSY_TRIES = 1000; // of EAGAIN, a millisecond apart
constexpr useconds_t BUSY_US = 1000;

// Returns errno; 0: the driver has answered, possibly with a refusal. Retries EAGAIN for a second.
template <typename T> int send_ioctl(int fd, unsigned nr, T &params)
{
	for (int tries = 0;;) {
		if (ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, NV_IOCTL_MAGIC, nr, sizeof(params)), &params) >= 0)
			return 0;
		if (errno != EINTR && (errno != EAGAIN || ++tries > BUSY_TRIES))
			return errno;
		if (errno == EAGAIN)
			usleep(BUSY_US);
	}
}

u64 to_u64(const void *pointer)
{
	return reinterpret_cast<uintptr_t>(pointer);
}

std::string explain_node_error(int err, const std::string &node = NODE)
{
	bool gone = err == ENOENT || err == ENXIO || err == ENODEV;
	const char *todo =
		gone && node != NODE
			? "the driver has this GPU, but its node is missing; a container must be given the node"
		: gone                          ? "NVIDIA's driver is not loaded: sudo modprobe nvidia"
		: err == EACCES || err == EPERM ? "be root: sudo gpulens ..."
						: "the driver's log may say more: dmesg | grep NVRM";

	return fmt::format("{}: {}: {}; {}", node, strerrorname_np(err) ? strerrorname_np(err) : "?",
			   std::strerror(err), todo);
}

} // namespace

std::string status_name(u32 status)
{
	auto row = std::find_if(std::begin(STATUS), std::end(STATUS), [&](auto &r) { return r.status == status; });

	return row == std::end(STATUS) ? fmt::format("status {:#x}", status) : row->name;
}

std::string explain_refusal(const char *control, u32 status, const std::string &version)
{
	std::string text = fmt::format("{}: {}", control, status_name(status));

	if (status == NV_ERR_INSUFFICIENT_PERMISSIONS)
		text += "; be root: sudo gpulens ...";
	if (status == NV_ERR_INVALID_PARAM_STRUCT)
		text += fmt::format("; driver {} has other parameters for it than all known ones", version);
	return text;
}

const Attached &find_attached(const std::vector<Attached> &gpus, unsigned index)
{
	if (index >= gpus.size())
		throw Error(Error::Source, fmt::format("there is no GPU {}; the driver has {}", index, gpus.size()));
	return gpus[index];
}

bool Client::has_node()
{
	return access(NODE, F_OK) == 0;
}

Client::Client() : fd_(::open(NODE, O_RDWR | O_CLOEXEC))
{
	Version v;
	int err = fd_ < 0 ? errno : send_ioctl(fd_, NV_ESC_CHECK_VERSION_STR, v);

	try {
		if (err)
			throw Error(Error::Source, explain_node_error(err));
		version_.assign(v.text, strnlen(v.text, sizeof(v.text)));
		u32 status = alloc(0, NV01_ROOT_CLIENT, nullptr, 0, root_);
		if (status != NV_OK)
			throw Error(Error::Source, fmt::format("{}: driver {} refuses to create a client: {}", NODE,
							       version_, status_name(status)));
	} catch (...) {
		if (fd_ >= 0)
			close(fd_);
		throw;
	}
}

Client::~Client()
{
	Free all{.root = root_, .parent = 0, .object = root_};

	send_ioctl(fd_, NV_ESC_RM_FREE, all);
	close(fd_);
	for (int fd : nodes_)
		close(fd);
}

u32 Client::alloc(u32 parent, u32 cls, const void *params, u32 size, u32 &object)
{
	Alloc a{.root = root_, .parent = parent, .cls = cls, .params = to_u64(params), .params_size = size};
	int err = send_ioctl(fd_, NV_ESC_RM_ALLOC, a);

	if (err)
		throw Error(Error::Source, explain_node_error(err));
	object = a.object;
	return a.status;
}

void Client::free(u32 object)
{
	Free one{.root = root_, .parent = root_, .object = object};

	send_ioctl(fd_, NV_ESC_RM_FREE, one);
}

const void *Client::map(u32 memory, size_t bytes)
{
	MapMemory m{.client = root_,
		    .device = root_,
		    .memory = memory,
		    .length = bytes,
		    .flags = MapMemory::READ_ONLY,
		    .fd = ::open(NODE, O_RDWR | O_CLOEXEC)};
	int err = m.fd < 0 ? errno : send_ioctl(fd_, NV_ESC_RM_MAP_MEMORY, m);
	void *at = err || m.status ? MAP_FAILED : mmap(nullptr, bytes, PROT_READ, MAP_SHARED, m.fd, 0);

	if (!err && !m.status && at == MAP_FAILED)
		err = errno;
	if (m.fd >= 0)
		close(m.fd);
	if (err)
		throw Error(Error::Source, explain_node_error(err));
	if (m.status)
		throw Error(Error::Source,
			    fmt::format("{}: driver {} maps no memory: {}", NODE, version_, status_name(m.status)));
	return at;
}

u32 Client::control(u32 object, u32 cmd, void *params, u32 size)
{
	u32 status = NV_OK;

	if (layouts_compared())
		return send_control(object, cmd, params, size, find_layout(cmd, version_));
	if (auto found = confirmed_.find(cmd); found != confirmed_.end())
		return send_control(object, cmd, params, size, found->second);
	for (const OtherLayout *layout : list_layouts(cmd)) {
		status = send_control(object, cmd, params, size, layout);
		if (status == NV_ERR_INVALID_PARAM_STRUCT)
			continue;
		confirmed_[cmd] = layout;
		break;
	}
	return status;
}

u32 Client::send_control(u32 object, u32 cmd, void *params, u32 size, const OtherLayout *other)
{
	std::vector<unsigned char> theirs(other ? other->size : 0);
	Control c{.client = root_, .object = object, .cmd = cmd, .params = to_u64(params), .params_size = size};

	if (other) {
		convert_to(*other, params, theirs.data());
		c.params = to_u64(theirs.data());
		c.params_size = other->size;
	}
	int err = send_ioctl(fd_, NV_ESC_RM_CONTROL, c);
	if (err)
		throw Error(Error::Source, explain_node_error(err));
	if (other && c.status == NV_OK)
		convert_from(*other, theirs.data(), params);
	return c.status;
}

bool Client::layouts_compared() const
{
	std::string major = version_.substr(0, version_.find('.'));

	return std::find(std::begin(COMPARED_VERSIONS), std::end(COMPARED_VERSIONS), major) !=
	       std::end(COMPARED_VERSIONS);
}

std::vector<Attached> Client::gpus()
{
	std::vector<Attached> list;
	AttachedIds ids;
	u32 status = query(ids);

	if (status != NV_OK)
		throw Error(Error::Source, fmt::format("{}: driver {} does not list its GPUs: {}", NODE, version_,
						       status_name(status)));
	for (u32 id : ids.gpu_ids) {
		if (id == AttachedIds::NONE)
			break;
		IdInfo info{.gpu_id = id};
		PciInfo pci{.gpu_id = id};
		status = query(info);
		Attached gpu{.device = info.device, .subdevice = info.subdevice};
		if (status != NV_OK)
			gpu.error = fmt::format("{}: driver {} does not identify GPU {:#x}: {}", NODE, version_, id,
						status_name(status));
		if (query(pci) == NV_OK)
			gpu.pci = fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.slot);
		list.push_back(gpu);
	}
	std::sort(list.begin(), list.end(), [](const Attached &a, const Attached &b) { return a.pci < b.pci; });
	for (unsigned i = 0; i < list.size(); i++)
		list[i].index = i;
	return list;
}

namespace {

// Returns the X of a GPU's /dev/nvidiaX: from the driver's /proc, or else the GPU's index.
unsigned minor_of(const std::string &pci, unsigned index)
{
	std::ifstream file("/proc/driver/nvidia/gpus/" + pci + "/information");
	std::string line;

	while (std::getline(file, line))
		if (line.compare(0, 13, "Device Minor:") == 0)
			return static_cast<unsigned>(std::strtoul(line.c_str() + 13, nullptr, 10));
	return index;
}

} // namespace

Subdevice Client::open(const Attached &gpu)
{
	DeviceAlloc device{.device_id = gpu.device};
	SubdeviceAlloc subdevice{.subdevice_id = gpu.subdevice};
	u32 parent = 0;
	Subdevice s;

	if (!gpu.error.empty())
		throw GpuError(EIO, gpu.error);
	// The driver answers queries about a GPU only to processes that have its node open. No ioctl is sent to it.
	std::string node = fmt::format("/dev/nvidia{}", minor_of(gpu.pci, gpu.index));
	int fd = ::open(node.c_str(), O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		int err = errno;
		throw GpuError(err, explain_node_error(err, node));
	}
	nodes_.push_back(fd);
	u32 status = alloc(root_, NV01_DEVICE_0, &device, sizeof(device), parent);

	if (status == NV_OK)
		status = alloc(parent, NV20_SUBDEVICE_0, &subdevice, sizeof(subdevice), s.handle);
	if (status != NV_OK)
		throw GpuError(EIO, fmt::format("{}: driver {} gives this process no access to GPU {}: {}", NODE,
						version_, gpu.pci, status_name(status)));
	return s;
}

} // namespace tool::rm
