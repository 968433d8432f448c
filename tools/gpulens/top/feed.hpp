// SPDX-License-Identifier: GPL-2.0
// Reads a GPU's snapshots and samples from any source into a TopModel, and keeps the errors. Needs no terminal.
#pragma once
#include "gpulens/top/text.hpp"
#include "gpulens/top/top.hpp"
#include "lib/source/source.hpp"

#include <memory>

namespace tool {

class TopFeed {
public:
	TopFeed(std::shared_ptr<const Source> source, unsigned index, const TopOptions &options);

	// Reads the samples since the last call. Call it often: sources keep a limited number.
	void drain();
	// Reads a snapshot and updates the picture. Returns false if the GPU cannot be read: the picture stays, and
	// refresh_error() is the reason.
	bool refresh();
	// Doubles or halves the sampling period. Returns false if there are no samples or the limit is reached.
	bool change_period(bool longer);

	unsigned index() const { return index_; }
	const std::optional<Gpu> &gpu() const { return gpu_; }
	const Picture &picture() const { return picture_; }
	// Why refresh() failed; empty: it did not.
	const std::string &refresh_error() const { return refresh_error_; }
	// Why there are no samples; empty: there are, or none were tried yet.
	const std::string &no_samples() const { return no_samples_; }
	TopPart part() const { return {&picture_, no_samples_, refresh_error_}; }

private:
	void open();

	std::shared_ptr<const Source> source_;
	unsigned index_;
	u64 period_ns_;
	std::vector<u32> runlists_;
	TopModel model_;
	std::optional<Gpu> gpu_;
	std::unique_ptr<SampleStream> stream_;
	Picture picture_;
	std::string refresh_error_, no_samples_;
	bool try_samples_ = true; // try to open the sample stream: it worked before, or was not tried yet
};

// Of several GPUs, in the order of their numbers.
using TopFeeds = std::vector<std::unique_ptr<TopFeed>>;

} // namespace tool
