// SPDX-License-Identifier: GPL-2.0
// The processes of an experiment: each runs a function that returns tracks, with a Stage that all share.
#pragma once
#include "gpulens/limit/child.hpp"
#include "lab/experiment/device.hpp"

#include <functional>
#include <list>

namespace tool::experiment {

// What a process found.
struct Found {
	std::string gpu{}; // name
	std::vector<Track> tracks{};
	std::vector<blocks::Ran> kernels{}; // fig5
	blocks::Machine machine{};          // fig5
	std::string missing{};              // why it could not take part; empty: it did
};

class Processes {
public:
	Processes();
	Processes(const Processes &) = delete;
	Processes &operator=(const Processes &) = delete;
	~Processes(); // kills those that finish() did not wait for

	Stage &stage() const { return *stage_; }
	// Call it before this process has other threads.
	void start(const std::function<Found(Stage &stage)> &run);
	// Waits until so many processes are ready, or the experiment is stopped. If one has failed, throws as finish().
	void wait_until_ready(u32 count);
	void wait_for_stop();
	// Returns what each found, in the order of start(). Throws the first Error of one, other than that another one failed.
	std::vector<Found> finish();

private:
	bool check_running(); // returns false if one has ended too early

	Stage *stage_;
	std::list<gpulens::Child> running_;
};

} // namespace tool::experiment
