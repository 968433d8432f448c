/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parsers of what users write: an id (5, 0x5, 05; 2:5 where ids count per runlist), an id and a
 * number (2:5 1000), what to sample (200 0 1). One trailing newline is allowed.
 */
#ifndef _LENS_PARSE_H_
#define _LENS_PARSE_H_

#include "../include/gpulens/gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LENS_ID_MAX 32	/* length of the longest valid text */

/* Parsed from PERIOD_US [RUNLIST...]: decimal numbers, separated by single spaces. */
struct lens_sampling {
	u32 period_us;
	u32 n;			/* number of runlists; 0: all */
	u32 runlists[LENS_MAX_RUNLISTS];
};

#define LENS_PERIOD_US_MIN	10
#define LENS_PERIOD_US_MAX	1000000
#define LENS_SAMPLING_MAX	512	/* length of the longest valid text */

/* 0; -EINVAL: not an id; -ERANGE: a number of more than 32 bits. */
int lens_parse_ref(const char *text, size_t len, struct lens_ref *ref);
/*
 * 0; -EINVAL: not such a text, a runlist twice, or too many; -ERANGE: a number of more than 32
 * bits, or a period out of bounds. *s is changed on success only.
 */
int lens_parse_sampling(const char *text, size_t len, struct lens_sampling *s);
/* What is written to a control file. */
enum lens_form {
	LENS_FORM_ID,		/* an id */
	LENS_FORM_ID_VALUE,	/* an id, one space and a decimal number */
	/* An id, or that and milliseconds, or * in place of the id: runlist LENS_ALL. */
	LENS_FORM_HOLD,
};

#define LENS_HOLD_MS_MAX	1000
#define LENS_ALL		(-2)
/*
 * Errors as lens_parse_ref(); -ERANGE also for milliseconds that are not 1 to LENS_HOLD_MS_MAX.
 * *value is 0 where the text has none.
 */
int lens_parse_request(const char *text, size_t len, enum lens_form form, struct lens_ref *ref,
		       u32 *value);

#ifdef __cplusplus
}
#endif

#endif /* _LENS_PARSE_H_ */
