// SPDX-License-Identifier: GPL-2.0
// For the files of the command line: its commands that are elsewhere than in cli.cc, and options of a kind.
#pragma once
#include "gpulens/cli.hpp"

#include <map>

namespace tool {

// A time with a unit, into nanoseconds.
CLI::Option *add_duration(CLI::App *sub, const char *name, u64 &ns, u64 unit, const char *about);

// An option that is one of a few names.
template <typename T>
void add_choice(CLI::App *sub, const char *name, T &value, const std::map<std::string, T> &names, const char *type,
		const char *about)
{
	sub->add_option(name, value, about)->type_name(type)->transform(CLI::CheckedTransformer(names).description(""));
}

// probe-kernels and blocks.
void add_blocks(CLI::App &app, Arguments &a, int &status);

} // namespace tool
