// SPDX-License-Identifier: GPL-2.0
/*
 * Which generations there are, by age. What they are is in chip/.
 */
#include "core.h"

static const struct lens_chip *const chips[] = {
	&lens_chip_gk10x,
	&lens_chip_gm10x,
	&lens_chip_gm20x,
	&lens_chip_gp100,
	&lens_chip_gp10x,
	&lens_chip_gv10x,
	&lens_chip_tu10x,
	&lens_chip_ga100,
	&lens_chip_ga10x,
	&lens_chip_gh100,
	&lens_chip_ad10x,
	&lens_chip_gb10x,
	&lens_chip_gb20x,
};

static const struct lens_chip_id unknown;

bool lens_chip_is_same(u32 was, u32 now)
{
	/* 0: not identified yet, any chip may answer. */
	return !was || was == now;
}

const struct lens_chip *lens_chip_find(u32 id, const struct lens_chip_id **row, bool *known)
{
	const struct lens_chip *family = NULL;
	const struct lens_chip_id *c;
	u32 i;

	*known = true;
	for (i = 0; i < LENS_ARRAY_SIZE(chips); i++) {
		for (c = chips[i]->ids; c->id; c++) {
			if (c->id == id) {
				*row = c;
				return chips[i];
			}
			/* The newest generation of that architecture. */
			if (c->id >> 4 == id >> 4)
				family = chips[i];
		}
	}
	*row = &unknown;
	*known = false;
	return family;
}

const char *lens_chip_assumed(const struct lens_chip *chip, const struct lens_chip_id *id)
{
	return id->assumed ? id->assumed : chip->assumed;
}
