// SPDX-License-Identifier: GPL-2.0
// GPUs as JSON: docs/json-schema.json. Ids, counts and flags are numbers and booleans; addresses, masks and raw
// registers are strings of 0x and digits, because JSON's readers keep only 53 bits of a number; what is not known is
// null. Keys stay as they are within a version; new ones may come.
#pragma once
#include "lib/model/isolation.hpp"
#include "lib/model/model.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tool {

constexpr int JSON_VERSION = 2; // 1 was of one image only

// Each adds its key to an object of a GPU.
nlohmann::ordered_json gpu_json(const Gpu &gpu); // source, gpu, device and chip: what every command begins with
nlohmann::ordered_json engines_json(const Gpu &gpu);
nlohmann::ordered_json runlists_json(const Gpu &gpu, std::optional<u32> id);
nlohmann::ordered_json channels_json(const Gpu &gpu);
// Ids of allocated channels, and processes; null unless the source is NVIDIA's driver.
nlohmann::ordered_json allocated_json(const Gpu &gpu);
nlohmann::ordered_json processes_json(const Gpu &gpu);
nlohmann::ordered_json copy_json(const Gpu &gpu);
nlohmann::ordered_json gpcs_json(const Gpu &gpu);
// accepted: of isolation --accept.
nlohmann::ordered_json isolation_json(const Isolation &isolation, const std::vector<std::string> &accepted = {});
nlohmann::ordered_json errors_json(const std::vector<Failure> &failures);

} // namespace tool
