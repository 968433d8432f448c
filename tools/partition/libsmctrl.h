/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libsmctrl's functions (RTAS'23, Table I), for programs that were written for that library:
 * link with -lgpulens-partition. Those that inform return 0 or an errno. In masks of those that
 * partition a set bit is a TPC that is DISABLED; in the arrays of get_gpc_info a set bit is a
 * TPC that is in the GPC. dev counts GPUs in PCI order, as /proc/gpuX; GPULENS_SOURCE in the
 * environment is gpulens_layout_open()'s source.
 */
#ifndef LIBSMCTRL_H
#define LIBSMCTRL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef unsigned __int128 uint128_t;

/*
 * Array i is of the i-th enabled GPC; it stays this library's and as it is. ERANGE: more TPCs
 * than bits, for which _ext has 128.
 */
int libsmctrl_get_gpc_info(uint32_t *num_gpcs, uint64_t **tpcs_for_gpc, int dev);
int libsmctrl_get_gpc_info_ext(uint32_t *num_gpcs, uint128_t **tpcs_for_gpc, int dev);
int libsmctrl_get_tpc_info(uint32_t *num_tpcs, int dev);
int libsmctrl_get_tpc_info_cuda(uint32_t *num_tpcs, int cuda_dev); /* the same by CUDA's numbers of devices */

/*
 * For the GPU of the calling thread's CUDA context, or of device 0 where it has none. Bit n is TPC n
 * of get_gpc_info, whatever the hardware's mask calls it; TPCs beyond the bits are disabled. The
 * first call shows by a probe kernel, TPC by TPC, that masks mean here what they are taken for.
 * Where they do not, or where there is no way to set them, the program ends with a message: one
 * that asked for a partition must not run without it. Known to work: H200, driver 580.
 * For programs that use one GPU: masks are put on launches of any, and verified on that one only.
 * A cooperative launch of more blocks than its mask has SMs, or of clusters, ends the program.
 */
void libsmctrl_set_global_mask(uint64_t mask);
void libsmctrl_set_global_mask_ext(uint128_t mask);
void libsmctrl_set_next_mask(uint64_t mask); /* of the calling thread's next launch, over the global one */
void libsmctrl_set_next_mask_ext(uint128_t mask);
/*
 * For a cudaStream_t or CUstream of the calling thread's context (NULL: the default stream), over the
 * global one. Runs the probe on it: it must not be capturing. Not for cudaStreamPerThread, and not
 * for graphs, which are not launched through their stream: they have the global mask of when
 * they were uploaded. A stream that is made where another was destroyed may inherit its mask:
 * give it its own.
 */
void libsmctrl_set_stream_mask(void *stream, uint64_t mask);
void libsmctrl_set_stream_mask_ext(void *stream, uint128_t mask);

#ifdef __cplusplus
}
#endif

#endif /* LIBSMCTRL_H */
