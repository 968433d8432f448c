// SPDX-License-Identifier: GPL-2.0
// What the bits of launch masks disable on a GPU, kept for processes under MPS, in which %smid does not tell: in
// state_path("masks.json"), by GPU and driver. gpulens partitions --methods writes it.
#pragma once
#include "lib/launch/launch_hook.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpulens {

struct KeptBits {
	std::string uuid, driver;       // format_uuid(); version of NVIDIA's driver
	unsigned format;                // DescriptorFormat::id
	std::vector<LaunchBits> of_tpc; // those that disable each TPC
	std::string evidence;
};

// In place of what was kept of this GPU. Throws Error.
void keep_bits(const KeptBits &bits);
// Returns nothing where nothing was kept of that GPU with that driver, by this user or by root. Throws Error.
std::optional<KeptBits> find_kept_bits(const std::string &uuid, const std::string &driver);

} // namespace gpulens
