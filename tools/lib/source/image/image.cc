// SPDX-License-Identifier: GPL-2.0
// Sorts and finds words.
#include "lib/source/image/image.hpp"

#include <algorithm>

namespace tool {

void WordSpace::add(uint64_t addr, uint32_t word)
{
	// Address 0 does not follow the last address.
	if (runs_.empty() || !addr || runs_.back().addr + runs_.back().count * 4 != addr)
		runs_.push_back({addr, words_.size(), 0});
	runs_.back().count++;
	words_.push_back(word);
}

void WordSpace::finish()
{
	bool overlap = false;

	std::sort(runs_.begin(), runs_.end(),
		  [](const Run &a, const Run &b) { return a.addr != b.addr ? a.addr < b.addr : a.first < b.first; });
	for (size_t i = 1; i < runs_.size(); i++)
		overlap |= runs_[i].addr - runs_[i - 1].addr < runs_[i - 1].count * 4;
	if (!overlap)
		return;

	// Sort word by word. The index is the order of add(); std::stable_sort would need a second copy.
	struct Entry {
		uint64_t addr;
		size_t index;
	};
	std::vector<Entry> all;
	all.reserve(words_.size());
	for (const Run &r : runs_)
		for (size_t i = 0; i < r.count; i++)
			all.push_back({r.addr + i * 4, r.first + i});
	std::sort(all.begin(), all.end(), [](const Entry &a, const Entry &b) {
		return a.addr != b.addr ? a.addr < b.addr : a.index < b.index;
	});
	std::vector<uint32_t> words;
	words.swap(words_);
	runs_.clear();
	for (size_t i = 0; i < all.size(); i++)
		if (i + 1 == all.size() || all[i + 1].addr != all[i].addr)
			add(all[i].addr, words[all[i].index]);
}

std::optional<uint32_t> WordSpace::find(uint64_t addr) const
{
	std::vector<Run>::const_iterator r =
		std::upper_bound(runs_.begin(), runs_.end(), addr, [](uint64_t a, const Run &b) { return a < b.addr; });
	if (r == runs_.begin() || addr & 3)
		return std::nullopt;
	--r;
	uint64_t n = (addr - r->addr) / 4;
	if (n >= r->count)
		return std::nullopt;
	return words_[r->first + n];
}

void RegisterSpace::add(uint32_t off, uint32_t value)
{
	// 4 Gi registers take a file of 40 GB.
	keys_.push_back(uint64_t{off} << 32 | static_cast<uint32_t>(values_.size()));
	values_.push_back(value);
}

void RegisterSpace::finish()
{
	size_t out = 0;

	std::sort(keys_.begin(), keys_.end());
	for (size_t i = 0; i < keys_.size(); i++)
		if (i + 1 == keys_.size() || keys_[i + 1] >> 32 != keys_[i] >> 32)
			keys_[out++] = keys_[i];
	keys_.resize(out);
}

std::optional<uint32_t> RegisterSpace::find(uint32_t off) const
{
	std::vector<uint64_t>::const_iterator k = std::lower_bound(keys_.begin(), keys_.end(), uint64_t{off} << 32);

	if (k == keys_.end() || *k >> 32 != off)
		return std::nullopt;
	return values_[static_cast<uint32_t>(*k)];
}

void Image::finish()
{
	regs.finish();
	vid.finish();
	sys.finish();
	bar1.finish();
	bar2.finish();
}

} // namespace tool
