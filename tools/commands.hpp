// SPDX-License-Identifier: GPL-2.0
// What the gpulens tool prints: one function per form of output, nothing printed here.
#pragma once
#include "decode.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tool {

enum class What { Engines, Runlist, Channels, Copy, Gpcs, Chip };

struct Command {
	What what = What::Chip;
	u32 runlist = 0;
};

// The names of the command line. Nothing: no such command.
std::optional<What> command_by_name(const std::string &name);

struct Output {
	std::string text; // what goes to standard output
	std::vector<Failure> failures;
};

// As /proc/gpuX prints it, by the same formatters.
Output text_output(Decoder &decoder, const Command &command);
// One JSON object, the failures in its "errors".
Output json_output(Decoder &decoder, const Command &command);

// A channel of a runlist and where it stands there. tsg LENS_NONE: in none.
struct ChannelRow {
	lens_entry entry;
	lens_channel_state state; // zero where err says that it could not be read
	int err;
	int tsg;
	u64 inst;
	u32 inst_target;
	const lens_context *context;
};

// Everything on a runlist in order: TSG headers and channels.
struct RunlistRow {
	bool is_tsg;
	lens_entry tsg;
	ChannelRow channel;
};

std::vector<RunlistRow> runlist_rows(const lens_gpu &gpu, const lens_runlist_snap &snap);

// "vid", "sys coh", ..., as runlistY prints it.
const char *target_name(u32 target);

} // namespace tool
