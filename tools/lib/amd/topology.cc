// SPDX-License-Identifier: GPL-2.0
// Numbers of CUs and SEs result from divisions, so counts that contradict each other are refused first. Partitions of a GPU
// have its address with other functions; nodes with the same unique id get function 0.
#include "lib/amd/topology.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"
#include "lib/base/format.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>

namespace tool::amd {

namespace {

std::optional<u32> parse_decimal(const std::string &text)
{
	u32 value = 0;
	auto [end, err] = std::from_chars(text.data(), text.data() + text.size(), value);

	return err == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// Returns a file's only line.
std::string read_line(const std::string &path)
{
	std::string text = read_file(path);

	if (text.empty() || text.find('\n') != text.size() - 1)
		throw Error(Error::Input, path + ":1: expected one line");
	text.pop_back();
	return text;
}

// Returns the numbers of the nodes, ascending.
std::vector<u32> list_nodes(const std::string &folder)
{
	std::vector<u32> nodes;
	std::error_code err;

	for (auto entry = std::filesystem::directory_iterator(folder, err);
	     !err && entry != std::filesystem::end(entry); entry.increment(err))
		if (std::optional<u32> node = parse_decimal(entry->path().filename().string()))
			nodes.push_back(*node);
	if (err)
		throw Error(Error::Source, fmt::format("{}: {}{}", folder, err.message(),
						       folder.starts_with("/sys/")
							       ? "; is the driver amdgpu loaded, with CONFIG_HSA_AMD?"
							       : ""));
	std::sort(nodes.begin(), nodes.end());
	return nodes;
}

// Returns "0000:03:00.0". location: bus, device and function as kfd_topology.c takes them from pci_dev_id().
std::string format_address(u32 domain, u32 location)
{
	return fmt::format("{:04x}:{:02x}:{:02x}.{}", domain, location >> 8 & 0xff, location >> 3 & 0x1f, location & 7);
}

KfdGpu read_gpu(const std::string &folder, u32 node, u32 gpu_id)
{
	std::string name = folder + "/properties";
	Properties properties(read_file(name), name);
	KfdGpu gpu{.node = node, .gpu_id = gpu_id, .name = read_line(folder + "/name")};
	u32 per_cu = properties.get("simd_per_cu"), arrays = properties.get("array_count");
	u32 per_se = properties.get("simd_arrays_per_engine");
	std::optional<u32> domain = properties.find("domain"), location = properties.find("location_id");
	std::optional<u32> engines = properties.find("num_sdma_engines");
	std::optional<u32> queues = properties.find("num_sdma_queues_per_engine");

	gpu.unique_id = properties.find_text("unique_id");
	gpu.dies = properties.find("num_xcc").value_or(1);
	if (!per_cu || !per_se || arrays % per_se || !gpu.dies || arrays / per_se % gpu.dies)
		throw Error(Error::Input, name + ": its numbers of SIMDs, arrays, SEs and dies contradict each other");
	gpu.gfx = properties.find("gfx_target_version");
	gpu.cus = properties.get("simd_count") / per_cu;
	gpu.ses = arrays / per_se;
	gpu.compute_slots = properties.find("num_cp_queues");
	if (domain && location)
		gpu.address = format_address(*domain, *location);
	if (engines && queues)
		gpu.sdma_slots = (*engines + properties.find("num_sdma_xgmi_engines").value_or(0)) * *queues;
	return gpu;
}

// Partitions of a GPU are nodes of one device, function 0: the driver adds their numbers to its location. Newer ones add
// them beyond the function.
void merge_addresses(std::vector<KfdGpu> &gpus)
{
	for (KfdGpu &gpu : gpus) {
		auto shared = std::count_if(gpus.begin(), gpus.end(), [&](const KfdGpu &other) {
			return !gpu.unique_id.empty() && gpu.unique_id != "0" && other.unique_id == gpu.unique_id;
		});
		if (shared > 1 && gpu.address)
			gpu.address->back() = '0';
	}
}

} // namespace

Properties::Properties(const std::string &text, const std::string &name) : name_(name)
{
	std::vector<std::string> lines = split_text(text, '\n');

	for (size_t i = 0; i + 1 < lines.size() || (i < lines.size() && !lines[i].empty()); i++) {
		size_t blank = lines[i].find(' ');
		if (blank == lines[i].npos || !blank || !is_plain_word(lines[i].substr(blank + 1)))
			throw Error(Error::Input, fmt::format("{}:{}: expected a name and a number", name, i + 1));
		values_[lines[i].substr(0, blank)] = {lines[i].substr(blank + 1), i + 1};
	}
}

std::optional<u32> Properties::find(const std::string &key) const
{
	auto found = values_.find(key);

	if (found == values_.end())
		return std::nullopt;
	std::optional<u32> value = parse_decimal(found->second.text);
	if (!value)
		throw Error(Error::Input,
			    fmt::format("{}:{}: {} is not a number of 32 bits", name_, found->second.line, key));
	return value;
}

std::string Properties::find_text(const std::string &key) const
{
	auto found = values_.find(key);

	return found == values_.end() ? "" : found->second.text;
}

u32 Properties::get(const std::string &key) const
{
	std::optional<u32> value = find(key);

	if (!value)
		throw Error(Error::Input,
			    fmt::format("{}: it has no {}, so it is not the properties of a KFD node", name_, key));
	return *value;
}

std::vector<KfdGpu> read_topology(const std::string &root)
{
	std::string nodes = root + "/sys/class/kfd/kfd/topology/nodes";
	std::vector<KfdGpu> gpus;

	for (u32 node : list_nodes(nodes)) {
		std::string folder = fmt::format("{}/{}", nodes, node);
		std::optional<u32> gpu_id = parse_decimal(read_line(folder + "/gpu_id"));
		if (!gpu_id)
			throw Error(Error::Input, folder + "/gpu_id:1: expected a number");
		if (*gpu_id)
			gpus.push_back(read_gpu(folder, node, *gpu_id));
	}
	merge_addresses(gpus);
	return gpus;
}

const KfdGpu &find_gpu(const KfdText &text, const std::vector<KfdGpu> &gpus, u32 gpu_id)
{
	auto gpu = std::find_if(gpus.begin(), gpus.end(), [&](const KfdGpu &g) { return g.gpu_id == gpu_id; });

	if (gpu == gpus.end())
		text.refuse(fmt::format("GPU id {:x} is not in the topology", gpu_id));
	return *gpu;
}

std::string format_gfx(u32 version)
{
	return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

} // namespace tool::amd
