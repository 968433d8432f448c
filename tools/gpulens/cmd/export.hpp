// SPDX-License-Identifier: GPL-2.0
// The command gpulens export: writes metrics once, or serves them over HTTP for Prometheus.
#pragma once
#include "gpulens/out/output.hpp"

#include <optional>
#include <string>

namespace tool {

struct ListenAddress {
	std::string host;
	int port = 0; // 0: any free port
};

// Parses "127.0.0.1:9835", "[::1]:9835" or "9835" (loopback). Returns nothing for other text.
std::optional<ListenAddress> parse_listen(const std::string &text);

struct ExportOptions {
	bool prometheus = false;
	std::string file;                    // empty: standard output
	std::optional<ListenAddress> listen; // nothing: write once
	u64 for_ns = 0;                      // sampling time before writing once; 0: do not sample
	u32 period_us = 1000;
	bool no_sample = false; // do not sample while listening
};

// Returns the exit status. Throws Error.
int export_metrics(const SourceOptions &sources, const ExportOptions &options);

} // namespace tool
