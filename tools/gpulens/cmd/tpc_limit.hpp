// SPDX-License-Identifier: GPL-2.0
// TPC limits of programs: gpulens run --tpcs, --gpcs, --half and --plan, and gpulens partitions --methods.
#pragma once
#include "gpulens/cmd/run.hpp"
#include "gpulens/limit/cuda_probe.hpp"
#include "gpulens/out/output.hpp"

#include <string>

namespace tool {

// The TPCs that a command line limits a program to.
struct Limit {
	std::string tpcs;                      // text of gpulens_mask_parse()
	std::optional<PlannedPlace> planned{}; // where a plan places them
};

// Returns the GPU of -g; nothing if none is named. Throws Error (Source) if several are.
std::optional<unsigned> named_gpu(const Options &options);
// Throws Error (Input) if the verified limit is on another GPU than the plan, or in other GPCs.
void check_plan(const PlannedPlace &planned, const gpulens::VerifiedLimit &verified);
// Verifies the limit (text of gpulens_mask_parse()) on the GPU, and adds the library and variables that enforce it to
// run. Prints the limit, partitions of other processes that overlap it, and what it does not separate, on standard
// error. Returns EXIT_DONE, or after a message another exit status. Throws Error: Source; Input if the limit is from a
// plan (run.planned) of another GPU; Failed if --mps or a plan wants MPS, and CUDA does not use it.
int limit_program(const Options &options, const std::string &limit, RunOptions &run);
// Limits a process that gpulens run limits already to other TPCs of its GPU, from its next launch on, and prints that. quiet: as
// in RunOptions. Returns an exit status. Throws Error as limit_program(), and those of request_partition().
int set_partition(const Options &options, u32 pid, const Limit &limit, bool quiet);
// Prints the methods of partitioning that work on the GPU, as text or JSON. Returns an exit status. Throws Error (Source).
int show_methods(const Options &options);

} // namespace tool
