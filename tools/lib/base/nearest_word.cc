// SPDX-License-Identifier: GPL-2.0
// Compares words by their edit distance.
#include "lib/base/nearest_word.hpp"

#include <algorithm>

namespace tool {

namespace {

// Damerau-Levenshtein distance with adjacent swaps.
size_t distance_of(const std::string &a, const std::string &b)
{
	std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));

	for (size_t i = 0; i <= a.size(); i++)
		for (size_t j = 0; j <= b.size(); j++) {
			if (!i || !j) {
				d[i][j] = i + j;
				continue;
			}
			d[i][j] =
				std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
		}
	return d[a.size()][b.size()];
}

} // namespace

std::string nearest_word(const std::string &word, const std::vector<std::string> &candidates)
{
	std::string nearest, longer;
	size_t least = word.size() == 2 ? 2 : word.size() / 3 + 1, longer_ones = 0;

	for (const std::string &candidate : candidates) {
		if (candidate.compare(0, word.size(), word) == 0 && word.size() > 1) {
			longer = candidate;
			longer_ones++;
		}
		size_t distance = distance_of(word, candidate);
		if (distance < least) {
			least = distance;
			nearest = candidate;
		} else if (distance == least) {
			nearest.clear();
		}
	}
	return longer_ones == 1 ? longer : nearest;
}

std::string suggestion_of(const std::string &word, const std::vector<std::string> &candidates)
{
	std::string meant = nearest_word(word, candidates);

	return meant.empty() ? "" : "; did you mean " + meant + "?";
}

} // namespace tool
