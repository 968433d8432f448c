// SPDX-License-Identifier: GPL-2.0
// TaskWatch keeps tasks that are off their runlists, so that a task that replaced one is noticed. Where the driver refuses,
// samples() opens the module's stream once more, because JoinedSamples has taken the first one.
#include "lib/source/joined/joined_source.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "lib/rm/claims.hpp"
#include "lib/rm/client.hpp"
#include "lib/rm/processes.hpp"
#include "lib/source/background.hpp"
#include "lib/source/joined/joined_samples.hpp"

#include <algorithm>

namespace tool {

namespace {

constexpr std::chrono::seconds REPORTS_PERIOD{2}; // top reads snapshots more often than processes come
constexpr std::chrono::milliseconds PIECE{10};    // of samples, which wake the thread up anyway

} // namespace

void TaskWatch::add(const Gpu &gpu)
{
	std::lock_guard lock(mutex_);
	Identities now = identities_of(gpu);

	for (const TaskId &id : find_replaced(last_, now))
		replaced_.push_back(id);
	// A task that is off its runlist for a moment is still known when it is back.
	for (auto &[id, channels] : now)
		last_[id] = std::move(channels);
}

std::vector<TaskId> TaskWatch::take_replaced()
{
	std::lock_guard lock(mutex_);

	return std::exchange(replaced_, {});
}

std::optional<JoinedSource::Report> JoinedSource::query(rm::Client &client, const rm::Attached &attached)
{
	Report report;

	try {
		rm::Subdevice subdevice = client.open(attached);
		report.processes = rm::list_processes(client, subdevice);
		report.claims = rm::find_claims(client, subdevice, attached, report.processes);
	} catch (const Error &) { // the owners of this GPU's tasks stay unknown
		return std::nullopt;
	}
	return report;
}

JoinedSource::Reports JoinedSource::query(const std::vector<std::string> &addresses)
{
	Reports reports;

	for (const std::string &address : addresses)
		reports[address] = std::nullopt;
	try {
		rm::Client client;
		for (const rm::Attached &attached : client.gpus())
			for (auto &[address, report] : reports)
				if (is_same_address(address, attached.pci))
					report = query(client, attached);
	} catch (const Error &) { // the owners of all GPUs' tasks stay unknown
	}
	return reports;
}

std::shared_ptr<TaskWatch> JoinedSource::watch_of(const Gpu &gpu) const
{
	std::lock_guard lock(mutex_);
	std::shared_ptr<TaskWatch> &watch = watches_[gpu.chip.device];

	if (!watch)
		watch = std::make_shared<TaskWatch>();
	return watch;
}

void JoinedSource::join(std::vector<Gpu> &gpus) const
{
	std::vector<std::string> addresses;

	for (const Gpu &gpu : gpus) {
		addresses.push_back(gpu.chip.device);
		watch_of(gpu)->add(gpu);
	}
	std::lock_guard lock(mutex_);
	bool known = std::all_of(addresses.begin(), addresses.end(),
				 [this](const std::string &address) { return reports_.count(address) != 0; });
	if (!known || std::chrono::steady_clock::now() > queried_ + REPORTS_PERIOD) {
		for (auto &[address, report] : query(addresses))
			reports_[address] = std::move(report);
		queried_ = std::chrono::steady_clock::now();
	}
	for (Gpu &gpu : gpus)
		if (const std::optional<Report> &report = reports_[gpu.chip.device]) {
			gpu.processes = report->processes;
			join_claims(gpu, report->claims);
		}
}

std::vector<Gpu> JoinedSource::gpus(const std::vector<unsigned> &numbers) const
{
	std::vector<Gpu> list = module_->gpus(numbers);

	join(list);
	return list;
}

Gpu JoinedSource::snapshot(unsigned number) const
{
	std::vector<Gpu> list = {module_->snapshot(number)};

	join(list);
	return list[0];
}

std::unique_ptr<SampleStream> JoinedSource::samples(const std::vector<unsigned> &numbers,
						    const SampleOptions &options) const
{
	std::unique_ptr<SampleStream> samples = module_->samples(numbers, options);
	Gpu gpu = module_->gpus(numbers).at(0); // for its address

	try {
		return std::make_unique<BackgroundSamples>(
			std::make_unique<JoinedSamples>(std::move(samples), gpu.chip.device, watch_of(gpu), options),
			PIECE);
	} catch (const Error &) { // no owners, and all else
		return module_->samples(numbers, options);
	}
}

} // namespace tool
