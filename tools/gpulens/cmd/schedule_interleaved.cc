// SPDX-License-Identifier: GPL-2.0
// See schedule_interleaved.hpp.
#include "gpulens/cmd/schedule_interleaved.hpp"

#include "gpulens/cmd/signals.hpp"
#include "gpulens/cmd/simulate.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "lib/source/module/proc.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <unistd.h>

namespace tool {

namespace {

using namespace schedule;
using json = nlohmann::ordered_json;

constexpr std::chrono::milliseconds BETWEEN_LOOKS{100};

std::string order_text(const RunlistOrder &order)
{
	return fmt::format("{} {}", order.runlist, fmt::join(order.tsgs, " "));
}

std::vector<u32> listed_tsgs(const Gpu &gpu, u32 runlist)
{
	std::vector<u32> ids;

	if (const Runlist *rl = gpu.runlist(runlist))
		for (const Tsg &t : rl->tsgs)
			ids.push_back(t.id);
	return ids;
}

// The open file, whose close brings the lists of the driver back.
class OrderFile {
public:
	explicit OrderFile(std::string folder)
		: folder_(std::move(folder)), path_(folder_ + "order_runlist"),
		  fd_(open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK))
	{
		if (fd_ < 0)
			throw Error(Error::Failed, "no right to schedule: " + explain(errno, path_, true));
	}
	OrderFile(const OrderFile &) = delete;
	OrderFile &operator=(const OrderFile &) = delete;
	~OrderFile() { close(fd_); }

	// Throws Error. Returns why it was refused for now, as while the driver submits a list of its own; empty: it was not.
	std::string submit(const RunlistOrder &order)
	{
		std::string text = order_text(order);

		if (write(fd_, text.data(), text.size()) < 0) {
			std::string reason = explain(errno, path_, true, text);
			if (errno == EBUSY || errno == EINVAL || errno == ENOENT)
				return reason;
			throw Error(Error::Failed, reason);
		}
		for (auto &[tsg, us] : order.slices_us)
			set_slice(tsg, us);
		return "";
	}

private:
	// Ids are those of the whole GPU where the module orders runlists.
	void set_slice(u32 tsg, u32 us)
	{
		std::string path = folder_ + "tsg_timeslice", text = fmt::format("{} {}", tsg, us);
		int err = 0;

		for (int tries = 0; tries < 3 && (!tries || err == EBUSY); tries++)
			err = write_control(path, text);
		if (err)
			std::fprintf(stderr, "gpulens: TSG %u: its time slice stays: %s\n", tsg,
				     explain(err, path, true, text).c_str());
	}

	std::string folder_, path_;
	int fd_;
};

json order_json(const RunlistOrder &order)
{
	json slices = json::object();

	for (auto &[tsg, us] : order.slices_us)
		slices[std::to_string(tsg)] = us;
	return {{"runlist", order.runlist}, {"order", order.tsgs}, {"slices_us", slices}};
}

int show_plan(const Options &options, const std::string &folder, const Gpu &gpu,
	      const std::vector<RunlistOrder> &orders)
{
	json runlists = json::array();
	std::string text = fmt::format("policy interleaved on GPU {}\n", gpu.index);

	for (const RunlistOrder &o : orders) {
		runlists.push_back(order_json(o));
		text += fmt::format("runlist {} ({}): would write {} to {}order_runlist, until this command ends\n",
				    o.runlist, fmt::join(gpu.engine_names(o.runlist), " "), order_text(o), folder);
		for (auto &[tsg, us] : o.slices_us)
			text += fmt::format("  would write {} {} to {}tsg_timeslice, for this list\n", tsg, us, folder);
	}
	json plan = {{"version", 1}, {"policy", "interleaved"}, {"gpu", gpu.index}, {"runlists", runlists}};
	return print_text(options.json ? json_text(plan) : text) ? EXIT_DONE : EXIT_PART;
}

int show_orders(const Options &options, const std::vector<RunlistOrder> &orders, const std::map<u32, u64> &times)
{
	json runlists = json::array();
	std::string text = fmt::format("{:<8} {:>9}  {}\n", "runlist", "submitted", "order of TSGs");

	for (const RunlistOrder &o : orders) {
		u64 n = times.at(o.runlist);
		runlists.push_back(order_json(o));
		runlists.back()["submitted"] = n;
		text += fmt::format("{:<8} {:>9}  {}\n", o.runlist, n, fmt::join(o.tsgs, " "));
	}
	json summary = {{"version", 1}, {"policy", "interleaved"}, {"runlists", runlists}};
	return print_text(options.json ? json_text(summary) : text) ? EXIT_DONE : EXIT_PART;
}

// Throws Error, also for a dry run, if the module would refuse the orders.
void check_gpu(const Gpu &gpu, const std::vector<RunlistOrder> &orders)
{
	const lens_chip_id *row;
	bool known;
	const lens_chip *chip = lens_chip_find(gpu.chip.id, &row, &known);

	if (!chip || !known || !chip->host || !chip->host->submit)
		throw Error(
			Error::Unsupported,
			fmt::format(
				"the policy interleaved needs order_runlist, which the module does not have on {}: it "
				"orders runlists up to Volta (docs/proc.md)",
				gpu.chip.name));
	for (const RunlistOrder &o : orders)
		if (!gpu.runlist(o.runlist)->outside.empty())
			throw Error(Error::Unsupported,
				    fmt::format("runlist {} has channels in no TSG, which order_runlist does not order",
						o.runlist));
}

} // namespace

std::vector<RunlistOrder> build_orders(const Gpu &gpu, const PolicyFile &policy, const std::vector<u64> &tsgs)
{
	std::vector<RunlistOrder> orders;
	std::set<u32> runlists;

	for (u64 tsg : tsgs)
		runlists.insert(static_cast<u32>(tsg >> 32));
	for (u32 runlist : runlists) {
		std::vector<u32> ids = listed_tsgs(gpu, runlist);
		std::vector<SimulatedTsg> levels;
		RunlistOrder order{.runlist = runlist};
		std::sort(ids.begin(), ids.end());
		ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
		for (u32 id : ids) {
			SimulatedTsg t{.name = std::to_string(id)};
			for (size_t i = 0; i < tsgs.size(); i++)
				if (tsgs[i] == (u64{runlist} << 32 | id)) {
					t.level = find_level(policy.tasks[i].level);
					if (policy.tasks[i].slice_us)
						order.slices_us[id] = policy.tasks[i].slice_us;
				}
			levels.push_back(t);
		}
		Simulation s = simulate(levels);
		if (s.overflows || s.slots.size() > LENS_ORDER_MAX)
			throw Error(
				Error::Input,
				fmt::format(
					"{}: runlist {} would have {} TSGs, each counted as often as it is listed; the "
					"module takes {}",
					policy.name, runlist, s.overflows ? s.entries : s.slots.size(),
					LENS_ORDER_MAX));
		for (size_t slot : s.slots)
			order.tsgs.push_back(ids[slot]);
		orders.push_back(order);
	}
	return orders;
}

int schedule_interleaved(const Options &options, const ScheduleOptions &schedule, const PolicyFile &policy,
			 const Gpu &gpu, const std::vector<u64> &tsgs)
{
	std::string folder = fmt::format("{}/gpu{}/", options.sources.proc, gpu.index);
	std::vector<RunlistOrder> orders = build_orders(gpu, policy, tsgs);
	std::map<u32, u64> times;
	std::string refused;

	check_gpu(gpu, orders);
	if (schedule.dry_run)
		return show_plan(options, folder, gpu, orders);
	OrderFile file(folder);
	StopSignals stop;
	auto begin = std::chrono::steady_clock::now(), look = begin;
	auto end = begin + std::chrono::nanoseconds(schedule.for_ns);
	Gpu now = gpu;
	for (;;) {
		for (const RunlistOrder &o : orders) {
			u64 &n = times[o.runlist];
			if (o.tsgs.empty() || listed_tsgs(now, o.runlist) == o.tsgs)
				continue;
			refused = file.submit(o);
			n += refused.empty();
		}
		look += BETWEEN_LOOKS;
		stop.wait_until(schedule.for_ns ? std::min(look, end) : look);
		if (stop.came() || (schedule.for_ns && std::chrono::steady_clock::now() >= end))
			break;
		// The driver submits a list of its own whenever a channel comes or goes.
		now = load_live(options.sources.proc, static_cast<unsigned>(gpu.index));
		orders = build_orders(now, policy, tsgs);
	}
	int status = show_orders(options, orders, times);
	if (refused.empty())
		return status;
	std::fprintf(stderr, "gpulens: the last order was refused: %s\n", refused.c_str());
	return EXIT_REFUSED;
}

} // namespace tool
