// SPDX-License-Identifier: GPL-2.0
// A client of NVIDIA's resource manager: questions through /dev/nvidiactl, and nothing else. It maps nothing, requests
// no register operation and changes no setting. The node of a GPU is open meanwhile, without which the driver refuses to
// talk about it (open-gpu-kernel-modules 580.142, kernel-open/nvidia/nv.c, nv_is_gpu_accessible()).
#pragma once
#include "lib/base/errors.hpp"
#include "lib/rm/abi.hpp"

#include <string>
#include <vector>

namespace tool::rm {

// "NV_ERR_NOT_SUPPORTED", or the number of one without a name here.
std::string status_name(u32 status);

// What a refusal means: question and status, and what to do or why it may be.
std::string refusal(const char *question, u32 status, const std::string &version);

struct Attached {
	u32 device = 0, subdevice = 0; // instances, for Client::open()
	unsigned place = 0;            // among all, in PCI order
	std::string pci{};             // "0000:01:00.0"; empty: not told
	std::string trouble{};         // why the driver cannot be asked about it; empty: it can
};

// Why one GPU cannot be asked about, while others may be.
struct GpuError : Error {
	GpuError(int e, const std::string &why) : Error(Source, why), err(e) {}
	int err; // positive errno
};

// Throws Error: there are not so many.
const Attached &the_one(const std::vector<Attached> &there, unsigned place);

// A GPU as an object of the client's.
struct Subdevice {
	u32 handle = 0;
};

class Client {
public:
	// Is there such a driver? Says nothing about whether it answers.
	static bool there();
	// Throws Error: no driver, not allowed, no client to be had.
	Client();
	~Client();
	Client(const Client &) = delete;
	Client &operator=(const Client &) = delete;

	const std::string &version() const { return version_; } // "580.159.04"
	bool compared() const;                                  // its layouts were, see COMPARED_VERSIONS
	// GPUs that the driver has initialised, in PCI order.
	std::vector<Attached> gpus();
	// Throws GpuError.
	Subdevice open(const Attached &gpu);

	// The status. The parameters are as the driver left them.
	template <typename Params> u32 ask(Params &params)
	{
		return control(root_, Params::CMD, &params, sizeof(params));
	}
	template <typename Params> u32 ask(const Subdevice &of, Params &params)
	{
		return control(of.handle, Params::CMD, &params, sizeof(params));
	}

private:
	u32 control(u32 object, u32 cmd, void *params, u32 size);
	u32 alloc(u32 parent, u32 cls, const void *params, u32 size, u32 &object);

	int fd_ = -1;
	std::vector<int> nodes_; // of GPUs, open as long as they are asked about
	u32 root_ = 0;
	std::string version_;
};

} // namespace tool::rm
