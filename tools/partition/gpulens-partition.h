/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libgpulens-partition: which TPC is in which GPC of a GPU, and masks of TPCs for tasks that
 * are not to disturb each other.
 *
 * A mask is an array of gpulens_layout_words() 64-bit words of any GPU's width; bit n % 64 of
 * word n / 64 is TPC n, and a set bit is a TPC that is IN the mask. libsmctrl (libsmctrl.h) and
 * the launch descriptor have them inverted: a set bit there is a TPC that is disabled.
 *
 * TPC n is software's number n: where NVIDIA's driver tells the SMs, those with %smid / SMs per
 * TPC == n; else TPCs in the order of their GPCs, as RTAS'23 section IV-B found them numbered
 * on GPUs up to Ampere. GPCs have the die's numbers.
 *
 * Functions return 0 or a negative errno, and gpulens_error() then says what was wrong in
 * words. A result is written only on success. Layouts do not change once made: any number of
 * threads may use one.
 */
#ifndef GPULENS_PARTITION_H
#define GPULENS_PARTITION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gpulens_layout;

/* Of this thread's last call that failed; "" before. Lives until its next call. */
const char *gpulens_error(void);

/*
 * The GPU of number gpu in PCI order.
 * source: NULL or "auto": the module where it is loaded, else NVIDIA's driver; "module":
 *         /proc/gpuX, whose topology takes no privilege; "driver": /dev/nvidiactl; else a file
 *         with an image or a snapshot, gpu counting what is in it from 0.
 * -ENODEV: there is no such GPU or source. -ENODATA: it does not tell which TPC is in which GPC.
 */
int gpulens_layout_open(const char *source, unsigned int gpu, struct gpulens_layout **layout);
/*
 * A GPU that is made up: GPC i has tpcs[i] TPCs, numbered in order. -EINVAL: no GPC, no TPC,
 * more than 65536 TPCs.
 */
int gpulens_layout_make(const unsigned int *tpcs, size_t gpcs, struct gpulens_layout **layout);
void gpulens_layout_close(struct gpulens_layout *layout);

unsigned int gpulens_layout_gpcs(const struct gpulens_layout *layout); /* that are enabled */
unsigned int gpulens_layout_tpcs(const struct gpulens_layout *layout);
size_t gpulens_layout_words(const struct gpulens_layout *layout); /* of a mask */
/*
 * The GPC at place index, from 0 on: its number on the die, its TPCs. -ENOENT: there are not so
 * many. Either may be NULL.
 */
int gpulens_layout_gpc(const struct gpulens_layout *layout, unsigned int index, unsigned int *id, uint64_t *mask);

/*
 * How TPCs are taken from GPCs (Otterness' SE-packed and SE-distributed, RTAS'23 section VI-D,
 * on GPCs).
 */
enum gpulens_placing {
	GPULENS_PACKED = 0,	 /* whole GPCs first, the rest where the least is left over */
	GPULENS_DISTRIBUTED = 1, /* evenly from as many GPCs as there are */
};

/*
 * masks: n masks one after the other, mask i of sizes[i] TPCs, all disjoint, and apart from
 * taken (NULL: nothing is). how: enum gpulens_placing. The largest is placed first. -ENOSPC:
 * there are not so many TPCs. -EINVAL: a size of 0, no such placing.
 */
int gpulens_masks_make(const struct gpulens_layout *layout, const unsigned int *sizes, size_t n,
		       unsigned int how, const uint64_t *taken, uint64_t *masks);
/*
 * All TPCs of the GPCs with these numbers. -ENOENT: there is no such GPC. -EINVAL: one is named
 * twice, or none.
 */
int gpulens_mask_of_gpcs(const struct gpulens_layout *layout, const unsigned int *ids, size_t n, uint64_t *mask);
/*
 * All TPCs that are not in it; mask and complement may be the same. -ENOENT: it has a TPC that
 * there is none of.
 */
int gpulens_mask_complement(const struct gpulens_layout *layout, const uint64_t *mask, uint64_t *complement);
/* How many TPCs are in it. */
int gpulens_mask_count(const struct gpulens_layout *layout, const uint64_t *mask, unsigned int *tpcs);
/*
 * disable: the 128 bits of a launch descriptor's mask (version 4.0, Hopper) that keep a kernel
 * on the TPCs of mask: all set but theirs. Nine bits for each virtual GPC, as probed on four
 * H200s (docs/results/2026-11-22-h200-masks.md); on anything else this is to be verified by a
 * kernel that reads %smid before it is trusted. -ENODATA: only NVIDIA's driver tells virtual
 * GPCs, and this layout is not from it; -ERANGE: such a mask has no room for this GPU. -EINVAL:
 * mask is empty.
 */
int gpulens_mask_launch(const struct gpulens_layout *layout, const uint64_t *mask, uint64_t disable[2]);
/*
 * "0-9,12", "0x3ff", "gpc:2,3" or "all"; "half:a" and "half:b" are whole GPCs, as near to half of
 * the TPCs as whole ones come. -EINVAL: not that. -ENOENT: no such TPC or GPC.
 */
int gpulens_mask_parse(const struct gpulens_layout *layout, const char *text, uint64_t *mask);

/*
 * May n partitions with these masks be used together? -ENOENT: one has a TPC that there is none
 * of; -EINVAL: one is empty; -EBUSY: two have the same TPC. gpulens_error() names masks, from 0
 * on, and TPC. On success split gets the TPCs of all GPCs that more than one of them has TPCs
 * of (NULL: not asked), whose partitions share what there is once per GPC.
 */
int gpulens_masks_check(const struct gpulens_layout *layout, const uint64_t *masks, size_t n, uint64_t *split);

/*
 * CUDA work on a partition, on the GPU of the calling thread's CUDA context (of device 0, whose
 * primary context becomes the thread's, where it has none). For programs that use one GPU.
 */
enum gpulens_way {
	/*
	 * A mask in each launch's descriptor, as libsmctrl.h: any TPCs. A cooperative launch of more
	 * blocks than the mask has SMs, or of clusters, ends the program: it could wait for ever.
	 */
	GPULENS_MASKS = 0,
	GPULENS_GREEN = 1, /* a green context of the driver's smallest groups: single TPCs on an H200 */
	/*
	 * A green context of groups whose SMs can be in one thread-block cluster: 4 TPCs of one
	 * virtual GPC on an H200, and what is left over (6 there) as one group.
	 */
	GPULENS_GREEN_CLUSTERS = 2,
};
/*
 * What a way can do here: partitions grow by so many TPCs. The first call takes a while (some
 * 66 probes). -EINVAL: no such way. -ENODEV: no CUDA, or no GPU that NVIDIA's driver tells of.
 * -ENOSYS, -ENOTSUP, -EIO: not here, and gpulens_error() says why. In one process masks and green
 * contexts exclude each other once masks are used: the driver then makes no green context.
 */
int gpulens_way_granule(unsigned int way, unsigned int *tpcs);
/* The layout of that GPU, by NVIDIA's driver. -ENODEV as above; -ENODATA: its GPCs are not told. */
int gpulens_layout_open_cuda(struct gpulens_layout **layout);

struct gpulens_partition;
/*
 * A partition with at least these TPCs: all of each group that has one. It was verified by the
 * probe. -EINVAL: an empty mask, no such way, or the layout of another GPU. -ENOENT: there is no such TPC. Else
 * as gpulens_way_granule(). gpulens_masks_check() finds overlaps of what was got.
 */
int gpulens_partition_open(const struct gpulens_layout *layout, unsigned int way, const uint64_t *mask,
			   struct gpulens_partition **partition);
/* The TPCs that it has. */
int gpulens_partition_tpcs(const struct gpulens_partition *partition, uint64_t *mask);
/*
 * Its stream, a CUstream (cudaStream_t): kernels that are launched in it stay on its TPCs. It is
 * non-blocking, of the primary context, and the partition's until that is closed.
 */
void *gpulens_partition_stream(const struct gpulens_partition *partition);
/* Once nothing runs in its stream any more; its mask ends with it. NULL is nothing to close. */
void gpulens_partition_close(struct gpulens_partition *partition);

#ifdef __cplusplus
}
#endif

#endif /* GPULENS_PARTITION_H */
