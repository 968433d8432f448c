// SPDX-License-Identifier: GPL-2.0
// Starts the two programs in each way, one way after another, ROUNDS times.
#include "gpulens/cmd/schedule_status.hpp"
#include "gpulens/limit/child.hpp"
#include "gpulens/limit/own_mps.hpp"
#include "gpulens/measure/engine_share.hpp"
#include "gpulens/measure/load.hpp"
#include "lab/experiment/device.hpp"
#include "lab/experiment/net.hpp"
#include "lab/experiment/sharing.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"
#include "lib/base/process_info.hpp"
#include "partition/launch.hpp"

#include <chrono>
#include <fmt/format.h>
#include <optional>
#include <thread>
#include <unistd.h>

namespace tool::experiment {

using measure::EngineShare;
using measure::Load;
using measure::LoadStart;
using measure::MemoryFile;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds SETTLE{200}; // from the begin of training to the first request
constexpr unsigned PROBE_S = 120;
constexpr std::chrono::seconds END_LIMIT{60};    // of serving, after its time
constexpr std::chrono::seconds POLICY_LIMIT{10}; // until a policy is carried out

// The work of a kernel of each program, which is the same in all ways.
struct WorkOf {
	u64 serve = 0, train = 0;
};

// gpulens schedule, by which requests come first. The programs of its tasks run.
class PolicyRun {
public:
	PolicyRun()
	{
		std::string text = fmt::format(R"({{"version": 1, "policy": "fixed-priority", "tasks": [)"
					       R"({{"name": "{}", "priority": 1}}, {{"name": "{}"}}]}})",
					       SERVE_TASK, TRAIN_TASK);
		if (write(policy_.fd(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
			throw Error(Error::Failed, "the policy could not be written");
		process_.emplace(
			[this] {
			dup2(errors_.fd(), STDERR_FILENO);
			execl(installed_file("gpulens").c_str(), "gpulens", "--source", "rm", "schedule",
			      policy_.path().c_str(), nullptr);
			return EXIT_FAILURE;
			},
			ChildOptions{.out = out_.fd()});
		for (auto end = Clock::now() + POLICY_LIMIT; !is_ready();)
			if (process_->poll() || Clock::now() >= end)
				report_end();
			else
				std::this_thread::sleep_for(std::chrono::milliseconds(10));
	}
	// Throws Error (Failed) if it was not carried out until now.
	void finish()
	{
		if (process_->poll() || process_->stop())
			report_end();
	}

private:
	bool is_ready() const
	{
		std::optional<nlohmann::ordered_json> status = read_schedule_status();
		return status && status->value("pid", 0) == process_->pid();
	}
	[[noreturn]] void report_end()
	{
		throw Error(Error::Failed, fmt::format("gpulens schedule: {}: {}", end_text(process_->stop()),
						       errors_.read_last_line()));
	}

	MemoryFile policy_, out_, errors_;
	std::optional<ChildProcess> process_;
};

// One round of one way.
class ProgramPair {
public:
	ProgramPair(const Way &way, u64 run_ns, std::vector<std::string> program, const nlohmann::json &gpu,
		    const WorkOf &work)
		: way_(way), run_ns_(run_ns), program_(std::move(program)), pci_(gpu.at("pci")), tpcs_(gpu.at("tpcs")),
		  work_(work)
	{
	}

	// Each program while the other one is not there, with its own calibration.
	Round measure_alone(WorkOf &found)
	{
		Round round;
		{
			Load serve(serve_start());
			serve.await_start();
			found.serve = serve.progress().work;
			serve.progress().go = 1;
			round.ms = read_times(serve);
		}
		Load train(train_start());
		train.await_start();
		found.train = train.progress().work;
		Round trained;
		measure_rate(trained, train, [] {});
		round.train_rate = trained.train_rate;
		return round;
	}

	Round measure_both()
	{
		Round round;
		Load serve(serve_start());
		serve.await_start();
		Load train(train_start());
		train.await_start();
		std::optional<PolicyRun> policy;
		if (way_.policy)
			policy.emplace();
		measure_rate(round, train, [&] { serve.progress().go = 1; });
		round.ms = read_times(serve);
		if (policy)
			policy->finish();
		return round;
	}

private:
	// Training's kernels a second from its begin on, for as long as serving has requests; then it ends. And who had the GPU
	// meanwhile, where not all clients of MPS have the same context.
	template <typename F> void measure_rate(Round &round, Load &train, F &&begin_serving) const
	{
		std::this_thread::sleep_for(SETTLE);
		std::optional<EngineShare> engine;
		if (way_.train.empty() || way_.train[0] != "--mps")
			engine.emplace(pci_);
		u64 before = train.progress().kernels;
		auto begin = Clock::now();
		begin_serving();
		std::this_thread::sleep_for(std::chrono::nanoseconds(run_ns_));
		round.train_rate = static_cast<double>(train.progress().kernels - before) /
				   std::chrono::duration<double>(Clock::now() - begin).count();
		auto is_trains = [&](u32 pid) { return descends_from(pid, static_cast<u32>(train.pid())); };
		if (auto shares = engine ? engine->measure(is_trains) : std::nullopt) {
			round.train_gpu = shares->those;
			round.serve_gpu = shares->others;
		}
		if (!train.stop())
			throw Error(Error::Failed, "a result of training was wrong, or it did not end");
	}

	std::vector<double> read_times(Load &serve) const
	{
		std::vector<double> ms;

		std::string times = serve.finish(std::chrono::nanoseconds(run_ns_) + END_LIMIT);
		try {
			for (double us : nlohmann::json::parse(times))
				ms.push_back(us / 1000);
		} catch (const nlohmann::json::exception &) {
			throw Error(Error::Failed, "serving printed no times, but " + times);
		}
		return ms;
	}

	// first: number of the first TPC of its own. Kernels with known work are not cooperative.
	LoadStart make_start(const std::vector<std::string> &options, unsigned first, unsigned thirds, u64 work) const
	{
		LoadStart start{.program = program_};

		if (!options.empty()) {
			start.before = {"gpulens", "run", "-q", "-o", "/dev/null"};
			start.before.insert(start.before.end(), options.begin(), options.end());
		}
		if (thirds && work)
			start.before.emplace_back("--no-cooperative");
		if (unsigned count = tpcs_ * thirds / 3)
			start.before.insert(start.before.end(),
					    {"--tpcs", fmt::format("{}-{}", first, first + count - 1)});
		if (!start.before.empty())
			start.before.emplace_back("--");
		if (work)
			start.variables.push_back(fmt::format("GPULENS_LOAD_WORK={}", work));
		return start;
	}
	LoadStart serve_start() const
	{
		LoadStart start = make_start(way_.serve, 0, way_.serve_thirds, work_.serve);

		start.program.emplace_back("urgent");
		start.after = {std::to_string(REQUEST_MS), std::to_string(PERIOD_MS),
			       fmt::format("{:.3f}", static_cast<double>(run_ns_) / 1e9)};
		start.variables.emplace_back("GPULENS_LOAD_WAIT=1");
		if (way_.policy) {
			std::string library = installed_file(PARTITION_LIBRARY);
			start.variables.push_back("GPULENS_JOBS_LIBRARY=" +
						  (access(library.c_str(), F_OK) ? PARTITION_LIBRARY : library));
		}
		return start;
	}
	LoadStart train_start() const
	{
		LoadStart start = make_start(way_.train, tpcs_ * way_.serve_thirds / 3, way_.train_thirds, work_.train);

		start.program.emplace_back("victim");
		start.after = {std::to_string(TRAIN_MS)};
		start.variables.insert(start.variables.end(), way_.train_variables.begin(), way_.train_variables.end());
		return start;
	}

	const Way &way_;
	u64 run_ns_;
	std::vector<std::string> program_;
	std::string pci_;
	unsigned tpcs_;
	const WorkOf &work_;
};

} // namespace

SharingTable measure_sharing(u64 run_ns, Job job)
{
	SharingTable table{.job = kernel_job()};
	std::vector<std::string> program = {measure::load_program()};
	if (job != Job::Product) {
		const bool eager = job == Job::Eager;
		table.job = fmt::format("inference of a transformer{} each {} ms beside its training, in PyTorch",
					eager ? ", kernel by kernel," : " as a CUDA graph", PERIOD_MS);
		program = {"python3", "-c", fmt::format("EAGER = {}\n{}", eager ? "True" : "False", SHARING_SCRIPT)};
	}
	WorkOf work;

	refuse_under_mps();
	nlohmann::json about = nlohmann::json::parse(gpulens::run_in_child(PROBE_S, [] {
		Device device;
		return nlohmann::json{{"gpu", device.name()},
				      {"pci", gpulens::gpu_of_device(gpulens::device_of_context()).pci},
				      {"tpcs", gpulens::Launches::instance().verified_layout().map.tpcs}}
			.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
	}));
	table.gpu = about.at("gpu");
	table.rounds.resize(ways().size());
	table.missing.resize(ways().size());
	for (unsigned round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < ways().size(); i++) {
			if (!table.missing[i].empty())
				continue;
			try {
				ProgramPair pair(ways()[i], run_ns, program, about, work);
				table.rounds[i].push_back(i ? pair.measure_both() : pair.measure_alone(work));
			} catch (const Error &e) {
				if (!i)
					throw;
				table.missing[i] = e.what();
				table.rounds[i].clear();
			}
		}
	return table;
}

} // namespace tool::experiment
