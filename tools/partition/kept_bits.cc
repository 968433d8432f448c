// SPDX-License-Identifier: GPL-2.0
// Reads and writes the file as a whole, so that one of two writers wins.
#include "partition/kept_bits.hpp"

#include "lib/base/file.hpp"
#include "lib/base/json_input.hpp"
#include "lib/base/output_file.hpp"

#include <filesystem>

namespace gpulens {

namespace {

using json = nlohmann::ordered_json;

constexpr char FILE_NAME[] = "masks.json";
constexpr uint32_t ANY = ~uint32_t{0};

std::vector<KeptBits> read_kept(const std::string &path)
{
	std::vector<KeptBits> all;
	std::error_code err;

	if (!std::filesystem::exists(path, err))
		return all;
	json document = tool::parse_json(tool::read_json_file(path), path);
	tool::Item file(document, path);
	file.integer("version", 1, 1);
	tool::for_each_item(
		file, "gpus", "GPU",
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
	std::string path = tool::state_path(FILE_NAME);
	json gpus = json::array({kept_json(bits)});
	std::error_code err;

	for (const KeptBits &old : read_kept(path))
		if (old.uuid != bits.uuid)
			gpus.push_back(kept_json(old));
	std::filesystem::create_directories(std::filesystem::path(path).parent_path(), err);
	tool::OutputFile file(path);
	file.write(json{{"version", 1}, {"gpus", gpus}}.dump(1) + '\n');
	file.commit();
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
