// SPDX-License-Identifier: GPL-2.0
// A convolution net in PyTorch as the job of tables of times: a Python process with both instances in streams of
// libgpulens-partition. Without cuDNN, which launches clusters of 8 blocks: these do not run on fewer than four TPCs of
// one GPC (docs/results/2026-11-26-h100-clusters.md).
#pragma once
#include "lib/base/child_process.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tool::experiment {

constexpr char PARTITION_LIBRARY[] = "libgpulens-partition.so.0"; // as the loader finds it where it is installed

struct NetRun {
	std::vector<unsigned> tpcs, other_tpcs; // of A and of B; B's are empty: there is no B
	unsigned streams = 1, waiting = 0;      // of B; waiting: jobs that wait in each, 0: B's jobs are timed
	unsigned jobs = 0;                      // of A
};

class Net {
public:
	// Starts python3. Throws Error: there is no Python, no PyTorch, or no GPU for it.
	Net();
	Net(const Net &) = delete;
	Net &operator=(const Net &) = delete;
	~Net() { close_pipes(); }

	// Returns the times of A's and B's jobs, ms. Throws Error (Failed).
	std::pair<std::vector<double>, std::vector<double>> run(const NetRun &run);
	const std::string &gpu() const { return gpu_; }

private:
	std::string read_line(unsigned timeout_s);
	[[noreturn]] void report_end(); // of the process
	void close_pipes();

	int input_ = -1, output_ = -1;
	std::optional<ChildProcess> process_;
	std::string text_, gpu_;
};

} // namespace tool::experiment
