// SPDX-License-Identifier: GPL-2.0
/*
 * The table of generations, and finding the generation of a chip. Each
 * generation's row is in chip/.
 */
#include "core.h"

const struct lens_chip *const lens_chips[] = {
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
	NULL
};

static const struct lens_chip_id unknown_id;

bool lens_chip_is_same(u32 was, u32 now)
{
	/* 0: no chip was identified before. */
	return !was || was == now;
}

const struct lens_chip *lens_chip_find(u32 id, const struct lens_chip_id **row, bool *known)
{
	const struct lens_chip *family = NULL;
	const struct lens_chip *const *chip;
	const struct lens_chip_id *c;

	*known = true;
	for (chip = lens_chips; *chip; chip++) {
		for (c = (*chip)->ids; c->id; c++) {
			if (c->id == id) {
				*row = c;
				return *chip;
			}
			/* The newest generation of that architecture. */
			if (c->id >> 4 == id >> 4)
				family = *chip;
		}
	}
	*row = &unknown_id;
	*known = false;
	return family;
}

const char *lens_chip_get_assumed(const struct lens_chip *chip, const struct lens_chip_id *id)
{
	return id->assumed ? id->assumed : chip->assumed;
}
