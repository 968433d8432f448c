// SPDX-License-Identifier: GPL-2.0
// A client of NVIDIA's resource manager: sends queries through /dev/nvidiactl, and has the driver's records of context
// switches written to memory of its own (context_switches.hpp). It requests no register operation and changes no
// setting. It keeps the node of each GPU open, because the driver otherwise refuses
// queries about that GPU (open-gpu-kernel-modules 580.142, kernel-open/nvidia/nv.c, nv_is_gpu_accessible()).
#pragma once
#include "lib/base/errors.hpp"
#include "lib/rm/abi.hpp"

#include <map>
#include <string>
#include <vector>

namespace tool::rm {

struct OtherLayout;

// Returns "NV_ERR_NOT_SUPPORTED"; "status 0x57" if the status has no name here.
std::string status_name(u32 status);

// Returns the control's name and its status, and what the user can do about it. version: of the driver.
std::string explain_refusal(const char *control, u32 status, const std::string &version);

struct Attached {
	u32 device = 0, subdevice = 0; // instances, for Client::open()
	unsigned index = 0;            // among all, in PCI order
	std::string pci{};             // "0000:01:00.0"; empty: unknown
	std::string error{};           // why the driver refuses queries about it; empty: it does not
};

// Why one GPU cannot be queried, while others may be.
struct GpuError : Error {
	GpuError(int e, const std::string &why) : Error(Source, why), err(e) {}
	int err; // positive errno
};

// Throws Error if there is no GPU with this index.
const Attached &find_attached(const std::vector<Attached> &gpus, unsigned index);

// A GPU as an object of the client.
struct Subdevice {
	u32 handle = 0;
};

class Client {
public:
	// Does the driver's node exist? The driver may still refuse.
	static bool has_node();
	// Throws Error if there is no driver, or it does not give this process a client.
	Client();
	~Client();
	Client(const Client &) = delete;
	Client &operator=(const Client &) = delete;

	const std::string &version() const { return version_; } // "580.159.04"
	bool layouts_compared() const;                          // version() is in COMPARED_VERSIONS
	// Returns the GPUs that the driver has initialised, in PCI order.
	std::vector<Attached> gpus();
	// Throws GpuError.
	Subdevice open(const Attached &gpu);

	// Sends a control and returns its status. The driver fills in the parameters.
	template <typename Params> u32 query(Params &params)
	{
		return control(root_, Params::CMD, &params, sizeof(params));
	}
	template <typename Params> u32 query(const Subdevice &gpu, Params &params)
	{
		return control(gpu.handle, Params::CMD, &params, sizeof(params));
	}

	// Of an object that make() made.
	template <typename Params> u32 query(u32 object, Params &params)
	{
		return control(object, Params::CMD, &params, sizeof(params));
	}
	u32 query(u32 object, u32 cmd) { return control(object, cmd, nullptr, 0); }

	// Makes an object of the client itself, which free() or the client's end frees. Returns a status.
	template <typename Params> u32 make(u32 cls, const Params &params, u32 &object, u32 size = sizeof(Params))
	{
		return alloc(root_, cls, &params, size, object);
	}
	void free(u32 object);
	// Maps memory that make() made, for reading. Throws Error.
	const void *map(u32 memory, size_t bytes);

private:
	u32 control(u32 object, u32 cmd, void *params, u32 size);
	u32 send_control(u32 object, u32 cmd, void *params, u32 size, const OtherLayout *other);
	u32 alloc(u32 parent, u32 cls, const void *params, u32 size, u32 &object);

	int fd_ = -1;
	std::vector<int> nodes_; // of the opened GPUs
	u32 root_ = 0;
	std::string version_;
	std::map<u32, const OtherLayout *> confirmed_; // by control; of a version that is not in COMPARED_VERSIONS
};

} // namespace tool::rm
