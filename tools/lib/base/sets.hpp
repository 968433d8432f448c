// SPDX-License-Identifier: GPL-2.0
// Numbers from 0 on in disjoint sets.
#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

namespace tool {

class Sets {
public:
	// Each number is a set.
	explicit Sets(size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), size_t{0}); }
	// Returns the smallest number of the set that i is in.
	size_t root(size_t i) const { return parent_[i] == i ? i : root(parent_[i]); }
	void join(size_t a, size_t b) { parent_[std::max(root(a), root(b))] = std::min(root(a), root(b)); }

private:
	std::vector<size_t> parent_;
};

} // namespace tool
