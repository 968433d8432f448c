// SPDX-License-Identifier: GPL-2.0
// A mask of 128 bits is four numbers of the file: JSON's are exact up to 2^53 only.
#include "partition/kept_bits.hpp"

#include "lib/base/json_input.hpp"
#include "lib/base/state_file.hpp"

namespace gpulens {

namespace {

using json = nlohmann::ordered_json;

constexpr char FILE_NAME[] = "masks.json", LIST[] = "gpus";
constexpr uint32_t ANY = ~uint32_t{0};

std::vector<KeptBits> read_kept(const std::string &path)
{
	std::vector<KeptBits> all;
	json document = tool::read_state(path, LIST);

	tool::for_each_item(
		tool::Item(document, path), LIST, "GPU",
		[&](const tool::Item &gpu) {
		KeptBits kept{.uuid = gpu.string("uuid"),
			      .driver = gpu.string("driver"),
			      .format = gpu.integer("format", 0, ANY),
			      .of_tpc = {},
			      .evidence = gpu.string("evidence")};
		// 32 bits each, from bit 0 on.
		std::vector<uint32_t> words = gpu.numbers("bits", ANY);
		for (size_t i = 0; i + 3 < words.size(); i += 4)
			kept.of_tpc.push_back(
				{words[i] | uint64_t{words[i + 1]} << 32, words[i + 2] | uint64_t{words[i + 3]} << 32});
		all.push_back(std::move(kept));
		},
		"uuid");
	return all;
}

json kept_json(const KeptBits &kept)
{
	json words = json::array();

	for (const LaunchBits &bits : kept.of_tpc)
		for (uint64_t half : bits)
			words.insert(words.end(), {half & ANY, half >> 32});
	return {{"uuid", kept.uuid},
		{"driver", kept.driver},
		{"format", kept.format},
		{"bits", words},
		{"evidence", kept.evidence}};
}

} // namespace

void keep_bits(const KeptBits &bits)
{
	tool::store_state(tool::state_path(FILE_NAME), LIST, kept_json(bits), {"uuid"});
}

std::optional<KeptBits> find_kept_bits(const std::string &uuid, const std::string &driver)
{
	for (const std::string &path : tool::state_paths(FILE_NAME))
		for (KeptBits &kept : read_kept(path))
			if (kept.uuid == uuid && kept.driver == driver)
				return std::move(kept);
	return std::nullopt;
}

} // namespace gpulens
