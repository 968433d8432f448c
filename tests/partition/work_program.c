// SPDX-License-Identifier: GPL-2.0
// Launches kernels on partitions: work_program WAY TPCS..., TPCS as gpulens_mask_parse() takes
// them. All partitions are open at the same time. Prints the TPCs of each and the SMs of a launch
// in its stream, then "after" and the SMs of a launch in the default stream. Environment:
//	HOLD      waits for a character, closes the partitions, and waits for another character
//	AGAIN     launches in a new stream of the program, after all partitions are closed
//	MADE_UP   the layout is not of a GPU
//	FILE      the layout is that of this image
#include "gpulens-partition.h"
#include "print_sms.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct gpulens_partition *p[8] = {0};
	struct gpulens_layout *layout;
	uint64_t mask[2] = {0};
	unsigned way = argc > 1 ? (unsigned)atoi(argv[1]) : 0, tpcs = 0;
	unsigned halves[] = {33, 33};
	int err;

	if (getenv("MADE_UP"))
		err = gpulens_layout_make(halves, 2, &layout);
	else if (getenv("FILE"))
		err = gpulens_layout_open(getenv("FILE"), 0, &layout);
	else
		err = gpulens_layout_open_cuda(&layout);
	if (!err)
		err = gpulens_way_granule(way, &tpcs);
	printf("granule %d %u\n", err, tpcs);
	for (int i = 2; !err && i < argc && i < 10; i++) {
		err = gpulens_mask_parse(layout, argv[i], mask);
		if (!err)
			err = gpulens_partition_open(layout, way, mask, &p[i - 2]);
		if (err)
			break;
		gpulens_partition_tpcs(p[i - 2], mask);
		printf("got %llx:%016llx ran on", (unsigned long long)mask[1], (unsigned long long)mask[0]);
		print_sms("", gpulens_partition_stream(p[i - 2]), 1);
	}
	if (err) {
		printf("error %d: %s\n", err, gpulens_error());
		return 1;
	}
	if (getenv("HOLD")) {
		puts("ready");
		fflush(stdout);
		getchar();
	}
	for (int i = 0; i < 8; i++)
		gpulens_partition_close(p[i]);
	if (getenv("HOLD")) {
		puts("closed");
		fflush(stdout);
		getchar();
	}
	gpulens_layout_close(layout);
	printf("after");
	print_sms("", NULL, 1);
	if (getenv("AGAIN")) { /* the fake gives the last stream's memory out again */
		int (*make)(void **, unsigned);
		void *stream;

		*(void **)&make = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuStreamCreate");
		make(&stream, 0);
		printf("again");
		print_sms("", stream, 1);
	}
	return 0;
}
