// SPDX-License-Identifier: GPL-2.0
// Compares what the module reads of a GPU with what its driver says of it.
#pragma once
#include "gpulens/out/table.hpp"
#include "lib/model/model.hpp"

#include <map>
#include <string>
#include <vector>

namespace tool {

enum class Verdict { Equal, Different, NotComparable };

struct Comparison {
	std::string fact;
	Verdict verdict = Verdict::Equal;
	std::string text; // the value, or both where they differ, or why they cannot be compared
};

// Values of a fact by what they belong to ("LCE2"); "" is the GPU itself.
using Values = std::map<std::string, std::string>;

// whose: the others' name; why: why one of them has no values.
Comparison compare_values(const std::string &fact, const char *whose, const Values &ours, const Values &theirs,
			  const std::string &why);
// Compares chip, memory, engines with their runlists and ids, GPCs, TPCs and copy engines. why: why theirs has
// nothing at all; empty: it has, and its failures say what it lacks.
std::vector<Comparison> compare_gpus(const Gpu &ours, const Gpu &theirs, const std::string &why);
// Compares channels on runlists with those that the driver has allocated, before or after the runlists were read, and
// instance blocks with what they must name: a page directory, in GPU memory if its aperture says so.
std::vector<Comparison> compare_channels(const Gpu &ours, const Gpu &before, const Gpu &after, const std::string &why);

std::string comparisons_text(const std::vector<Comparison> &list, const Style &style);

} // namespace tool
