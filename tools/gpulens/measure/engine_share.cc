// SPDX-License-Identifier: GPL-2.0
// Sums up the turns of processes.
#include "gpulens/measure/engine_share.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "lib/base/monotonic.hpp"

#include <algorithm>
#include <map>

namespace tool::measure {

EngineShare::EngineShare(const std::string &pci) : begin_ns_(now_ns())
{
	try {
		std::vector<rm::Attached> gpus = rm::Client().gpus();
		auto found = std::find_if(gpus.begin(), gpus.end(),
					  [&](const rm::Attached &gpu) { return is_same_address(gpu.pci, pci); });
		turns_.emplace(static_cast<unsigned>(found - gpus.begin()));
	} catch (const Error &) { // as for ordinary users
	}
}

std::optional<EngineShare::Shares> EngineShare::measure(const std::function<bool(u32 pid)> &belongs)
{
	std::map<u32, u64> by_pid;
	u64 those = 0, others = 0;

	try {
		for (const rm::EngineTurn &turn : turns_ ? turns_->read() : std::vector<rm::EngineTurn>())
			by_pid[turn.pid] += turn.end_ns - std::max(turn.begin_ns, std::min(begin_ns_, turn.end_ns));
	} catch (const Error &) {
		return std::nullopt;
	}
	if (by_pid.empty())
		return std::nullopt;
	for (const auto &[pid, ns] : by_pid)
		(belongs(pid) ? those : others) += ns;
	double all = static_cast<double>(now_ns() - begin_ns_);
	return Shares{static_cast<double>(those) / all, static_cast<double>(others) / all};
}

} // namespace tool::measure
