// SPDX-License-Identifier: GPL-2.0
// For the programs here: a call of CUDA that fails ends them.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                                     \
	do {                                                                                                            \
		cudaError_t err = (call);                                                                               \
		if (err != cudaSuccess) {                                                                               \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(err));                                    \
			exit(1);                                                                                        \
		}                                                                                                       \
	} while (0)
