// SPDX-License-Identifier: GPL-2.0
// The module's snapshots, as include/uapi/gpulens.h lays them out.
#pragma once
#include "lib/model/model.hpp"

#include <cstdint>
#include <string>
#include <string_view>

struct gpulens_engine;

namespace tool {

// Does it begin as a snapshot?
bool is_snapshot(std::string_view bytes);
// Throws Error: not one, cut short, of a newer layout.
Gpu from_snapshot(std::string_view bytes, const std::string &source);
// The same, with the source's name before what is wrong.
Gpu snapshot_of(std::string_view bytes, const std::string &source);
// An id of a record or a sample as it lies there; LENS_NONE where the hardware does not give one.
int id_of_record(uint16_t le);
// An engine's record, in a snapshot or before samples of that version.
Engine engine_from_record(const gpulens_engine &record, unsigned version);

} // namespace tool
