// SPDX-License-Identifier: GPL-2.0
// The generations of the module's table, for tests of all of them or of all with the same Host.
#pragma once
#include "gpulens/chip.h"

#include <vector>

namespace test {

inline std::vector<const lens_chip *> all_chips()
{
	std::vector<const lens_chip *> all;
	for (const lens_chip *const *chip = lens_chips; *chip; chip++)
		all.push_back(*chip);
	return all;
}

// Generations whose Host is known and whose channel ids are per runlist, or per GPU.
inline std::vector<const lens_chip *> chips_with_host(bool ids_per_runlist)
{
	std::vector<const lens_chip *> all = all_chips();
	std::erase_if(all, [=](const lens_chip *c) { return !c->host || c->ids_per_runlist != ids_per_runlist; });
	return all;
}

// Host is one PFIFO unit, with PCCSR channel words: Kepler .. Turing.
inline std::vector<const lens_chip *> pfifo_chips()
{
	return chips_with_host(false);
}

// Each runlist has registers and channel RAM of its own: Ampere and later.
inline std::vector<const lens_chip *> chram_chips()
{
	return chips_with_host(true);
}

} // namespace test
