// SPDX-License-Identifier: GPL-2.0
// Finds and reads /proc/gpuX, and explains its errors.
#include "lib/source/module/proc.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"
#include "lib/source/image/from_image.hpp"
#include "lib/source/module/load_command.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <unistd.h>

namespace tool {

namespace {

// Besides the capability, the reader needs the file's mode: it belongs to root or to a group.
constexpr const char *TAKES_PERFMON = "reading runlists requires CAP_PERFMON or CAP_SYS_ADMIN";
constexpr const char *HOW_TO_OBSERVE = "sudo gpulens ..., or setcap cap_perfmon+ep $(command -v gpulens) for members "
				       "of the group that the module was given (gid=)";

std::string explain_cause(int err, bool writing)
{
	switch (err) {
	case EPERM:
		return writing ? "writing requires CAP_SYS_ADMIN, and no kernel lockdown"
			       : "reading requires CAP_PERFMON or CAP_SYS_ADMIN";
	case EACCES: return "permission denied";
	case ENOENT: return "no such file or object";
	case ENODEV: return "the GPU was removed or replaced";
	case ENODATA: return "the GPU is suspended, and reading does not resume it, or no driver has set it up";
	case ENXIO:
		return "the GPU's memory decoding is off, or system memory is needed that no driver has mapped through "
		       "the kernel";
	case ETIMEDOUT: return "the GPU did not answer in time";
	case EIO: return "the GPU returned error codes of failed reads, or is in error recovery";
	case EOPNOTSUPP: return "this chip does not have it, or no manual publishes it";
	case ERANGE: return "out of this chip's range";
	case EINVAL: return "not a unique id on this GPU";
	case EBUSY:
		return writing ? "another runlist is being submitted, or another process uses the file"
			       : "another process uses the file, or holds are being ended";
	default: return std::strerror(err);
	}
}

bool has_driver()
{
	return access("/dev/nvidiactl", F_OK) == 0;
}

} // namespace

std::string lockdown_mode()
{
	std::ifstream in("/sys/kernel/security/lockdown");
	std::string modes; // "none [integrity] confidentiality"

	std::getline(in, modes);
	size_t begin = modes.find('['), end = modes.find(']');
	return begin < end && end != modes.npos ? modes.substr(begin + 1, end - begin - 1) : "";
}

std::string device_of(const std::string &path)
{
	std::ifstream chip(path.substr(0, path.rfind('/')) + "/chip");
	constexpr std::string_view LABEL = "Device:";
	std::string line;

	while (std::getline(chip, line))
		if (line.starts_with(LABEL))
			return line.substr(std::min(line.find_first_not_of(' ', LABEL.size()), line.size()));
	return "";
}

namespace {

bool is_locked_down()
{
	std::string mode = lockdown_mode();

	return !mode.empty() && mode != "none";
}

std::string explain_how_to_resume(const std::string &device)
{
	if (device.empty())
		return "resume it: write on to power/control of its device in sysfs; lspci -d 10de: lists the GPUs";
	return fmt::format("resume it: echo on >/sys/bus/{}/devices/{}/power/control",
			   device.find(':') == device.npos ? "platform" : "pci", device);
}

std::string explain_memory_decoding(const std::string &device)
{
	const char *cause = "its driver may be resetting it";

	if (device.find(':') == device.npos)
		return cause;
	return fmt::format("{}; bit 1 of setpci -s {} COMMAND is memory decoding", cause, device);
}

std::string explain_remedy(int err, const std::string &path, bool writing)
{
	switch (err) {
	case EPERM:
		if (is_locked_down() && (writing || path.ends_with("/image")))
			return "the kernel is locked down (man kernel_lockdown): control and images are "
			       "available only when it is booted without lockdown";
		return writing ? "be root: sudo gpulens ..." : HOW_TO_OBSERVE;
	case EACCES:
		// Denied by the file's mode, or by a parameter of the module.
		if (eaccess(path.c_str(), writing ? W_OK : R_OK))
			return writing ? "be root: sudo gpulens ..."
				       : fmt::format("{}: {}", TAKES_PERFMON, HOW_TO_OBSERVE);
		return writing ? "the module was loaded with control=0, or needs GPU memory and has vram=off"
			       : "the module was loaded with vram=off";
	case ENODATA: return explain_how_to_resume(device_of(path));
	case ENXIO: return explain_memory_decoding(device_of(path));
	case EINVAL: return "if ids count per runlist, write RUNLIST:ID";
	case ENODEV: return "lspci -d 10de: lists the GPUs";
	case EBUSY: return "try again";
	case EOPNOTSUPP:
		return path.ends_with("/samples") && has_driver()
			       ? "NVIDIA's driver may report it: gpulens --source rm ..."
			       : "";
	case EIO:
		return "its firmware may protect this from the CPU; " + path.substr(0, path.rfind('/')) +
		       "/chip reports what can be read";
	default: return "";
	}
}

std::string snapshot_path(const std::string &proc, unsigned index)
{
	std::string path = fmt::format("{}/gpu{}/snapshot", proc, index);

	if (std::filesystem::exists(path))
		return path;
	std::vector<unsigned> present = proc_gpus(proc);
	if (std::find(present.begin(), present.end(), index) != present.end())
		throw Error(Error::Source, path + ": no such file; the module's version differs from this gpulens");
	throw Error(Error::Source, fmt::format("there is no GPU {}; there is {}", index, fmt::join(present, ", ")));
}

// Returns whether this reader was shown no runlist.
bool are_runlists_withheld(const Gpu &gpu)
{
	return !gpu.runlists.empty() && std::all_of(gpu.runlists.begin(), gpu.runlists.end(),
						    [](const Runlist &rl) { return rl.err == -EPERM; });
}

Gpu load_snapshot(const std::string &proc, unsigned index)
{
	std::string path = snapshot_path(proc, index);

	return from_bytes(read_proc(path), path);
}

// Parses "gpc 1: 0x1e0". Returns nothing if the text has another form.
std::optional<HardwareGpc> parse_tpc_line(std::string_view line)
{
	constexpr std::string_view BEFORE = "gpc ", BETWEEN = ": 0x", DIGITS = "0123456789abcdef";
	HardwareGpc gpc;

	if (!line.starts_with(BEFORE))
		return std::nullopt;
	line.remove_prefix(BEFORE.size());
	const char *end = std::from_chars(line.data(), line.data() + line.size(), gpc.logical).ptr;
	line.remove_prefix(static_cast<size_t>(end - line.data()));
	if (!line.starts_with(BETWEEN))
		return std::nullopt;
	line.remove_prefix(BETWEEN.size());
	for (size_t i = line.size(); i--;) {
		size_t digit = DIGITS.find(line[i]);
		if (digit == DIGITS.npos)
			return std::nullopt;
		for (u32 bit = 0; bit < 4; bit++)
			if (digit >> bit & 1)
				gpc.tpcs.push_back(static_cast<u32>(line.size() - 1 - i) * 4 + bit);
	}
	return gpc;
}

// Returns whether these are TPCs 0 to some number, each in one GPC.
bool are_all_tpcs(const std::vector<HardwareGpc> &gpcs)
{
	std::vector<u32> all;

	for (const HardwareGpc &gpc : gpcs)
		all.insert(all.end(), gpc.tpcs.begin(), gpc.tpcs.end());
	std::sort(all.begin(), all.end());
	for (size_t i = 0; i < all.size(); i++)
		if (all[i] != i)
			return false;
	return true;
}

} // namespace

bool module_loaded()
{
	return std::filesystem::exists("/sys/module/gpulens");
}

std::vector<unsigned> found_gpus(const std::string &proc)
{
	std::vector<unsigned> found;
	std::error_code err;

	for (const std::filesystem::directory_entry &e : std::filesystem::directory_iterator(proc, err)) {
		std::string name = e.path().filename();
		unsigned x = 0;
		const char *end = name.data() + name.size();
		if (name.compare(0, 3, "gpu") == 0 && name.size() > 3 &&
		    std::from_chars(name.data() + 3, end, x).ptr == end)
			found.push_back(x);
	}
	std::sort(found.begin(), found.end());
	return found;
}

std::string explain(int err, const std::string &path, bool writing, const std::string &written)
{
	std::string remedy = explain_remedy(err, path, writing);
	bool no_object = err == ENOENT && !written.empty() && access(path.c_str(), F_OK) == 0;

	return fmt::format("{}{}: {}: {}{}", path, written.empty() ? "" : " < " + written,
			   strerrorname_np(err) ? strerrorname_np(err) : "?",
			   no_object ? "there is no such id now" : explain_cause(err, writing),
			   remedy.empty() ? "" : "; " + remedy);
}

std::string read_proc(const std::string &path)
{
	std::string bytes;

	if (int err = read_path(path, bytes))
		throw Error(Error::Source, explain(err, path, false));
	return bytes;
}

int write_control(const std::string &path, const std::string &text)
{
	int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return errno;
	if (::write(fd, text.data(), text.size()) < 0)
		err = errno;
	close(fd);
	return err;
}

std::vector<unsigned> proc_gpus(const std::string &proc)
{
	std::vector<unsigned> found = found_gpus(proc);

	if (!found.empty())
		return found;
	if (module_loaded())
		throw Error(Error::Source, "the module is loaded but found no supported GPU; see dmesg | grep gpulens");
	std::string emulator = emulator_command();
	throw Error(
		Error::Source,
		fmt::format("no {}/gpu*: the module is not loaded: {} (or name a recorded GPU: gpulens -i FILE{}{})",
			    proc, load_command(), has_driver() ? "; or ask NVIDIA's driver: gpulens --source rm" : "",
			    emulator.empty() ? "" : "; without a GPU: " + emulator));
}

unsigned only_gpu(const std::string &proc, const std::vector<unsigned> &named)
{
	if (named.size() == 1)
		return named[0];
	std::vector<unsigned> present = proc_gpus(proc);
	if (!named.empty() || present.size() > 1)
		throw Error(Error::Source,
			    fmt::format("one GPU at a time: use -g X; there is {}", fmt::join(present, ", ")));
	return present[0];
}

Gpu load_live(const std::string &proc, unsigned index)
{
	Gpu gpu = load_snapshot(proc, index);

	if (are_runlists_withheld(gpu))
		throw Error(Error::Source, explain(EPERM, snapshot_path(proc, index), false));
	return gpu;
}

Gpu load_permitted(const std::string &proc, unsigned index)
{
	Gpu gpu = load_snapshot(proc, index);

	if (!are_runlists_withheld(gpu))
		return gpu;
	// one failure for all of them
	std::erase_if(gpu.runlist_failures, [](const Failure &f) { return f.item.part != Part::Runlists; });
	gpu.runlist_failures.push_back(
		{Part::Runlists, -EPERM, {}, fmt::format("{}: {}", TAKES_PERFMON, HOW_TO_OBSERVE)});
	return gpu;
}

void load_hardware_gpcs(const std::string &proc, unsigned index, Gpu &gpu)
{
	std::vector<HardwareGpc> gpcs;
	std::string text, line;

	if (read_path(fmt::format("{}/gpu{}/tpc_map", proc, index), text))
		return;
	bool counted = text.starts_with("! counted by the hardware");
	if (!counted && !text.starts_with("! from the hardware"))
		return;
	std::istringstream lines(text);
	std::getline(lines, line);
	while (std::getline(lines, line)) {
		std::optional<HardwareGpc> gpc = parse_tpc_line(line);
		if (!gpc)
			return;
		gpcs.push_back(std::move(*gpc));
	}
	if (!are_all_tpcs(gpcs))
		return;
	if (counted)
		gpu.set_counted_gpcs(std::move(gpcs));
	else
		gpu.hardware_gpcs = std::move(gpcs);
}

} // namespace tool
