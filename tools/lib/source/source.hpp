// SPDX-License-Identifier: GPL-2.0
// Where GPUs are seen. Each source is a folder beside this file and a row of table/sources.cc: module/ (/proc/gpuX),
// driver/ (NVIDIA's resource manager). Files that hold a snapshot or an image (image/) are sources of one GPU each.
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

// Samples of what is on a GPU's engines, as include/uapi/gpulens.h lays them out.
class SampleStream {
public:
	SampleStream() = default;
	SampleStream(const SampleStream &) = delete;
	SampleStream &operator=(const SampleStream &) = delete;
	virtual ~SampleStream() = default;

	// What comes within that time, valid until the next call; empty: nothing. Throws Error, also when the GPU has
	// gone.
	virtual std::string_view read(std::chrono::milliseconds time) = 0;
	// What only the end of a recording can say.
	virtual std::string_view finish() { return {}; }
};

struct SampleOptions {
	u32 period_us = 100;
	std::vector<u32> runlists{}; // whose engines are sampled; empty: all
	std::string tsgs{};          // what gpulens run -o wrote: whose channels are whose; empty: not given
	bool with_snapshot = false;  // it comes before the samples, as a recording needs it
};

// All functions throw Error.
class Source {
public:
	Source() = default;
	Source(const Source &) = delete;
	Source &operator=(const Source &) = delete;
	virtual ~Source() = default;

	// The numbers of its GPUs, ascending. Never empty.
	virtual std::vector<unsigned> numbers() const = 0;
	// The GPUs of these numbers, all of them where none is given. What cannot be read of one is in its failures. Never
	// empty.
	virtual std::vector<Gpu> gpus(const std::vector<unsigned> &numbers) const = 0;
	// Of one GPU: the one that is named, or the only one.
	virtual std::unique_ptr<SampleStream> samples(const std::vector<unsigned> &, const SampleOptions &) const
	{
		throw Error(Error::Source, "a recorded GPU is of one instant: there are no samples of it");
	}
	// Do samples cover all engines, at a cost that allows to take them for days?
	virtual bool samples_for_days() const { return false; }
	// Counters of what reading the GPU has cost, in the form of /proc/gpuX/stats; nothing: this source counts nothing.
	virtual std::optional<std::string> stats(unsigned) const { return std::nullopt; }
};

} // namespace tool
