// SPDX-License-Identifier: GPL-2.0
// Options, output and exit statuses that all commands share.
#pragma once
#include "gpulens/out/table.hpp"
#include "lib/base/errors.hpp"
#include "lib/source/table/sources.hpp"

#include <nlohmann/json.hpp>
#include <string>

namespace tool {

// Exit statuses of gpulens, see gpulens(1), EXIT STATUS.
enum Exit {
	EXIT_DONE = 0,
	EXIT_PART = 1, // something could not be read or decoded, or isolation --check found a hazard
	EXIT_USAGE = 2,
	EXIT_SOURCE = 3,  // no GPU to show: no module, no such file, not an image
	EXIT_REFUSED = 4, // a request was refused or failed
	EXIT_UNKNOWN = 5  // isolation --check, verify, plan: the answer could not be determined
};

// Returns the exit status for an error that no command catches.
Exit exit_status(Error::Code code);

struct Options {
	SourceOptions sources;
	bool json = false;
	When colour = When::Auto;
	bool wide = false;

	Style style() const { return style_of_output(colour, wide); }
};

// Formats a document, indented with tabs, with a final newline. Invalid UTF-8 is replaced.
std::string json_text(const nlohmann::ordered_json &document);
// Returns null for an empty text, which is unknown.
nlohmann::ordered_json text_or_null(const std::string &text);
// Writes text to standard output. Returns false, with a message on standard error, if that fails.
bool print_text(const std::string &text);
// Replaces a file atomically, keeping its mode; a device, FIFO or link is written to instead. "-" is standard output. Throws
// Error.
void write_file(const std::string &path, const std::string &bytes);

} // namespace tool
