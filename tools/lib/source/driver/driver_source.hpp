// SPDX-License-Identifier: GPL-2.0
// NVIDIA's resource manager as a source: the GPUs that the driver has in use, in PCI order. They are asked one by one, as
// in a container some of them have no node.
#pragma once
#include "lib/source/source.hpp"

namespace tool {

class DriverSource : public Source {
public:
	// Also of GPUs that cannot be opened.
	std::vector<unsigned> numbers() const override;
	std::vector<Gpu> gpus(const std::vector<unsigned> &numbers) const override;
	// Of the graphics engine alone, GPU 0 where none is named. They begin with a snapshot always.
	std::unique_ptr<SampleStream> samples(const std::vector<unsigned> &numbers,
					      const SampleOptions &how) const override;
	// The GPU at that PCI address ("0000:01:00.0"); no other is opened. Throws Error.
	static Gpu gpu_at(const std::string &pci);
};

} // namespace tool
