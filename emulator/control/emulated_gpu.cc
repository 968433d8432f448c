// SPDX-License-Identifier: GPL-2.0
// Loading scenarios and answering commands; see emulated_gpu.hpp.
#include "control/emulated_gpu.hpp"

#include "control/commands.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace emu {

using nlohmann::json;

namespace {

Entry scenario_entry(const json &scenario, const std::string &file)
{
	return {scenario, file.empty() ? "scenario" : "scenario " + file};
}

} // namespace

json read_json_file(const std::string &kind, const std::string &path)
{
	std::ifstream in(path);
	if (!in)
		throw std::runtime_error(kind + " " + path + ": " + std::strerror(errno));
	try {
		return json::parse(in);
	} catch (const json::exception &e) {
		throw std::runtime_error(kind + " " + path + ": " + parse_error_text(e));
	}
}

std::unique_ptr<EmulatedGpu> EmulatedGpu::from_file(const std::string &path)
{
	return std::make_unique<EmulatedGpu>(read_json_file("profile", path), path);
}

void EmulatedGpu::load_scenario(const json &scenario, const std::string &file)
{
	mover_.forget_buffer();
	driver_.load_scenario(scenario_entry(scenario, file));
}

bool EmulatedGpu::needs_system_memory(const json &scenario, const std::string &file) const
{
	return driver_.needs_system_memory(scenario_entry(scenario, file));
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
