/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ids as users write them: 5, 0x5, 05 or, where ids count per runlist, 2:5; such an
 * id with a number behind it: 2:5 1000; and what is to be sampled. One trailing newline
 * is allowed, nothing else.
 */
#ifndef _LENS_PARSE_H_
#define _LENS_PARSE_H_

#include "../include/gpulens/gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LENS_ID_MAX 32	/* no legal text is longer */

/* What is written to samples: PERIOD_US [RUNLIST...], decimal, one space between. */
struct lens_sampling {
	u32 period_us;
	u32 n;			/* runlists; none: all */
	u32 runlists[LENS_MAX_RUNLISTS];
};

#define LENS_PERIOD_US_MIN	10
#define LENS_PERIOD_US_MAX	1000000
#define LENS_SAMPLING_MAX	512	/* no legal text is longer */

/* -EINVAL: not an id. -ERANGE: a number beyond 32 bits. */
int lens_parse_ref(const char *text, size_t len, struct lens_ref *ref);
/*
 * -EINVAL: not such a text, a runlist twice, or too many. -ERANGE: a number beyond 32
 * bits, or a period out of bounds. *s is then as it was.
 */
int lens_parse_sampling(const char *text, size_t len, struct lens_sampling *s);
/* An id, one space and a decimal number. */
int lens_parse_ref_value(const char *text, size_t len, struct lens_ref *ref, u32 *value);

#ifdef __cplusplus
}
#endif

#endif /* _LENS_PARSE_H_ */
