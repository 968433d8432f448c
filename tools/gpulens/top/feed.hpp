// SPDX-License-Identifier: GPL-2.0
// One GPU's snapshots and samples on their way into a TopModel, with what goes wrong there. No terminal.
#pragma once
#include "gpulens/top/text.hpp"
#include "gpulens/top/top.hpp"
#include "lib/source/source.hpp"

#include <memory>

namespace tool {

class TopFeed {
public:
	TopFeed(const std::string &proc, unsigned index, const TopOptions &how);

	// What was sampled since; often, so that the module's room for samples lasts.
	void drain();
	// A snapshot, and the picture anew. False: the GPU cannot be read now, trouble() says why; the picture stays.
	bool refresh();
	// Twice as long between samples, or half as long. False: there are no samples, or it goes no further.
	bool change_period(bool longer);

	unsigned index() const { return index_; }
	std::string folder() const;
	const std::optional<Gpu> &gpu() const { return gpu_; }
	const Picture &picture() const { return picture_; }
	const std::string &trouble() const { return trouble_; }
	const std::string &no_samples() const { return no_samples_; }

private:
	void open();

	std::string proc_;
	unsigned index_;
	u64 period_ns_;
	std::vector<u32> runlists_;
	TopModel model_;
	std::optional<Gpu> gpu_;
	std::unique_ptr<SampleStream> stream_;
	Picture picture_;
	std::string trouble_, no_samples_;
	bool again_ = true; // samples are to be opened: there were some, or nobody tried
};

} // namespace tool
