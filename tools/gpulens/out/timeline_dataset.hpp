// SPDX-License-Identifier: GPL-2.0
// A dataset of recordings of many machines: CSV files in folders whose names are the day and the machine, as Hive's
// partitions, for engines such as DuckDB, Spark, Trino and ClickHouse. docs/recordings.md describes it.
#pragma once
#include "lib/timeline/timeline.hpp"

#include <span>
#include <string>
#include <vector>

namespace tool {

// Checks that files can be made in the folder, or that the folder can be made, and makes nothing, so that a recording
// that does not begin leaves nothing behind. Throws Error (Source).
void check_dataset(const std::string &folder);

// Adds the timelines of one recording, as day=YYYY-MM-DD/machine=NAME/TIME.csv for each day, UTC; TIME is when the
// recording began. All or no files appear. recording: its name, for errors. Throws Error (Source) if the machine or the
// wall clock is unknown, or if the recording is in the dataset already: no file is replaced.
void add_to_dataset(std::span<const Timeline> gpus, const std::string &folder, const std::string &recording);

} // namespace tool
