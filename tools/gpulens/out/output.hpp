// SPDX-License-Identifier: GPL-2.0
// What all commands have in common: their options, where they write, how they end.
#pragma once
#include "gpulens/out/table.hpp"
#include "lib/base/errors.hpp"
#include "lib/source/table/sources.hpp"

#include <nlohmann/json.hpp>
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

// For main(), of an error that no command catches.
Exit exit_status(Error::Code code);

struct Options {
	SourceOptions sources;
	bool json = false;
	When colour = When::Auto;
};

// A document with tabs and a newline; text of others that is no UTF-8 is replaced.
std::string json_text(const nlohmann::ordered_json &document);
// Writes all of text to standard output; false with a message on standard error where that fails.
bool print(const std::string &text);
// A file that is complete or not there under its name, with the mode of the one that it replaces; what is no regular file
// (a device, a FIFO, a link) is written to and stays. "-" is standard output. Throws Error.
void write_whole(const std::string &path, const std::string &bytes);

} // namespace tool
