// SPDX-License-Identifier: GPL-2.0
// CUDA's driver API, as far as it is used (cuda.h is in no free package), and a kernel that tells where it ran.
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

// A CUdevResource of cuda.h (CUDA 12.4 to 13.0): 144 bytes, of which those are named that are read.
struct SmResource {
	uint32_t type; // 1: SMs
	unsigned char padding[92];
	uint32_t sms, least, alignment;
	unsigned char rest[36];
};
static_assert(sizeof(SmResource) == 144 && offsetof(SmResource, sms) == 96);

struct Cuda {
	void *library;
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

	// Green contexts: from CUDA 12.4 on; all there, or green is false.
	bool green;
	int (*resource)(int device, SmResource *, unsigned type);
	int (*split)(SmResource *groups, unsigned *count, const SmResource *of, SmResource *rest, unsigned flags,
		     unsigned least);
	int (*describe)(void **, SmResource *, unsigned count);
	int (*make_green)(void **, void *description, int device, unsigned flags);
	int (*free_green)(void *);
	int (*green_stream)(void **, void *green, unsigned flags, int priority);
};

// Loaded and initialized, once. Like all here it throws Error.
const Cuda &cuda();
void check(int result, const char *what);

// Of the calling thread's CUDA context; where it has none, device 0, whose primary context becomes the thread's.
int device_of_context();
void make_current(int device);

// What NVIDIA's driver says of a GPU.
struct KnownGpu {
	std::string pci; // as CUDA has it, "0000:01:00.0"
	Layout layout;
	unsigned sms;
};
KnownGpu gpu_of_device(int device);
GpuUuid uuid_of_device(int device);
// Throws where it is not: under MPS (seen with driver 580) a kernel that was kept from SMs finds the others numbered from
// 0 on.
void smid_must_be_the_gpus(int device);

// Its blocks stay some 20 us, so that as many as fit are spread over all SMs, and note where they were.
class Probe {
public:
	explicit Probe(unsigned sms); // of the GPU
	Probe(const Probe &) = delete;
	Probe &operator=(const Probe &) = delete;
	~Probe();

	// SMs (%smid) that it ran on.
	std::set<unsigned> run(void *stream = nullptr);

private:
	static constexpr unsigned BLOCKS_PER_SM = 8;
	const Cuda &cuda_;
	std::vector<unsigned> where_;
	void *module_ = nullptr, *function_ = nullptr;
	uint64_t memory_ = 0;
};

} // namespace gpulens
