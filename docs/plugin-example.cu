// SPDX-License-Identifier: GPL-2.0
// An example of a plugin of gpulens-lab probe-kernels: a kernel whose blocks spin for the nanoseconds of additional_info.
//
//	nvcc -shared -Xcompiler -fPIC -o plugin-example.so plugin-example.cu
//
// gpulens-plugin.h, which gpulens installs, describes the interface; docs/blocks.md has a scenario.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <gpulens-plugin.h>
#include <time.h>

namespace {

struct State {
	unsigned long long ns;
	cudaStream_t stream;
	uint64_t *gpu_times; // of the GPU's memory
	uint32_t *gpu_sms;
	KernelTimes kernel; // what copy_out() returns
};

bool succeeded(cudaError_t result, const char *call)
{
	if (result != cudaSuccess)
		fprintf(stderr, "plugin-example: %s: %s\n", call, cudaGetErrorString(result));
	return result == cudaSuccess;
}

#define CHECK(call) succeeded(call, #call)

double seconds_now()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__device__ unsigned long long gpu_now()
{
	unsigned long long t;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
	return t;
}

__global__ void spin_for(unsigned long long ns, uint64_t *times, uint32_t *sms)
{
	unsigned long long start = gpu_now();

	if (!threadIdx.x) {
		times[2 * blockIdx.x] = start;
		asm volatile("mov.u32 %0, %%smid;" : "=r"(sms[blockIdx.x]));
	}
	while (gpu_now() - start < ns)
		;
	__syncthreads();
	if (!threadIdx.x)
		times[2 * blockIdx.x + 1] = gpu_now();
}

bool create_stream(State &s, int priority)
{
	int lowest, highest;

	if (!CHECK(cudaDeviceGetStreamPriorityRange(&lowest, &highest)))
		return false;
	if (priority < highest || priority > lowest)
		return CHECK(cudaStreamCreateWithFlags(&s.stream, cudaStreamDefault));
	return CHECK(cudaStreamCreateWithPriority(&s.stream, cudaStreamNonBlocking, priority));
}

void *make_state(InitializationParameters *asked)
{
	State *s = (State *)calloc(1, sizeof(State));
	char *end = nullptr;

	s->ns = asked->additional_info ? strtoull(asked->additional_info, &end, 10) : 1000000;
	if (end && (*end || !s->ns)) {
		fprintf(stderr, "plugin-example: additional_info is %s, not nanoseconds\n", asked->additional_info);
		return nullptr;
	}
	s->kernel.kernel_name = "spin_for";
	s->kernel.block_count = asked->grid_dim[0];
	s->kernel.thread_count = asked->block_dim[0];
	size_t blocks = (size_t)asked->grid_dim[0];
	bool done = CHECK(cudaSetDevice(asked->cuda_device)) && create_stream(*s, asked->stream_priority) &&
		    CHECK(cudaMalloc((void **)&s->gpu_times, 2 * blocks * sizeof(uint64_t))) &&
		    CHECK(cudaMalloc((void **)&s->gpu_sms, blocks * sizeof(uint32_t))) &&
		    CHECK(cudaMallocHost((void **)&s->kernel.block_times, 2 * blocks * sizeof(uint64_t))) &&
		    CHECK(cudaMallocHost((void **)&s->kernel.block_smids, blocks * sizeof(uint32_t)));
	return done ? s : nullptr;
}

int run_kernel(void *data)
{
	State &s = *(State *)data;
	double *launch = s.kernel.cuda_launch_times;

	launch[0] = seconds_now();
	spin_for<<<s.kernel.block_count, s.kernel.thread_count, 0, s.stream>>>(s.ns, s.gpu_times, s.gpu_sms);
	launch[1] = seconds_now();
	bool done = CHECK(cudaGetLastError()) && CHECK(cudaStreamSynchronize(s.stream));
	launch[2] = seconds_now();
	return done;
}

int copy_out(void *data, TimingInformation *times)
{
	State &s = *(State *)data;
	size_t blocks = (size_t)s.kernel.block_count;

	times->kernel_count = 1;
	times->kernel_info = &s.kernel;
	return CHECK(cudaMemcpyAsync(s.kernel.block_times, s.gpu_times, 2 * blocks * sizeof(uint64_t),
				     cudaMemcpyDeviceToHost, s.stream)) &&
	       CHECK(cudaMemcpyAsync(s.kernel.block_smids, s.gpu_sms, blocks * sizeof(uint32_t), cudaMemcpyDeviceToHost,
				     s.stream)) &&
	       CHECK(cudaStreamSynchronize(s.stream));
}

void clean_up(void *data)
{
	State *s = (State *)data;

	CHECK(cudaFree(s->gpu_times));
	CHECK(cudaFree(s->gpu_sms));
	CHECK(cudaFreeHost(s->kernel.block_times));
	CHECK(cudaFreeHost(s->kernel.block_smids));
	CHECK(cudaStreamDestroy(s->stream));
	free(s);
}

const char *get_name()
{
	return "Example";
}

} // namespace

int RegisterFunctions(BenchmarkLibraryFunctions *functions)
{
	functions->initialize = make_state;
	functions->execute = run_kernel;
	functions->copy_out = copy_out;
	functions->cleanup = clean_up;
	functions->get_name = get_name;
	return 1;
}
