// SPDX-License-Identifier: GPL-2.0
// The command gpulens export: writes metrics once, or serves them over HTTP for Prometheus.
#pragma once
#include "gpulens/out/output.hpp"

#include <optional>
#include <string>

namespace tool {

struct ListenAddress {
	std::string host; // empty: every address of this machine
	int port = 0;     // 0: any free port
};

// Parses "127.0.0.1:10835", "[::1]:10835", ":10835" (every address) or "10835" (loopback). Returns nothing for other text.
std::optional<ListenAddress> parse_listen(const std::string &text);

struct ExportOptions {
	bool prometheus = false;
	std::string file;                    // empty: standard output
	std::optional<ListenAddress> listen; // nothing: write once
	u64 for_ns = 0;                      // sampling time before writing once; 0: do not sample
	u32 period_us = 0;                   // 0: as the source can at little cost
	u64 keep_ended_ns = 300000000000;    // time for which the series of an ended TSG stay
	bool no_sample = false;              // do not sample while listening
};

// Returns the exit status. Throws Error.
int export_metrics(const SourceOptions &sources, const ExportOptions &options);

} // namespace tool
