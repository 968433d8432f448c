// SPDX-License-Identifier: GPL-2.0
// Kernels for GPUs, as PTX, so that a machine needs NVIDIA's driver only and no nvcc. Made of kernels.cl.
#pragma once

namespace gpulens {

// Kernels of PTX:
//	stamp(u64 *out)      out[0] = %globaltimer
//	spin(u64 *out, u64 ns)
//	                     each block spins for that time; out: begin, end and %smid of each block
//	log_slices(u64 *out, u32 *stop, u64 gap_ns, u64 limit_ns, u32 room)
//	                     one thread reads %globaltimer until *stop is not 0 or limit_ns have passed. A step of more than gap_ns
//	                     ends a slice. out[0]: number of slices; behind it begin and end of each, of the first room ones.
//	multiply(float *a, float *b, float *c, u32 width)
//	                     c = a * b for square matrices; blocks of 16 by 16 threads, width / 16 by width / 16 of them
//	work(u32 rounds, Counter *counter, u32 *sum)
//	                     each thread computes for so many rounds, of about a microsecond, and adds its result to *sum. The first
//	                     thread of the first block counts them in counter->rounds, and writes when it began and ended.
extern const char KERNELS_PTX[];

constexpr unsigned TILE = 16; // of multiply

struct Counter {
	unsigned long long rounds, began, ended;
};

} // namespace gpulens
