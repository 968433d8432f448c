// SPDX-License-Identifier: GPL-2.0
// The table of sources, and which of them a command line means.
#pragma once
#include "lib/source/source.hpp"

namespace tool {

struct SourceOptions;

// A source of GPUs of this machine.
struct SourceRow {
	const char *name; // of --source
	const char *about;
	bool (*is_there)(const SourceOptions &options);
	std::unique_ptr<Source> (*make)(const SourceOptions &options);
};

// auto takes the first one that is there, or else the first row.
extern const std::vector<SourceRow> SOURCES;

struct SourceOptions {
	const SourceRow *source = nullptr; // of SOURCES; nullptr: auto
	std::vector<std::string> files;    // images and snapshots; "-" is standard input
	std::vector<unsigned> gpus;        // of the source; empty: all
	std::string proc = "/proc";        // elsewhere in tests, and where a container has its host's
};

// What --help says of --source.
std::string sources_help();

// The source of this machine's GPUs. Asks none of them.
std::unique_ptr<Source> machine_source(const SourceOptions &options);
// The GPUs of all files and, when there are none or GPUs are named, of machine_source(). Never empty. Throws Error.
std::vector<Gpu> load_gpus(const SourceOptions &options);

} // namespace tool
