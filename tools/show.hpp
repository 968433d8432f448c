// SPDX-License-Identifier: GPL-2.0
// The commands that show GPUs as they are now, or were when recorded.
#pragma once
#include "sources.hpp"
#include "table.hpp"

#include <optional>
#include <string>

namespace tool {

// What gpulens exits with. docs: gpulens(1), EXIT STATUS.
enum Exit {
	EXIT_DONE = 0,
	EXIT_PART = 1, // something could not be read or decoded, or isolation --check found a hazard
	EXIT_USAGE = 2,
	EXIT_SOURCE = 3, // no GPU to show: no module, no such file, not an image
	EXIT_REFUSED = 4 // a request was refused or failed
};

struct Options {
	SourceOptions sources;
	bool json = false;
	When colour = When::Auto;
};

enum class Show { Overview, Chip, Engines, Runlists, Channels, Copy, Gpcs, Isolation };

// Prints to standard output, and to standard error what could not be shown. id: of one runlist. check: hazards make
// the exit status EXIT_PART.
int show(Show what, const Options &options, std::optional<u32> id = std::nullopt, bool check = false);
// The file of /proc/gpuX of that name, from an image.
int show_proc(const std::string &name, const Options &options);
// Writes all of text to standard output; false with a message on standard error where that fails.
bool print(const std::string &text);
// A file that is complete or not there under its name, with the mode of the one that it replaces; what is no regular file
// (a device, a FIFO, a link) is written to and stays. "-" is standard output. Throws SourceError.
void write_whole(const std::string &path, const std::string &bytes);

} // namespace tool
