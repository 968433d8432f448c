// SPDX-License-Identifier: GPL-2.0
// Kernels that write down when each of their blocks ran and on which SM: what gpulens probe-kernels starts. All checking
// of what users write, and all that is written for them, is in tools/blocks/; here is only what takes CUDA.
//
//	gpulens-probe-kernels info DEVICE    what the GPU is
//	gpulens-probe-kernels run DEVICE     launches what standard input says, then prints when it ran
//
// Both ways, words on lines, and numbers decimal. Times are nanoseconds since the scenario began, by the CPU's monotonic
// clock; those of blocks are the GPU's %globaltimer brought to it. Standard input:
//	gpulens-probe 1
//	stream PRIORITY                     once for each, numbered from 0
//	kernel spin|copy|matrix STREAM WORK REPEAT BLOCKS THREADS SHARED RELEASE
//	                                    in the order of launches. WORK: nanoseconds, bytes, or width; SHARED: bytes
//	end
// Standard output:
//	gpulens-probe 1
//	name TEXT, sms N, threads_per_sm N, blocks_per_sm N, shared_per_block N, channels N     a line each
//	end                                 of info; of run:
//	clock UNCERTAINTY RESOLUTION        of launches against blocks, and the GPU's clock's steps
//	kernel BEFORE AFTER DONE PER_SM     around the launch, when its stream was seen to be done; blocks that an SM holds
//	block START END SM                  as many as the kernel above has; and so on
//	end
// Exit status: 0 done, 1 CUDA failed (a message says how), 2 wrong usage or input.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <string>
#include <time.h>
#include <vector>

typedef unsigned long long u64;
typedef long long s64;

static void check(cudaError_t err, const char *what)
{
	if (err == cudaSuccess)
		return;
	fprintf(stderr, "gpulens-probe-kernels: %s: %s\n", what, cudaGetErrorString(err));
	exit(1);
}

#define CHECK(call) check(call, #call)

[[noreturn]] static void refuse(const char *what)
{
	fprintf(stderr, "gpulens-probe-kernels: %s\n", what);
	exit(2);
}

/* -- on the GPU -- */

struct Placed {
	u64 start, end;
	unsigned sm;
};

static __device__ u64 now()
{
	u64 t;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
	return t;
}

static __device__ void begin(Placed *placed, u64 start)
{
	unsigned id;

	asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
	if (!threadIdx.x) {
		placed[blockIdx.x].start = start;
		placed[blockIdx.x].sm = id;
	}
}

static __device__ void end(Placed *placed)
{
	__syncthreads();
	if (!threadIdx.x)
		placed[blockIdx.x].end = now();
}

__global__ void __launch_bounds__(1024) spin(Placed *placed, u64 ns)
{
	u64 start = now();

	begin(placed, start);
	while (now() - start < ns)
		;
	end(placed);
}

__global__ void __launch_bounds__(1024) copy(Placed *placed, const uint4 *from, uint4 *to, u64 count, unsigned repeat)
{
	begin(placed, now());
	for (unsigned r = 0; r < repeat; r++)
		for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x)
			to[i] = from[i];
	end(placed);
}

// c = a * b, tiles of as many floats as the block has threads; blocks take tiles in turn.
__global__ void __launch_bounds__(1024)
	matrix(Placed *placed, const float *a, const float *b, float *c, unsigned width, unsigned repeat, unsigned side)
{
	extern __shared__ float tiles[];
	float *ta = tiles, *tb = tiles + side * side;
	unsigned x = threadIdx.x % side, y = threadIdx.x / side, n = (width + side - 1) / side;

	begin(placed, now());
	for (unsigned r = 0; r < repeat; r++)
		for (unsigned tile = blockIdx.x; tile < n * n; tile += gridDim.x) {
			unsigned row = tile / n * side + y, column = tile % n * side + x;
			float sum = 0;
			for (unsigned t = 0; t < n; t++) {
				unsigned i = t * side + x, j = t * side + y;
				ta[y * side + x] = row < width && i < width ? a[(u64)row * width + i] : 0;
				tb[y * side + x] = j < width && column < width ? b[(u64)j * width + column] : 0;
				__syncthreads();
				for (unsigned k = 0; k < side; k++)
					sum += ta[y * side + k] * tb[k * side + x];
				__syncthreads();
			}
			if (row < width && column < width)
				c[(u64)row * width + column] = sum;
		}
	end(placed);
}

// Pinned memory of the CPU's, which both see.
struct Mail {
	volatile unsigned asked, answered;
	volatile u64 time;
};

// Answers each question with the time at once; gives up after limit nanoseconds.
__global__ void ping(Mail *mail, unsigned rounds, u64 limit)
{
	u64 start = now();

	for (unsigned i = 1; i <= rounds; i++) {
		while (mail->asked != i)
			if (now() - start > limit)
				return;
		mail->time = now();
		__threadfence_system();
		mail->answered = i;
	}
}

// The least step of the clock that is seen.
__global__ void resolution(Mail *mail, unsigned steps)
{
	u64 least = ~0ULL;

	for (unsigned i = 0; i < steps; i++) {
		u64 from = now(), to;
		do
			to = now();
		while (to == from);
		least = min(least, to - from);
	}
	mail->time = least;
}

/* -- on the CPU -- */

enum Kind { SPIN, COPY, MATRIX };
static const char *const KINDS[] = {"spin", "copy", "matrix"};
static const void *const FUNCTIONS[] = {(const void *)spin, (const void *)copy, (const void *)matrix};

struct Kernel {
	int kind = SPIN;
	unsigned stream = 0, repeat = 0, blocks = 0, threads = 0, shared = 0;
	u64 work = 0, release = 0;
	Placed *placed = nullptr; // GPU memory, as are these
	void *a = nullptr, *b = nullptr, *c = nullptr;
	s64 before = 0, after = 0, done = 0;
	int per_sm = 0;

	unsigned side() const { return threads == 64 ? 8 : threads == 256 ? 16 : 32; }
	unsigned all_shared() const { return shared + (kind == MATRIX ? 2 * threads * sizeof(float) : 0); }
};

struct Stream {
	int priority = 0;
	cudaStream_t stream = nullptr;
	std::vector<size_t> pending; // kernels that were launched and not seen to be done
};

static s64 host_now()
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

// One moment by both clocks, and how far they may be off each other.
struct Moment {
	s64 host, gpu, error;
};

static Moment read_clocks(Mail *mail, cudaStream_t stream)
{
	const unsigned rounds = 200;
	Moment best = {0, 0, INT64_MAX};

	mail->asked = mail->answered = 0;
	ping<<<1, 1, 0, stream>>>(mail, rounds, 1000000000);
	CHECK(cudaGetLastError());
	for (unsigned i = 1; i <= rounds; i++) {
		s64 from = host_now(), to = from;
		mail->asked = i;
		while (mail->answered != i && to - from < 2000000000LL)
			to = host_now();
		to = host_now();
		if (mail->answered != i)
			break;
		__sync_synchronize();
		if ((to - from + 1) / 2 < best.error)
			best = {from + (to - from) / 2, (s64)mail->time, (to - from + 1) / 2};
	}
	CHECK(cudaStreamSynchronize(stream));
	if (best.error == INT64_MAX) {
		fprintf(stderr, "gpulens-probe-kernels: the GPU does not see the CPU's memory change\n");
		exit(1);
	}
	return best;
}

static int channels()
{
	// What CUDA takes, and its default: CUDA C++ Programming Guide, CUDA environment variables.
	const char *set = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
	int n = set ? atoi(set) : 8;

	return n < 1 ? 8 : std::min(n, 32);
}

static cudaDeviceProp print_machine(int device)
{
	cudaDeviceProp p;

	CHECK(cudaSetDevice(device));
	CHECK(cudaGetDeviceProperties(&p, device));
	printf("gpulens-probe 1\nname %s\nsms %d\nthreads_per_sm %d\nblocks_per_sm %d\nshared_per_block %zu\nchannels %d\n",
	       p.name, p.multiProcessorCount, p.maxThreadsPerMultiProcessor, p.maxBlocksPerMultiProcessor,
	       p.sharedMemPerBlockOptin, channels());
	return p;
}

static void read_input(std::vector<Stream> &streams, std::vector<Kernel> &kernels)
{
	char word[32], kind[32];
	int version;

	if (scanf("%31s %d", word, &version) != 2 || strcmp(word, "gpulens-probe") || version != 1)
		refuse("the input does not begin with gpulens-probe 1");
	while (scanf("%31s", word) == 1) {
		if (!strcmp(word, "end"))
			return;
		if (!strcmp(word, "stream")) {
			Stream s;
			if (scanf("%d", &s.priority) != 1)
				refuse("a stream without priority");
			streams.push_back(s);
			continue;
		}
		Kernel k;
		if (strcmp(word, "kernel") || scanf("%31s %u %llu %u %u %u %u %llu", kind, &k.stream, &k.work, &k.repeat,
						    &k.blocks, &k.threads, &k.shared, &k.release) != 8)
			refuse("a line that is none of stream, kernel, end");
		while (k.kind <= MATRIX && strcmp(kind, KINDS[k.kind]))
			k.kind++;
		if (k.kind > MATRIX || k.stream >= streams.size() || !k.blocks || !k.threads || k.threads > 1024 ||
		    (k.kind == MATRIX && k.side() * k.side() != k.threads))
			refuse("a kernel that cannot be");
		kernels.push_back(k);
	}
	refuse("the input does not end with end");
}

// Memory for each kernel, and attributes that all have the same, so that no SM is set up anew between two of them: one
// that changes its share of shared memory first waits until nothing runs on it.
static void prepare(std::vector<Kernel> &kernels, const cudaDeviceProp &p)
{
	for (const void *f : FUNCTIONS) {
		CHECK(cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)p.sharedMemPerBlockOptin));
		CHECK(cudaFuncSetAttribute(f, cudaFuncAttributePreferredSharedMemoryCarveout,
					   cudaSharedmemCarveoutMaxShared));
	}
	for (Kernel &k : kernels) {
		CHECK(cudaMalloc(&k.placed, k.blocks * sizeof(Placed)));
		CHECK(cudaMemset(k.placed, 0, k.blocks * sizeof(Placed)));
		CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&k.per_sm, FUNCTIONS[k.kind], (int)k.threads,
								    k.all_shared()));
		if (!k.per_sm)
			refuse("a block that fits on no SM");
		size_t bytes = k.kind == MATRIX ? k.work * k.work * sizeof(float) : k.work;
		if (k.kind == SPIN)
			continue;
		for (void **one : {&k.a, &k.b, &k.c}) {
			if (one == &k.c && k.kind == COPY)
				continue;
			CHECK(cudaMalloc(one, bytes));
			CHECK(cudaMemset(*one, 0, bytes));
		}
	}
}

// Without work, to load the kernel.
static void launch(const Kernel &k, cudaStream_t s, bool work)
{
	u64 amount = work ? k.work : 0;
	unsigned blocks = work ? k.blocks : 1;

	if (k.kind == SPIN)
		spin<<<blocks, k.threads, k.all_shared(), s>>>(k.placed, amount);
	else if (k.kind == COPY)
		copy<<<blocks, k.threads, k.all_shared(), s>>>(k.placed, (const uint4 *)k.a, (uint4 *)k.b,
							       amount / sizeof(uint4), k.repeat);
	else
		matrix<<<blocks, k.threads, k.all_shared(), s>>>(k.placed, (const float *)k.a, (const float *)k.b,
								 (float *)k.c, (unsigned)amount, k.repeat, k.side());
	CHECK(cudaGetLastError());
}

// Looks which streams are done, until that time; true: all are.
static bool look(std::vector<Stream> &streams, std::vector<Kernel> &kernels, s64 until)
{
	bool all = true;

	for (Stream &s : streams) {
		if (s.pending.empty())
			continue;
		if (host_now() >= until)
			return false;
		cudaError_t err = cudaStreamQuery(s.stream);
		if (err == cudaErrorNotReady) {
			all = false;
			continue;
		}
		CHECK(err);
		for (size_t i : s.pending)
			kernels[i].done = host_now();
		s.pending.clear();
	}
	return all;
}

static void run(int device)
{
	std::vector<Stream> streams;
	std::vector<Kernel> kernels;
	Mail *mail;

	read_input(streams, kernels);
	if (streams.empty() || kernels.empty())
		refuse("no kernel");
	cudaDeviceProp p = print_machine(device);
	CHECK(cudaHostAlloc(&mail, sizeof(*mail), cudaHostAllocMapped));
	memset((void *)mail, 0, sizeof(*mail));
	for (Stream &s : streams)
		CHECK(cudaStreamCreateWithPriority(&s.stream, cudaStreamNonBlocking, s.priority));
	prepare(kernels, p);
	// Each stream and each kernel was in use once before time is taken.
	for (const Kernel &k : kernels) {
		launch(k, streams[k.stream].stream, false);
		CHECK(cudaDeviceSynchronize());
	}
	resolution<<<1, 1, 0, streams[0].stream>>>(mail, 1000);
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	u64 step = mail->time;
	Moment first = read_clocks(mail, streams[0].stream);

	// One thread launches all, so that launches have one order; the first in 10 ms, that none is late.
	s64 origin = host_now() + 10000000;
	for (size_t i = 0; i < kernels.size(); i++) {
		Kernel &k = kernels[i];
		s64 at = origin + (s64)k.release;
		while (host_now() < at)
			look(streams, kernels, at);
		k.before = host_now();
		launch(k, streams[k.stream].stream, true);
		k.after = host_now();
		streams[k.stream].pending.push_back(i);
	}
	while (!look(streams, kernels, INT64_MAX))
		;
	CHECK(cudaDeviceSynchronize());
	Moment last = read_clocks(mail, streams[0].stream);

	// Between the two moments both clocks are taken to go evenly.
	double rate = (double)(last.host - first.host) / (double)(last.gpu - first.gpu);
	auto host_of = [&](u64 gpu) {
		return first.host + (s64)((double)((s64)gpu - first.gpu) * rate) - origin;
	};
	printf("clock %lld %llu\n", std::max(first.error, last.error) + (s64)step, step);
	for (const Kernel &k : kernels) {
		std::vector<Placed> placed(k.blocks);
		CHECK(cudaMemcpy(placed.data(), k.placed, k.blocks * sizeof(Placed), cudaMemcpyDeviceToHost));
		printf("kernel %lld %lld %lld %d\n", k.before - origin, k.after - origin, k.done - origin, k.per_sm);
		for (const Placed &one : placed)
			printf("block %lld %lld %u\n", host_of(one.start), host_of(one.end), one.sm);
	}
}

int main(int argc, char **argv)
{
	if (argc != 3 || (strcmp(argv[1], "info") && strcmp(argv[1], "run"))) {
		fprintf(stderr, "usage: gpulens-probe-kernels info|run DEVICE\n");
		return 2;
	}
	// Else the first launch of a kernel loads it, and may wait for those that run.
	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	if (!strcmp(argv[1], "info"))
		print_machine(atoi(argv[2]));
	else
		run(atoi(argv[2]));
	puts("end");
	return 0;
}
