// SPDX-License-Identifier: GPL-2.0
// The table of sources, and the choice of a source by the command line.
#pragma once
#include "lib/source/source.hpp"

namespace tool {

struct SourceOptions;

// A kind of source of this machine's GPUs.
struct SourceRow {
	const char *name; // for --source
	const char *about;
	bool (*is_present)(const SourceOptions &options);
	std::unique_ptr<Source> (*make)(const SourceOptions &options);
};

// "auto" is the first row that is present, or else the first row.
extern const std::vector<SourceRow> SOURCES;

struct SourceOptions {
	const SourceRow *source = nullptr; // of SOURCES; nullptr: auto
	std::vector<std::string> files;    // images and snapshots; "-" is standard input
	std::vector<unsigned> gpus;        // of the source; empty: all
	std::string proc = "/proc";        // different in tests, and in a container that has its host's
};

// Returns the text of --help for --source.
std::string sources_help();

// Returns the source of this machine's GPUs. Reads no GPU.
std::unique_ptr<Source> machine_source(const SourceOptions &options);
// Loads the GPUs of all files and, without files or if GPUs are named, of machine_source(); at least one. Throws Error.
std::vector<Gpu> load_gpus(const SourceOptions &options);
// Adds the driver's SMs, by which programs get TPCs, to GPUs of this machine, unless files or a source were named.
void add_sms(std::vector<Gpu> &gpus, const SourceOptions &options);

} // namespace tool
