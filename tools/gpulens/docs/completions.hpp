// SPDX-License-Identifier: GPL-2.0
// Completions of the command line for shells.
#pragma once
#include <CLI/CLI.hpp>
#include <string>

namespace docs {

// The file of bash-completion for gpulens.
std::string bash_completion(const CLI::App &app);
// The function _gpulens of zsh.
std::string zsh_completion(const CLI::App &app);

} // namespace docs
