// SPDX-License-Identifier: GPL-2.0
// NVIDIA's resource manager as a source: the GPUs that the driver has initialised, in PCI order. Each is queried by itself,
// because some may have no node, as in a container.
#pragma once
#include "lib/source/source.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace tool {

class DriverSource : public Source {
public:
	DriverSource();
	~DriverSource() override;
	// Includes GPUs that cannot be opened.
	std::vector<unsigned> numbers() const override;
	std::vector<Gpu> gpus(const std::vector<unsigned> &numbers) const override;
	// Without GPCs and SMs. Keeps the GPU open; channels and processes are queried every five seconds, and what does not
	// change once.
	Gpu snapshot(unsigned number) const override;
	// Also without channels: processes, and a query to find out whether the GPU is still there.
	Gpu reread_gpu(unsigned number) const override;
	bool finds_owners() const override { return true; }
	bool reports_work() const override { return false; }
	bool takes_tsgs() const override { return true; }
	// A sample is a query of half a millisecond on an H100, so that these take less than 2 % of a processor.
	u32 modest_period_us(size_t gpus) const override;
	u32 background_period_us(size_t gpus) const override;
	// A thread reads them.
	std::chrono::milliseconds read_period() const override { return std::chrono::milliseconds(100); }
	// Samples the graphics engine alone, of GPU 0 if none is named. Always begins with a snapshot.
	std::unique_ptr<SampleStream> samples(const std::vector<unsigned> &numbers,
					      const SampleOptions &options) const override;
	// Returns the GPU at this PCI address ("0000:01:00.0"), and opens no other. Throws Error.
	static Gpu gpu_at(const std::string &pci);

private:
	class Watched; // a GPU that is kept open

	Gpu read_watched(unsigned number, const std::function<Gpu(Watched &)> &read) const;

	mutable std::mutex mutex_;
	mutable std::map<unsigned, std::unique_ptr<Watched>> watched_; // by number
};

// Adds what NVIDIA's driver reports of the module's GPU: its SMs, and its numbers of the GPCs. Returns whether it does, and
// whether both agree on the GPCs and their TPCs; otherwise the GPU is unchanged.
bool add_driver_sms(Gpu &gpu);

} // namespace tool
