// SPDX-License-Identifier: GPL-2.0
// The C interface of release 0.1.0, for which programs were built: the type of every function, and
// every constant. scripts/check abi compiles this file. An addition to the interface is added here
// with its release; lines are never changed.
#include "gpulens-partition.h"
#include "libsmctrl.h"

#define HAS(name, type) _Static_assert(__builtin_types_compatible_p(__typeof__(&name), type), #name)

HAS(gpulens_error, const char *(*)(void));
HAS(gpulens_layout_open, int (*)(const char *, unsigned int, struct gpulens_layout **));
HAS(gpulens_layout_make, int (*)(const unsigned int *, size_t, struct gpulens_layout **));
HAS(gpulens_layout_close, void (*)(struct gpulens_layout *));
HAS(gpulens_layout_gpcs, unsigned int (*)(const struct gpulens_layout *));
HAS(gpulens_layout_tpcs, unsigned int (*)(const struct gpulens_layout *));
HAS(gpulens_layout_words, size_t (*)(const struct gpulens_layout *));
HAS(gpulens_layout_gpc, int (*)(const struct gpulens_layout *, unsigned int, unsigned int *, uint64_t *));
HAS(gpulens_masks_make, int (*)(const struct gpulens_layout *, const unsigned int *, size_t, unsigned int,
    const uint64_t *, uint64_t *));
HAS(gpulens_mask_of_gpcs, int (*)(const struct gpulens_layout *, const unsigned int *, size_t, uint64_t *));
HAS(gpulens_mask_complement, int (*)(const struct gpulens_layout *, const uint64_t *, uint64_t *));
HAS(gpulens_mask_count, int (*)(const struct gpulens_layout *, const uint64_t *, unsigned int *));
HAS(gpulens_mask_launch, int (*)(const struct gpulens_layout *, const uint64_t *, uint64_t *));
HAS(gpulens_mask_parse, int (*)(const struct gpulens_layout *, const char *, uint64_t *));
HAS(gpulens_masks_check, int (*)(const struct gpulens_layout *, const uint64_t *, size_t, uint64_t *));
HAS(gpulens_way_granule, int (*)(unsigned int, unsigned int *));
HAS(gpulens_layout_open_cuda, int (*)(struct gpulens_layout **));
HAS(gpulens_partition_open, int (*)(const struct gpulens_layout *, unsigned int, const uint64_t *,
    struct gpulens_partition **));
HAS(gpulens_partition_tpcs, int (*)(const struct gpulens_partition *, uint64_t *));
HAS(gpulens_partition_stream, void *(*)(const struct gpulens_partition *));
HAS(gpulens_partition_close, void (*)(struct gpulens_partition *));
HAS(libsmctrl_get_gpc_info, int (*)(uint32_t *, uint64_t **, int));
HAS(libsmctrl_get_gpc_info_ext, int (*)(uint32_t *, uint128_t **, int));
HAS(libsmctrl_get_tpc_info, int (*)(uint32_t *, int));
HAS(libsmctrl_get_tpc_info_cuda, int (*)(uint32_t *, int));
HAS(libsmctrl_set_global_mask, void (*)(uint64_t));
HAS(libsmctrl_set_global_mask_ext, void (*)(uint128_t));
HAS(libsmctrl_set_next_mask, void (*)(uint64_t));
HAS(libsmctrl_set_next_mask_ext, void (*)(uint128_t));
HAS(libsmctrl_set_stream_mask, void (*)(void *, uint64_t));
HAS(libsmctrl_set_stream_mask_ext, void (*)(void *, uint128_t));
// Release 0.2.0.
HAS(gpulens_plan_open, int (*)(const char *, unsigned int, struct gpulens_plan **));
HAS(gpulens_plan_task, int (*)(struct gpulens_plan *, const char *, unsigned int *));
HAS(gpulens_plan_counts, int (*)(const struct gpulens_plan *, unsigned int, struct gpulens_counts *, size_t));
HAS(gpulens_plan_close, void (*)(struct gpulens_plan *));
HAS(gpulens_job_begin, int (*)(struct gpulens_plan *, unsigned int, uint64_t, void **));
HAS(gpulens_job_yield, int (*)(struct gpulens_plan *));
HAS(gpulens_job_end, int (*)(struct gpulens_plan *));
HAS(gpulens_slot_open, int (*)(const char *, unsigned int, struct gpulens_slots **));
HAS(gpulens_slot_acquire, int (*)(struct gpulens_slots *, unsigned int *));
HAS(gpulens_slot_release, int (*)(struct gpulens_slots *, unsigned int));
HAS(gpulens_slot_set, int (*)(struct gpulens_slots *, unsigned int));
HAS(gpulens_slot_counts, int (*)(const struct gpulens_slots *, struct gpulens_counts *, size_t));
HAS(gpulens_slot_close, void (*)(struct gpulens_slots *));
HAS(gpulens_schedule_begin, int (*)(uint64_t));
HAS(gpulens_schedule_end, int (*)(void));
HAS(gpulens_layout_numbering, unsigned int (*)(const struct gpulens_layout *, const char **));
HAS(gpulens_mask_convert,
    int (*)(const struct gpulens_layout *, const struct gpulens_layout *, const uint64_t *, uint64_t *));

_Static_assert(GPULENS_BY_GPC == 0, "GPULENS_BY_GPC");
_Static_assert(GPULENS_BY_SMID == 1, "GPULENS_BY_SMID");
_Static_assert(GPULENS_PACKED == 0, "GPULENS_PACKED");
_Static_assert(GPULENS_DISTRIBUTED == 1, "GPULENS_DISTRIBUTED");
_Static_assert(GPULENS_MASKS == 0, "GPULENS_MASKS");
_Static_assert(GPULENS_GREEN == 1, "GPULENS_GREEN");
_Static_assert(GPULENS_GREEN_CLUSTERS == 2, "GPULENS_GREEN_CLUSTERS");
_Static_assert(sizeof(uint128_t) == 16, "uint128_t");
_Static_assert(GPULENS_TURNS_ONLY == 0xff, "GPULENS_TURNS_ONLY");
_Static_assert(sizeof(struct gpulens_counts) == 56 && offsetof(struct gpulens_counts, longest_run_ns) == 48,
	       "struct gpulens_counts");
