/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A text that grows, for the formatters, in the kernel and in user space.
 */
#ifndef _LENS_TEXT_H_
#define _LENS_TEXT_H_

#include "../include/gpulens/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lens_text {
	char *buf;
	size_t len, cap;
	int err;		/* -ENOMEM: it could not grow; what is added then is lost */
};

#ifdef __GNUC__
__attribute__((format(printf, 2, 3)))
#endif
void lens_text_add(struct lens_text *t, const char *fmt, ...);
void lens_text_free(struct lens_text *t);

#ifdef __cplusplus
}
#endif

#endif /* _LENS_TEXT_H_ */
