// SPDX-License-Identifier: GPL-2.0
// One emulated GPU as the server and the tests use it: the chip, the driver that loads scenarios, the control commands.
#pragma once
#include "driver/runlist_mover.hpp"

namespace emu {

// The JSON of a file. Throws std::runtime_error that begins with kind ("profile", "scenario") and the path.
nlohmann::json read_json_file(const std::string &kind, const std::string &path);

class EmulatedGpu : public Gpu {
public:
	// Throws std::invalid_argument when the profile contradicts itself; file: its name, for the error.
	explicit EmulatedGpu(const nlohmann::json &profile, const std::string &file = "") : Gpu(profile, file) {}
	// The same, and std::runtime_error when the file cannot be read.
	static std::unique_ptr<EmulatedGpu> from_file(const std::string &path);

	// Throws std::invalid_argument or std::runtime_error; the schema is in emulator/README.md. file: the scenario's
	// name, for the error.
	void load_scenario(const nlohmann::json &scenario, const std::string &file = "");
	// Whether loading it has to wait for the machine's memory (or for a window into it).
	bool needs_system_memory(const nlohmann::json &scenario, const std::string &file = "") const;

	// One command of the control socket; never throws: {"ok":false,"error":...} instead.
	nlohmann::json control(const nlohmann::json &command);

	RunlistMover &mover() { return mover_; }

private:
	void on_memory_read(int bar, u64 offset) override { mover_.check_read(bar, offset); }

	DriverPart driver_{*this};
	RunlistMover mover_{*this, driver_};
};

} // namespace emu
