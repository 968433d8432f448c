// SPDX-License-Identifier: GPL-2.0
// Reads sysfs, /proc/driver/nvidia and /dev/kmsg.
#include "gpulens/cmd/machine_facts.hpp"

#include "lib/base/file.hpp"
#include "lib/source/module/proc.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <regex>
#include <sstream>
#include <sys/utsname.h>
#include <unistd.h>

namespace tool {

namespace fs = std::filesystem;

namespace {

constexpr const char *NVIDIA = "0x10de";
// PCI_CLASS_DISPLAY_VGA, _3D and _OTHER (linux/pci_ids.h), as procfs prints them without the programming interface.
constexpr std::array<std::string_view, 3> DISPLAYS = {"0x0300", "0x0302", "0x0380"};
// Attributes of 4 bytes, then 1: on (Documentation/filesystems/efivarfs.rst, UEFI 2.10 section 3.3).
constexpr const char *SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";

// Returns the text without the end of its last line; empty: it cannot be read.
std::string read_text(const fs::path &path)
{
	std::string text;

	if (read_path(path, text))
		return "";
	return text.ends_with('\n') ? text.substr(0, text.size() - 1) : text;
}

// Returns the first group of the first match; empty: none.
std::string find_in(const std::string &text, const char *pattern)
{
	std::smatch found;

	return std::regex_search(text, found, std::regex(pattern)) ? found[1].str() : "";
}

bool is_card(const fs::path &device, bool pci)
{
	if (!pci) // names of Tegra's GPUs: 17000000.ga10b, 57000000.gpu
		return find_in(device.filename(), R"(^[0-9a-f]+\.(gpu|g[a-z]\w+b)$)") != "";
	return read_text(device / "vendor") == NVIDIA && !fs::exists(device / "physfn") &&
	       std::ranges::count(DISPLAYS, read_text(device / "class").substr(0, 6));
}

Card read_card(const fs::path &device, bool pci, const std::string &proc)
{
	std::error_code error;
	std::string folder = proc + "/driver/nvidia";
	Card card;

	card.device = device.filename();
	if (pci)
		card.ids = read_text(device / "vendor") + ":" + read_text(device / "device");
	card.driver = fs::read_symlink(device / "driver", error).filename();
	card.asleep = read_text(device / "power/runtime_status") == "suspended";
	if (u64 bytes = fs::file_size(device / "resource1", error); pci && !error)
		card.bar1_bytes = bytes;
	if (card.driver != "nvidia")
		return card;
	// Of a line that also names who built the driver and on which machine, only the number.
	card.version = find_in(read_text(folder + "/version"), R"(^NVRM version:.* (\d+\.[\d.]+) )");
	card.firmware = find_in(read_text(fmt::format("{}/gpus/{}/information", folder, card.device)),
				R"(GPU Firmware:\s*(\d[\d.]*))");
	return card;
}

std::string read_secure_boot()
{
	std::string bytes = read_text(SECURE_BOOT);

	return bytes.size() < 5 ? "unknown" : bytes[4] ? "on" : "off";
}

// What will and will not be readable of a GPU.
std::vector<std::string> list_prospects(const Machine &machine, const Card &card)
{
	std::vector<std::string> list = {
		"chip, engines, runlists' numbers, GPCs, TPCs, copy engines, memory size: yes"};

	if (card.driver.find("vfio") != card.driver.npos || card.driver == "pci-stub")
		return {fmt::format("nothing: {} assigns it to a guest or a program", card.driver)};
	if (card.asleep)
		list = {"nothing while it is asleep, and reading does not wake it"};
	else if (card.driver.empty())
		list[0] += ", as far as the firmware of the card sets it up: no driver is bound";
	if (!card.firmware.empty())
		list.push_back("runlists that the firmware of its GSP keeps in memory of its own: no");
	list.emplace_back("runlists and channels in memory: only with --runlists, which stops all processors for "
			  "moments");
	if (machine.lockdown != "none" && !machine.lockdown.empty())
		list.emplace_back("raw words: no, the kernel is locked down; the file then has the report only");
	return list;
}

} // namespace

KernelLog::KernelLog() : fd_(open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC))
{
}

KernelLog::~KernelLog()
{
	if (fd_ >= 0)
		close(fd_);
}

std::vector<std::string> KernelLog::read_new()
{
	std::vector<std::string> texts;
	std::string all, line;
	char piece[8192]; // no record is longer (CONSOLE_EXT_LOG_MAX)
	ssize_t n;

	// EPIPE: the next record was overwritten, reading goes on with the oldest one.
	while (fd_ >= 0 && ((n = read(fd_, piece, sizeof(piece))) > 0 || (n < 0 && (errno == EPIPE || errno == EINTR))))
		all.append(piece, static_cast<size_t>(std::max<ssize_t>(n, 0)));
	std::istringstream lines(all);
	while (std::getline(lines, line)) // "6,339,5140900,-;TEXT", then lines that begin with a blank
		if (size_t at = line.find(';'); at != line.npos && line[0] != ' ')
			texts.push_back(line.substr(at + 1));
	return texts;
}

Machine read_machine(const std::string &proc)
{
	Machine machine;
	utsname kernel{};
	std::error_code error;

	uname(&kernel);
	machine.kernel = fmt::format("{} {}", kernel.release, kernel.machine);
	machine.lockdown = lockdown_mode();
	machine.secure_boot = read_secure_boot();
	for (bool pci : {true, false})
		for (const fs::directory_entry &e :
		     fs::directory_iterator(pci ? "/sys/bus/pci/devices" : "/sys/bus/platform/devices", error))
			if (is_card(e.path(), pci))
				machine.cards.push_back(read_card(e.path(), pci, proc));
	std::ranges::sort(machine.cards, {}, &Card::device);
	return machine;
}

std::string machine_text(const Machine &machine, size_t chosen, const Style &style)
{
	auto or_dash = [](const std::string &text) { return text.empty() ? "-" : text; };
	Table t({"GPU", "<Device", "<PCI ids", "<Driver", "<Version", "<GSP firmware", "<Power"});
	std::string out;

	for (size_t i = 0; i < machine.cards.size(); i++) {
		const Card &c = machine.cards[i];
		t.add({std::to_string(i), c.device, or_dash(c.ids), c.driver.empty() ? "none" : c.driver,
		       or_dash(c.version), or_dash(c.firmware), c.asleep ? "asleep" : "on"});
	}
	out = t.str(style) + fmt::format("Kernel {}; lockdown: {}; Secure Boot: {}\n", machine.kernel,
					 machine.lockdown.empty() ? "unknown" : machine.lockdown, machine.secure_boot);
	out += fmt::format("What will be readable of GPU {}:\n", chosen);
	for (const std::string &line : list_prospects(machine, machine.cards[chosen]))
		out += "  " + wrap_text(line, style.width > 2 ? style.width - 2 : 0, "  ") + '\n';
	return out;
}

Gpu read_nouveau_log(const std::vector<std::string> &log, const std::string &device)
{
	// nouveau prints these when it starts a GPU: nvkm/engine/device/base.c, nvkm/subdev/fb/ram.c.
	const std::regex chip("^NVIDIA (\\w+) \\(([0-9a-f]{8})\\)"), memory("^fb: (\\d+) MiB ");
	std::string before = fmt::format("nouveau {}: ", device);
	std::smatch found;
	Gpu gpu;

	for (const std::string &line : log) {
		std::string text = line.starts_with(before) ? line.substr(before.size()) : "";
		if (std::regex_search(text, found, chip)) {
			gpu.chip.name = found[1];
			gpu.chip.boot0 = static_cast<u32>(std::stoul(found[2], nullptr, 16));
		} else if (std::regex_search(text, found, memory)) {
			gpu.chip.memory_bytes = std::stoull(found[1]) << 20;
		}
	}
	return gpu;
}

} // namespace tool
