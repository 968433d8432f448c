// SPDX-License-Identifier: GPL-2.0
// The module as a source: /proc/gpuX/snapshot, samples and stats.
#pragma once
#include "lib/source/source.hpp"

namespace tool {

class ModuleSource : public Source {
public:
	// proc: path of /proc.
	explicit ModuleSource(std::string proc) : proc_(std::move(proc)) {}

	std::vector<unsigned> numbers() const override;
	// See load_permitted().
	std::vector<Gpu> gpus(const std::vector<unsigned> &numbers) const override;
	std::unique_ptr<SampleStream> samples(const std::vector<unsigned> &numbers,
					      const SampleOptions &options) const override;
	Gpu snapshot(unsigned number) const override;
	u32 modest_period_us(size_t) const override { return 1000; }
	std::optional<std::string> stats(unsigned number) const override;

private:
	std::string proc_;
};

} // namespace tool
