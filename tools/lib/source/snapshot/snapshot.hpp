// SPDX-License-Identifier: GPL-2.0
// Parses the module's snapshots, in the format of include/uapi/gpulens.h.
#pragma once
#include "lib/model/model.hpp"

#include <cstdint>
#include <string>
#include <string_view>

struct gpulens_engine;

namespace tool {

// Returns whether the bytes begin like a snapshot.
bool is_snapshot(std::string_view bytes);
// Parses whole records, without the header. Throws Error if there is none of a chip, or a record contradicts another.
Gpu from_records(std::string_view records, unsigned version);
// Throws Error if it is not a snapshot, is truncated, or has a newer layout.
Gpu from_snapshot(std::string_view bytes, const std::string &source);
// The same; the source's name precedes the error's text.
Gpu snapshot_of(std::string_view bytes, const std::string &source);
// Converts an id of a record or a sample; LENS_NONE if the hardware does not report one.
int id_of_record(uint16_t le);
// Converts an engine's record of a snapshot or of a sample stream of this version.
Engine engine_from_record(const gpulens_engine &record, unsigned version);

} // namespace tool
