// SPDX-License-Identifier: GPL-2.0
// Launches kernels that record when and on which SM each of their blocks runs. gpulens probe-kernels runs this program.
// Only code that needs CUDA is here; tools/gpulens/blocks/ checks the user's files and writes the results.
//
//	gpulens-probe-kernels info DEVICE    prints the properties of the GPU
//	gpulens-probe-kernels run DEVICE     launches the kernels on standard input and prints their times
//	gpulens-probe-kernels load DEVICE compute|memory|copies
//	                                     loads the GPU until standard input ends: matrix products; copies from memory to
//	                                     memory by kernels; or copies between the CPU's memory and the GPU's
//
// Input and output are lines of words and decimal numbers. Times are nanoseconds of the CPU's monotonic clock since the
// scenario began; block times are read from the GPU's %globaltimer and converted. Standard input of run:
//	gpulens-probe 1
//	stream PRIORITY                     a line for each stream; streams are numbered from 0
//	kernel spin|copy|matrix STREAM WORK REPEAT BLOCKS THREADS SHARED RELEASE
//	                                    in the order of launches; WORK: ns, bytes, or width; SHARED: bytes
//	end
// Standard output:
//	gpulens-probe 1
//	name TEXT, sms N, threads_per_sm N, blocks_per_sm N, shared_per_block N, channels N     each on its own line
//	clock UNCERTAINTY RESOLUTION        only run: error between launch and block times; step of the GPU's clock
//	kernel BEFORE AFTER DONE PER_SM     only run: before and after the launch call, when the stream was found idle;
//	                                    number of blocks that fit on an SM
//	block START END SM                  only run: a line for each block of the kernel above
//	ready                               only load: the first kernel or copy is done
//	launches N                          only load: number of kernels or copies, when standard input has ended
//	end
// Exit status: 0 success; 1 CUDA failed, with a message; 2 bad usage or input.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <poll.h>
#include <string>
#include <time.h>
#include <unistd.h>
#include <vector>

typedef unsigned long long u64;
typedef long long s64;

static void check_cuda(cudaError_t err, const char *call)
{
	if (err == cudaSuccess)
		return;
	fprintf(stderr, "gpulens-probe-kernels: %s: %s\n", call, cudaGetErrorString(err));
	exit(1);
}

#define CHECK(call) check_cuda(call, #call)

[[noreturn]] static void refuse_input(const char *why)
{
	fprintf(stderr, "gpulens-probe-kernels: %s\n", why);
	exit(2);
}

/* -- on the GPU -- */

struct BlockRecord {
	u64 start, end;
	unsigned sm;
};

static __device__ u64 gpu_now()
{
	u64 t;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
	return t;
}

static __device__ void begin_block(BlockRecord *records, u64 start)
{
	unsigned id;

	asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
	if (!threadIdx.x) {
		records[blockIdx.x].start = start;
		records[blockIdx.x].sm = id;
	}
}

static __device__ void end_block(BlockRecord *records)
{
	__syncthreads();
	if (!threadIdx.x)
		records[blockIdx.x].end = gpu_now();
}

__global__ void __launch_bounds__(1024) run_spin(BlockRecord *records, u64 ns)
{
	u64 start = gpu_now();

	begin_block(records, start);
	while (gpu_now() - start < ns)
		;
	end_block(records);
}

__global__ void __launch_bounds__(1024) run_copy(BlockRecord *records, const uint4 *from, uint4 *to, u64 count,
						   unsigned repeat)
{
	begin_block(records, gpu_now());
	for (unsigned r = 0; r < repeat; r++)
		for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x)
			to[i] = from[i];
	end_block(records);
}

// c = a * b for square matrices of that width. A tile has side * side floats, one for each thread of a block; block b
// computes tiles b, b + gridDim.x, and so on.
__global__ void __launch_bounds__(1024)
	run_matrix(BlockRecord *records, const float *a, const float *b, float *c, unsigned width, unsigned repeat,
		   unsigned side)
{
	extern __shared__ float tiles[];
	float *ta = tiles, *tb = tiles + side * side;
	unsigned x = threadIdx.x % side, y = threadIdx.x / side, n = (width + side - 1) / side;

	begin_block(records, gpu_now());
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
	end_block(records);
}

// Pinned host memory through which CPU and GPU exchange requests and times.
struct Mailbox {
	volatile unsigned asked, answered; // number of the last request and reply
	volatile u64 time;                 // of the reply, GPU clock, ns
};

// Replies to each request with the GPU's time; gives up after limit ns.
__global__ void answer_requests(Mailbox *mail, unsigned rounds, u64 limit)
{
	u64 start = gpu_now();

	for (unsigned i = 1; i <= rounds; i++) {
		while (mail->asked != i)
			if (gpu_now() - start > limit)
				return;
		mail->time = gpu_now();
		__threadfence_system();
		mail->answered = i;
	}
}

// Measures the smallest step of the GPU's clock.
__global__ void measure_resolution(Mailbox *mail, unsigned steps)
{
	u64 least = ~0ULL;

	for (unsigned i = 0; i < steps; i++) {
		u64 from = gpu_now(), to;
		do
			to = gpu_now();
		while (to == from);
		least = min(least, to - from);
	}
	mail->time = least;
}

/* -- on the CPU -- */

enum Kind { SPIN, COPY, MATRIX };
static const char *const KIND_NAMES[] = {"spin", "copy", "matrix"};
static const void *const FUNCTIONS[] = {(const void *)run_spin, (const void *)run_copy, (const void *)run_matrix};

struct Kernel {
	int kind = SPIN;
	unsigned stream = 0, repeat = 0, blocks = 0, threads = 0, shared = 0;
	u64 work = 0, release = 0;
	BlockRecord *records = nullptr; // by block; GPU memory, as a, b and c
	void *a = nullptr, *b = nullptr, *c = nullptr;
	s64 before = 0, after = 0, done = 0; // host clock: around the launch, and when its stream was found idle
	int per_sm = 0;                      // number of blocks that fit on an SM

	unsigned side() const { return threads == 64 ? 8 : threads == 256 ? 16 : 32; }
	unsigned all_shared() const { return shared + (kind == MATRIX ? 2 * threads * sizeof(float) : 0); }
};

struct Stream {
	int priority = 0;
	cudaStream_t stream = nullptr;
	std::vector<size_t> pending; // kernels that were launched and have not been found done
};

static s64 host_now()
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

// The same moment by both clocks, ns, and the error of that.
struct Moment {
	s64 host, gpu, error;
};

static Moment read_clocks(Mailbox *mail, cudaStream_t stream)
{
	const unsigned rounds = 200;
	Moment best = {0, 0, INT64_MAX};

	mail->asked = mail->answered = 0;
	answer_requests<<<1, 1, 0, stream>>>(mail, rounds, 1000000000);
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

static int max_connections()
{
	// Range and default: CUDA C++ Programming Guide, CUDA environment variables.
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
	       p.sharedMemPerBlockOptin, max_connections());
	return p;
}

static void read_input(std::vector<Stream> &streams, std::vector<Kernel> &kernels)
{
	char word[32], kind[32];
	int version;

	if (scanf("%31s %d", word, &version) != 2 || strcmp(word, "gpulens-probe") || version != 1)
		refuse_input("the input does not begin with gpulens-probe 1");
	while (scanf("%31s", word) == 1) {
		if (!strcmp(word, "end"))
			return;
		if (!strcmp(word, "stream")) {
			Stream s;
			if (scanf("%d", &s.priority) != 1)
				refuse_input("a stream without priority");
			streams.push_back(s);
			continue;
		}
		Kernel k;
		if (strcmp(word, "kernel") || scanf("%31s %u %llu %u %u %u %u %llu", kind, &k.stream, &k.work, &k.repeat,
						    &k.blocks, &k.threads, &k.shared, &k.release) != 8)
			refuse_input("expected a line with stream, kernel or end");
		while (k.kind <= MATRIX && strcmp(kind, KIND_NAMES[k.kind]))
			k.kind++;
		if (k.kind > MATRIX || k.stream >= streams.size() || !k.blocks || !k.threads || k.threads > 1024 ||
		    (k.kind == MATRIX && k.side() * k.side() != k.threads))
			refuse_input("invalid kernel");
		kernels.push_back(k);
	}
	refuse_input("the input does not end with end");
}

// Allocates memory for each kernel, and sets the same attributes for all of them: an SM that has to change its share of
// shared memory between two kernels waits first until it is idle.
static void prepare_kernels(std::vector<Kernel> &kernels, const cudaDeviceProp &p)
{
	for (const void *f : FUNCTIONS) {
		CHECK(cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)p.sharedMemPerBlockOptin));
		CHECK(cudaFuncSetAttribute(f, cudaFuncAttributePreferredSharedMemoryCarveout,
					   cudaSharedmemCarveoutMaxShared));
	}
	for (Kernel &k : kernels) {
		CHECK(cudaMalloc(&k.records, k.blocks * sizeof(BlockRecord)));
		CHECK(cudaMemset(k.records, 0, k.blocks * sizeof(BlockRecord)));
		CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&k.per_sm, FUNCTIONS[k.kind], (int)k.threads,
								    k.all_shared()));
		if (!k.per_sm)
			refuse_input("a block does not fit on an SM");
		size_t bytes = k.kind == MATRIX ? k.work * k.work * sizeof(float) : k.work;
		if (k.kind == SPIN)
			continue;
		for (void **buffer : {&k.a, &k.b, &k.c}) {
			if (buffer == &k.c && k.kind == COPY)
				continue;
			CHECK(cudaMalloc(buffer, bytes));
			CHECK(cudaMemset(*buffer, 0, bytes));
		}
	}
}

// work: false: launch one block without work, to load the kernel.
static void launch_kernel(const Kernel &k, cudaStream_t s, bool work)
{
	u64 amount = work ? k.work : 0;
	unsigned blocks = work ? k.blocks : 1;

	if (k.kind == SPIN)
		run_spin<<<blocks, k.threads, k.all_shared(), s>>>(k.records, amount);
	else if (k.kind == COPY)
		run_copy<<<blocks, k.threads, k.all_shared(), s>>>(k.records, (const uint4 *)k.a, (uint4 *)k.b,
							       amount / sizeof(uint4), k.repeat);
	else
		run_matrix<<<blocks, k.threads, k.all_shared(), s>>>(k.records, (const float *)k.a, (const float *)k.b,
								 (float *)k.c, (unsigned)amount, k.repeat, k.side());
	CHECK(cudaGetLastError());
}

// Checks which streams are idle, and records when; returns true if all are. Stops at the time until.
static bool poll_streams(std::vector<Stream> &streams, std::vector<Kernel> &kernels, s64 until)
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

static void run_scenario(int device)
{
	std::vector<Stream> streams;
	std::vector<Kernel> kernels;
	Mailbox *mail;

	read_input(streams, kernels);
	if (streams.empty() || kernels.empty())
		refuse_input("no kernels");
	cudaDeviceProp p = print_machine(device);
	CHECK(cudaHostAlloc(&mail, sizeof(*mail), cudaHostAllocMapped));
	memset((void *)mail, 0, sizeof(*mail));
	for (Stream &s : streams)
		CHECK(cudaStreamCreateWithPriority(&s.stream, cudaStreamNonBlocking, s.priority));
	prepare_kernels(kernels, p);
	// Use each stream and each kernel once before times are measured.
	for (const Kernel &k : kernels) {
		launch_kernel(k, streams[k.stream].stream, false);
		CHECK(cudaDeviceSynchronize());
	}
	measure_resolution<<<1, 1, 0, streams[0].stream>>>(mail, 1000);
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	u64 step = mail->time;
	Moment first = read_clocks(mail, streams[0].stream);

	// One thread launches all kernels, so that launches are ordered. It begins in 10 ms, so that no launch is late.
	s64 origin = host_now() + 10000000;
	for (size_t i = 0; i < kernels.size(); i++) {
		Kernel &k = kernels[i];
		s64 release = origin + (s64)k.release;
		while (host_now() < release)
			poll_streams(streams, kernels, release);
		k.before = host_now();
		launch_kernel(k, streams[k.stream].stream, true);
		k.after = host_now();
		streams[k.stream].pending.push_back(i);
	}
	while (!poll_streams(streams, kernels, INT64_MAX))
		;
	CHECK(cudaDeviceSynchronize());
	Moment last = read_clocks(mail, streams[0].stream);

	// Convert times linearly between the two moments.
	double rate = (double)(last.host - first.host) / (double)(last.gpu - first.gpu);
	auto to_host = [&](u64 gpu) {
		return first.host + (s64)((double)((s64)gpu - first.gpu) * rate) - origin;
	};
	printf("clock %lld %llu\n", std::max(first.error, last.error) + (s64)step, step);
	for (const Kernel &k : kernels) {
		std::vector<BlockRecord> records(k.blocks);
		CHECK(cudaMemcpy(records.data(), k.records, k.blocks * sizeof(BlockRecord), cudaMemcpyDeviceToHost));
		printf("kernel %lld %lld %lld %d\n", k.before - origin, k.after - origin, k.done - origin, k.per_sm);
		for (const BlockRecord &b : records)
			printf("block %lld %lld %u\n", to_host(b.start), to_host(b.end), b.sm);
	}
}

/* -- load -- */

static bool input_ended()
{
	struct pollfd in = {STDIN_FILENO, POLLIN, 0};
	char byte;

	return poll(&in, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

// Repeats launch(i), i from 0, in two streams, so that one always has work while the other is waited for.
template <typename F> static void load_until_end(F launch)
{
	cudaStream_t streams[2];
	unsigned long count = 0;

	for (cudaStream_t &s : streams)
		CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	launch(0, streams[0]);
	CHECK(cudaDeviceSynchronize());
	puts("ready");
	fflush(stdout);
	for (; !input_ended(); count++) {
		CHECK(cudaStreamSynchronize(streams[count % 2]));
		launch(count, streams[count % 2]);
	}
	CHECK(cudaDeviceSynchronize());
	printf("launches %lu\n", count);
}

// Fills all SMs several times: 16 blocks of 1024 threads for each.
static void load_kernels(const cudaDeviceProp &p, int kind)
{
	Kernel k;
	std::vector<Kernel> kernels;

	k.kind = kind;
	k.threads = 1024;
	k.blocks = 16 * (unsigned)p.multiProcessorCount;
	k.repeat = 1;
	k.work = kind == MATRIX ? 4096 : 1ULL << 30; // width; bytes, more than any L2 cache
	kernels.assign(2, k); // one for each stream
	prepare_kernels(kernels, p);
	load_until_end([&](unsigned long i, cudaStream_t s) { launch_kernel(kernels[i % 2], s, true); });
}

static void load_copies()
{
	const size_t bytes = 256 << 20;
	void *host[2], *memory[2];

	for (int i = 0; i < 2; i++) {
		CHECK(cudaMallocHost(&host[i], bytes));
		CHECK(cudaMalloc(&memory[i], bytes));
		memset(host[i], 0, bytes);
	}
	load_until_end([&](unsigned long i, cudaStream_t s) {
		if (i % 2)
			CHECK(cudaMemcpyAsync(host[1], memory[1], bytes, cudaMemcpyDeviceToHost, s));
		else
			CHECK(cudaMemcpyAsync(memory[0], host[0], bytes, cudaMemcpyHostToDevice, s));
	});
}

static void load(int device, const char *what)
{
	cudaDeviceProp p = print_machine(device);

	if (!strcmp(what, "copies"))
		load_copies();
	else
		load_kernels(p, strcmp(what, "memory") ? MATRIX : COPY);
}

static bool is_load(const char *what)
{
	return !strcmp(what, "compute") || !strcmp(what, "memory") || !strcmp(what, "copies");
}

int main(int argc, char **argv)
{
	bool loads = argc == 4 && !strcmp(argv[1], "load") && is_load(argv[3]);

	if (!loads && (argc != 3 || (strcmp(argv[1], "info") && strcmp(argv[1], "run")))) {
		fprintf(stderr, "usage: gpulens-probe-kernels info|run DEVICE, or load DEVICE compute|memory|copies\n");
		return 2;
	}
	// With lazy loading, the first launch of a kernel would load it, and might wait for running kernels.
	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	if (loads)
		load(atoi(argv[2]), argv[3]);
	else if (!strcmp(argv[1], "info"))
		print_machine(atoi(argv[2]));
	else
		run_scenario(atoi(argv[2]));
	puts("end");
	return 0;
}
