// SPDX-License-Identifier: GPL-2.0
// The task calls CUDA in three threads. A process for each of its TSGs runs gpulens disable --tsg --for, which undoes it also when
// this process ends.
#include "lab/experiment/measure.hpp"

#include "gpulens/cmd/control.hpp"
#include "gpulens/limit/child.hpp"
#include "lab/experiment/processes.hpp"
#include "lib/base/errors.hpp"

#include <algorithm>
#include <csignal>
#include <exception>
#include <fcntl.h>
#include <fmt/format.h>
#include <future>
#include <list>
#include <sys/prctl.h>
#include <thread>
#include <unistd.h>

namespace tool::experiment {

using gpulens::check;
using gpulens::cuda;

namespace {

constexpr u64 HELD_NS = 500'000'000, CALL_KERNEL_NS = 1'000'000;
constexpr size_t COPY_BYTES = size_t{1} << 20, ALLOCATION_BYTES = size_t{64} << 20;
constexpr unsigned CONTROL_TIMEOUT_S = 20;

// Repeats a call until the experiment stops. Times are those of CLOCK_MONOTONIC.
template <typename F> Track repeat_call(const Stage &stage, Work work, F call)
{
	Track track{.task = "task", .work = work};

	gpulens::make_current(0);
	while (!stage.stop && !stage.failed) {
		s64 from = host_now();
		call();
		track.spans.push_back({from, host_now()});
	}
	return track;
}

Found run_task(Stage &stage)
{
	Device device;
	uint64_t record = allocate(64), memory = allocate(COPY_BYTES);
	void *kernels = make_stream(), *copies = make_stream(), *host = allocate_host(COPY_BYTES);
	std::vector<std::future<Track>> calls;

	stage.pids[0] = getpid();
	calls.push_back(std::async(std::launch::async, [&] {
		return repeat_call(stage, Work::Kernel, [&] {
			u64 ns = CALL_KERNEL_NS;
			void *parameters[] = {&record, &ns};
			device.launch("spin", 1, 1, 1, 1, kernels, parameters);
			check(cuda().wait(kernels), "running spin");
		});
	}));
	calls.push_back(std::async(std::launch::async, [&] {
		return repeat_call(stage, Work::CopyToHost, [&] {
			check(driver().to_host(host, memory, COPY_BYTES, copies), "cuMemcpyDtoHAsync");
			check(cuda().wait(copies), "copying");
		});
	}));
	calls.push_back(std::async(std::launch::async, [&] {
		return repeat_call(stage, Work::Allocation, [&] {
			uint64_t some = 0;
			check(cuda().alloc(&some, ALLOCATION_BYTES), "cuMemAlloc");
			check(cuda().free(some), "cuMemFree");
		});
	}));
	stage.ready++;
	Found found{.gpu = device.name()};
	for (std::future<Track> &call : calls)
		found.tracks.push_back(call.get());
	return found;
}

// A TSG and its GPU, as gpulens disable takes them.
struct NamedTsg {
	unsigned gpu;
	std::string id;
};

// The TSGs of a process.
std::vector<NamedTsg> find_tsgs(const Options &options, s64 pid, std::string &missing)
{
	std::vector<NamedTsg> found;

	try {
		for (const Gpu &gpu : load_gpus(options.sources))
			for (const Runlist &rl : gpu.runlists)
				for (const Tsg &tsg : rl.tsgs)
					if (tsg.owner && tsg.owner->pid == pid)
						found.push_back({static_cast<unsigned>(gpu.index),
								 qualified(gpu, rl.id, tsg.id)});
	} catch (const Error &e) {
		missing = fmt::format("nothing was disabled, which needs the module: {}", e.what());
		return {};
	}
	if (found.empty())
		missing = "nothing was disabled, because it is not known which TSGs are the task's: that needs the "
			  "module and NVIDIA's driver, which names the processes";
	return found;
}

// Disables a TSG's channels for a time; the function of a process.
std::string hold_tsg(Options options, const NamedTsg &tsg)
{
	const Control *disable = std::find_if(CONTROLS, CONTROLS + CONTROL_COUNT,
					      [](const Control &c) { return std::string(c.command) == "disable"; });
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGTERM); // which run_control() ends for after it has undone its changes
	dup2(null, STDOUT_FILENO);
	options.sources.gpus = {tsg.gpu};
	int status = run_control(options, *disable, {.id{}, .tsg = tsg.id, .pid{}, .for_ns = HELD_NS});
	if (status)
		throw Error(Error::Failed, fmt::format("gpulens disable --tsg {}: exit status {}", tsg.id, status));
	return "";
}

} // namespace

void measure_disabled(const Options &options, u64 run_ns, Trace &trace)
{
	const auto half = std::chrono::nanoseconds(run_ns / 2);
	Processes processes;

	processes.start(run_task);
	processes.wait_until_ready(1);
	std::this_thread::sleep_for(half);
	std::vector<NamedTsg> tsgs = find_tsgs(options, processes.stage().pids[0], trace.missing);
	if (!tsgs.empty()) {
		std::list<gpulens::Child> holds;
		std::exception_ptr failure;
		s64 begin = host_now();
		auto keep_failure = [&](auto &&call) {
			try {
				call();
			} catch (...) {
				failure = std::current_exception();
			}
		};
		for (const NamedTsg &tsg : tsgs)
			keep_failure([&] { holds.emplace_back([&] { return hold_tsg(options, tsg); }); });
		// All are waited for, also where one failed: a process that is killed undoes nothing.
		for (gpulens::Child &hold : holds)
			keep_failure([&] { hold.finish(CONTROL_TIMEOUT_S); });
		if (failure)
			std::rethrow_exception(failure);
		// Each is disabled at an unknown time from begin to end - HELD_NS, and enabled HELD_NS later.
		Span held{host_now() - static_cast<s64>(HELD_NS), begin + static_cast<s64>(HELD_NS)};
		trace.held = Span{held.from, std::max(held.from, held.to)};
	}
	std::this_thread::sleep_for(half);
	Found found = processes.finish().at(0);
	trace.gpu = found.gpu;
	trace.tracks = found.tracks;
}

} // namespace tool::experiment
