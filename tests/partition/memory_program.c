// SPDX-License-Identifier: GPL-2.0
// Calls functions of the library while the first allocation fails, then the second, and so on until
// a call needs no more. Prints whether each function returned ENOMEM, and how many other errors it
// returned.
#include "gpulens-partition.h"
#include "libsmctrl.h"
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t bytes);

static long left = -1; // allocations until one fails; -1: none does
static bool failed;

void *malloc(size_t bytes)
{
	if (left >= 0 && left-- == 0) {
		failed = true;
		errno = ENOMEM;
		return NULL;
	}
	return __libc_malloc(bytes);
}

static int open_and_close(void)
{
	struct gpulens_layout *layout;
	int err = gpulens_layout_open(getenv("GPULENS_SOURCE"), 0, &layout);

	if (!err)
		gpulens_layout_close(layout);
	return -err;
}

static int find_place(void)
{
	static const unsigned int tpcs[] = { 5, 4 }, sizes[] = { 3, 2 };
	struct gpulens_layout *layout;
	uint64_t masks[2];
	int err = gpulens_layout_make(tpcs, 2, &layout);

	if (err)
		return -err;
	err = gpulens_masks_make(layout, sizes, 2, GPULENS_PACKED, NULL, masks);
	gpulens_layout_close(layout);
	return -err;
}

static int count_tpcs(void)
{
	uint32_t tpcs;

	return libsmctrl_get_tpc_info(&tpcs, 0);
}

static int count_gpcs(void)
{
	uint32_t gpcs;
	uint64_t *masks;

	return libsmctrl_get_gpc_info(&gpcs, &masks, 0);
}

static int count_gpcs_ext(void)
{
	uint32_t gpcs;
	uint128_t *masks;

	return libsmctrl_get_gpc_info_ext(&gpcs, &masks, 0);
}

static void fail_each_allocation(const char *name, int (*call)(void))
{
	unsigned int times = 0, no_memory = 0, others = 0;

	for (long i = 0;; i++) {
		failed = false;
		left = i;
		int err = call();
		left = -1;
		if (!failed)
			break;
		times++;
		no_memory += err == ENOMEM;
		others += err && err != ENOMEM;
	}
	printf("%s %s %u\n", name, times && no_memory ? "survived" : "untried", others);
	fflush(stdout);
}

int main(void)
{
	fail_each_allocation("open", open_and_close);
	fail_each_allocation("place", find_place);
	fail_each_allocation("tpcs", count_tpcs);
	fail_each_allocation("gpcs", count_gpcs);
	fail_each_allocation("gpcs_ext", count_gpcs_ext);
	return 0;
}
