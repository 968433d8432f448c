// SPDX-License-Identifier: GPL-2.0
// A thread for each process waits for its result, which is JSON on a pipe.
#include "lab/experiment/processes.hpp"

#include "lib/base/errors.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <new>
#include <sys/mman.h>
#include <thread>

namespace tool::experiment {

using std::chrono::steady_clock;

namespace {

constexpr unsigned TIMEOUT_S = 120;
constexpr std::chrono::milliseconds POLL{1};

nlohmann::json machine_json(const blocks::Machine &m)
{
	return {m.name, m.sms, m.threads_per_sm, m.blocks_per_sm};
}

std::string format_found(const Found &found)
{
	nlohmann::json tracks = nlohmann::json::array(), kernels = nlohmann::json::array();

	for (const Track &t : found.tracks) {
		nlohmann::json spans = nlohmann::json::array();
		for (const Span &s : t.spans)
			spans.push_back({s.from, s.to});
		tracks.push_back({t.task, static_cast<int>(t.work), t.bytes, spans});
	}
	for (const blocks::Ran &k : found.kernels) {
		nlohmann::json list = nlohmann::json::array();
		for (const blocks::Block &b : k.blocks)
			list.push_back({b.start, b.end, b.sm});
		kernels.push_back({(*k.launched)[0], (*k.launched)[1], list});
	}
	return nlohmann::json{{"gpu", found.gpu},
			      {"tracks", tracks},
			      {"kernels", kernels},
			      {"machine", machine_json(found.machine)},
			      {"missing", found.missing}}
		.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Found parse_found(const std::string &text)
{
	nlohmann::json whole = nlohmann::json::parse(text);
	const nlohmann::json &machine = whole.at("machine");
	Found found;

	found.gpu = whole.at("gpu");
	found.missing = whole.at("missing");
	found.machine = {.name = machine.at(0),
			 .sms = machine.at(1),
			 .threads_per_sm = machine.at(2),
			 .blocks_per_sm = machine.at(3)};
	for (const nlohmann::json &t : whole.at("tracks")) {
		Track track{.task = t.at(0), .work = static_cast<Work>(t.at(1).get<int>()), .bytes = t.at(2)};
		for (const nlohmann::json &s : t.at(3))
			track.spans.push_back({s.at(0), s.at(1)});
		found.tracks.push_back(std::move(track));
	}
	for (const nlohmann::json &k : whole.at("kernels")) {
		blocks::Ran kernel;
		kernel.launched = {k.at(0).get<s64>(), k.at(1).get<s64>(), 0};
		for (const nlohmann::json &b : k.at(2))
			kernel.blocks.push_back({b.at(0), b.at(1), b.at(2)});
		found.kernels.push_back(std::move(kernel));
	}
	return found;
}

std::string run_process(Stage &stage, const std::function<Found(Stage &stage)> &run)
{
	try {
		return format_found(run(stage));
	} catch (...) {
		stage.failed = true;
		throw;
	}
}

} // namespace

Processes::Processes()
{
	void *memory = mmap(nullptr, sizeof(Stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		throw Error(Error::NoProcess, fmt::format("no shared memory: {}", std::strerror(errno)));
	stage_ = new (memory) Stage;
}

Processes::~Processes()
{
	stage_->stop = true;
	running_.clear();
	munmap(stage_, sizeof(Stage));
}

void Processes::start(const std::function<Found(Stage &stage)> &run)
{
	Stage *stage = stage_;

	running_.emplace_back([stage, &run] { return run_process(*stage, run); });
}

bool Processes::check_running()
{
	for (gpulens::Child &process : running_)
		if (!stage_->stop && process.has_ended())
			stage_->failed = true;
	return !stage_->failed;
}

void Processes::wait_until_ready(u32 count)
{
	steady_clock::time_point end = steady_clock::now() + START_PATIENCE;

	while (stage_->ready < count && check_running() && steady_clock::now() < end)
		std::this_thread::sleep_for(POLL);
	if (stage_->ready >= count)
		return;
	if (!stage_->failed)
		throw Error(Error::TimedOut, fmt::format("{} of {} processes of the experiment were ready within {} s",
							 stage_->ready.load(), count, START_PATIENCE.count()));
	finish();
	throw Error(Error::Failed, "a process of the experiment ended too early");
}

void Processes::wait_for_stop()
{
	while (!stage_->stop && check_running())
		std::this_thread::sleep_for(POLL);
}

std::vector<Found> Processes::finish()
{
	std::vector<Found> found;
	std::exception_ptr failure, other;

	stage_->stop = true;
	for (gpulens::Child &process : running_) {
		try {
			found.push_back(parse_found(process.finish(TIMEOUT_S)));
		} catch (const Error &e) {
			(std::string(e.what()) == OTHER_FAILED ? other : failure) = std::current_exception();
		}
	}
	running_.clear();
	if (failure || other)
		std::rethrow_exception(failure ? failure : other);
	return found;
}

} // namespace tool::experiment
