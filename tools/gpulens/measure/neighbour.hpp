// SPDX-License-Identifier: GPL-2.0
// Programs that load a GPU, or some of its TPCs, as much as they can: the worst neighbours of a measured program.
#pragma once
#include "gpulens/cmd/tpc_limit.hpp"
#include "gpulens/measure/limited_program.hpp"
#include "gpulens/out/output.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tool::measure {

struct NeighbourKind {
	const char *name, *about;
};
extern const std::vector<NeighbourKind> NEIGHBOURS; // compute, memory, copies

class Neighbour {
public:
	// Starts the probe program, and returns when its first kernel or copy is done. probe: path of the program; kind: of
	// NEIGHBOURS; limit: nullptr: the whole GPU. Throws Error.
	Neighbour(const std::string &probe, const gpulens::VerifiedLimit *limit, const std::string &kind);
	Neighbour(const Neighbour &) = delete;
	Neighbour &operator=(const Neighbour &) = delete;
	~Neighbour();

	pid_t pid() const { return program_->pid(); }
	bool is_running() { return !program_->poll(); }
	// Ends it. Returns the number of kernels or copies that it has done; nothing if it did not report it.
	std::optional<unsigned long> stop();

private:
	// Reads lines until one begins with word, and returns that line; empty: the output ended, or it took too long.
	std::string read_until(const std::string &word, unsigned timeout_s);

	int input_ = -1, output_ = -1; // ends of pipes
	std::string text_;             // output that was not yet taken
	std::unique_ptr<LimitedProgram> program_;
};

struct NeighbourOptions {
	std::string kind;
	std::optional<Limit> limit; // nothing: the whole GPU
	u64 for_ns = 0;             // 0: until a signal
	std::string probe;          // path of the program; empty: the installed one
};

// The command gpulens load. Returns an exit status. Throws Error.
int neighbour_command(const Options &options, const NeighbourOptions &neighbour_options);

} // namespace tool::measure
