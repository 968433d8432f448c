// SPDX-License-Identifier: GPL-2.0
// Where GPUs are seen: the module's /proc/gpuX/snapshot, or files that hold such a snapshot or an image
// (/proc/gpuX/image; image.hpp), or NVIDIA's resource manager. From each comes a tool::Gpu.
#pragma once
#include "image.hpp"
#include "model.hpp"

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

struct gpulens_engine;

namespace tool {

// Why there is no GPU to show, for a person: what file, what that errno means here, what to do.
struct SourceError : std::runtime_error {
	using std::runtime_error::runtime_error;
};

// An image from a file's bytes. Throws SourceError, which names the file and the line.
Image image_of(const std::string &bytes, const std::string &name);
// A whole GPU decoded by the core from a recorded image. What could not be decoded is in its failures.
Gpu from_image(const Image &image, const std::string &source);

// An engine with the name and the kind that the core gives it.
Engine engine_of(const lens_gpu &gpu, const lens_engine &engine);
// The GPUs that NVIDIA's resource manager has in use, of these numbers in PCI order, all of them when none is given.
// What it refuses is in their failures. Throws SourceError.
std::vector<Gpu> from_rm(const std::vector<unsigned> &which);

// An id of a record or a sample as it lies there; LENS_NONE where the hardware does not give one.
int id_of_record(uint16_t le);
// An engine's record, in a snapshot or before samples of that version.
Engine engine_from_record(const gpulens_engine &record, unsigned version);
// A snapshot as include/uapi/gpulens.h lays it out. Throws SourceError: not one, cut short, of a newer layout.
Gpu from_snapshot(std::string_view bytes, const std::string &source);

enum class From {
	Auto,   // the module where it is loaded, else NVIDIA's driver
	Module, // /proc/gpuX
	Rm,     // /dev/nvidiactl
};

struct SourceOptions {
	From from = From::Auto;
	std::vector<std::string> files; // images and snapshots; "-" is standard input
	std::vector<unsigned> gpus;     // of /proc; empty: all
	std::string proc = "/proc";     // elsewhere in tests, and where a container has its host's
};

// Is the driver asked, and not the module?
bool asks_rm(const SourceOptions &options);
// The GPUs of all files and, when there are none or some are named, of the module, as load_permitted() has them.
// Never empty.
std::vector<Gpu> load_gpus(const SourceOptions &options);
// The X of the /proc/gpuX there are, ascending. Throws SourceError when there is none, and says why.
std::vector<unsigned> proc_gpus(const std::string &proc);
// The GPU that a command of one GPU is for: the one named, or the only one. Throws SourceError.
unsigned only_gpu(const SourceOptions &options);
// /proc/gpuX/snapshot now. Throws SourceError, also where the reader lacks the privilege.
Gpu load_live(const std::string &proc, unsigned index);
// The same; without the privilege /proc/gpuX/topology, whose runlists are all unknown (EPERM) and so in its failures.
Gpu load_permitted(const std::string &proc, unsigned index);
// A file's bytes. Throws SourceError; of_module: with what its errno means for a file of /proc/gpuX.
std::string read_whole(const std::string &path, bool of_module);
// What an errno of a /proc/gpuX file means and what one can do; docs/proc.md, "Errors".
std::string explain(int err, const std::string &path, bool writing);
// The same of any other file.
std::string explain_file(int err, const std::string &path);

} // namespace tool
