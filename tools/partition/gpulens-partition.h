/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libgpulens-partition: the TPCs of each GPC of an NVIDIA GPU, masks of TPCs for tasks that must
 * not disturb each other, and CUDA streams whose kernels stay on the TPCs of such a mask.
 *
 * Masks. A mask is an array of gpulens_layout_words() 64-bit words. Bit n % 64 of word n / 64
 * stands for TPC n; a set bit means that the TPC is IN the mask. libsmctrl (libsmctrl.h) and the
 * launch descriptor use the inverse: there, a set bit disables the TPC.
 *
 * TPC numbers. TPC n is logical TPC n. If the layout comes from NVIDIA's driver, which reports the
 * SMs, TPC n has the SMs with %smid / (SMs per TPC) == n. Otherwise TPCs are numbered GPC by GPC,
 * the order that RTAS'23 section IV-B found on GPUs up to Ampere. GPC numbers are physical.
 *
 * Errors. Unless stated otherwise, functions return 0 on success and a negative errno on failure;
 * gpulens_error() then returns a message. Output parameters are written on success only. A pointer
 * that must not be NULL but is gives -EINVAL.
 *
 * Threads. A layout does not change after it was made; any number of threads may use one.
 */
#ifndef GPULENS_PARTITION_H
#define GPULENS_PARTITION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The GPCs of one GPU and the TPCs of each. */
struct gpulens_layout;

/*
 * Returns the message of the calling thread's last failed call, "" if none failed. The string is
 * valid until the thread's next call of this library.
 */
const char *gpulens_error(void);

/*
 * Reads the layout of a GPU.
 * source: where to read it from:
 *         NULL or "auto"  the kernel module if it is loaded, else NVIDIA's driver
 *         "module"        /proc/gpuX; topology needs no privilege
 *         "driver"        /dev/nvidiactl
 *         anything else   the path of an image or a snapshot
 * gpu:    index of the GPU from 0, in PCI order; for a file, its index in the file.
 * layout: the new layout, to be freed with gpulens_layout_close().
 * -ENODEV: there is no such GPU or source. -ENODATA: the source does not report the TPCs of GPCs.
 */
int gpulens_layout_open(const char *source, unsigned int gpu, struct gpulens_layout **layout);
/*
 * Makes the layout of an imaginary GPU.
 * tpcs: gpcs numbers; GPC i has tpcs[i] TPCs. TPCs are numbered GPC by GPC.
 * -EINVAL: no GPC, no TPC, or more than 65536 TPCs.
 */
int gpulens_layout_make(const unsigned int *tpcs, size_t gpcs, struct gpulens_layout **layout);
/* Frees a layout. NULL is allowed. */
void gpulens_layout_close(struct gpulens_layout *layout);

/* Returns the number of enabled GPCs. layout must not be NULL. */
unsigned int gpulens_layout_gpcs(const struct gpulens_layout *layout);
/* Returns the number of enabled TPCs. layout must not be NULL. */
unsigned int gpulens_layout_tpcs(const struct gpulens_layout *layout);
/* Returns the length of a mask of this GPU, in 64-bit words. layout must not be NULL. */
size_t gpulens_layout_words(const struct gpulens_layout *layout);
/*
 * Describes one GPC.
 * index: from 0 to gpulens_layout_gpcs() - 1.
 * id:    the GPC's physical number; NULL if not wanted.
 * mask:  the TPCs of the GPC, gpulens_layout_words() words; NULL if not wanted.
 * -ENOENT: index is too large.
 */
int gpulens_layout_gpc(const struct gpulens_layout *layout, unsigned int index, unsigned int *id, uint64_t *mask);

/*
 * How a partition's TPCs are chosen from the GPCs. Otterness' SE-packed and SE-distributed
 * (RTAS'23 section VI-D), applied to GPCs.
 */
enum gpulens_placing {
	GPULENS_PACKED = 0,	 /* whole GPCs first, the rest where the fewest TPCs are left over */
	GPULENS_DISTRIBUTED = 1, /* evenly from as many GPCs as possible */
};

/*
 * Makes disjoint masks of given sizes. The largest partition is placed first.
 * sizes: n numbers of TPCs.
 * how:   enum gpulens_placing.
 * taken: TPCs that no mask may have, gpulens_layout_words() words; NULL if there are none.
 * masks: n masks of gpulens_layout_words() words each, one after the other; mask i has sizes[i] TPCs.
 * -ENOSPC: there are not enough TPCs. -EINVAL: a size is 0, or how is not an enum gpulens_placing.
 * -ENOENT: taken has a TPC that the GPU does not have.
 */
int gpulens_masks_make(const struct gpulens_layout *layout, const unsigned int *sizes, size_t n,
		       unsigned int how, const uint64_t *taken, uint64_t *masks);
/*
 * Makes the mask of all TPCs of some GPCs.
 * ids:  n physical GPC numbers.
 * mask: gpulens_layout_words() words.
 * -ENOENT: the GPU has no such GPC. -EINVAL: n is 0, or a GPC is given twice.
 */
int gpulens_mask_of_gpcs(const struct gpulens_layout *layout, const unsigned int *ids, size_t n, uint64_t *mask);
/*
 * Makes the mask of all TPCs that are not in mask. mask and complement may be the same array of
 * gpulens_layout_words() words.
 * -ENOENT: mask has a TPC that the GPU does not have.
 */
int gpulens_mask_complement(const struct gpulens_layout *layout, const uint64_t *mask, uint64_t *complement);
/* Counts the TPCs of a mask. -ENOENT: mask has a TPC that the GPU does not have. */
int gpulens_mask_count(const struct gpulens_layout *layout, const uint64_t *mask, unsigned int *tpcs);
/*
 * Converts a mask to the TPC mask of a launch descriptor (version 4.0, Hopper).
 * disable: 128 bits, lowest first; a set bit disables a TPC. All are set but those of mask's TPCs.
 * The descriptor has NUM_TPC_PER_GPC bits for each virtual GPC (nine on the four H200s that were
 * probed, docs/results/2026-11-22-h200-masks.md). On any other GPU, verify the result with a kernel
 * that reads %smid before you rely on it.
 * -ENODATA: the layout has no virtual GPCs, which only NVIDIA's driver reports. -ERANGE: a TPC needs
 * a bit beyond 127. -EINVAL: mask is empty. -ENOENT: mask has a TPC that the GPU does not have.
 */
int gpulens_mask_launch(const struct gpulens_layout *layout, const uint64_t *mask, uint64_t disable[2]);
/*
 * Parses a mask.
 * text: "0-9,12" (TPCs), "0x3ff" (TPCs as bits), "gpc:2,3" (all TPCs of these GPCs), "all", or
 *       "half:a" and "half:b": whole GPCs with as close to half of the TPCs as whole GPCs allow.
 * mask: gpulens_layout_words() words.
 * -EINVAL: text has none of these forms. -ENOENT: the GPU has no such TPC or GPC.
 */
int gpulens_mask_parse(const struct gpulens_layout *layout, const char *text, uint64_t *mask);

/*
 * Checks that n partitions can be used together: no mask is empty and no TPC is in two masks.
 * masks: n masks of gpulens_layout_words() words each, one after the other.
 * split: gets all TPCs of the GPCs that more than one partition has TPCs of; these partitions
 *        share what exists once per GPC. NULL if not wanted.
 * -ENOENT: a mask has a TPC that the GPU does not have. -EINVAL: a mask is empty. -EBUSY: two masks
 * have the same TPC. gpulens_error() gives the masks' indices, from 0, and the TPC.
 */
int gpulens_masks_check(const struct gpulens_layout *layout, const uint64_t *masks, size_t n, uint64_t *split);

/*
 * The functions below run CUDA work on a partition of one GPU: the GPU of the calling thread's
 * CUDA context. If the thread has no context, they make the primary context of device 0 current
 * in it. They are for programs that use one GPU.
 */

/* How a partition is enforced. */
enum gpulens_way {
	/*
	 * A mask in the descriptor of each launch, as in libsmctrl.h; any set of TPCs. A cooperative
	 * launch of more blocks than the mask has SMs, and a launch of thread-block clusters, end the
	 * program: they could wait for ever. From Pascal to Ada they are not recognized, and this way is
	 * refused (-ENOSYS) unless the environment has GPULENS_NO_COOPERATIVE=1, which states that
	 * the program makes no such launches.
	 */
	GPULENS_MASKS = 0,
	/* A green context of the driver's smallest SM groups: single TPCs on an H200. */
	GPULENS_GREEN = 1,
	/*
	 * A green context of groups whose SMs can run one thread-block cluster: on an H200, 4 TPCs
	 * of one virtual GPC, and the rest (6 TPCs there) as one group.
	 */
	GPULENS_GREEN_CLUSTERS = 2,
};
/*
 * Tests whether a way works here, and returns its granularity.
 * way:  enum gpulens_way.
 * tpcs: the number of TPCs that a partition grows by.
 * The first call for a way runs about 66 probe kernels.
 * -EINVAL: way is not an enum gpulens_way. -ENODEV: no CUDA, or NVIDIA's driver does not report the
 * GPU or its GPCs. -ENODATA, -ERANGE (GPULENS_MASKS): as gpulens_mask_launch(). -ENOSYS, -ENOTSUP,
 * -EIO: the way does not work here; gpulens_error() gives the reason. Once a process has used launch
 * masks, the driver creates no green contexts in it any more (seen with driver 580).
 */
int gpulens_way_granule(unsigned int way, unsigned int *tpcs);
/*
 * Reads the layout of the current CUDA GPU from NVIDIA's driver. If the driver does not report the
 * SMs, the layout is found with launch masks, and has TPCs and no GPCs. -ENODEV, -ENOSYS, -EIO: as
 * gpulens_way_granule().
 */
int gpulens_layout_open_cuda(struct gpulens_layout **layout);

/* A CUDA stream whose kernels stay on some TPCs. */
struct gpulens_partition;
/*
 * Opens a partition with at least the TPCs of mask: it has all TPCs of each SM group that has a TPC
 * of mask. A probe kernel verifies the partition before the function returns. Use
 * gpulens_masks_check() on the results of gpulens_partition_tpcs() to find overlaps.
 * way:  enum gpulens_way.
 * mask: gpulens_layout_words() words.
 * -EINVAL: mask is empty, way is not an enum gpulens_way, or layout is another GPU's. -ENOENT: mask
 * has a TPC that the GPU does not have. -ENOSPC: a TPC is in no SM group of the driver. Otherwise as
 * gpulens_way_granule().
 */
int gpulens_partition_open(const struct gpulens_layout *layout, unsigned int way, const uint64_t *mask,
			   struct gpulens_partition **partition);
/* Returns the TPCs that the partition has; mask: gpulens_layout_words() words. */
int gpulens_partition_tpcs(const struct gpulens_partition *partition, uint64_t *mask);
/*
 * Returns the partition's stream, a CUstream (cudaStream_t). Kernels launched in it run on the
 * partition's TPCs only. The stream is non-blocking, belongs to the primary context, and is
 * destroyed by gpulens_partition_close(). partition must not be NULL.
 */
void *gpulens_partition_stream(const struct gpulens_partition *partition);
/*
 * Destroys the stream and removes its mask. Call it when no work is left in the stream. NULL is
 * allowed.
 */
void gpulens_partition_close(struct gpulens_partition *partition);

#ifdef __cplusplus
}
#endif

#endif /* GPULENS_PARTITION_H */
