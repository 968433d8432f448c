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
//	copy(uint4 *from, uint4 *to, u64 count)
//	nothing()
// Kernels of gpulens-probe-kernels, whose blocks record when and on which SM they run:
//	run_spin(BlockRecord *records, u64 ns)
//	run_copy(BlockRecord *records, uint4 *from, uint4 *to, u64 count, u32 repeat)
//	run_matrix(BlockRecord *records, float *a, float *b, float *c, u32 width, u32 repeat, u32 side)
//	                     c = a * b for square matrices of that width. A tile has side * side floats, one for each thread of a
//	                     block; block b computes tiles b, b + number of blocks, ... Shared memory: two tiles.
//	run_walk(BlockRecord *records, u64 *words, u64 count, u32 reads, u64 *sums)
//	                     each word is the index of the next one to read. Threads begin at places that are spread evenly. sums:
//	                     a word for each thread, so that the reads are not left out
//	answer_requests(Mailbox *mail, u32 rounds, u64 limit)
//	                     replies to each request with the GPU's time; gives up after limit ns
//	measure_resolution(Mailbox *mail, u32 steps)
//	                     mail->time: the smallest step of the GPU's clock
extern const char KERNELS_PTX[];

constexpr unsigned TILE = 16; // of multiply

struct BlockRecord {
	unsigned long long start, end;
	unsigned sm;
};

// Pinned host memory through which CPU and GPU exchange requests and times.
struct Mailbox {
	volatile unsigned asked, answered; // number of the last request and reply
	volatile unsigned long long time;  // of the reply, GPU clock, ns
};

struct Counter {
	unsigned long long rounds, began, ended;
};

} // namespace gpulens
