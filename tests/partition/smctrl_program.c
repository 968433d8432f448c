// SPDX-License-Identifier: GPL-2.0
// A program for libsmctrl: it prints what Listing 2 of RTAS'23 reads; with an argument it sets
// masks of that kind and launches kernels.
#include "libsmctrl.h"
#include "print_sms.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <dlfcn.h>

static void run_kernel(void)
{
	print_sms("ran on", NULL, 1);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	uint32_t gpcs, tpcs, again;
	uint64_t *tpcs_for_gpc, *same;
	uint128_t *wide;
	int err;

	if (!strcmp(what, "streams")) {
		int (*make)(void **, unsigned int) = NULL;
		void *masked, *other;

		libsmctrl_set_global_mask(~0x3ull);
		*(void **)&make = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuStreamCreate");
		make(&masked, 0);
		make(&other, 0);
		libsmctrl_set_stream_mask(masked, ~0x4ull);
		print_sms("ran on", masked, 1);
		print_sms("ran on", other, 1);
		libsmctrl_set_next_mask(~0x8ull);
		print_sms("ran on", masked, 1);
		print_sms("ran on", masked, 1);
		libsmctrl_set_next_mask(~0x10ull);
		libsmctrl_set_stream_mask_ext(NULL, ~((uint128_t)1 << 65));
		run_kernel();
		run_kernel();
		print_sms("ran on", other, 1);
		return 0;
	}
	if (!strcmp(what, "zero")) {
		int (*make)(void **, unsigned int) = NULL;
		void *masked;

		libsmctrl_set_global_mask(~0x3ull);
		*(void **)&make = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuStreamCreate");
		make(&masked, 0);
		libsmctrl_set_stream_mask(masked, ~0x4ull);
		libsmctrl_set_next_mask(~0x8ull);
		libsmctrl_set_next_mask(0);
		print_sms("ran on", masked, 1);
		libsmctrl_set_stream_mask(masked, 0);
		print_sms("ran on", masked, 1);
		libsmctrl_set_global_mask(0);
		run_kernel();
		return 0;
	}
	if (!strcmp(what, "gpus")) {
		int (*make)(void **, unsigned int), (*retain)(void **, int), (*enter)(void *), (*now)(void **);
		void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *contexts[2], *streams[2], *current;

		*(void **)&make = dlsym(cuda, "cuStreamCreate");
		*(void **)&retain = dlsym(cuda, "cuDevicePrimaryCtxRetain");
		*(void **)&enter = dlsym(cuda, "cuCtxSetCurrent");
		*(void **)&now = dlsym(cuda, "cuCtxGetCurrent");
		for (int i = 0; i < 2; i++) {
			retain(&contexts[i], i);
			enter(contexts[i]);
			make(&streams[i], 0);
		}
		enter(contexts[0]);
		libsmctrl_set_next_mask(~0x1ull);
		run_kernel();
		enter(contexts[1]);
		run_kernel();
		libsmctrl_set_global_mask(~0x1ull);
		if (!strcmp(argv[2], "there"))
			run_kernel();
		if (!strcmp(argv[2], "own"))
			print_sms("ran on", streams[0], 1);
		now(&current);
		if (current != contexts[1])
			printf("another context is current\n");
		enter(contexts[0]);
		if (!strcmp(argv[2], "stream"))
			print_sms("ran on", streams[1], 1);
		return 0;
	}
	if (!strcmp(what, "all-off")) {
		int (*make)(void **, unsigned int) = NULL;
		void *masked;

		libsmctrl_set_global_mask_ext(~(uint128_t)0);
		*(void **)&make = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuStreamCreate");
		make(&masked, 0);
		libsmctrl_set_stream_mask(masked, ~0x4ull);
		print_sms("ran on", masked, 1);
		libsmctrl_set_next_mask(~0x8ull);
		run_kernel();
		if (argc > 2)
			libsmctrl_set_global_mask(~0x10ull);
		run_kernel();
		return 0;
	}
	if (!strcmp(what, "per-thread"))
		libsmctrl_set_stream_mask((void *)2, ~0x1ull);
	if (!strcmp(what, "cuda")) {
		err = libsmctrl_get_tpc_info_cuda(&tpcs, 0);
		printf("tpcs %d %" PRIu32 "\n", err, err ? 0 : tpcs);
		return 0;
	}
	if (!strcmp(what, "masks")) {
		libsmctrl_set_global_mask(~0x3ull); /* TPCs 0 and 1 */
		run_kernel();
		libsmctrl_set_next_mask(~0x4ull);
		run_kernel();
		run_kernel();
		libsmctrl_set_next_mask_ext(~((uint128_t)1 << 65));
		run_kernel();
		libsmctrl_set_global_mask_ext(~((uint128_t)3 << 64));
		run_kernel();
		return 0;
	}
	if (!strcmp(what, "empty"))
		libsmctrl_set_next_mask(~0ull);

	err = libsmctrl_get_tpc_info(&tpcs, 0);
	printf("tpcs %d %" PRIu32 "\n", err, err ? 0 : tpcs);
	err = libsmctrl_get_gpc_info(&gpcs, &tpcs_for_gpc, 0);
	printf("gpcs %d\n", err);
	for (uint32_t i = 0; !err && i < gpcs; i++)
		printf("%" PRIx64 "\n", tpcs_for_gpc[i]);
	if (!err && (libsmctrl_get_gpc_info(&again, &same, 0) || again != gpcs || same != tpcs_for_gpc))
		printf("another array\n");
	err = libsmctrl_get_gpc_info_ext(&gpcs, &wide, 0);
	printf("ext %d\n", err);
	for (uint32_t i = 0; !err && i < gpcs; i++)
		printf("%" PRIx64 ":%016" PRIx64 "\n", (uint64_t)(wide[i] >> 64), (uint64_t)wide[i]);
	printf("gpu 7: %d\n", libsmctrl_get_tpc_info(&tpcs, 7));
	return 0;
}
