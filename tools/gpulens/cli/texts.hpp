// SPDX-License-Identifier: GPL-2.0
// Texts that are made of the table of commands and its parser: help (help.cc), errors of the command line (usage.cc), and
// what can follow on it (complete.cc), which PROGRAM --complete WORD... prints for the shells (tools/docs/completion.*).
#pragma once
#include "gpulens/cli/cli.hpp"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tool {

constexpr size_t HELP_WIDTH = 80; // columns of a line

// Returns the help of the program, on a screen of 24 lines, or of a command: its options below the headings of their groups.
// before: the words up to the command. all: of the program and each command.
std::string help_text(const Program &program, const CLI::App &app, const std::string &before, bool all);
// Returns gpulens help: each command in a line, and the options of all of them.
std::string command_list_text(const Program &program, const CLI::App &app);

// Returns the message of an error of parsing, without a final newline: an unknown command or option with a suggestion, and
// where the help is.
std::string explain_usage(const CLI::App &app, const CLI::ParseError &error);

// words: those behind the program's name. The last one is to be completed, and may be empty.
// Returns lines. The first one is "words"; "files" or "folders", when names of these can follow as well; or "program N", when
// words[N] is a program, which has the words from there on. Each other line is a word that can stand in place of the last
// one, and, where that is known, a tab and what it means.
std::string completions_text(const CLI::App &app, const std::vector<std::string> &words);

} // namespace tool
