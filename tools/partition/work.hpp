// SPDX-License-Identifier: GPL-2.0
// CUDA streams whose kernels stay on a partition's TPCs, by launch masks or by green contexts.
#pragma once
#include "partition/cuda.hpp"
#include "partition/layout.hpp"

#include <memory>
#include <vector>

namespace gpulens {

// A partition in use: its stream and its TPCs. The destructor destroys the stream.
class Work {
public:
	Work(const Work &) = delete;
	Work &operator=(const Work &) = delete;
	virtual ~Work() = default;

	void *stream() const { return stream_; }      // a CUstream
	const TpcMask &tpcs() const { return tpcs_; } // at least the requested TPCs

protected:
	explicit Work(TpcMask tpcs) : tpcs_(std::move(tpcs)) {}

	void *stream_ = nullptr;
	TpcMask tpcs_;
};

// How a partition is enforced; same values as enum gpulens_way.
enum class Method { Masks, Green, GreenClusters };

// Returns the number of TPCs that partitions grow by. Throws Error with the reason if the method does not work here.
unsigned granularity(Method method);
// Returns how the method is known to work; empty: CUDA supports it. Throws Error, as granularity().
std::string evidence(Method method);
// Opens a partition on the GPU of device_of_context(), verified by the probe. Throws Error: EINVAL if layout is another
// GPU's or the mask is empty; otherwise the reason why the method does not work.
std::unique_ptr<Work> make_work(Method method, const Layout &layout, const TpcMask &wanted);

} // namespace gpulens
