// SPDX-License-Identifier: GPL-2.0
// Suggestions for mistyped words.
#pragma once
#include <string>
#include <vector>

namespace tool {

// Returns the candidate that a mistyped word most likely means: the one with the fewest changed, added, left out or swapped
// characters, at most a third of the word's; or the only one that begins with the word. Empty if there is none, or two are
// equally near.
std::string nearest_word(const std::string &word, const std::vector<std::string> &candidates);
// Returns "; did you mean WORD?", or an empty text if there is no such candidate.
std::string suggestion_of(const std::string &word, const std::vector<std::string> &candidates);

} // namespace tool
