// SPDX-License-Identifier: GPL-2.0
/*
 * Which generations there are. What they are is in chip/.
 */
#include "core.h"

static const struct lens_chip *const chips[] = {
	&lens_chip_gp10x,
	&lens_chip_tu10x,
	&lens_chip_gh100,
	&lens_chip_ad10x,
};

const struct lens_chip *lens_chip_find(u32 id, const char **name)
{
	const struct lens_chip_id *c;
	u32 i;

	for (i = 0; i < LENS_ARRAY_SIZE(chips); i++)
		for (c = chips[i]->ids; c->id; c++)
			if (c->id == id) {
				*name = c->name;
				return chips[i];
			}
	return NULL;
}
