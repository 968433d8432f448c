// SPDX-License-Identifier: GPL-2.0
// gpulens export: metrics.hpp's text once, to a file or standard output, or over HTTP for Prometheus.
#pragma once
#include "gpulens/out/output.hpp"

#include <optional>
#include <string>

namespace tool {

struct ListenAddress {
	std::string host;
	int port = 0; // 0: any that is free
};

// "127.0.0.1:9835", "[::1]:9835", "9835": loopback. Nothing: not such an address.
std::optional<ListenAddress> parse_listen(const std::string &text);

struct ExportOptions {
	bool prometheus = false;
	std::string file;                    // empty: standard output
	std::optional<ListenAddress> listen; // nothing: once
	u64 for_ns = 0;                      // to sample before the one output; 0: not at all
	u32 period_us = 1000;
	bool no_sample = false; // with listen
};

int export_metrics(const Options &options, const ExportOptions &how);

} // namespace tool
