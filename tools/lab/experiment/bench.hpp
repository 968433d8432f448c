// SPDX-License-Identifier: GPL-2.0
// Measures tables of times on CUDA's device 0: matrix products, or a convolution net in PyTorch, in streams of one process,
// limited by launch masks; or a program of the user, whose processes are limited as gpulens run does it.
#pragma once
#include "lab/experiment/table.hpp"

namespace tool::experiment {

// In PyTorch: a net, which sharing calls as a CUDA graph, or, eager, kernel by kernel.
enum class Job { Product, Net, Eager };

struct TableOptions {
	std::string experiment; // name of one of tables()
	Job job = Job::Product;
	std::vector<std::string> program{}; // and its arguments; in place of both; empty: none
	std::string sizes{};                // of fig13, text of measure::parse_sizes(); empty: powers of two and all
	double within = 0.02;
	u64 for_ns = 30'000'000'000;
};

// Throws Error: no GPU, masks that have no effect, a program that failed, or no PyTorch.
TimeTable measure_table(const TableOptions &options);

} // namespace tool::experiment
