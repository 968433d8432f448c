// SPDX-License-Identifier: GPL-2.0
/*
 * Parses what is written to control files and to samples. Does not use kstrtou32(), which accepts
 * a leading plus and is not available in user space, where this is fuzzed.
 */
#include "parse.h"

static int parse_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

static int parse_digits(const char *s, size_t len, u32 base, u32 *val)
{
	u64 v = 0;
	int d;

	if (!len)
		return -EINVAL;
	for (; len; len--, s++) {
		d = parse_digit(*s);
		if (d >= (int)base)
			return -EINVAL;
		/* Go on after an overflow: -EINVAL for trailing text precedes -ERANGE. */
		if (v <= 0xffffffff)
			v = v * base + d;
	}
	*val = (u32)v;
	return v > 0xffffffff ? -ERANGE : 0;
}

static int parse_number(const char *s, size_t len, u32 *val)
{
	if (len > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
		return parse_digits(s + 2, len - 2, 16, val);
	return parse_digits(s, len, len > 1 && s[0] == '0' ? 8 : 10, val);
}

static int parse_id(const char *text, size_t len, struct lens_ref *ref)
{
	size_t colon;
	u32 runlist = 0;
	int err, err2;

	for (colon = 0; colon < len && text[colon] != ':'; colon++)
		;
	ref->runlist = LENS_NONE;
	if (colon == len)
		return parse_number(text, len, &ref->id);
	err = parse_number(text, colon, &runlist);
	err2 = parse_number(text + colon + 1, len - colon - 1, &ref->id);
	if (err == -EINVAL || err2 == -EINVAL)
		return -EINVAL;
	if (err || err2 || runlist > 0x7fffffff)
		return -ERANGE;
	ref->runlist = (int)runlist;
	return 0;
}

static bool parse_has_runlist(const struct lens_sampling *s, u32 runlist)
{
	u32 i;

	for (i = 0; i < s->n && s->runlists[i] != runlist; i++)
		;
	return i < s->n;
}

/* Removes a trailing newline. False: the text is then empty or longer than max. */
static bool parse_strip_newline(const char *text, size_t *len, size_t max)
{
	if (*len && text[*len - 1] == '\n')
		--*len;
	return *len && *len <= max;
}

static size_t parse_find_space(const char *s, size_t len)
{
	size_t n;

	for (n = 0; n < len && s[n] != ' '; n++)
		;
	return n;
}

/* The decimal number at *text, which is then at the space behind it or at the end. */
static int parse_next_number(const char **text, const char *end, u32 *val)
{
	size_t len = parse_find_space(*text, end - *text);
	int err = parse_digits(*text, len, 10, val);

	*text += len;
	return err;
}

int lens_parse_sampling(const char *text, size_t len, struct lens_sampling *s)
{
	struct lens_sampling got = { 0 };
	const char *end;
	bool beyond = false;
	u32 runlist;
	int err;

	if (!parse_strip_newline(text, &len, LENS_SAMPLING_MAX))
		return -EINVAL;
	end = text + len;
	err = parse_next_number(&text, end, &got.period_us);
	if (err == -EINVAL)
		return err;
	if (err || got.period_us < LENS_PERIOD_US_MIN || got.period_us > LENS_PERIOD_US_MAX)
		beyond = true;
	while (text < end) {
		text++;
		err = parse_next_number(&text, end, &runlist);
		/* Go on after a number that is too large, as parse_digits() does. */
		if (err == -EINVAL || got.n == LENS_MAX_RUNLISTS ||
		    (!err && parse_has_runlist(&got, runlist)))
			return -EINVAL;
		if (err)
			beyond = true;
		else
			got.runlists[got.n++] = runlist;
	}
	if (beyond)
		return -ERANGE;
	*s = got;
	return 0;
}

int lens_parse_ref(const char *text, size_t len, struct lens_ref *ref)
{
	return parse_strip_newline(text, &len, LENS_ID_MAX) ? parse_id(text, len, ref) : -EINVAL;
}

int lens_parse_request(const char *text, size_t len, enum lens_form form, struct lens_ref *ref,
		       u32 *value)
{
	struct lens_ref all = { .runlist = LENS_ALL };
	size_t space;
	int err, err2;

	if (!parse_strip_newline(text, &len, LENS_ID_MAX))
		return -EINVAL;
	*value = 0;
	space = parse_find_space(text, len);
	if (form == LENS_FORM_ID || (form == LENS_FORM_HOLD && space == len))
		return parse_id(text, len, ref);
	if (space == len)
		return -EINVAL;
	*ref = all;
	err = form == LENS_FORM_HOLD && space == 1 && text[0] == '*' ? 0 :
								       parse_id(text, space, ref);
	err2 = parse_digits(text + space + 1, len - space - 1, 10, value);
	if (!err2 && form == LENS_FORM_HOLD && (!*value || *value > LENS_HOLD_MS_MAX))
		err2 = -ERANGE;
	return err == -EINVAL || !err2 ? err : err2;
}
