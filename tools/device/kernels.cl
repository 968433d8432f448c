// SPDX-License-Identifier: GPL-2.0
// Code for GPUs. clang compiles this OpenCL C to PTX for compute capability 5.0 and later, without CUDA (CMakeLists.txt), and the
// driver compiles that for its GPU: a machine that builds or runs gpulens needs no nvcc. Times are %globaltimer, in ns. Special
// registers: "PTX ISA", chapter "Special Registers".

typedef unsigned int u32;
typedef unsigned long u64;
typedef u32 uint4 __attribute__((ext_vector_type(4)));

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

// The index of the thread among all that were launched, and their number.
static u64 read_index(void)
{
	return (u64)__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
}

static u64 count_threads(void)
{
	return (u64)__nvvm_read_ptx_sreg_nctaid_x() * __nvvm_read_ptx_sreg_ntid_x();
}

// The shared memory whose size is the launch's.
__asm__(".extern .shared .align 16 .b8 launched[];");

static local float *find_shared(void)
{
	local float *at;

	__asm__("mov.u64 %0, launched;" : "=l"(at));
	return at;
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

kernel void copy(global const uint4 *from, global uint4 *to, u64 count)
{
	for (u64 i = read_index(); i < count; i += count_threads())
		to[i] = from[i];
}

kernel void nothing(void)
{
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

/* -- blocks that record when and on which SM they run -- */

struct BlockRecord {
	u64 start, end;
	u32 sm;
};

static void begin_block(global struct BlockRecord *records)
{
	u32 block = __nvvm_read_ptx_sreg_ctaid_x();

	if (__nvvm_read_ptx_sreg_tid_x())
		return;
	records[block].start = read_timer();
	records[block].sm = read_sm();
}

static void end_block(global struct BlockRecord *records)
{
	wait_for_block();
	if (!__nvvm_read_ptx_sreg_tid_x())
		records[__nvvm_read_ptx_sreg_ctaid_x()].end = read_timer();
}

kernel void run_spin(global struct BlockRecord *records, u64 ns)
{
	u64 start = read_timer();

	begin_block(records);
	while (read_timer() - start < ns)
		;
	end_block(records);
}

kernel void run_copy(global struct BlockRecord *records, global const uint4 *from, global uint4 *to, u64 count, u32 repeat)
{
	begin_block(records);
	for (u32 r = 0; r < repeat; r++)
		for (u64 i = read_index(); i < count; i += count_threads())
			to[i] = from[i];
	end_block(records);
}

kernel void run_matrix(global struct BlockRecord *records, global const float *a, global const float *b, global float *c,
		       u32 width, u32 repeat, u32 side)
{
	local float *ta = find_shared(), *tb = ta + side * side;
	u32 thread = __nvvm_read_ptx_sreg_tid_x(), blocks = __nvvm_read_ptx_sreg_nctaid_x();
	u32 x = thread % side, y = thread / side, n = (width + side - 1) / side;

	begin_block(records);
	for (u32 r = 0; r < repeat; r++)
		for (u32 tile = __nvvm_read_ptx_sreg_ctaid_x(); tile < n * n; tile += blocks) {
			u32 row = tile / n * side + y, column = tile % n * side + x;
			float sum = 0;
			for (u32 t = 0; t < n; t++) {
				u32 i = t * side + x, j = t * side + y;
				ta[y * side + x] = row < width && i < width ? a[(u64)row * width + i] : 0;
				tb[y * side + x] = j < width && column < width ? b[(u64)j * width + column] : 0;
				wait_for_block();
				for (u32 k = 0; k < side; k++)
					sum += ta[y * side + k] * tb[k * side + x];
				wait_for_block();
			}
			if (row < width && column < width)
				c[(u64)row * width + column] = sum;
		}
	end_block(records);
}

kernel void run_walk(global struct BlockRecord *records, global const u64 *words, u64 count, u32 reads, global u64 *sums)
{
	u64 thread = read_index(), index = count / count_threads() * thread % count, sum = 0;

	begin_block(records);
	for (u32 i = 0; i < reads; i++) {
		index = words[index];
		sum += index;
	}
	sums[thread] = sum;
	end_block(records);
}

/* -- the GPU's clock beside the CPU's -- */

struct Mailbox {
	u32 asked, answered;
	u64 time;
};

kernel void answer_requests(global volatile struct Mailbox *mail, u32 rounds, u64 limit)
{
	u64 start = read_timer();

	for (u32 i = 1; i <= rounds; i++) {
		while (mail->asked != i)
			if (read_timer() - start > limit)
				return;
		mail->time = read_timer();
		__asm__ volatile("membar.sys;" ::: "memory");
		mail->answered = i;
	}
}

kernel void measure_resolution(global volatile struct Mailbox *mail, u32 steps)
{
	u64 least = ~0UL;

	for (u32 i = 0; i < steps; i++) {
		u64 from = read_timer(), to;
		do
			to = read_timer();
		while (to == from);
		if (to - from < least)
			least = to - from;
	}
	mail->time = least;
}
