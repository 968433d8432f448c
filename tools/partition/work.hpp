// SPDX-License-Identifier: GPL-2.0
// CUDA work on a partition: streams whose kernels stay on its TPCs, by masks of launches or by green contexts.
#pragma once
#include "partition/cuda.hpp"
#include "partition/layout.hpp"

#include <memory>
#include <vector>

namespace gpulens {

class Work {
public:
	Work(const Work &) = delete;
	Work &operator=(const Work &) = delete;
	virtual ~Work() = default;

	void *stream() const { return stream_; }
	const TpcMask &tpcs() const { return tpcs_; } // what it got: at least what was asked for

protected:
	explicit Work(TpcMask tpcs) : tpcs_(std::move(tpcs)) {}

	void *stream_ = nullptr; // a CUstream
	TpcMask tpcs_;
};

// How it is done; the same numbers as enum gpulens_way.
enum class Way { Masks, Green, GreenClusters };

// TPCs by which partitions grow here. Throws Error: this way is none here, and why.
unsigned granule(Way way);
// For the GPU of the calling thread's CUDA context, whose layout this is. Probed before it is returned. Throws Error.
std::unique_ptr<Work> make_work(Way way, const Layout &layout, const TpcMask &wanted);

} // namespace gpulens
