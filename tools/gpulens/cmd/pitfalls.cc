// SPDX-License-Identifier: GPL-2.0
// Reads records of calls, and finds which calls were in progress together.
#include "gpulens/cmd/pitfalls.hpp"

#include "lib/base/file.hpp"
#include "lib/base/format.hpp"
#include "lib/base/monotonic.hpp"
#include "lib/base/temporary_folder.hpp"
#include "lib/launch/environment.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <memory>
#include <tuple>
#include <unistd.h>

namespace tool {

using gpulens::Call;
using gpulens::CallEvent;
using gpulens::CallKind;
using gpulens::CallLog;
using gpulens::CallSite;
using gpulens::CUDA_CALLS;

namespace {

constexpr size_t MAX_RUNNING = 1024; // calls that are compared with one; more are in no honest record

const gpulens::CudaCall &cuda_call(u32 call)
{
	return CUDA_CALLS[call];
}

// A long call.
struct Long {
	u64 begin, end;
	u32 thread, call, site;
	bool returned;
	u64 from = 0; // where it was made, of one that has not returned
};

// Whether a frame belongs to CUDA's libraries rather than to the program.
bool is_of_cuda(const CallFrame &frame)
{
	static const char *const libraries[] = {"libcuda.",     "libcudart",   "libcublas",   "libcudnn", "libcufft",
						"libcurand",    "libcusolver", "libcusparse", "libnvrtc", "libnccl",
						"libnvJitLink", "libcupti",    "libnpp",      "libcufile"};
	// CUDA's runtime, linked statically, and what nvcc generates.
	static const char *const functions[] = {"libcudart_static_", "__cudart", "__cuda", "__device_stub_"};
	std::string file = frame.module.substr(frame.module.rfind('/') + 1), function = frame.function;
	auto begins = [](const std::string &text) {
		return [&text](const char *prefix) { return text.starts_with(prefix); };
	};
	if (function.starts_with("cudaError ")) // of a template, with its result: cudaLaunchKernel<...>()
		function.erase(0, 10);
	bool runtime = function.starts_with("cuda") && function.size() > 4 && function[4] >= 'A' && function[4] <= 'Z';

	return runtime || std::any_of(std::begin(libraries), std::end(libraries), begins(file)) ||
	       std::any_of(std::begin(functions), std::end(functions), begins(function));
}

// Functions and lines of an object file, from its symbols and debug information, by elfutils. What the file lacks is unknown.
class ObjectFile {
public:
	// bias: difference between addresses of the process and of the file
	ObjectFile(const std::string &path, u64 bias)
	{
		static const Dwfl_Callbacks callbacks = {.find_elf = nullptr,
							 .find_debuginfo = dwfl_standard_find_debuginfo,
							 .section_address = nullptr,
							 .debuginfo_path = nullptr};
		int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);

		files_.reset(dwfl_begin(&callbacks));
		dwfl_report_begin(files_.get());
		if (fd >= 0)
			file_ = dwfl_report_elf(files_.get(), path.c_str(), path.c_str(), fd, bias, true);
		if (fd >= 0 && !file_)
			close(fd);
		dwfl_report_end(files_.get(), nullptr, nullptr);
	}

	std::string function_at(u64 address)
	{
		const char *name = file_ ? dwfl_module_addrname(file_, address) : nullptr;
		std::unique_ptr<char, decltype(&std::free)> text(
			name ? abi::__cxa_demangle(name, nullptr, nullptr, nullptr) : nullptr, &std::free);

		return text ? text.get() : name ? name : "";
	}

	// Returns "train.cc:37".
	std::string line_at(u64 address)
	{
		Dwfl_Line *line = file_ ? dwfl_module_getsrc(file_, address) : nullptr;
		int number = 0;
		const char *path = line ? dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr) : nullptr;

		return path ? fmt::format("{}:{}", std::filesystem::path(path).filename().string(), number) : "";
	}

private:
	std::unique_ptr<Dwfl, decltype(&dwfl_end)> files_{nullptr, &dwfl_end};
	Dwfl_Module *file_ = nullptr;
};

// Object files of one record, each read once.
class Modules {
public:
	explicit Modules(const CallLog &log) : log_(log) {}

	CallFrame frame(u64 address, u32 module)
	{
		if (!module || module > std::min<u32>(log_.modules, gpulens::MAX_MODULES))
			return {};
		const gpulens::CallModule &m = log_.module[module - 1];
		std::string path(m.path, strnlen(m.path, sizeof(m.path)));
		ObjectFile &file = files_.try_emplace(module, path, m.bias).first->second;
		return {.module = replace_controls(path),
			.function = replace_controls(file.function_at(address)),
			.line = replace_controls(file.line_at(address)),
			.offset = address - m.bias};
	}

	CallFrame frame(u64 address) { return frame(address, gpulens::module_of(log_, address)); }

private:
	const CallLog &log_;
	std::map<u32, ObjectFile> files_;
};

// Returns nullptr for other files, and for one whose process was killed while it made it.
std::unique_ptr<CallLog> read_log(const std::string &path)
{
	std::ifstream file(path, std::ios::binary);
	auto log = std::make_unique<CallLog>();

	if (!file.read(reinterpret_cast<char *>(log.get()), sizeof(CallLog)) || log->magic != CallLog::MAGIC ||
	    log->calls != gpulens::CALL_COUNT)
		return nullptr;
	return log;
}

std::vector<Long> long_calls(const CallLog &log, u64 now_ns)
{
	std::vector<Long> found;
	u64 count = std::min<u64>(log.events, gpulens::MAX_EVENTS);

	for (u64 i = 0; i < count; i++) {
		const CallEvent &e = log.event[i];
		u64 end = e.end;
		if (end && e.begin < end && e.call < gpulens::CALL_COUNT)
			found.push_back({e.begin, end, e.thread, e.call,
					 e.site <= std::min<u32>(log.sites, gpulens::MAX_SITES) ? e.site : 0, true});
	}
	for (const gpulens::CallThread &t : log.thread) {
		u64 begin = t.begin;
		u32 call = t.call;
		if (begin && begin + gpulens::LONG_CALL_NS <= now_ns && call < gpulens::CALL_COUNT)
			found.push_back({begin, now_ns, t.thread, call, 0, false, t.from});
	}
	std::stable_sort(found.begin(), found.end(), [](const Long &a, const Long &b) { return a.begin < b.begin; });
	return found;
}

// For each call, the calls of other threads that it overlaps, as indices.
std::vector<std::vector<size_t>> find_overlaps(const std::vector<Long> &calls)
{
	std::vector<std::vector<size_t>> overlaps(calls.size());
	std::vector<size_t> running;

	for (size_t i = 0; i < calls.size(); i++) {
		std::erase_if(running, [&](size_t j) { return calls[j].end <= calls[i].begin; });
		if (running.size() == MAX_RUNNING)
			running.erase(running.begin());
		for (size_t j : running)
			if (calls[j].thread != calls[i].thread) {
				overlaps[i].push_back(j);
				overlaps[j].push_back(i);
			}
		running.push_back(i);
	}
	return overlaps;
}

// The calls that a waiting call may have waited for: those that are no asynchronous ones, or else asynchronous ones that began
// before it, such as a launch that loads code.
std::vector<size_t> choose_suspects(const std::vector<Long> &calls, size_t waiting, const std::vector<size_t> &others)
{
	std::vector<size_t> chosen;

	for (size_t i : others)
		if (!gpulens::is_asynchronous(cuda_call(calls[i].call).kind))
			chosen.push_back(i);
	for (size_t i : others)
		if (chosen.empty() && calls[i].begin < calls[waiting].begin)
			chosen.push_back(i);
	return chosen;
}

class Rows {
public:
	explicit Rows(const CallLog &log) : log_(log), modules_(log)
	{
		for (u32 i = 0; i < std::min<u32>(log.sites, gpulens::MAX_SITES); i++)
			add_site(i + 1);
	}

	PitfallRow &row_of(const Long &call)
	{
		auto found = by_site_.find(call.site);

		if (found != by_site_.end() && static_cast<u32>(rows_[found->second].call) == call.call)
			return rows_[found->second];
		PitfallRow row{.call = static_cast<Call>(call.call)};
		if (call.from)
			row.frames.push_back(modules_.frame(call.from));
		return rows_[find_row(std::move(row))];
	}
	std::vector<PitfallRow> take() { return std::move(rows_); }

private:
	void add_site(u32 number)
	{
		const CallSite &site = log_.site[number - 1];
		PitfallRow row;

		if (!site.ready || site.call >= gpulens::CALL_COUNT)
			return;
		row.call = static_cast<Call>(site.call);
		row.legacy = site.legacy;
		for (u32 i = 0; i < std::min(site.frames, gpulens::MAX_FRAMES); i++)
			row.frames.push_back(modules_.frame(site.addresses[i], site.modules[i]));
		size_t index = find_row(std::move(row));
		PitfallRow &same = rows_[index];
		same.calls += site.calls;
		same.total_ns += site.total_ns;
		same.longest_ns = std::max<u64>(same.longest_ns, site.longest_ns);
		same.synchronizing += site.synchronizing;
		by_site_[number] = index;
	}

	// The index of the row with the call and place of this one, which is added if there is none.
	size_t find_row(PitfallRow row)
	{
		auto outside = std::find_if_not(row.frames.begin(), row.frames.end(), is_of_cuda);

		if (outside != row.frames.end())
			row.place = *outside;
		else if (!row.frames.empty())
			row.place = row.frames.front();
		auto [found, is_new] = by_place_.try_emplace(std::tuple(row.call, row.legacy, row.place), rows_.size());
		if (is_new)
			rows_.push_back(std::move(row));
		return found->second;
	}

	const CallLog &log_;
	Modules modules_;
	std::vector<PitfallRow> rows_;
	std::map<std::tuple<Call, bool, CallFrame>, size_t> by_place_;
	std::map<u32, size_t> by_site_;
};

u64 overlap_of(const Long &a, const Long &b)
{
	return std::min(a.end, b.end) - std::max(a.begin, b.begin);
}

void count_wait(PitfallRow::Waits &waits, const Long &waiting, const PitfallRow &waiting_row, const Long &suspect,
		bool alone)
{
	u64 apart = waiting.end < suspect.end ? suspect.end - waiting.end : waiting.end - suspect.end;

	waits.count++;
	waits.ns += overlap_of(waiting, suspect);
	waits.ended_together += waiting.returned && suspect.returned &&
				100 * apart <= ENDED_TOGETHER_PERCENT * overlap_of(waiting, suspect);
	waits.alone += alone;
	waits.threads.insert(waiting.thread);
	auto waiter = std::find_if(waits.waiters.begin(), waits.waiters.end(), [&](const PitfallRow::Waiter &w) {
		return w.call == waiting_row.call && w.place == waiting_row.place;
	});
	if (waiter == waits.waiters.end())
		waiter = waits.waiters.insert(waiter, {.call = waiting_row.call, .place = waiting_row.place});
	waiter->count++;
	waiter->ns += overlap_of(waiting, suspect);
}

ProcessPitfalls find_pitfalls(const CallLog &log, u64 now_ns)
{
	std::vector<Long> calls = long_calls(log, now_ns);
	std::vector<std::vector<size_t>> overlaps = find_overlaps(calls);
	Rows rows(log);
	ProcessPitfalls process{
		.pid = log.pid,
		.command = replace_controls(std::string(log.command, strnlen(log.command, sizeof(log.command)))),
		.threads = std::min<u32>(log.threads, gpulens::MAX_CALL_THREADS),
		.long_calls = calls.size(),
		.unrecorded = log.events - std::min<u64>(log.events, gpulens::MAX_EVENTS),
		.uncounted = log.uncounted,
		.unsited = log.unsited,
		.most_blocking_streams = log.most_blocking_streams,
		.per_thread_stream = log.per_thread_stream != 0};

	process.calls = process.uncounted;
	for (const gpulens::CallThread &t : log.thread) {
		process.synchronizing += t.synchronizing;
		for (const std::atomic<u64> &count : t.calls)
			process.calls += count;
	}
	for (const Long &call : calls) {
		PitfallRow &row = rows.row_of(call);
		row.threads.insert(call.thread);
		if (call.returned && call.site)
			continue; // its site has counted it
		row.calls++;
		row.total_ns += call.end - call.begin;
		row.longest_ns = std::max(row.longest_ns, call.end - call.begin);
		row.in_progress += !call.returned;
		process.calls += !call.returned;
	}
	for (size_t i = 0; i < calls.size(); i++) {
		if (!gpulens::is_asynchronous(cuda_call(calls[i].call).kind))
			continue;
		std::vector<size_t> suspects = choose_suspects(calls, i, overlaps[i]);
		std::map<PitfallRow *, size_t> longest; // a row counts a waiting call once
		for (size_t j : suspects) {
			auto [found, is_new] = longest.try_emplace(&rows.row_of(calls[j]), j);
			if (!is_new && overlap_of(calls[i], calls[j]) > overlap_of(calls[i], calls[found->second]))
				found->second = j;
		}
		for (const auto &[row, j] : longest)
			count_wait(row->waits, calls[i], rows.row_of(calls[i]), calls[j], suspects.size() == 1);
	}
	process.rows = rows.take();
	std::stable_sort(process.rows.begin(), process.rows.end(), [](const PitfallRow &a, const PitfallRow &b) {
		return std::tuple(a.waits.ns, a.synchronizing, a.total_ns) >
		       std::tuple(b.waits.ns, b.synchronizing, b.total_ns);
	});
	return process;
}

} // namespace

std::vector<ProcessPitfalls> read_pitfalls(const std::string &folder, u64 now_ns)
{
	std::vector<ProcessPitfalls> processes;

	for (const auto &entry : std::filesystem::directory_iterator(folder))
		if (std::unique_ptr<CallLog> log = read_log(entry.path()))
			processes.push_back(find_pitfalls(*log, now_ns));
		else
			fmt::print(stderr, "gpulens: {}: not a complete record of calls\n", entry.path().string());
	std::stable_sort(processes.begin(), processes.end(),
			 [](const ProcessPitfalls &a, const ProcessPitfalls &b) { return a.pid < b.pid; });
	return processes;
}

int run_for_pitfalls(const RunOptions &options)
{
	TemporaryFolder folder(temporary_path("gpulens-calls-"));
	RunOptions recorded = options;

	check_preloadable(options);
	recorded.preload.emplace_back(gpulens::environment::CALLS_LIBRARY);
	recorded.environment[gpulens::environment::CALLS_FOLDER] = folder.path();
	int status = run_program(recorded);
	// A missing report does not change the program's status.
	try {
		std::vector<ProcessPitfalls> processes = read_pitfalls(folder.path(), now_ns());
		std::fputs(pitfalls_text(processes).c_str(), stderr);
		if (!options.pitfalls_json.empty())
			write_file(options.pitfalls_json, json_text(pitfalls_json(options.program, processes)));
	} catch (const Error &e) {
		fmt::print(stderr, "gpulens: {}\n", e.what());
	}
	return status;
}

} // namespace tool
