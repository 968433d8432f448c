// SPDX-License-Identifier: GPL-2.0
// Finding and reading GPUs. See sources.hpp.
#include "sources.hpp"

#include "rm/client.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace tool {

namespace {

constexpr std::string_view SNAPSHOT_MAGIC = "GPLS";

std::string what_happened(int err)
{
	switch (err) {
	case EPERM: return "this takes CAP_SYS_ADMIN, and no kernel lockdown";
	case EACCES: return "not allowed";
	case ENOENT: return "there is no such thing now";
	case ENODEV: return "the GPU has gone, or cannot be woken";
	case EAGAIN: return "the GPU sleeps";
	case ETIMEDOUT: return "the GPU did not answer in time";
	case EIO: return "the GPU answered with codes of failed reads";
	case EOPNOTSUPP: return "this chip has no such thing, or no manual publishes it";
	case ERANGE: return "beyond what this chip has";
	case EINVAL: return "not an id that the GPU can tell from others";
	case EBUSY: return "somebody else is at it";
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
		return locked_down()
			       ? "the kernel is locked down (see man kernel_lockdown): steering and raw images stay "
				 "closed until it is booted without"
			       : "be root: sudo gpulens ...";
	case EACCES:
		return geteuid() ? "be root, or in the group that the module was given (gid=): sudo gpulens ..."
		       : writing ? "the module was loaded with control=0, or needs GPU memory and has vram=off"
				 : "the module was loaded with vram=off";
	case EAGAIN: return "wake it: echo on >/sys/bus/pci/devices/ADDRESS/power/control";
	case EINVAL: return "where ids count per runlist, write RUNLIST:ID";
	case ENODEV: return "look with: lspci -d 10de:";
	case EIO:
		return "its firmware may keep this from the CPU; " + path.substr(0, path.rfind('/')) +
		       "/chip says what can be read";
	default: return "";
	}
}

// Larger files cannot be what one GPU's decoding touched: all of a 128 GB GPU's page tables are smaller than this.
constexpr size_t LARGEST_FILE = size_t{1} << 30;

// The whole file, at once. errno on failure.
bool read_file(int fd, std::string &text)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	// Pipes too, so the size is a hint only.
	size_t room = S_ISREG(st.st_mode) && st.st_size > 0 ? static_cast<size_t>(st.st_size) + 1 : 65536;
	for (size_t have = 0;;) {
		if (room > LARGEST_FILE) {
			errno = EFBIG;
			return false;
		}
		text.resize(room);
		ssize_t n = read(fd, text.data() + have, room - have);
		if (n < 0 && errno != EINTR)
			return false;
		have += n > 0 ? static_cast<size_t>(n) : 0;
		if (n == 0) {
			text.resize(have);
			return true;
		}
		if (have == room)
			room *= 2;
	}
}

Gpu from_bytes(const std::string &bytes, const std::string &name)
{
	if (bytes.compare(0, SNAPSHOT_MAGIC.size(), SNAPSHOT_MAGIC) == 0) {
		try {
			return from_snapshot(bytes, name);
		} catch (const SourceError &e) {
			throw SourceError(name + ": " + e.what());
		}
	}
	if (bytes.empty())
		throw SourceError(
			name + ": the file is empty; an image begins with \"gpulens-image 1\", a snapshot with GPLS");
	return from_image(image_of(bytes, name), name);
}

} // namespace

Image image_of(const std::string &bytes, const std::string &name)
{
	ImageResult r = parse_image(bytes);

	if (!r.image)
		throw SourceError(r.error.line ? fmt::format("{}: line {}: {}", name, r.error.line, r.error.text)
					       : name + ": " + r.error.text);
	return std::move(*r.image);
}

std::string explain(int err, const std::string &path, bool writing)
{
	std::string todo = what_to_do(err, path, writing);

	return fmt::format("{}: {}: {}{}", path, strerrorname_np(err) ? strerrorname_np(err) : "?", what_happened(err),
			   todo.empty() ? "" : "; " + todo);
}

std::string explain_file(int err, const std::string &path)
{
	const char *todo = err == ENOENT   ? "; look at the path, or make the folder"
			   : err == EACCES ? "; be its owner, or root: sudo gpulens ..."
			   : err == EISDIR ? "; name a file in that folder"
			   : err == ENOSPC ? "; make room there, or name a file elsewhere"
			   : err == EROFS  ? "; name a file elsewhere"
					   : "";

	return fmt::format("{}: {}: {}{}", path, strerrorname_np(err) ? strerrorname_np(err) : "?", std::strerror(err),
			   todo);
}

std::string read_whole(const std::string &path, bool of_module)
{
	int fd = path == "-" ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC);
	std::string bytes;
	// The module collects at the first read() and serves the rest from that: a snapshot stays one instant.
	bool whole = fd >= 0 && read_file(fd, bytes);
	int err = errno;

	if (fd >= 0)
		close(fd);
	if (!whole)
		throw SourceError(of_module ? explain(err, path, false) : explain_file(err, path));
	return bytes;
}

namespace {

bool module_loaded()
{
	return std::filesystem::exists("/sys/module/gpulens");
}

// The X of the /proc/gpuX there are, ascending.
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

} // namespace

bool asks_rm(const SourceOptions &options)
{
	if (options.from != From::Auto)
		return options.from == From::Rm;
	return rm::Client::there() && found_gpus(options.proc).empty() && !module_loaded();
}

std::vector<unsigned> proc_gpus(const std::string &proc)
{
	std::vector<unsigned> found = found_gpus(proc);

	if (!found.empty())
		return found;
	if (module_loaded())
		throw SourceError(
			"the module is loaded and has found no GPU that it knows; dmesg | grep gpulens says more");
	throw SourceError("no " + proc +
			  "/gpu*: the module is not loaded: sudo modprobe gpulens (or name a recorded GPU: "
			  "gpulens -i FILE)");
}

unsigned only_gpu(const SourceOptions &sources)
{
	if (sources.gpus.size() == 1)
		return sources.gpus[0];
	std::vector<unsigned> there = proc_gpus(sources.proc);
	if (!sources.gpus.empty() || there.size() > 1)
		throw SourceError(fmt::format("one GPU at a time: say -g X; there is {}", fmt::join(there, ", ")));
	return there[0];
}

Gpu load_live(const std::string &proc, unsigned index)
{
	std::string path = fmt::format("{}/gpu{}/snapshot", proc, index);

	if (!std::filesystem::exists(path)) {
		std::vector<unsigned> there = proc_gpus(proc);
		if (std::find(there.begin(), there.end(), index) != there.end())
			throw SourceError(path +
					  ": it is not there; the module is of another version than this gpulens");
		throw SourceError(fmt::format("there is no GPU {}; there is {}", index, fmt::join(there, ", ")));
	}
	return from_bytes(read_whole(path, true), path);
}

std::vector<Gpu> load_gpus(const SourceOptions &options)
{
	std::vector<Gpu> gpus;

	for (const std::string &file : options.files)
		gpus.push_back(from_bytes(read_whole(file, false), file == "-" ? "standard input" : file));
	if (!options.files.empty() && options.gpus.empty())
		return gpus;
	if (asks_rm(options)) {
		std::vector<Gpu> all = from_rm(options.gpus);
		std::move(all.begin(), all.end(), std::back_inserter(gpus));
		return gpus;
	}
	for (unsigned x : options.gpus.empty() ? proc_gpus(options.proc) : options.gpus)
		gpus.push_back(load_live(options.proc, x));
	return gpus;
}

} // namespace tool
