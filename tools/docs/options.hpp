// SPDX-License-Identifier: GPL-2.0
// What the parts of gpulens-docs share: options as pages show them, and text for roff.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace docs {

struct Opt {
	std::vector<std::string> names; // "-i", "--image"; none: positional
	std::string value, about;       // value: "FILE"; empty: a flag
	bool required, repeats;
};

std::vector<Opt> options_of(const CLI::App &app);
// The options of this command alone, without --help.
std::vector<Opt> own_options_of(const CLI::App &sub);

std::string escape_roff(const std::string &text);

} // namespace docs
