/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ids as users write them: 5, 0x5, 05 or, where ids count per runlist, 2:5.
 * One trailing newline is allowed, nothing else.
 */
#ifndef _LENS_PARSE_H_
#define _LENS_PARSE_H_

#include "../include/gpulens/gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LENS_ID_MAX 32	/* no legal text is longer */

/* -EINVAL: not an id. -ERANGE: a number beyond 32 bits. */
int lens_parse_ref(const char *text, size_t len, struct lens_ref *ref);

#ifdef __cplusplus
}
#endif

#endif /* _LENS_PARSE_H_ */
