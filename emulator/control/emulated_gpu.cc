// SPDX-License-Identifier: GPL-2.0
// Loading scenarios and answering commands; see emulated_gpu.hpp.
#include "control/emulated_gpu.hpp"

#include "control/commands.hpp"

#include <fstream>
#include <stdexcept>

namespace emu {

using nlohmann::json;

std::unique_ptr<EmulatedGpu> EmulatedGpu::from_file(const std::string &path)
{
	std::ifstream in(path);
	if (!in)
		throw std::runtime_error("cannot read " + path);
	return std::make_unique<EmulatedGpu>(json::parse(in));
}

void EmulatedGpu::load_scenario(const json &scenario)
{
	mover_.forget_buffer();
	driver_.load_scenario(scenario);
}

json EmulatedGpu::control(const json &command)
{
	try {
		tick(0);
		json reply = run_command(*this, command);
		reply["ok"] = true;
		return reply;
	} catch (const std::exception &e) {
		return {{"ok", false}, {"error", e.what()}};
	}
}

} // namespace emu
