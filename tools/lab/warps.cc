// SPDX-License-Identifier: GPL-2.0
// The schedulers, and their text and JSON. warps.hpp describes the model.
#include "lab/warps.hpp"

#include "gpulens/out/table.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <set>

namespace tool {

using json = nlohmann::ordered_json;

namespace {

const char *policy_name(WarpPolicy policy)
{
	return policy == WarpPolicy::Lrr ? "lrr" : policy == WarpPolicy::Gto ? "gto" : "rt-paws";
}

struct Warp {
	u32 kernel, priority;
	u64 ready;       // cycle from which it may issue
	size_t next = 0; // instruction
};

class WarpScheduler {
public:
	WarpScheduler(const std::vector<WarpKernel> &kernels, const std::vector<u32> &latencies, WarpPolicy policy,
		      Budget budget)
		: kernels_(kernels), latencies_(latencies), policy_(policy), budget_(budget)
	{
		for (u32 k = 0; k < kernels.size(); k++)
			for (u32 i = 0; i < kernels[k].warps; i++)
				warps_.push_back({k, kernels[k].priority, kernels[k].start});
		for (const WarpKernel &kernel : kernels)
			budgets_[kernel.priority] = kernel.priority;
	}

	WarpRun run()
	{
		WarpRun result{.policy = policy_, .finished = std::vector<u64>(kernels_.size()), .issued{}};

		for (size_t left = warps_.size(); left; cycle_++) {
			std::vector<u32> order = order_warps();
			std::optional<u32> issued;
			for (u32 w : order) {
				if (warps_[w].ready <= cycle_) {
					issued = w;
					break;
				}
				previous_ = order;
			}
			result.issued.push_back(issued);
			if (!issued)
				continue;
			Warp &warp = warps_[*issued];
			warp.ready = cycle_ + latencies_[warp.next++];
			last_ = issued;
			if (warp.next == latencies_.size()) {
				result.finished[warp.kernel] = cycle_;
				left--;
			}
		}
		return result;
	}

private:
	// Returns the warps that have started and not ended, in the order in which they may issue.
	std::vector<u32> order_warps()
	{
		std::vector<u32> alive;

		for (u32 w = 0; w < warps_.size(); w++)
			if (kernels_[warps_[w].kernel].start <= cycle_ && warps_[w].next < latencies_.size())
				alive.push_back(w);
		switch (policy_) {
		case WarpPolicy::Lrr: return round_robin(alive);
		case WarpPolicy::Gto: return greedy_then_oldest(alive);
		case WarpPolicy::RtPaws: return order_groups(alive);
		}
		return alive;
	}

	std::vector<u32> round_robin(std::vector<u32> alive) const
	{
		if (last_)
			std::rotate(alive.begin(), std::upper_bound(alive.begin(), alive.end(), *last_), alive.end());
		return alive;
	}

	// The oldest warp is the one that started first, of those the one with the least number.
	std::vector<u32> greedy_then_oldest(std::vector<u32> warps) const
	{
		std::stable_sort(warps.begin(), warps.end(), [this](u32 a, u32 b) {
			return kernels_[warps_[a].kernel].start < kernels_[warps_[b].kernel].start;
		});
		auto greedy = last_ ? std::find(warps.begin(), warps.end(), *last_) : warps.end();
		if (greedy != warps.end())
			std::rotate(warps.begin(), greedy, greedy + 1);
		return warps;
	}

	// Algorithm 5.
	std::vector<u32> order_groups(const std::vector<u32> &alive)
	{
		std::set<u32> priorities;
		std::vector<u32> first, second;

		for (u32 w : alive)
			priorities.insert(warps_[w].priority);
		if (priorities.size() < 2)
			return greedy_then_oldest(alive);
		if (!leading_)
			leading_ = *priorities.rbegin();
		for (u32 w : alive)
			(warps_[w].priority == *leading_ ? first : second).push_back(w);
		bool stalled = previous_.empty() || !last_ || previous_.front() != *last_;
		int64_t &left = budgets_[*leading_];
		if (stalled) {
			if (budget_ == Budget::EveryStall || (last_ && warps_[*last_].priority == *leading_))
				left--;
			if (left <= 0) {
				left = *leading_;
				leading_ = warps_[second.front()].priority;
				second.insert(second.end(), first.begin(), first.end());
				return second;
			}
		}
		first = greedy_then_oldest(first);
		first.insert(first.end(), second.begin(), second.end());
		return first;
	}

	const std::vector<WarpKernel> &kernels_;
	const std::vector<u32> &latencies_;
	WarpPolicy policy_;
	Budget budget_;
	std::vector<Warp> warps_;
	u64 cycle_ = 0;
	std::optional<u32> last_;        // warp that issued last
	std::optional<u32> leading_;     // priority of the leading group
	std::vector<u32> previous_;      // Q_prev
	std::map<u32, int64_t> budgets_; // by priority
};

std::optional<u32> parse_number(const std::string &text, u32 least, u32 most)
{
	u32 value = 0;
	auto [end, err] = std::from_chars(text.data(), text.data() + text.size(), value);

	if (err != std::errc() || end != text.data() + text.size() || value < least || value > most)
		return std::nullopt;
	return value;
}

double mean_of(const WarpRun &run)
{
	double sum = 0;

	for (u64 cycle : run.finished)
		sum += double(cycle);
	return sum / double(run.finished.size());
}

u64 last_of(const WarpRun &run)
{
	return *std::max_element(run.finished.begin(), run.finished.end());
}

constexpr char NOTE[] =
	"cycles in which kernels finish, of a model of one SM; no GPU that is sold lets a program choose its warp "
	"scheduler";

} // namespace

std::vector<WarpKernel> default_warp_kernels()
{
	return {{"K1", 2, 1, 0}, {"K2", 2, 2, 1}};
}

std::vector<u32> default_latencies()
{
	return {3, 1, 1, 7, 1, 1};
}

std::vector<WarpKernel> parse_warp_kernels(const std::vector<std::string> &words)
{
	std::vector<WarpKernel> kernels;
	std::set<u32> priorities;
	u32 warps = 0;

	for (const std::string &word : words) {
		std::vector<std::string> parts = split_text(word, ':');
		std::optional<u32> n, priority, start = 0;
		if (parts.size() == 3 || parts.size() == 4) {
			n = parse_number(parts[1], 1, MAX_WARPS);
			priority = parse_number(parts[2], 0, 1000);
			start = parts.size() == 4 ? parse_number(parts[3], 0, 1000000) : 0;
		}
		if (parts[0].empty() || !is_plain_word(parts[0]) || !n || !priority || !start)
			throw Error(Error::Input,
				    fmt::format("\"{}\": not NAME:WARPS:PRIORITY[:START], with 1 to {} warps, a "
						"priority up to 1000 and a cycle up to 1000000",
						replace_controls(word.substr(0, 80)), MAX_WARPS));
		kernels.push_back({parts[0], *n, *priority, *start});
		priorities.insert(*priority);
		warps += *n;
	}
	if (warps > MAX_WARPS)
		throw Error(Error::Input, fmt::format("{} warps are more than {}", warps, MAX_WARPS));
	if (priorities.size() > 2)
		throw Error(Error::Input, "kernels have more than two priorities, which RT-PAWS does not order");
	return kernels;
}

std::vector<u32> parse_latencies(const std::string &text)
{
	std::vector<u32> latencies;

	for (const std::string &part : split_text(text, ',')) {
		std::optional<u32> cycles = parse_number(part, 1, MAX_LATENCY);
		if (!cycles || latencies.size() == MAX_INSTRUCTIONS)
			throw Error(Error::Input,
				    fmt::format("\"{}\": not up to {} numbers from 1 to {} with commas",
						replace_controls(text.substr(0, 80)), MAX_INSTRUCTIONS, MAX_LATENCY));
		latencies.push_back(*cycles);
	}
	return latencies;
}

WarpRun simulate_warps(const std::vector<WarpKernel> &kernels, const std::vector<u32> &latencies, WarpPolicy policy,
		       Budget budget)
{
	return WarpScheduler(kernels, latencies, policy, budget).run();
}

std::string warps_text(const std::vector<WarpKernel> &kernels, const std::vector<WarpRun> &runs)
{
	std::vector<std::string> titles{"<Policy"};

	for (const WarpKernel &kernel : kernels)
		titles.push_back(kernel.name);
	titles.insert(titles.end(), {"Mean", "Last"});
	Table table(titles);
	for (const WarpRun &run : runs) {
		std::vector<Cell> cells{policy_name(run.policy)};
		for (u64 cycle : run.finished)
			cells.emplace_back(std::to_string(cycle));
		cells.emplace_back(fmt::format("{:.1f}", mean_of(run)));
		cells.emplace_back(std::to_string(last_of(run)));
		table.add(std::move(cells));
	}
	return table.str({}) + "Note: " + NOTE + '\n';
}

json warps_json(const std::vector<WarpKernel> &kernels, const std::vector<u32> &latencies,
		const std::vector<WarpRun> &runs)
{
	json list = json::array(), policies = json::array();

	for (const WarpKernel &kernel : kernels)
		list.push_back({{"name", kernel.name},
				{"warps", kernel.warps},
				{"priority", kernel.priority},
				{"start", kernel.start}});
	for (const WarpRun &run : runs) {
		json issued = json::array();
		for (std::optional<u32> warp : run.issued)
			issued.push_back(warp ? json(*warp) : json(nullptr));
		policies.push_back({{"policy", policy_name(run.policy)},
				    {"finished", run.finished},
				    {"mean", mean_of(run)},
				    {"last", last_of(run)},
				    {"issued", issued}});
	}
	return {{"version", 1},           {"command", "simulate warps"}, {"kernels", list},
		{"latencies", latencies}, {"policies", policies},        {"notes", {NOTE}}};
}

} // namespace tool
