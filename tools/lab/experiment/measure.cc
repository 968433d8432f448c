// SPDX-License-Identifier: GPL-2.0
// Makes the processes of each experiment, and a trace of what they found.
#include "lab/experiment/measure.hpp"

#include "lab/experiment/processes.hpp"
#include "lab/experiment/simulate.hpp"
#include "lab/experiment/upload.hpp"
#include "lib/base/errors.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <thread>

namespace tool::experiment {

using gpulens::check;
using gpulens::cuda;

namespace {

// Decisions. A chunk of copies takes 20 us at 50 GB/s and 87 us at 12 GB/s, much less than a time slice.
constexpr u64 UPLOAD_COPIES = 20;
constexpr std::chrono::milliseconds ALONE{200}; // of the first logger of fig6, before the second process begins
constexpr u32 SPIN_RECORD = 24;                 // bytes of a block's record of the kernel spin

Track logged_track(const std::string &task, const Spans &spans)
{
	return {.task = task, .work = Work::Kernel, .spans = spans};
}

Track copied_track(const std::string &task, Work work, const Copier &copier, const Spans &spans)
{
	return {.task = task, .work = work, .bytes = copier.chunk_bytes(), .spans = spans};
}

// A process of fig7 to fig9: a kernel that logs, a stream of copies, or both at once. chunk_bytes: of copies; 0: none.
Found run_task(Stage &stage, const std::string &name, bool logs, u64 chunk_bytes)
{
	Device device;
	std::unique_ptr<Logger> logger;
	std::unique_ptr<Copier> copier;
	Found found{.gpu = device.name()};

	if (logs)
		logger = std::make_unique<Logger>(device);
	if (chunk_bytes)
		copier = std::make_unique<Copier>(device, Work::CopyToHost, chunk_bytes);
	stage.ready++;
	stage.wait_for(stage.phase, 1);
	if (logger)
		logger->start();
	if (copier) {
		Spans spans = copier->run([&](u64) { return stage.stop || stage.failed; });
		found.tracks.push_back(copied_track(name, Work::CopyToHost, *copier, spans));
	} else
		stage.wait_for_stop();
	if (logger)
		found.tracks.insert(found.tracks.begin(), logged_track(name, logger->finish()));
	return found;
}

// A process of fig6, which is initialized after the kernel of the one before it has begun.
Found run_logger(Stage &stage, u32 number)
{
	stage.wait_for(stage.ready, number);
	if (number)
		std::this_thread::sleep_for(ALONE);
	Device device;
	Logger logger(device);
	logger.start();
	stage.ready++;
	stage.wait_for_stop();
	return {.gpu = device.name(), .tracks = {logged_track(fmt::format("logger {}", number + 1), logger.finish())}};
}

// fig6 and fig7 in one process, with two streams. chunk_bytes: of copies; 0: kernels.
Found run_two_streams(Stage &stage, u64 chunk_bytes)
{
	Device device;
	Found found{.gpu = device.name()};

	stage.ready++;
	stage.wait_for(stage.phase, 1);
	if (!chunk_bytes) {
		Logger first(device), second(device);
		first.start();
		second.start();
		stage.wait_for_stop();
		found.tracks = {logged_track("logger 1", first.finish()), logged_track("logger 1", second.finish())};
		return found;
	}
	Copier copier(device, Work::CopyToHost, chunk_bytes), other(device, Work::CopyToHost, chunk_bytes);
	auto over = [&](u64) { return stage.stop || stage.failed; };
	Spans spans;
	std::exception_ptr failure;
	std::thread thread([&] {
		try {
			gpulens::make_current(0);
			spans = other.run(over);
		} catch (...) {
			failure = std::current_exception();
		}
	});
	Spans own = copier.run(over);
	thread.join();
	if (failure)
		std::rethrow_exception(failure);
	found.tracks = {copied_track("copy 1", Work::CopyToHost, copier, own),
			copied_track("copy 1", Work::CopyToHost, other, spans)};
	return found;
}

// The kernels of a scenario that spin, each in the stream of its benchmark, launched by this thread in their order.
Found run_channels(const Stage &, u32 channels)
{
	setenv("CUDA_DEVICE_MAX_CONNECTIONS", std::to_string(channels).c_str(), 1);
	Device device;
	Found found{.gpu = device.name(), .machine = device.machine()};
	blocks::Scenario scenario = channels_scenario(found.machine);
	std::vector<void *> streams;
	std::vector<std::pair<u32, u32>> launches = scenario.launches();
	uint64_t records = allocate(launches.size() * SPIN_RECORD), stamp_at = allocate(sizeof(u64));
	s64 offset = 0, best = INT64_MAX;

	for (size_t i = 0; i < scenario.benchmarks.size(); i++)
		streams.push_back(make_stream());
	for (void *stream : streams) { // use each stream and kernel once
		void *parameters[] = {&stamp_at};
		u64 stamp = 0;
		s64 before = host_now();
		device.launch("stamp", 1, 1, 1, 1, stream, parameters);
		check(cuda().wait(stream), "running stamp");
		s64 after = host_now();
		check(cuda().copy(&stamp, stamp_at, sizeof(stamp)), "cuMemcpyDtoH");
		if (after - before < best) { // %globaltimer less the CPU's clock
			best = after - before;
			offset = static_cast<s64>(stamp) - (before + after) / 2;
		}
	}
	s64 origin = host_now() + 10'000'000;
	for (size_t i = 0; i < launches.size(); i++) {
		const auto [benchmark, number] = launches[i];
		const blocks::Kernel &k = scenario.benchmarks[benchmark].kernels[number];
		uint64_t to = records + i * SPIN_RECORD;
		u64 work = k.work;
		void *parameters[] = {&to, &work};
		while (host_now() < origin + static_cast<s64>(k.release_ns))
			;
		blocks::Ran ran;
		s64 before = host_now() - origin;
		device.launch("spin", k.blocks, 1, k.threads, 1, streams[benchmark], parameters);
		ran.launched = {before, host_now() - origin, 0};
		found.kernels.push_back(ran);
	}
	std::vector<u64> times(launches.size() * 3);
	for (void *stream : streams)
		check(cuda().wait(stream), "running spin");
	check(cuda().copy(times.data(), records, times.size() * sizeof(u64)), "cuMemcpyDtoH");
	for (size_t i = 0; i < launches.size(); i++)
		found.kernels[i].blocks = {{static_cast<s64>(times[3 * i]) - offset - origin,
					    static_cast<s64>(times[3 * i + 1]) - offset - origin,
					    static_cast<u32>(times[3 * i + 2])}};
	return found;
}

// A log of the scenario with what the process found.
blocks::Log log_of(const Found &found, u32 channels)
{
	blocks::Machine machine = found.machine;

	machine.channels = channels;
	blocks::Scenario scenario = channels_scenario(machine);
	blocks::Log log = blocks::empty_log(scenario, machine);
	log.channels_known = true;
	for (const auto &[benchmark, number] : scenario.launches())
		log.kernels.push_back(blocks::make_ran(scenario, benchmark, number, 0, 0));
	if (log.kernels.size() != found.kernels.size())
		throw Error(Error::Failed,
			    fmt::format("fig5: {} kernels ran, not {}", found.kernels.size(), log.kernels.size()));
	for (size_t i = 0; i < log.kernels.size(); i++) {
		log.kernels[i].launched = found.kernels[i].launched;
		log.kernels[i].blocks = found.kernels[i].blocks;
		for (const blocks::Block &b : log.kernels[i].blocks)
			if (b.sm >= machine.sms || b.end < b.start)
				throw Error(Error::Failed,
					    fmt::format("fig5: a block on SM {} from {} to {}", b.sm, b.start, b.end));
		(*log.kernels[i].launched)[2] = log.kernels[i].last_end();
	}
	return log;
}

void measure_channels(Trace &trace)
{
	for (u32 channels : {8U, 9U}) {
		Processes processes;
		processes.start([channels](Stage &stage) { return run_channels(stage, channels); });
		Found found = processes.finish().at(0);
		trace.gpu = found.gpu;
		trace.logs.push_back(log_of(found, channels));
	}
}

// Copies alone, and when another process uploads textures.
void measure_uploads(Trace &trace)
{
	Processes processes;

	processes.start([](Stage &stage) {
		Device device;
		Copier copier(device, Work::CopyToHost, UPLOAD_COPY);
		Found found{.gpu = device.name()};
		auto enough = [](u64 copies) { return copies >= UPLOAD_COPIES; };
		copier.run([](u64 copies) { return copies >= 2; }); // warms up
		found.tracks.push_back(copied_track("alone", Work::CopyToHost, copier, copier.run(enough)));
		stage.phase = 1;
		stage.wait_for(stage.phase, 2);
		if (stage.phase == 2)
			found.tracks.push_back(copied_track("beside", Work::CopyToHost, copier, copier.run(enough)));
		stage.stop = true;
		return found;
	});
	processes.start([](Stage &stage) {
		stage.wait_for(stage.phase, 1);
		try {
			upload_textures(stage);
		} catch (const Error &e) {
			stage.phase = 3;
			return Found{.missing = e.what()};
		}
		return Found{};
	});
	processes.wait_for_stop();
	std::vector<Found> found = processes.finish();
	trace.gpu = found[0].gpu;
	trace.tracks = found[0].tracks;
	trace.missing = found[1].missing;
}

// Makes the first time 0.
void shift_to_origin(Trace &trace)
{
	s64 origin = INT64_MAX;

	for (const Track &t : trace.tracks)
		if (!t.spans.empty())
			origin = std::min(origin, t.spans.front().from);
	for (Track &t : trace.tracks)
		for (Span &s : t.spans)
			s = {s.from - origin, s.to - origin};
	if (trace.held)
		trace.held = Span{trace.held->from - origin, trace.held->to - origin};
}

} // namespace

Trace measure(const Options &options, const Measurement &m)
{
	Trace trace{.experiment = m.experiment, .processes = m.processes};

	if (m.experiment == "fig5") {
		measure_channels(trace);
		return trace;
	}
	if (m.experiment == "fig10")
		measure_uploads(trace);
	else if (m.experiment == "r1")
		measure_disabled(options, m.run_ns, trace);
	else {
		Processes processes;
		if (m.processes == 1 && (m.experiment == "fig6" || m.experiment == "fig7")) {
			u64 chunk = m.experiment == "fig7" ? m.chunk_bytes : 0;
			processes.start([chunk](Stage &stage) { return run_two_streams(stage, chunk); });
		} else if (m.experiment == "fig6")
			for (u32 i = 0; i < 2; i++)
				processes.start([i](Stage &stage) { return run_logger(stage, i); });
		else {
			struct Task {
				const char *name;
				bool logs, copies;
			};
			std::vector<Task> tasks =
				m.experiment == "fig7"
					? std::vector<Task>{{"copy 1", false, true}, {"copy 2", false, true}}
				: m.experiment == "fig8"
					? std::vector<Task>{{"task 1", true, false},
							    {"task 2", true, true},
							    {"task 3", false, true},
							    {"task 4", false, true}}
					: std::vector<Task>{{"logger", true, false}, {"copy", false, true}};
			for (const Task &t : tasks)
				processes.start([t, chunk = m.chunk_bytes](Stage &stage) {
					return run_task(stage, t.name, t.logs, t.copies ? chunk : 0);
				});
		}
		u32 count = m.processes == 1 ? 1 : m.experiment == "fig8" ? 4 : 2;
		processes.wait_until_ready(count);
		processes.stage().phase = 1;
		std::this_thread::sleep_for(std::chrono::nanoseconds(m.run_ns));
		for (const Found &found : processes.finish()) {
			trace.gpu = found.gpu;
			trace.tracks.insert(trace.tracks.end(), found.tracks.begin(), found.tracks.end());
		}
	}
	shift_to_origin(trace);
	return trace;
}

} // namespace tool::experiment
