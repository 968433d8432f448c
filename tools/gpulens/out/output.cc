// SPDX-License-Identifier: GPL-2.0
// Maps errors to exit statuses, and writes output.
#include "gpulens/out/output.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/output_file.hpp"

#include <cstdio>

namespace tool {

Exit exit_status(Error::Code code)
{
	switch (code) {
	case Error::Source: return EXIT_SOURCE;
	case Error::Input:
	case Error::Absent: return EXIT_USAGE;
	default: return EXIT_REFUSED;
	}
}

std::string json_text(const nlohmann::ordered_json &document)
{
	return document.dump(1, '\t', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

nlohmann::ordered_json text_or_null(const std::string &text)
{
	return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
}

bool print_text(const std::string &text)
{
	bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();

	if (std::fflush(stdout) || !written) {
		std::perror("gpulens: standard output");
		return false;
	}
	return true;
}

void write_file(const std::string &path, const std::string &bytes)
{
	if (path == "-") {
		if (!print_text(bytes))
			throw Error(Error::Source, "standard output cannot be written");
		return;
	}
	OutputFile file(path);
	file.write(bytes);
	file.commit();
}

} // namespace tool
