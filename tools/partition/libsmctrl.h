/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libsmctrl's functions (RTAS'23, Table I), for programs that were written for that library. Link
 * with -lgpulens-partition.
 *
 * The get functions return 0 on success and a positive errno on failure, with a message on
 * standard error. In the masks of the set functions a set bit DISABLES a TPC; in the arrays of
 * libsmctrl_get_gpc_info() a set bit is a TPC of the GPC. dev counts GPUs from 0 in PCI order, as
 * /proc/gpuX does. The environment variable GPULENS_SOURCE is the source of gpulens_layout_open()
 * (gpulens-partition.h).
 */
#ifndef LIBSMCTRL_H
#define LIBSMCTRL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef unsigned __int128 uint128_t;

/*
 * Returns the TPCs of each enabled GPC.
 * num_gpcs:      the length of the array.
 * tpcs_for_gpc:  an array of masks; element i has the TPCs of the i-th enabled GPC. The library owns
 *                it; it stays valid and unchanged until the process exits.
 * ERANGE: the GPU has more TPCs than a mask has bits; the _ext function has 128 bits. ENODATA: how
 * masks number the TPCs is unknown: NVIDIA's driver does not report its SMs, and the hardware's
 * table of TPCs cannot be read, as while no CUDA context is active.
 */
int libsmctrl_get_gpc_info(uint32_t *num_gpcs, uint64_t **tpcs_for_gpc, int dev);
int libsmctrl_get_gpc_info_ext(uint32_t *num_gpcs, uint128_t **tpcs_for_gpc, int dev);
/* Returns the number of enabled TPCs. */
int libsmctrl_get_tpc_info(uint32_t *num_tpcs, int dev);
/* Returns the number of enabled TPCs; cuda_dev is CUDA's device number. */
int libsmctrl_get_tpc_info_cuda(uint32_t *num_tpcs, int cuda_dev);

/*
 * The set functions restrict kernel launches on the GPU of the calling thread's CUDA context. If the
 * thread has no context, they make the primary context of device 0 current in it. Bit n stands for
 * TPC n of libsmctrl_get_gpc_info(), whatever bit the hardware uses; TPCs beyond the mask's bits are
 * disabled.
 *
 * The first call verifies with a probe kernel, TPC by TPC, that masks have the expected effect on
 * this GPU and driver. If they have not, or masks cannot be set, the program ends with a message: a
 * program that asked for a partition must not run without it. Known to work: H200 and H100, driver 580.
 * Launch descriptors of GPUs from Kepler to Blackwell are supported from NVIDIA's headers; version
 * 4.0 (Hopper) alone was tested on hardware.
 *
 * They are for programs that use one GPU: masks are verified on one GPU only, and a masked launch on
 * another GPU ends the program. A cooperative launch of more blocks than its mask has SMs, and a
 * launch of thread-block clusters that do not fit on them, end the program, because they could wait for ever. With launch
 * descriptors before version 4.0 (Hopper) they are not recognized: from Pascal to Ada, the program ends
 * unless the environment has GPULENS_NO_COOPERATIVE=1, which states that it makes no such launches.
 */

/*
 * In each set function 0 is no mask, as in libsmctrl: the next coarser one applies, of the stream or of
 * the process. A program that loads this library with LIBSMCTRL_MASK set, libsmctrl's mask of a whole
 * process, ends with a message, unless that mask is 0: gpulens run --tpcs is what restricts a process.
 */

/*
 * Restricts all launches of the process that no other mask applies to. A mask that disables all
 * TPCs, as ~0, is for programs that give each launch or stream a mask: a launch that has neither
 * ends the program with a message.
 */
void libsmctrl_set_global_mask(uint64_t mask);
void libsmctrl_set_global_mask_ext(uint128_t mask);
/* Restricts the calling thread's next launch; it overrides the global mask and the stream's mask. */
void libsmctrl_set_next_mask(uint64_t mask);
void libsmctrl_set_next_mask_ext(uint128_t mask);
/*
 * Restricts all launches of a stream; it overrides the global mask.
 * stream: a CUstream or cudaStream_t of the calling thread's context; NULL is the default stream.
 *         cudaStreamPerThread is not supported.
 * The function runs the probe in the stream, so the stream must not be capturing. The mask does not
 * apply to graphs, which are not launched through their stream: a graph has the global mask of the
 * time when it was uploaded. A stream that is created after another was destroyed may inherit its
 * mask: give it a mask of its own.
 */
void libsmctrl_set_stream_mask(void *stream, uint64_t mask);
void libsmctrl_set_stream_mask_ext(void *stream, uint128_t mask);

#ifdef __cplusplus
}
#endif

#endif /* LIBSMCTRL_H */
