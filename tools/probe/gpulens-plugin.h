/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interface of a plugin of gpulens-lab probe-kernels: a shared object that launches kernels of its own and
 * returns when and where their blocks ran. docs/blocks.md describes the scenarios that name plugins.
 *
 * Names, layouts and meanings are those of src/library_interface.h of cuda_scheduling_examiner (N. Otterness,
 * github.com/yalue/cuda_scheduling_examiner_mirror, at its commit 1c0bd05), so that a plugin that was compiled for
 * that program can be loaded. The ABI is that of 64-bit Linux: int has 32 bits, pointers have 64.
 *
 * A plugin exports RegisterFunctions() only. Its other functions are called by one thread, which is the plugin's
 * own, in this order: initialize; for each iteration copy_in, execute, copy_out; cleanup. Two benchmarks of a
 * scenario that name the same file share its global variables, unless each is a process.
 *
 * Errors. Functions that return int return 0 on failure. A plugin may print a message then; standard output is
 * standard error. The program ends, as it does for impossible values, and names the file and the value.
 */
#ifndef GPULENS_PLUGIN_H
#define GPULENS_PLUGIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the scenario asks for. A plugin may ignore all but cuda_device. */
typedef struct {
	int block_dim[3];      /* threads of a block in x, y and z; 1 where the scenario has no number */
	int grid_dim[3];       /* blocks of the grid, likewise */
	uint64_t data_size;    /* bytes; 0 if the scenario has none */
	char *additional_info; /* JSON on one line; NULL if the scenario has none */
	int cuda_device;       /* CUDA's number of the GPU, for cudaSetDevice() */
	int stream_priority;   /* for cudaStreamCreateWithPriority(); -100: the scenario has none */
	uint64_t sm_mask;      /* libsmctrl's mask for the stream: a set bit disables a TPC; 0: none */
} InitializationParameters;

/* One launch of a kernel. */
typedef struct {
	const char *kernel_name; /* NULL: no name */
	int thread_count;        /* threads per block, 1 to 1024 */
	int block_count;         /* at least 1 */
	int shared_memory;       /* bytes of shared memory per block */
	/*
	 * Seconds of CLOCK_MONOTONIC_RAW before and after the launch, and when the CPU had waited for the stream.
	 * The last, or all, may be 0: not known.
	 */
	double cuda_launch_times[3];
	uint64_t *block_times; /* %globaltimer (ns) at the start and the end of each block: 2 * block_count numbers */
	uint32_t *block_smids; /* %smid of each block */
} KernelTimes;

/* What an iteration did. Its pointers are read before the next call of the plugin, and never freed. */
typedef struct {
	int kernel_count;             /* 0: it used no GPU */
	KernelTimes *kernel_info;     /* kernel_count launches of one stream */
	uint64_t resulting_data_size; /* not used */
	void *resulting_data;         /* not used */
} TimingInformation;

/* Allocates memory and creates a stream. Returns what the other functions are given; NULL: it failed. */
typedef void *(*InitializeFunction)(InitializationParameters *params);
/* Copies inputs to the GPU. */
typedef int (*CopyInFunction)(void *data);
/* Launches the kernels. */
typedef int (*ExecuteFunction)(void *data);
/* Waits for the kernels, and fills in times, which is zero before. */
typedef int (*CopyOutFunction)(void *data, TimingInformation *times);
/* Called once, when all benchmarks of the process have ended their last iteration. */
typedef void (*CleanupFunction)(void *data);
/* Returns the benchmark's name, for logs. */
typedef const char *(*GetNameFunction)(void);

/* initialize, copy_out and get_name are required; the others may be NULL. */
typedef struct {
	InitializeFunction initialize;
	CopyInFunction copy_in;
	ExecuteFunction execute;
	CopyOutFunction copy_out;
	CleanupFunction cleanup;
	GetNameFunction get_name;
} BenchmarkLibraryFunctions;

/* Fills in functions, which is zero before. */
int RegisterFunctions(BenchmarkLibraryFunctions *functions);

#ifdef __cplusplus
}
#endif

#endif
