// SPDX-License-Identifier: GPL-2.0
// Kernels and properties of a GPU by CUDA. Output is JSON.
//	kernels info            the properties that CUDA reports
//	kernels clusters        lists of the SMs (%smid) of each thread-block cluster
//	kernels where           the SMs (%smid) of 4,096 blocks of 1,024 threads: of a kernel, of a kernel in a stream, and of
//	                        a kernel in a graph
//	kernels idle            makes a context, prints "ready" and waits for the end of standard input
//	kernels spin SECONDS    kernels of 20 ms, one after the other; prints "ready" before the first
//	kernels compute|memory SECONDS
//	                        makes a context, prints "ready", waits for a line, and launches kernels that compute, or read and
//	                        write 1 GiB, one after the other; prints the median of their times, in ms
#include "check.cuh"

#include <algorithm>
#include <chrono>
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <time.h>
#include <vector>

__global__ void spin(long long ns)
{
	long long begin, now;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
	do
		asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
	while (now - begin < ns);
}

__global__ void where(unsigned *sm)
{
	unsigned id;

	asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
	sm[blockIdx.x] = id;
	// Long enough that the blocks spread over all SMs.
	for (int i = 0; i < 200; i++)
		__nanosleep(1000);
}

__global__ void compute(float *result)
{
	float a = threadIdx.x, b = blockIdx.x;

	for (int i = 0; i < 400000; i++)
		a = a * 0.999f + b;
	if (a == 1.5f) // never, but the compiler does not know it
		*result = a;
}

__global__ void memory(float4 *to, const float4 *from, size_t n)
{
	for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x)
		to[i] = from[i];
}

static int measure_kernels(bool computes, double seconds)
{
	using clock = std::chrono::steady_clock;
	using milliseconds = std::chrono::duration<double, std::milli>;
	const size_t bytes = size_t{512} << 20;
	std::vector<double> times;
	char *data;

	CHECK(cudaMalloc(&data, 2 * bytes));
	auto launch = [&] {
		if (computes)
			compute<<<1056, 256>>>(reinterpret_cast<float *>(data));
		else
			memory<<<1056, 256>>>(reinterpret_cast<float4 *>(data),
					      reinterpret_cast<const float4 *>(data + bytes), bytes / sizeof(float4));
		CHECK(cudaDeviceSynchronize());
	};
	launch();
	puts("ready");
	fflush(stdout);
	getchar();
	for (clock::time_point begin = clock::now(), now = begin; now - begin < std::chrono::duration<double>(seconds);) {
		launch();
		clock::time_point after = clock::now();
		times.push_back(milliseconds(after - now).count());
		now = after;
	}
	std::sort(times.begin(), times.end());
	printf("%.4f\n", times[times.size() / 2]);
	return 0;
}

static int info()
{
	cudaDeviceProp p;

	CHECK(cudaGetDeviceProperties(&p, 0));
	printf("{\"name\": \"%s\", \"sms\": %d, \"asyncEngineCount\": %d, \"memory\": %zu}\n", p.name,
	       p.multiProcessorCount, p.asyncEngineCount, p.totalGlobalMem);
	return 0;
}

static int clusters()
{
	const unsigned blocks = 8 * 1024;
	std::vector<unsigned> host(blocks);
	unsigned *sm;
	bool first = true;

	CHECK(cudaMalloc(&sm, blocks * sizeof(*sm)));
	printf("[");
	for (unsigned size : {2, 4, 8}) {
		cudaLaunchAttribute attribute = {};
		cudaLaunchConfig_t config = {};
		attribute.id = cudaLaunchAttributeClusterDimension;
		attribute.val.clusterDim.x = size;
		attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
		config.gridDim = dim3(blocks);
		config.blockDim = dim3(1024);
		config.attrs = &attribute;
		config.numAttrs = 1;
		CHECK(cudaLaunchKernelEx(&config, where, sm));
		CHECK(cudaMemcpy(host.data(), sm, blocks * sizeof(*sm), cudaMemcpyDeviceToHost));
		for (unsigned i = 0; i < blocks; i += size) {
			printf("%s[", first ? "" : ",");
			first = false;
			for (unsigned j = 0; j < size; j++)
				printf("%s%u", j ? "," : "", host[i + j]);
			printf("]");
		}
	}
	printf("]\n");
	return 0;
}

// Prints a line of JSON.
static void print_sms(const char *how, unsigned *memory)
{
	std::vector<unsigned> host(4096);
	const char *comma = "";

	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(host.data(), memory, host.size() * sizeof(host[0]), cudaMemcpyDeviceToHost));
	printf("{\"how\": \"%s\", \"sms\": [", how);
	for (unsigned sm : std::set<unsigned>(host.begin(), host.end())) {
		printf("%s%u", comma, sm);
		comma = ", ";
	}
	printf("]}\n");
}

static int print_placements()
{
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t ready;
	unsigned *sm;

	CHECK(cudaMalloc(&sm, 4096 * sizeof(*sm)));
	where<<<4096, 1024>>>(sm);
	print_sms("kernel", sm);
	CHECK(cudaStreamCreate(&stream));
	where<<<4096, 1024, 0, stream>>>(sm);
	print_sms("stream", sm);
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	where<<<4096, 1024, 0, stream>>>(sm);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&ready, graph, 0));
	for (int i = 0; i < 2; i++) {
		CHECK(cudaGraphLaunch(ready, stream));
		print_sms("graph", sm);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "info"))
		return info();
	if (argc > 1 && !strcmp(argv[1], "clusters"))
		return clusters();
	if (argc > 1 && !strcmp(argv[1], "where"))
		return print_placements();
	if (argc > 2 && (!strcmp(argv[1], "compute") || !strcmp(argv[1], "memory")))
		return measure_kernels(argv[1][0] == 'c', atof(argv[2]));
	CHECK(cudaFree(nullptr));
	if (argc > 2 && !strcmp(argv[1], "spin")) {
		time_t end = time(nullptr) + atol(argv[2]);
		puts("ready");
		fflush(stdout);
		while (time(nullptr) < end) {
			spin<<<132, 256>>>(20000000);
			CHECK(cudaDeviceSynchronize());
		}
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "idle")) {
		puts("ready");
		fflush(stdout);
		while (getchar() != EOF)
			;
		return 0;
	}
	fprintf(stderr, "usage: kernels info|clusters|where|idle|spin SECONDS|compute SECONDS|memory SECONDS\n");
	return 2;
}
