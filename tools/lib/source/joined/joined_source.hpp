// SPDX-License-Identifier: GPL-2.0
// The module's GPUs, with the processes that NVIDIA's driver and gpulens run report. A driver that does not answer costs the
// owners and nothing else.
#pragma once
#include "lib/rm/client.hpp"
#include "lib/source/joined/join.hpp"
#include "lib/source/source.hpp"

#include <chrono>
#include <mutex>

namespace tool {

// What a snapshot shows to the samples of the same GPU: which tasks are others than before.
class TaskWatch {
public:
	void add(const Gpu &gpu);
	// Returns the tasks that were replaced since the last call.
	std::vector<TaskId> take_replaced();

private:
	std::mutex mutex_;
	Identities last_;
	std::vector<TaskId> replaced_;
};

class JoinedSource : public Source {
public:
	explicit JoinedSource(std::unique_ptr<Source> module) : module_(std::move(module)) {}

	std::vector<unsigned> numbers() const override { return module_->numbers(); }
	std::vector<Gpu> gpus(const std::vector<unsigned> &numbers) const override;
	Gpu snapshot(unsigned number) const override;
	// Owners come as records among the samples, as they become known.
	std::unique_ptr<SampleStream> samples(const std::vector<unsigned> &numbers,
					      const SampleOptions &options) const override;
	bool finds_owners() const override { return true; }
	u32 modest_period_us(size_t gpus) const override { return module_->modest_period_us(gpus); }
	u32 background_period_us(size_t gpus) const override { return module_->background_period_us(gpus); }
	std::optional<std::string> stats(unsigned number) const override { return module_->stats(number); }

private:
	// What the driver says of one GPU.
	struct Report {
		std::vector<Process> processes;
		std::vector<RunTsg> claims;
	};
	// By PCI address; nothing: the driver does not have the GPU, or refuses.
	using Reports = std::map<std::string, std::optional<Report>>;

	void join(std::vector<Gpu> &gpus) const;
	static std::optional<Report> query(rm::Client &client, const rm::Attached &attached);
	static Reports query(const std::vector<std::string> &addresses);
	std::shared_ptr<TaskWatch> watch_of(const Gpu &gpu) const;

	const std::unique_ptr<Source> module_;
	mutable std::mutex mutex_; // of the next three
	mutable Reports reports_;  // of the last query
	mutable std::chrono::steady_clock::time_point queried_{};
	mutable std::map<std::string, std::shared_ptr<TaskWatch>> watches_; // by PCI address
};

} // namespace tool
