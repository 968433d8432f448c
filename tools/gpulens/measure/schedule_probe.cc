// SPDX-License-Identifier: GPL-2.0
// The first time slice takes two programs of its own, because it is set when they start. Slices of running programs are
// measured both ways round, and a wrong result of a program voids all verbs that seemed to work.
#include "gpulens/measure/schedule_probe.hpp"

#include "gpulens/cmd/schedule_support.hpp"
#include "gpulens/measure/load.hpp"
#include "gpulens/out/table.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/temporary_folder.hpp"
#include "lib/launch/environment.hpp"
#include "lib/schedule/live/agent_link.hpp"
#include "lib/source/driver/driver_source.hpp"
#include "lib/source/driver/gpu_uuid.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace tool::measure {

namespace {

using namespace schedule;
using json = nlohmann::ordered_json;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr unsigned KERNEL_MS = 20;
constexpr milliseconds AGENT_LIMIT{30000}, SETTLE{50}, WINDOW{300};
// Decisions: a held program makes less than 1 % of its progress; of slices of 6 ms and 2 ms, the longer one gives at least twice
// the progress of the shorter one.
constexpr double HELD_SHARE = 0.01, SLICED_RATIO = 2;
constexpr u64 LONG_SLICE_US = 6000, SHORT_SLICE_US = 2000;
constexpr unsigned PREEMPTS = 5;

// The program, which works until stop().
class Victim {
public:
	// slice_us: in place of the slice that CUDA's library sets; 0: as it is. uuid: of the GPU; empty: CUDA's device 0.
	Victim(const std::string &program, const std::string &uuid, u64 slice_us)
	{
		TemporaryFolder folder(temporary_path("gpulens-schedule-")); // until the page in it is mapped
		LoadStart start{
			.before = {"gpulens", "run", "-o", "/dev/null", "--"},
			.program = {program, "victim"},
			.after = {std::to_string(KERNEL_MS)},
			.variables = {fmt::format("{}={}", gpulens::environment::SCHEDULE_FOLDER, folder.path())}};

		if (slice_us)
			start.variables.push_back(fmt::format("{}={}", gpulens::environment::SCHEDULE_SLICE, slice_us));
		if (!uuid.empty())
			start.variables.push_back("CUDA_VISIBLE_DEVICES=" + uuid);
		load_.emplace(start);
		load_->await_start();
		find_agent(program, folder.path());
		std::this_thread::sleep_for(WINDOW);
	}
	Victim(const Victim &) = delete;
	Victim &operator=(const Victim &) = delete;

	AgentLink &agent() { return *agent_; }
	u64 rounds() const { return load_->progress().rounds; }

	// Returns whether it ended by itself and all its results were right.
	bool stop() { return load_->stop(); }

private:
	void find_agent(const std::string &program, const std::string &folder)
	{
		for (auto end = Clock::now() + AGENT_LIMIT; Clock::now() < end;
		     std::this_thread::sleep_for(milliseconds(20))) {
			std::string path = load_->has_started() ? find_agent_page(folder) : "";
			if (path.empty())
				continue;
			agent_ = std::make_unique<AgentLink>(path);
			return;
		}
		throw Error(Error::TimedOut, program + ": has no TSG on a graphics engine");
	}

	std::unique_ptr<AgentLink> agent_;
	std::optional<Load> load_;
};

// Returns the rounds in the window.
double measure_rounds(const Victim &v)
{
	u64 before = v.rounds();

	std::this_thread::sleep_for(WINDOW);
	return static_cast<double>(v.rounds() - before);
}

// Returns the first one's rounds for each of the second one's.
double measure_ratio(const Victim &v, const Victim &w)
{
	u64 before_v = v.rounds(), before_w = w.rounds();

	std::this_thread::sleep_for(2 * WINDOW);
	double rounds_w = static_cast<double>(w.rounds() - before_w);
	return rounds_w > 0 ? static_cast<double>(v.rounds() - before_v) / rounds_w : 0;
}

json result_json(const AgentAnswer &answer, bool effect)
{
	const char *result = !answer.answered     ? "no answer"
			     : !answer.tried()    ? "not tried"
			     : !answer.accepted() ? "refused"
			     : effect             ? "works"
						  : "without effect";
	json out = {{"result", result}};

	if (answer.answered && answer.tried())
		out["status"] = fmt::format("{:#x}", answer.status);
	out["took_us"] = answer.took_ns / 1000;
	return out;
}

json probe_preempt(Victim &v)
{
	std::vector<u64> times;
	AgentAnswer answer;

	v.agent().ask(AgentVerb::Count);
	u32 before = v.agent().page().cilp_saves;
	for (unsigned i = 0; i < PREEMPTS; i++) {
		answer = v.agent().ask(AgentVerb::Preempt, 100000);
		times.push_back(answer.took_ns);
		std::this_thread::sleep_for(milliseconds(10));
	}
	v.agent().ask(AgentVerb::Count);
	u32 saves = v.agent().page().cilp_saves - before;
	std::sort(times.begin(), times.end());
	answer.took_ns = times[times.size() / 2];
	json out = result_json(answer, saves >= PREEMPTS);
	out["evidence"] = fmt::format("{} of {} preemptions between instructions (CILP) were counted", saves, PREEMPTS);
	return out;
}

json probe_hold(Victim &v, AgentVerb verb)
{
	double before = measure_rounds(v);
	AgentAnswer hold = v.agent().ask(verb);
	std::this_thread::sleep_for(SETTLE);
	double held = measure_rounds(v);
	AgentAnswer release = v.agent().ask(AgentVerb::Release);
	std::this_thread::sleep_for(SETTLE);
	double after = measure_rounds(v);
	bool works = before > 0 && held < HELD_SHARE * before && release.accepted() && after > before / 2;
	json out = result_json(hold, works);

	out["release_us"] = release.took_ns / 1000;
	out["evidence"] = fmt::format("progress {:.1f} % while held, {:.1f} % after the release",
				      before > 0 ? 100 * held / before : 0, before > 0 ? 100 * after / before : 0);
	return out;
}

json probe_slice(Victim &v, Victim &w)
{
	double at_first = measure_ratio(v, w);
	AgentAnswer answer = v.agent().ask(AgentVerb::SetSlice, LONG_SLICE_US);
	w.agent().ask(AgentVerb::SetSlice, SHORT_SLICE_US);
	double longer = measure_ratio(v, w);
	v.agent().ask(AgentVerb::SetSlice, SHORT_SLICE_US);
	w.agent().ask(AgentVerb::SetSlice, LONG_SLICE_US);
	double shorter = measure_ratio(v, w);
	json out = result_json(answer, longer >= SLICED_RATIO && shorter > 0 && shorter <= 1 / SLICED_RATIO);

	out["evidence"] =
		fmt::format("shares {:.2f}:1 before, {:.2f}:1 with {} and {} us, {:.2f}:1 the other way round",
			    at_first, longer, LONG_SLICE_US, SHORT_SLICE_US, shorter);
	return out;
}

json probe_first_slice(Victim &v, Victim &w)
{
	double ratio = measure_ratio(v, w);
	u32 replaced = std::min<u32>(v.agent().page().set_slices, w.agent().page().set_slices);
	json out = {{"result", !replaced ? "not tried" : ratio >= SLICED_RATIO ? "works" : "without effect"}};

	out["evidence"] =
		replaced ? fmt::format("shares {:.2f}:1 with {} and {} us", ratio, LONG_SLICE_US, SHORT_SLICE_US)
			 : std::string("CUDA's library set no time slice");
	return out;
}

struct ProbedGpu {
	std::string driver, product, uuid;
};

ProbedGpu find_gpu(const std::vector<unsigned> &numbers)
{
	DriverSource source;
	std::vector<Gpu> gpus = source.gpus(numbers);

	if (gpus.empty() || (numbers.empty() && gpus.size() > 1))
		throw Error(Error::Input,
			    gpus.empty() ? "NVIDIA's driver lists no GPU" : "several GPUs; name one with -g");
	return {gpus[0].chip.driver, gpus[0].chip.product,
		numbers.empty() ? "" : read_gpu_uuid("/proc", gpus[0].chip.device)};
}

std::string probe_text(const json &entry)
{
	std::string text =
		fmt::format("driver {}, {}\n", entry["driver"].get<std::string>(), entry["gpu"].get<std::string>());
	Table table({"<Verb", "<Result", "Takes", "<Evidence"});

	for (const auto &[verb, result] : entry["verbs"].items()) {
		u64 us = result.value("took_us", u64{0});
		table.add({verb, result["result"].get<std::string>(), us ? fmt::format("{} us", us) : "-",
			   result["evidence"].get<std::string>()});
	}
	return text + table.str({}) +
	       (entry["results_right"].get<bool>()
			? "All results of the two programs were right.\n"
			: "A RESULT OF THE TWO PROGRAMS WAS WRONG, or one of them did not end.\n");
}

} // namespace

json measure_schedule(const std::vector<unsigned> &gpus, const ScheduleProbeOptions &probe)
{
	std::string program = probe.program.empty() ? load_program() : probe.program;
	std::string file = probe.file.empty() ? support_path() : probe.file;
	ProbedGpu gpu = find_gpu(gpus);
	json verbs;
	bool right;

	{
		Victim v(program, gpu.uuid, LONG_SLICE_US), w(program, gpu.uuid, SHORT_SLICE_US);
		verbs[VERB_FIRST_SLICE] = probe_first_slice(v, w);
		right = v.stop();
		right = w.stop() && right;
	}
	{
		Victim v(program, gpu.uuid, 0), w(program, gpu.uuid, 0);
		verbs[VERB_SLICE] = probe_slice(v, w);
		right = w.stop() && right;
		verbs["preempt"] = probe_preempt(v);
		verbs[VERB_HOLD] = probe_hold(v, AgentVerb::Disable);
		verbs["hold-preempt"] = probe_hold(v, AgentVerb::DisablePreempt);
		verbs["hold-unlist"] = probe_hold(v, AgentVerb::Unlist);
		right = v.stop() && right;
	}
	if (!right) // what works at the price of wrong results does not work
		for (auto &[verb, result] : verbs.items())
			if (result["result"] == "works")
				result["result"] = "wrong results";
	json entry = {{"driver", gpu.driver}, {"gpu", gpu.product}, {"results_right", right}, {"verbs", verbs}};
	store_support(file, entry);
	std::fprintf(stderr, "gpulens: results are in %s\n", file.c_str());
	return entry;
}

int probe_schedule(const Options &options, const ScheduleProbeOptions &probe)
{
	MeasureLock lock;
	json entry = measure_schedule(options.sources.gpus, probe);

	if (!print_text(options.json ? json_text(entry) : probe_text(entry)) || !entry["results_right"])
		return EXIT_PART;
	return EXIT_DONE;
}

} // namespace tool::measure
