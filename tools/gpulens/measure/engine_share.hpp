// SPDX-License-Identifier: GPL-2.0
// Who had the graphics engine while something was measured, by the driver's records of context switches.
#pragma once
#include "lib/rm/engine_turns.hpp"

#include <functional>
#include <optional>
#include <string>

namespace tool::measure {

class EngineShare {
public:
	// From now on, on the GPU at that PCI address. Where the driver gives no records, there is no answer.
	explicit EngineShare(const std::string &pci);

	struct Shares {
		double those, others; // of the time since the begin
	};
	// Returns how long processes for which belongs() holds had the engine, and all others. Nothing: there are no records, or
	// nothing switched. The ring has 65,536 records; what found no room is in neither.
	std::optional<Shares> measure(const std::function<bool(u32 pid)> &belongs);

private:
	std::optional<rm::EngineTurns> turns_;
	u64 begin_ns_;
};

} // namespace tool::measure
