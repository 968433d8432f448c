// SPDX-License-Identifier: GPL-2.0
// The exporter with any file name, any stats and any request: each line of its text is a comment or a sample of a
// gpulens metric with quoted labels in UTF-8. The parser of requests itself is libmicrohttpd's.
#include "gpulens/export/http_server.hpp"
#include "gpulens/out/metrics.hpp"
#include "room.hpp"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

namespace {

void check_line(std::string_view line)
{
	bool quoted = false;

	if (line.starts_with("# HELP gpulens_") || line.starts_with("# TYPE gpulens_"))
		return;
	FUZZ_CHECK(line.starts_with("gpulens_"));
	for (size_t i = 0; i < line.size(); i++)
		if (line[i] == '\\' && quoted) {
			i++;
			FUZZ_CHECK(i < line.size() && (line[i] == '\\' || line[i] == '"' || line[i] == 'n'));
		} else if (line[i] == '"') {
			quoted = !quoted;
		}
	FUZZ_CHECK(!quoted && std::isdigit(static_cast<unsigned char>(line.back())));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	std::string all(reinterpret_cast<const char *>(data), size);
	size_t end = std::min(all.find('\0'), all.size());
	std::string label = all.substr(0, end), stats = all.substr(std::min(end + 1, all.size()));
	tool::Metrics m;

	m.gauge("gpulens_up", "x").add({{"gpu", label}}, uint64_t{1});
	tool::add_stats(m, stats, label);
	std::string text = m.text();
	FUZZ_CHECK(!nlohmann::json(text).dump().empty()); // throws: not UTF-8
	for (size_t at = 0, to; at < text.size(); at = to + 1) {
		to = text.find('\n', at);
		FUZZ_CHECK(to != text.npos);
		check_line(std::string_view(text).substr(at, to - at));
	}
	unsigned status = tool::refusal_status(label, stats.empty() ? nullptr : stats.c_str(), nullptr);
	FUZZ_CHECK(status == (label != "GET" && label != "HEAD" ? 405U
			      : stats.empty() || stats == "0"   ? 0U
								: 413U) ||
		   stats.find('\0') != stats.npos);
	return 0;
}
