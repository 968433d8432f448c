// SPDX-License-Identifier: GPL-2.0
// The first load of the module on a card: what it shows beside what the driver says, in a file that a maintainer can
// replay.
#pragma once
#include "gpulens/out/output.hpp"

#include <string>

namespace tool {

struct FirstCardOptions {
	std::string module;    // file of the module; empty: the installed or built one
	std::string file;      // output; empty: gpulens-first-card-CHIP.image
	bool runlists = false; // load once more, with GPU memory readable
	bool yes = false;      // do not ask
};

// Loads the module, compares, unloads it, and writes the file. Returns EXIT_PART if a fact differs from the driver's,
// or the driver has complained meanwhile. Throws Error; the module is unloaded then as well.
int witness_first_card(const Options &options, const FirstCardOptions &wanted);

} // namespace tool
