// SPDX-License-Identifier: GPL-2.0
/*
 * A text that grows. It allocates, so the caller holds no lock of the GPU.
 */
#include "text.h"

#ifdef __KERNEL__
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#define text_alloc(n)	kvmalloc(n, GFP_KERNEL_ACCOUNT)
#define text_free(p)	kvfree(p)
#define text_yield()	cond_resched()
#else
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#define text_alloc(n)	malloc(n)
#define text_free(p)	free(p)
#define text_yield()
#endif

#define TEXT_FIRST_CAP 4096

static bool text_grow(struct lens_text *t, size_t need)
{
	size_t cap = t->cap ? t->cap : TEXT_FIRST_CAP;
	char *buf;

	while (cap < need)
		cap *= 2;
	buf = text_alloc(cap);
	if (!buf) {
		t->err = -ENOMEM;
		return false;
	}
	if (t->len)
		memcpy(buf, t->buf, t->len);
	text_free(t->buf);
	t->buf = buf;
	t->cap = cap;
	return true;
}

void lens_text_add(struct lens_text *t, const char *fmt, ...)
{
	va_list args;
	int n;

	/* A list of 65535 entries is two million lines. */
	text_yield();
	if (t->err || (!t->cap && !text_grow(t, TEXT_FIRST_CAP)))
		return;
	va_start(args, fmt);
	n = vsnprintf(t->buf + t->len, t->cap - t->len, fmt, args);
	va_end(args);
	if (n >= 0 && (size_t)n >= t->cap - t->len) {
		if (!text_grow(t, t->len + n + 1))
			return;
		va_start(args, fmt);
		n = vsnprintf(t->buf + t->len, t->cap - t->len, fmt, args);
		va_end(args);
	}
	if (n > 0)
		t->len += n;
}

void lens_text_free(struct lens_text *t)
{
	text_free(t->buf);
	memset(t, 0, sizeof(*t));
}
