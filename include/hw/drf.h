/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reading NVIDIA's `hi:lo` register notation from C and C++.
 *
 * A field F is defined as two numbers with a colon between them; `0 ? F`
 * picks the second, `1 ? F` the first. The MW macros take fields numbered
 * over an array of 32-bit words (word * 32 + bit) that do not cross a word.
 */
#ifndef _LENS_HW_DRF_H_
#define _LENS_HW_DRF_H_

#define DRF_LO(f)		(0 ? f)
#define DRF_HI(f)		(1 ? f)
#define DRF_MASK(f)		(0xffffffffU >> (31 - (DRF_HI(f) % 32) + (DRF_LO(f) % 32)))

/* Value of field f in word v; word v with field f alone set to x. */
#define DRF_VAL(f, v)		(((v) >> (DRF_LO(f) % 32)) & DRF_MASK(f))
#define DRF_NUM(f, x)		(((x) & DRF_MASK(f)) << (DRF_LO(f) % 32))

/* The same over an array of words w. */
#define DRF_VAL_MW(f, w)	DRF_VAL(f, (w)[DRF_LO(f) / 32])

/* Field f of a 64-bit word. */
#define DRF_MASK64(f)		(0xffffffffffffffffULL >> (63 - (DRF_HI(f) % 64) + (DRF_LO(f) % 64)))
#define DRF_VAL64(f, v)		(((v) >> (DRF_LO(f) % 64)) & DRF_MASK64(f))

#endif /* _LENS_HW_DRF_H_ */
