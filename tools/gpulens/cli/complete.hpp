// SPDX-License-Identifier: GPL-2.0
// What can follow on a command line: PROGRAM --complete WORD..., for the shells (tools/docs/completion.*).
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tool {

// words: those behind the program's name. The last one is to be completed, and may be empty.
// Returns lines. The first one is "words"; "files" or "folders", when names of these can follow as well; or "program N", when
// words[N] is a program, which has the words from there on. Each other line is a word that can stand in place of the last
// one, and, where that is known, a tab and what it means.
std::string completions_text(const CLI::App &app, const std::vector<std::string> &words);

} // namespace tool
