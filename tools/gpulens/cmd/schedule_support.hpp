// SPDX-License-Identifier: GPL-2.0
// What gpulens schedule --probe has seen working, by version of NVIDIA's driver and product of the GPU, in a file of JSON that it
// writes and gpulens run --schedule reads: docs/schedule-probe-schema.json.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tool {

// Verbs by which gpulens run --schedule controls a program.
constexpr char VERB_FIRST_SLICE[] = "first-slice"; // the time slice that CUDA's library sets is replaced
constexpr char VERB_SLICE[] = "slice";             // SET_TIMESLICE of a running TSG
constexpr char VERB_HOLD[] = "hold";               // FIFO_DISABLE_CHANNELS

// Path of the user's file: state_path(). Throws Error.
std::string support_path();

// Makes a command wait until no other one of this user measures: they would measure each other's programs. Throws Error.
class MeasureLock {
public:
	MeasureLock();
	MeasureLock(const MeasureLock &) = delete;
	MeasureLock &operator=(const MeasureLock &) = delete;
	~MeasureLock();

private:
	int fd_;
};

// Adds or replaces an entry of probe results: an object with "driver" and "gpu". Throws Error.
void store_support(const std::string &path, const nlohmann::ordered_json &entry);

// Measures a GPU and stores the result in support_path(), under a MeasureLock. Throws Error.
using MeasureSupport = std::function<void(unsigned gpu)>;

// Throws Error (Unsupported, Source) with a sentence that says what to do, unless the verb was seen working on the GPUs that
// NVIDIA's driver lists. gpus: their numbers; empty: all. file: a file of results; empty: the user's, or root's. measure: for a
// kind of GPU that is in neither of these two; empty: that is an error.
void require_verb(const std::vector<unsigned> &gpus, const std::string &file, const std::string &verb,
		  const MeasureSupport &measure = {});

} // namespace tool
