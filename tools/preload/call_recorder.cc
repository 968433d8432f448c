// SPDX-License-Identifier: GPL-2.0
// See call_recorder.hpp. A short call writes words of its thread's own; only a long one, or one that synchronizes with other streams,
// looks for its call site.
#include "preload/call_recorder.hpp"

#include "lib/launch/mapped_file.hpp"
#include "lib/launch/environment.hpp"
#include "preload/clock.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <link.h>
#include <mutex>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>
#include <vector>

// The ends of this library, by the linker.
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start, _end;

namespace preload {

using gpulens::Call;
using gpulens::CALL_COUNT;
using gpulens::CallEvent;
using gpulens::CallLog;
using gpulens::CallSite;
using gpulens::CallThread;
using gpulens::CUDA_CALLS;
using gpulens::CudaCall;
using gpulens::MAX_FRAMES;

namespace {

constexpr u32 SITE_SLOTS = 2 * gpulens::MAX_SITES; // a power of two
constexpr int MAX_FILES = 100;                     // of one process, which has a new one after each exec

// Never destroyed: threads of the program may call CUDA while it exits.
struct Recorder {
	std::mutex lock;
	std::atomic<CallLog *> log{nullptr};
	std::atomic<bool> opened{false};             // or tried to
	std::atomic<u32> generation{1};              // of the process: grows with fork()
	std::atomic<u32> site_by_hash[SITE_SLOTS]{}; // site, from 1 on
	std::vector<const void *> blocking;          // streams
};

Recorder &recorder()
{
	static Recorder &r = *new Recorder;
	return r;
}

// What a thread records into; given back when the thread ends.
struct ThreadState {
	CallThread *slot = nullptr;
	u32 generation = 0, thread = 0;
	u64 synchronizing = 0; // calls so far
	bool inside = false;   // of a recorded call

	~ThreadState()
	{
		inside = true; // later destructors may call CUDA
		if (slot && generation == recorder().generation)
			slot->thread.store(0, std::memory_order_release);
	}
};

thread_local ThreadState state;

CallLog *map_log(const char *folder)
{
	char path[4096];
	gpulens::Mapped<CallLog> log;

	errno = EEXIST;
	for (int i = 0; i < MAX_FILES && !log && errno == EEXIST; i++) {
		snprintf(path, sizeof(path), "%s/calls-%d-%d", folder, getpid(), i);
		log = gpulens::map_file<CallLog>(path, O_CREAT | O_EXCL);
	}
	return log.release();
}

// Adds a file that the loader reports, once.
int add_module(dl_phdr_info *file, size_t, void *to)
{
	CallLog &log = *static_cast<CallLog *>(to);
	u32 next = log.modules;
	u64 end = 0;

	for (u32 i = 0; i < next; i++)
		if (log.module[i].bias == file->dlpi_addr)
			return 0;
	if (next == gpulens::MAX_MODULES)
		return 1;
	for (int i = 0; i < file->dlpi_phnum; i++)
		if (file->dlpi_phdr[i].p_type == PT_LOAD)
			end = std::max<u64>(end, file->dlpi_phdr[i].p_vaddr + file->dlpi_phdr[i].p_memsz);
	gpulens::CallModule &module = log.module[next];
	module.bias = file->dlpi_addr;
	module.end = file->dlpi_addr + end;
	// The name of the program itself is empty there.
	if (*file->dlpi_name)
		snprintf(module.path, sizeof(module.path), "%s", file->dlpi_name);
	else if (readlink("/proc/self/exe", module.path, sizeof(module.path) - 1) < 0)
		module.path[0] = 0;
	log.modules.store(next + 1, std::memory_order_release);
	return 0;
}

// The process' log; nullptr: there is none.
CallLog *open_log(Recorder &r)
{
	std::lock_guard<std::mutex> hold(r.lock);

	if (r.opened)
		return r.log;
	const char *folder = getenv(gpulens::environment::CALLS_FOLDER);
	CallLog *log = folder ? map_log(folder) : nullptr;
	if (log) {
		log->pid = static_cast<u32>(getpid());
		log->calls = CALL_COUNT;
		prctl(PR_GET_NAME, log->command);
		dl_iterate_phdr(add_module, log);
		log->blocking_streams = log->most_blocking_streams = static_cast<u32>(r.blocking.size());
		std::atomic_ref<u64>(log->magic).store(CallLog::MAGIC, std::memory_order_release);
	}
	r.log = log;
	r.opened = true;
	return log;
}

CallLog *log_of_process()
{
	Recorder &r = recorder();

	return r.opened.load(std::memory_order_acquire) ? r.log.load(std::memory_order_relaxed) : open_log(r);
}

void lock_before_fork()
{
	recorder().lock.lock();
}

void unlock_after_fork()
{
	recorder().lock.unlock();
}

// The child makes a log of its own at its first call.
void reset_in_child()
{
	Recorder &r = recorder();

	r.generation++;
	r.log = nullptr;
	r.opened = false;
	for (std::atomic<u32> &slot : r.site_by_hash)
		slot = 0;
	r.lock.unlock();
}

[[maybe_unused]] const int AT_FORK = pthread_atfork(lock_before_fork, unlock_after_fork, reset_in_child);

CallThread *take_slot(CallLog &log)
{
	u32 free = 0;

	state.generation = recorder().generation;
	state.thread = static_cast<u32>(syscall(SYS_gettid));
	for (u32 i = 0; i < gpulens::MAX_CALL_THREADS; i++, free = 0)
		if (log.thread[i].thread.compare_exchange_strong(free, state.thread)) {
			u32 used = log.threads;
			while (used < i + 1 && !log.threads.compare_exchange_weak(used, i + 1))
				;
			return &log.thread[i];
		}
	return nullptr;
}

// A word that this thread alone writes.
void add(std::atomic<u64> &word, u64 count)
{
	word.store(word.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
}

bool is_legacy(const CudaCall &call, u64 stream)
{
	return stream == 1 || (stream == DEFAULT_STREAM && !call.per_thread); // 1: CU_STREAM_LEGACY
}

struct Frames {
	u64 addresses[MAX_FRAMES];
	u32 count = 0;
};

bool is_own(u64 address)
{
	return address >= reinterpret_cast<uintptr_t>(&__ehdr_start) && address < reinterpret_cast<uintptr_t>(&_end);
}

// Skips the innermost frames, which are this library's.
_Unwind_Reason_Code take_frame(_Unwind_Context *context, void *to)
{
	Frames &frames = *static_cast<Frames *>(to);
	u64 address = _Unwind_GetIP(context);

	if (!address)
		return _URC_END_OF_STACK;
	// Of a return address, the call is in front.
	if (!frames.count && is_own(address - 1))
		return _URC_NO_REASON;
	frames.addresses[frames.count++] = address - 1;
	return frames.count < MAX_FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

bool is_same(const CallSite &site, u32 call, bool legacy, const Frames &frames)
{
	return site.call == call && site.legacy == legacy && site.frames == frames.count &&
	       std::equal(frames.addresses, frames.addresses + frames.count, site.addresses);
}

u32 add_site(CallLog &log, u32 call, bool legacy, const Frames &frames)
{
	u32 next = log.sites;

	if (next == gpulens::MAX_SITES)
		return 0;
	CallSite &site = log.site[next];
	site.call = call;
	site.legacy = legacy;
	site.frames = frames.count;
	std::copy_n(frames.addresses, frames.count, site.addresses);
	for (u32 i = 0; i < frames.count; i++) {
		site.modules[i] = module_of(log, frames.addresses[i]);
		if (site.modules[i])
			continue;
		dl_iterate_phdr(add_module, &log); // for files that were loaded since
		site.modules[i] = module_of(log, frames.addresses[i]);
	}
	site.ready.store(1, std::memory_order_release);
	log.sites.store(next + 1, std::memory_order_release);
	return next + 1;
}

// The site of the calling function, from 1 on; 0: there is no room for it.
u32 find_site(CallLog &log, u32 call, bool legacy)
{
	Recorder &r = recorder();
	Frames frames;
	u64 hash = call + 2 * u64{legacy};

	_Unwind_Backtrace(take_frame, &frames);
	for (u32 i = 0; i < frames.count; i++)
		hash = (hash ^ frames.addresses[i]) * 0x9e3779b97f4a7c15;
	u32 first = static_cast<u32>(hash >> 32) % SITE_SLOTS, at = first;
	auto look_up = [&]() -> u32 {
		for (at = first; u32 site = r.site_by_hash[at].load(std::memory_order_acquire);
		     at = (at + 1) % SITE_SLOTS)
			if (is_same(log.site[site - 1], call, legacy, frames))
				return site;
		return 0;
	};
	u32 site = look_up();
	if (site)
		return site;
	std::lock_guard<std::mutex> hold(r.lock);
	site = look_up(); // another thread may have added it
	if (site)
		return site;
	site = add_site(log, call, legacy, frames);
	if (site)
		r.site_by_hash[at].store(site, std::memory_order_release);
	return site;
}

void note_longest(std::atomic<u64> &longest, u64 ns)
{
	u64 before = longest;

	while (before < ns && !longest.compare_exchange_weak(before, ns))
		;
}

void record_site(CallLog &log, u32 call, u64 stream, u64 begin, u64 end, bool synchronizes)
{
	u32 site = find_site(log, call, is_legacy(CUDA_CALLS[call], stream));

	if (site) {
		CallSite &s = log.site[site - 1];
		s.calls.fetch_add(1, std::memory_order_relaxed);
		s.total_ns.fetch_add(end - begin, std::memory_order_relaxed);
		note_longest(s.longest_ns, end - begin);
		if (synchronizes)
			s.synchronizing.fetch_add(1, std::memory_order_relaxed);
	} else {
		log.unsited.fetch_add(1, std::memory_order_relaxed);
	}
	if (end - begin < gpulens::LONG_CALL_NS)
		return;
	u64 index = log.events.fetch_add(1, std::memory_order_relaxed);
	if (index >= gpulens::MAX_EVENTS)
		return;
	CallEvent &event = log.event[index];
	event.begin = begin;
	event.stream = stream;
	event.thread = state.thread;
	event.site = site;
	event.call = call;
	event.end.store(end, std::memory_order_release);
}

void set_blocking(Recorder &r)
{
	u32 now = static_cast<u32>(r.blocking.size());

	if (CallLog *log = r.log) {
		log->blocking_streams = now;
		log->most_blocking_streams = std::max(log->most_blocking_streams.load(), now);
	}
}

} // namespace

RecordedCall::RecordedCall(Call call, u64 stream, const void *from) : call_(call), stream_(stream)
{
	CallLog *log = state.inside ? nullptr : log_of_process();

	if (!log)
		return;
	state.inside = true;
	if (state.generation != recorder().generation.load(std::memory_order_relaxed))
		state.slot = take_slot(*log);
	begin_ = now_ns();
	if (!state.slot)
		return;
	state.slot->call.store(static_cast<u32>(call), std::memory_order_relaxed);
	state.slot->from.store(reinterpret_cast<uintptr_t>(from) - 1, std::memory_order_relaxed);
	state.slot->begin.store(begin_, std::memory_order_release);
}

RecordedCall::~RecordedCall()
{
	if (!begin_)
		return;
	CallLog *log = recorder().log.load(std::memory_order_relaxed);
	u32 call = static_cast<u32>(call_);
	u64 end = now_ns();
	if (log && state.generation == recorder().generation.load(std::memory_order_relaxed)) {
		if (stream_ == 2 || (stream_ == DEFAULT_STREAM && CUDA_CALLS[call].per_thread)) // CU_STREAM_PER_THREAD
			log->per_thread_stream.store(1, std::memory_order_relaxed);
		bool synchronizes = is_legacy(CUDA_CALLS[call], stream_) &&
				    (log->blocking_streams.load(std::memory_order_relaxed) ||
				     log->per_thread_stream.load(std::memory_order_relaxed));
		u64 before = synchronizes ? state.synchronizing++ : 0;
		bool sampled = synchronizes && (before < gpulens::ALL_SITES || before % gpulens::EACH_SITE == 0);
		if (end - begin_ >= gpulens::LONG_CALL_NS || sampled)
			record_site(*log, call, stream_, begin_, end, synchronizes);
		if (state.slot) {
			add(state.slot->calls[call], 1);
			add(state.slot->synchronizing, synchronizes);
			state.slot->begin.store(0, std::memory_order_release);
		} else {
			log->uncounted.fetch_add(1, std::memory_order_relaxed);
		}
	}
	state.inside = false;
}

void note_stream(const void *stream, unsigned flags)
{
	Recorder &r = recorder();
	std::lock_guard<std::mutex> hold(r.lock);

	if (flags & 1) // CU_STREAM_NON_BLOCKING
		return;
	r.blocking.push_back(stream);
	set_blocking(r);
}

void note_no_stream(const void *stream)
{
	Recorder &r = recorder();
	std::lock_guard<std::mutex> hold(r.lock);
	auto found = std::find(r.blocking.begin(), r.blocking.end(), stream);

	if (found == r.blocking.end())
		return;
	r.blocking.erase(found);
	set_blocking(r);
}

} // namespace preload
