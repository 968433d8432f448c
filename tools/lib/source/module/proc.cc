// SPDX-License-Identifier: GPL-2.0
// See proc.hpp.
#include "lib/source/module/proc.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"
#include "lib/source/image/from_image.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <string_view>
#include <unistd.h>

namespace tool {

namespace {

// The files are also root's or a group's by their mode, which no capability but root's passes.
constexpr const char *TAKES_PERFMON = "what runs on a GPU takes CAP_PERFMON or CAP_SYS_ADMIN";
constexpr const char *HOW_TO_OBSERVE = "sudo gpulens ..., or setcap cap_perfmon+ep $(command -v gpulens) for members "
				       "of the group that the module was given (gid=)";

std::string what_happened(int err, bool writing)
{
	switch (err) {
	case EPERM:
		return writing ? "this takes CAP_SYS_ADMIN, and no kernel lockdown"
			       : "this takes CAP_PERFMON or CAP_SYS_ADMIN";
	case EACCES: return "not allowed";
	case ENOENT: return "there is no such thing now";
	case ENODEV: return "the GPU has gone, or another one is in its place";
	case ENODATA: return "the GPU is asleep, and reading does not wake it";
	case ENXIO:
		return "the GPU's memory decoding is off, or system memory is needed and no driver maps it through the "
		       "kernel";
	case ETIMEDOUT: return "the GPU did not answer in time";
	case EIO: return "the GPU answered with codes of failed reads, or is in error recovery";
	case EOPNOTSUPP: return "this chip has no such thing, or no manual publishes it";
	case ERANGE: return "beyond what this chip has";
	case EINVAL: return "not an id that the GPU can tell from others";
	case EBUSY:
		return writing ? "the runlist is being replaced, or others use the file"
			       : "in use by others, or over the budget of readers without a privilege";
	default: return std::strerror(err);
	}
}

bool locked_down()
{
	std::ifstream in("/sys/kernel/security/lockdown");
	std::string modes;

	// "none [integrity] confidentiality"
	return std::getline(in, modes) && modes.find("[none]") == modes.npos && modes.find('[') != modes.npos;
}

std::string what_to_do(int err, const std::string &path, bool writing)
{
	switch (err) {
	case EPERM:
		if (locked_down() && (writing || path.ends_with("/image")))
			return "the kernel is locked down (see man kernel_lockdown): control and raw images "
			       "stay closed until it is booted without";
		return writing ? "be root: sudo gpulens ..." : HOW_TO_OBSERVE;
	case EACCES:
		// By its mode, or by the module that was loaded so.
		if (eaccess(path.c_str(), writing ? W_OK : R_OK))
			return writing ? "be root: sudo gpulens ..."
				       : fmt::format("{}: {}", TAKES_PERFMON, HOW_TO_OBSERVE);
		return writing ? "the module was loaded with control=0, or needs GPU memory and has vram=off"
			       : "the module was loaded with vram=off";
	case ENODATA: return "wake it: echo on >/sys/bus/pci/devices/ADDRESS/power/control";
	case ENXIO: return "its driver may be resetting it; setpci -s ADDRESS COMMAND shows whether bit 1 is set";
	case EINVAL: return "where ids count per runlist, write RUNLIST:ID";
	case ENODEV: return "look with: lspci -d 10de:";
	case EBUSY: return "try again";
	case EIO:
		return "its firmware may keep this from the CPU; " + path.substr(0, path.rfind('/')) +
		       "/chip says what can be read";
	default: return "";
	}
}

std::string snapshot_path(const std::string &proc, unsigned index)
{
	std::string path = fmt::format("{}/gpu{}/snapshot", proc, index);

	if (std::filesystem::exists(path))
		return path;
	std::vector<unsigned> there = proc_gpus(proc);
	if (std::find(there.begin(), there.end(), index) != there.end())
		throw Error(Error::Source,
			    path + ": it is not there; the module is of another version than this gpulens");
	throw Error(Error::Source, fmt::format("there is no GPU {}; there is {}", index, fmt::join(there, ", ")));
}

// Its topology, which every user may read. One sentence says of all runlists why they are not known.
Gpu load_topology(const std::string &proc, unsigned index)
{
	std::string path = fmt::format("{}/gpu{}/topology", proc, index);
	Gpu gpu = from_bytes(read_proc(path), path);

	std::erase_if(gpu.runlist_failures, [](const Failure &f) { return f.item.part != Part::Runlists; });
	for (Runlist &rl : gpu.runlists)
		rl.err = -EPERM;
	if (!gpu.runlists.empty())
		gpu.runlist_failures.push_back(
			{Part::Runlists, -EPERM, {}, fmt::format("{}: {}", TAKES_PERFMON, HOW_TO_OBSERVE)});
	return gpu;
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

std::string explain(int err, const std::string &path, bool writing)
{
	std::string todo = what_to_do(err, path, writing);

	return fmt::format("{}: {}: {}{}", path, strerrorname_np(err) ? strerrorname_np(err) : "?",
			   what_happened(err, writing), todo.empty() ? "" : "; " + todo);
}

std::string read_proc(const std::string &path)
{
	std::string bytes;

	if (int err = read_path(path, bytes))
		throw Error(Error::Source, explain(err, path, false));
	return bytes;
}

std::vector<unsigned> proc_gpus(const std::string &proc)
{
	std::vector<unsigned> found = found_gpus(proc);

	if (!found.empty())
		return found;
	if (module_loaded())
		throw Error(Error::Source,
			    "the module is loaded and has found no GPU that it knows; dmesg | grep gpulens says more");
	throw Error(Error::Source,
		    "no " + proc +
			    "/gpu*: the module is not loaded: sudo modprobe gpulens (or name a recorded GPU: "
			    "gpulens -i FILE)");
}

unsigned only_gpu(const std::string &proc, const std::vector<unsigned> &named)
{
	if (named.size() == 1)
		return named[0];
	std::vector<unsigned> there = proc_gpus(proc);
	if (!named.empty() || there.size() > 1)
		throw Error(Error::Source,
			    fmt::format("one GPU at a time: say -g X; there is {}", fmt::join(there, ", ")));
	return there[0];
}

Gpu load_live(const std::string &proc, unsigned index)
{
	std::string path = snapshot_path(proc, index);

	return from_bytes(read_proc(path), path);
}

Gpu load_permitted(const std::string &proc, unsigned index)
{
	std::string path = snapshot_path(proc, index), bytes;
	int err = read_path(path, bytes);

	// Root is refused by nothing but a missing capability (EPERM).
	if (err == EPERM || (err == EACCES && std::filesystem::exists(fmt::format("{}/gpu{}/topology", proc, index))))
		return load_topology(proc, index);
	if (err)
		throw Error(Error::Source, explain(err, path, false));
	return from_bytes(bytes, path);
}

} // namespace tool
