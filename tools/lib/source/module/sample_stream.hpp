// SPDX-License-Identifier: GPL-2.0
// Samples of the module: /proc/gpuX/samples.
#pragma once
#include "gpulens/types.h"

#include <string>
#include <string_view>
#include <vector>

namespace tool {

// /proc/gpuX/samples, opened and told what to sample; read as it comes.
class SampleStream {
public:
	// Throws SourceError.
	SampleStream(const std::string &proc, unsigned gpu, u32 period_us, const std::vector<u32> &runlists);
	SampleStream(const SampleStream &) = delete;
	SampleStream &operator=(const SampleStream &) = delete;
	~SampleStream();

	int fd() const { return fd_; } // to poll
	// What has come, at most what fits; empty: nothing now. Throws SourceError, also when the GPU has gone.
	std::string_view read();

private:
	std::string path_;
	int fd_;
	std::string buffer_;
};

} // namespace tool
