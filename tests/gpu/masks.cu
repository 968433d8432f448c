// SPDX-License-Identifier: GPL-2.0
// Launches kernels with masks of TPCs through libsmctrl's interface. Prints a line of JSON each: the enabled TPCs, and
// the SMs (%smid) of 4,096 blocks of 1,024 threads.
//	masks gpcs    a launch on each GPC
//	masks streams a mask of the lower half for all streams and of TPC 65 for a stream: launches in that stream, in another,
//	              and in the first again
//	masks coop N  a cooperative launch of N blocks with a mask of TPCs 0 to 7, 16 SMs, for all streams
//	masks global  a mask of the lower half for all launches, a launch on TPC 65, and another launch on the lower half
#include "check.cuh"
#include "libsmctrl.h"

#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <vector>

__global__ void where(unsigned *sm)
{
	unsigned id;

	asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
	if (!threadIdx.x)
		sm[blockIdx.x] = id;
	for (int i = 0; i < 20; i++)
		__nanosleep(1000);
}

__global__ void meet(unsigned *sm)
{
	cooperative_groups::this_grid().sync();
	if (!threadIdx.x)
		sm[blockIdx.x] = 1;
}

static void run_kernel(const char *what, uint128_t enabled, unsigned *memory, cudaStream_t stream = nullptr)
{
	std::vector<unsigned> host(4096);
	const char *comma = "";

	where<<<4096, 1024, 0, stream>>>(memory);
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(host.data(), memory, host.size() * sizeof(host[0]), cudaMemcpyDeviceToHost));
	printf("{\"what\": \"%s\", \"tpcs\": [", what);
	for (unsigned tpc = 0; tpc < 128; tpc++)
		if (enabled >> tpc & 1) {
			printf("%s%u", comma, tpc);
			comma = ", ";
		}
	printf("], \"sms\": [");
	comma = "";
	for (unsigned sm : std::set<unsigned>(host.begin(), host.end())) {
		printf("%s%u", comma, sm);
		comma = ", ";
	}
	printf("]}\n");
}

int main(int argc, char **argv)
{
	uint128_t *gpcs, half = ((uint128_t)1 << 33) - 1, last = (uint128_t)1 << 65;
	uint32_t count;
	unsigned *memory;

	CHECK(cudaMalloc(&memory, 4096 * sizeof(*memory)));
	if (argc > 1 && !strcmp(argv[1], "gpcs")) {
		if (libsmctrl_get_gpc_info_ext(&count, &gpcs, 0))
			return 1;
		for (uint32_t i = 0; i < count; i++) {
			libsmctrl_set_next_mask_ext(~gpcs[i]);
			run_kernel("gpc", gpcs[i], memory);
		}
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "global")) {
		libsmctrl_set_global_mask_ext(~half);
		run_kernel("global", half, memory);
		libsmctrl_set_next_mask_ext(~last);
		run_kernel("next", last, memory);
		run_kernel("global", half, memory);
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "streams")) {
		cudaStream_t masked, other;
		CHECK(cudaStreamCreate(&masked));
		CHECK(cudaStreamCreate(&other));
		libsmctrl_set_global_mask_ext(~half);
		libsmctrl_set_stream_mask_ext(masked, ~last);
		run_kernel("stream", last, memory, masked);
		run_kernel("global", half, memory, other);
		run_kernel("stream", last, memory, masked);
		return 0;
	}
	if (argc > 2 && !strcmp(argv[1], "coop")) {
		void *parameters[] = {&memory};
		libsmctrl_set_global_mask_ext(~(uint128_t)0xff);
		CHECK(cudaLaunchCooperativeKernel((void *)meet, dim3(atoi(argv[2])), dim3(1024), parameters, 0, nullptr));
		CHECK(cudaDeviceSynchronize());
		printf("{\"blocks\": %s}\n", argv[2]);
		return 0;
	}
	fprintf(stderr, "usage: masks gpcs|streams|global|coop N\n");
	return 2;
}
