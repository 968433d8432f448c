// SPDX-License-Identifier: GPL-2.0
// The timeline of a whole recording.
#pragma once
#include "lib/base/errors.hpp"
#include "lib/timeline/timeline.hpp"

#include <string>
#include <string_view>

namespace tool_test {

// source: begins the message of an error, as in gpulens report. Throws Error (Source).
inline tool::Timeline timeline_of(std::string_view bytes, const std::string &source)
{
	tool::TimelineBuilder builder;

	try {
		builder.feed(bytes);
		return builder.finish();
	} catch (const tool::Error &e) {
		throw tool::Error(tool::Error::Source, source + ": " + e.what());
	}
}

} // namespace tool_test
