// SPDX-License-Identifier: GPL-2.0
// Completions of the command line for shells.
#pragma once
#include <CLI/CLI.hpp>
#include <string>

namespace docs {

// The file of bash-completion for a program.
std::string bash_completion(const CLI::App &app);
// The function of zsh for it.
std::string zsh_completion(const CLI::App &app);

} // namespace docs
