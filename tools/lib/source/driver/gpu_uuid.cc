// SPDX-License-Identifier: GPL-2.0
// Reads the text file of NVIDIA's driver.
#include "lib/source/driver/gpu_uuid.hpp"

#include <algorithm>
#include <fstream>

namespace tool {

namespace {

constexpr size_t MAX_BYTES = 4096;

bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

// "GPU-" and digits in groups of 8, 4, 4, 4 and 12.
bool is_uuid(std::string_view text)
{
	static constexpr std::string_view FORM = "GPU-00000000-0000-0000-0000-000000000000";

	return std::equal(text.begin(), text.end(), FORM.begin(), FORM.end(),
			  [](char c, char form) { return form == '0' ? is_hex(c) : c == form; });
}

} // namespace

std::string parse_gpu_uuid(std::string_view information)
{
	static constexpr std::string_view KEY = "GPU UUID:";

	while (!information.empty()) {
		std::string_view line = information.substr(0, information.find('\n'));
		information.remove_prefix(std::min(line.size() + 1, information.size()));
		if (line.substr(0, KEY.size()) != KEY)
			continue;
		size_t begin = line.find_first_not_of(" \t", KEY.size());
		std::string_view uuid = begin == line.npos ? "" : line.substr(begin);
		return is_uuid(uuid) ? std::string(uuid) : "";
	}
	return "";
}

std::string read_gpu_uuid(const std::string &proc, const std::string &device)
{
	if (device.empty() || device.find('/') != device.npos)
		return "";
	std::ifstream file(proc + "/driver/nvidia/gpus/" + device + "/information");
	std::string text(MAX_BYTES, '\0');

	file.read(text.data(), MAX_BYTES);
	text.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
	return parse_gpu_uuid(text);
}

} // namespace tool
