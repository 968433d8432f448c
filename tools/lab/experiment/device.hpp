// SPDX-License-Identifier: GPL-2.0
// CUDA's device 0 in this process, with what the experiments call of the driver API. All functions throw Error.
#pragma once
#include "lab/experiment/trace.hpp"
#include "partition/cuda.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace tool::experiment {

constexpr std::chrono::seconds START_PATIENCE{60}; // for processes of an experiment to be ready
constexpr char OTHER_FAILED[] = "another process of the experiment failed"; // text of an Error

// Memory that a command shares with the processes of an experiment, which it forks.
struct Stage {
	std::atomic<u32> ready{0}; // processes that are initialized
	std::atomic<u32> phase{0}; // of the experiment; what it means is the experiment's decision
	std::atomic<bool> stop{false};
	std::atomic<bool> failed{false}; // a process has ended with an error
	std::atomic<s64> pids[4]{};

	// Waits until the value is at least that large. Throws Error if another process has failed, or after a minute.
	void wait_for(const std::atomic<u32> &value, u32 least) const;
	// Sleeps until stop.
	void wait_for_stop() const;
};

// Functions of libcuda.so.1 beyond gpulens::Cuda. All return a CUresult.
struct Driver {
	int (*name)(char *, int, int device);
	int (*make_event)(void **, unsigned flags);
	int (*record)(void *event, void *stream);
	int (*wait_event)(void *event);
	int (*elapsed)(float *ms, void *from, void *to);
	int (*host_alloc)(void **, size_t, unsigned flags);
	int (*to_device)(uint64_t, const void *, size_t, void *stream);
	int (*to_host)(void *, uint64_t, size_t, void *stream);
	int (*set)(uint64_t, unsigned char, size_t);
};
const Driver &driver();

class Device {
public:
	Device(); // makes the primary context current in this thread
	Device(const Device &) = delete;
	Device &operator=(const Device &) = delete;
	~Device() = default; // the context ends with the process

	std::string name() const;
	// Limits of the GPU, without its channels.
	blocks::Machine machine() const;
	void *function(const char *kernel) const;
	void launch(const char *kernel, unsigned blocks_x, unsigned blocks_y, unsigned threads_x, unsigned threads_y,
		    void *stream, void **parameters) const;

private:
	void *module_ = nullptr;
};

// A stream of the current context that does not wait for the default stream; it lives as long as the process.
void *make_stream();
uint64_t allocate(size_t bytes);   // GPU memory, zeroes
void *allocate_host(size_t bytes); // pinned
s64 host_now();                    // CLOCK_MONOTONIC, ns

// A kernel that logs when it runs, as exec_logger of RTAS'24. Times are %globaltimer, ns.
class Logger {
public:
	explicit Logger(const Device &device);
	void start();
	Spans finish(); // stops the kernel and waits for it

private:
	const Device &device_;
	void *stream_;
	uint64_t records_;
	volatile u32 *stop_;
};

// Copies chunks without pause, as copy_monitor of RTAS'24. Events are taken to be on the clock of %globaltimer, with an offset
// that is measured once.
class Copier {
public:
	// work: CopyToGpu or CopyToHost.
	Copier(const Device &device, Work work, u64 chunk_bytes);
	// Copies until the condition holds after a chunk; returns the times of the chunks.
	template <typename F> Spans run(F is_over)
	{
		begin();
		while (!is_over(enqueued_))
			enqueue();
		return drain();
	}
	u64 chunk_bytes() const { return bytes_; }

private:
	static constexpr size_t AHEAD = 128; // chunks that are enqueued and not finished

	void begin();
	void enqueue();
	void take_oldest();
	Spans drain();
	s64 time_of(void *event) const;

	Work work_;
	u64 bytes_, memory_;
	void *host_, *stream_, *base_ = nullptr;
	s64 base_ns_ = 0; // %globaltimer at base_
	std::vector<void *> events_;
	u64 enqueued_ = 0, finished_ = 0;
	s64 last_ = 0;
	Spans spans_;
};

} // namespace tool::experiment
