// SPDX-License-Identifier: GPL-2.0
// Code for GPUs. clang compiles this OpenCL C to PTX for compute capability 5.0 and later, without CUDA (CMakeLists.txt), and the
// driver compiles that for its GPU: a machine that builds or runs gpulens needs no nvcc. Times are %globaltimer, in ns. Special
// registers: "PTX ISA", chapter "Special Registers".

typedef unsigned int u32;
typedef unsigned long u64;

#define TILE 16 // of multiply, kernels.hpp

static u64 read_timer(void)
{
	u64 ns;

	__asm__ volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

static u32 read_sm(void)
{
	u32 sm;

	__asm__ volatile("mov.u32 %0, %%smid;" : "=r"(sm));
	return sm;
}

static void wait_for_block(void)
{
	__asm__ volatile("bar.sync 0;" ::: "memory");
}

kernel void stamp(global u64 *out)
{
	*out = read_timer();
}

kernel void spin(global u64 *out, u64 ns)
{
	u64 begin = read_timer(), end;
	u32 block = __nvvm_read_ptx_sreg_ctaid_x();

	do
		end = read_timer();
	while (end - begin < ns);
	if (__nvvm_read_ptx_sreg_tid_x())
		return;
	out[3 * block] = begin;
	out[3 * block + 1] = end;
	out[3 * block + 2] = read_sm();
}

static u32 put_slice(global u64 *out, u32 count, u32 room, u64 begin, u64 end)
{
	if (count < room) {
		out[1 + 2 * count] = begin;
		out[2 + 2 * count] = end;
	}
	return count + 1;
}

kernel void log_slices(global u64 *out, global volatile u32 *stop, u64 gap, u64 limit, u32 room)
{
	u64 first = read_timer(), begin = first, last = first, looked = first, now;
	u32 count = 0;

	for (;;) {
		now = read_timer();
		if (now - last > gap) {
			count = put_slice(out, count, room, begin, last);
			begin = now;
		}
		last = now;
		if (now - looked < 1000000) // *stop is in the machine's memory
			continue;
		looked = now;
		if (*stop || now - first >= limit)
			break;
	}
	out[0] = put_slice(out, count, room, begin, last);
}

kernel void multiply(global const float *a, global const float *b, global float *c, u32 width)
{
	local float left[TILE][TILE], right[TILE][TILE];
	u32 x = __nvvm_read_ptx_sreg_tid_x(), y = __nvvm_read_ptx_sreg_tid_y();
	u32 row = TILE * __nvvm_read_ptx_sreg_ctaid_y() + y, column = TILE * __nvvm_read_ptx_sreg_ctaid_x() + x;
	float sum = 0;

	for (u32 tile = 0; tile < width; tile += TILE) {
		left[y][x] = a[row * width + tile + x];
		right[y][x] = b[(tile + y) * width + column];
		wait_for_block();
		for (u32 i = 0; i < TILE; i++)
			sum += left[y][i] * right[i][x];
		wait_for_block();
	}
	c[row * width + column] = sum;
}

struct Counter {
	u64 rounds, began, ended;
};

kernel void work(u32 rounds, global volatile struct Counter *counter, global u32 *sum)
{
	u32 value = __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x() + 1;
	int first = value == 1;

	if (first)
		counter->began = read_timer();
	for (u32 i = 0; i < rounds; i++) {
		for (u32 j = 0; j < 500; j++) {
			value = value * 1664525 + 1013904223;
			__asm__ volatile("" : "+r"(value)); // or the compiler computes several steps at once
		}
		if (first) {
			counter->rounds = counter->rounds + 1;
			__asm__ volatile("membar.sys;" ::: "memory");
		}
	}
	if (first)
		counter->ended = read_timer();
	__asm__ volatile("red.global.add.u32 [%0], %1;" ::"l"(sum), "r"(value) : "memory");
}
