// SPDX-License-Identifier: GPL-2.0
// The part of CUDA's driver API that the library calls, loaded at run time (cuda.h is in no free package), and a probe
// kernel that reports the SMs it ran on.
#pragma once
#include "lib/launch/launch_hook.hpp"
#include "partition/layout.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gpulens {

// CUdevResource of cuda.h (CUDA 12.4 to 13.0), 144 bytes. Only the members that are read have names.
struct SmResource {
	uint32_t type; // 1: SMs
	unsigned char padding[92];
	uint32_t sms, least, alignment;
	unsigned char rest[36];
};
static_assert(sizeof(SmResource) == 144 && offsetof(SmResource, sms) == 96);

// Functions of libcuda.so.1; load_cuda() has their names there. All return a CUresult, 0 for success.
struct Cuda {
	void *library; // of dlopen()
	int (*init)(unsigned);
	int (*context)(void **);
	int (*set_context)(void *);
	int (*retain)(void **, int device);
	int (*device)(int *);
	int (*by_pci)(int *device, const char *);
	int (*pci)(char *, int, int device);
	int (*uuid)(unsigned char (*)[16], int device);
	int (*attribute)(int *, int which, int device);
	int (*load)(void **, const void *);
	int (*unload)(void *);
	int (*function)(void **, void *, const char *);
	int (*alloc)(uint64_t *, size_t);
	int (*free)(uint64_t);
	int (*copy)(void *, uint64_t, size_t);
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *stream,
		      void **, void **);
	int (*make_stream)(void **, unsigned flags);
	int (*free_stream)(void *);
	int (*wait)(void *stream);

	bool green; // the functions of green contexts, which follow, exist (CUDA 12.4 and later)
	int (*resource)(int device, SmResource *, unsigned type);
	int (*split)(SmResource *groups, unsigned *count, const SmResource *input, SmResource *rest, unsigned flags,
		     unsigned least);
	int (*describe)(void **, SmResource *, unsigned count);
	int (*make_green)(void **, void *description, int device, unsigned flags);
	int (*free_green)(void *);
	int (*green_stream)(void **, void *green, unsigned flags, int priority);
};

// All functions below throw Error.

// Returns the driver API; the first call loads and initializes it.
const Cuda &cuda();
// Throws Error (Failed) if result is not CUDA_SUCCESS; call names the function in the message.
void check(int result, const char *call);

// Returns the device of the calling thread's CUDA context. If the thread has no context, makes the primary context of
// device 0 current in it.
int device_of_context();
// Makes a device's primary context current in the calling thread.
void make_current(int device);

// A GPU as NVIDIA's driver reports it.
struct KnownGpu {
	std::string pci;    // PCI address as CUDA writes it, "0000:01:00.0"
	std::string driver; // version of NVIDIA's driver
	Layout layout;      // without TPCs if the driver does not report the GPU's SMs
	unsigned sms;
};
// device: CUDA's number of the device. Throws Error (Source) if the driver does not report the GPU.
KnownGpu gpu_of_device(int device);
GpuUuid uuid_of_device(int device);
// Returns major * 10 + minor of the compute capability; 0 if CUDA does not report it.
unsigned capability_of_device(int device);
// Returns whether CUDA launches cooperative kernels on a device; true where it does not report that.
bool has_cooperative_launches(int device);
bool is_under_mps(int device);
// Throws Error (Unsupported) under MPS: there, %smid of a kernel that is restricted to some SMs counts only these, from 0
// (seen with driver 580).
void check_smid_is_physical(int device);

// A kernel whose blocks write down their %smid. Each block runs for about 20 us, so that a full grid covers all SMs.
class Probe {
public:
	// sms: number of SMs of the GPU.
	explicit Probe(unsigned sms);
	Probe(const Probe &) = delete;
	Probe &operator=(const Probe &) = delete;
	~Probe();

	// Runs the kernel in a CUstream (nullptr: the default stream), waits for it, and returns the %smid of its
	// blocks.
	std::set<unsigned> run(void *stream = nullptr);

private:
	static constexpr unsigned BLOCKS_PER_SM = 8;
	const Cuda &cuda_;
	std::vector<unsigned> smids_; // by block
	void *module_ = nullptr, *function_ = nullptr;
	uint64_t memory_ = 0;
};

} // namespace gpulens
