// SPDX-License-Identifier: GPL-2.0
// Parameters of other drivers' versions.
#include "fake_versions.hpp"

#include <algorithm>
#include <cstring>

namespace fake {

namespace {

constexpr uint32_t ORDER = 0x2080121b, GR_INFO = 0x20801228, MEMORY = 0x20801303, ENGINES = 0x20800170,
		   DEVICELESS = 0x90ce, RUNLISTS = 0x20800179, IDS = 0x2080017a, NAME = 0x20800110,
		   SAMPLES = 0x20802096;

} // namespace

std::map<uint32_t, uint32_t> sizes_in(const std::string &version)
{
	static const std::map<std::string, std::map<uint32_t, uint32_t>> sizes = {
		{"535",
		 {{ORDER, 6168},
		  {GR_INFO, 448},
		  {MEMORY, 436},
		  {ENGINES, 252},
		  {RUNLISTS, 496},
		  {IDS, 496},
		  {SAMPLES, 34000},
		  {DEVICELESS, 120}}},
		{"550",
		 {{ORDER, 6168},
		  {GR_INFO, 472},
		  {MEMORY, 444},
		  {ENGINES, 260},
		  {RUNLISTS, 512},
		  {IDS, 512},
		  {SAMPLES, 50704}}},
		{"570", {{ORDER, 6168}, {MEMORY, 460}}},
		{"575", {{ORDER, 7192}, {MEMORY, 460}}},
		{"590", {{GR_INFO, 496}}},
		{"595", {{GR_INFO, 496}, {NAME, 68}}}};
	auto row = sizes.find(version.substr(0, 3));

	return row == sizes.end() ? std::map<uint32_t, uint32_t>() : row->second;
}

std::vector<uint8_t> parameters_580(uint32_t cmd, const uint8_t *bytes, uint32_t size, uint32_t size_580)
{
	std::vector<uint8_t> parameters(size_580);

	if (cmd == RUNLISTS || cmd == IDS) // the list of engines is the first half
		memcpy(parameters.data(), bytes, size / 2);
	else if (cmd != ORDER && cmd != SAMPLES)
		memcpy(parameters.data(), bytes, std::min(size, size_580));
	return parameters;
}

void put_parameters(uint32_t cmd, const std::vector<uint8_t> &parameters, uint8_t *bytes, uint32_t size)
{
	uint32_t each = size == 7192 ? 14 : 12, half = static_cast<uint32_t>(parameters.size()) / 2, sample;

	switch (cmd) {
	case ORDER: // six or seven fields of 16 bits of each SM, and then the numbers of SMs and TPCs
		for (uint32_t i = 0; i < 512; i++)
			memcpy(bytes + each * i, parameters.data() + 18 * i, each);
		memcpy(bytes + 512 * each, parameters.data() + 9216, 4);
		return;
	case RUNLISTS: // no third list, of runlists
		memcpy(bytes + size / 2, parameters.data() + 336, size / 2);
		return;
	case IDS: memcpy(bytes + size / 2, parameters.data() + half, size / 2); return;
	case SAMPLES: // 72 of them, of four or six engines of 116 bytes each; pid of the second at 8
		sample = (size - 16) / 72;
		for (uint32_t i = 0; i < 72; i++) {
			memcpy(bytes + 16 + sample * i, parameters.data() + 16 + 776 * i, 8);
			memcpy(bytes + 16 + sample * i + 8 + 116 + 8, parameters.data() + 16 + 776 * i + 144, 4);
		}
		return;
	default: memcpy(bytes, parameters.data(), std::min<size_t>(size, parameters.size()));
	}
}

} // namespace fake
