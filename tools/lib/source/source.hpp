// SPDX-License-Identifier: GPL-2.0
// The interface of a source of GPUs. Each source is a folder beside this file and a row of table/sources.cc: module/
// (/proc/gpuX) and driver/ (NVIDIA's resource manager). A file with a snapshot or an image (image/) is a source of one GPU.
#pragma once
#include "lib/base/errors.hpp"
#include "lib/model/model.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

// A stream of samples of a GPU's engines, in the format of include/uapi/gpulens.h.
class SampleStream {
public:
	SampleStream() = default;
	SampleStream(const SampleStream &) = delete;
	SampleStream &operator=(const SampleStream &) = delete;
	virtual ~SampleStream() = default;

	// Returns the bytes that arrive within this time, valid until the next call; possibly none. Throws Error, also if
	// the GPU was removed.
	virtual std::string_view read(std::chrono::milliseconds time) = 0;
	// Appends the last bytes of a recording, which are known at its end only. Throws Error as read(): what there was is appended.
	virtual void finish(std::string &) {}
};

struct SampleOptions {
	u32 period_us = 100;
	std::vector<u32> runlists{}; // sample the engines of these; empty: all
	std::string tsgs{};          // file of gpulens run -o, with the owners of channels; empty: none
	bool with_snapshot = false;  // begin with a snapshot, as a recording does
	bool background = false;     // for days: owners may become known some minutes later, at less cost
};

// All functions throw Error.
class Source {
public:
	Source() = default;
	Source(const Source &) = delete;
	Source &operator=(const Source &) = delete;
	virtual ~Source() = default;

	// Returns the numbers of its GPUs, ascending; at least one.
	virtual std::vector<unsigned> numbers() const = 0;
	// Returns the GPUs with these numbers, or all if none are given; at least one. Parts that cannot be read are in the
	// GPU's failures.
	virtual std::vector<Gpu> gpus(const std::vector<unsigned> &numbers) const = 0;
	// Reads one GPU again, for programs that do so all the time; parts that do not change may be missing. Throws Error
	// also if the reader may not see what runs on it.
	virtual Gpu snapshot(unsigned number) const { return gpus({number}).at(0); }
	// Reads one GPU again for its metrics: what does not change may be as it was at first, and processes, GPCs and SMs may be
	// missing.
	virtual Gpu reread_gpu(unsigned number) const { return gpus({number}).at(0); }
	// Samples one GPU: the named one, or the only one.
	virtual std::unique_ptr<SampleStream> samples(const std::vector<unsigned> &, const SampleOptions &) const
	{
		throw Error(Error::Source, "a recorded GPU is the state at one instant; it has no samples");
	}
	// Returns whether owners of TSGs or channels may be among the samples.
	virtual bool finds_owners() const { return false; }
	// Returns whether samples tell when an engine has work and when it switches contexts.
	virtual bool reports_work() const { return true; }
	// Returns whether samples() takes SampleOptions::tsgs.
	virtual bool takes_tsgs() const { return false; }
	// Returns a sampling period that costs little, for programs that sample so many GPUs all the time; 0: there are no
	// samples.
	virtual u32 modest_period_us(size_t) const { return 0; }
	// The same for programs that do so for days and need the sums of minutes only.
	virtual u32 background_period_us(size_t gpus) const { return modest_period_us(gpus); }
	// Returns how often samples must be read, so that none are lost.
	virtual std::chrono::milliseconds read_period() const { return std::chrono::milliseconds(20); }
	// Returns counters of the cost of reading the GPU, in the format of /proc/gpuX/stats; nothing: it has none.
	virtual std::optional<std::string> stats(unsigned) const { return std::nullopt; }
};

} // namespace tool
