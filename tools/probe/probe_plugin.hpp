// SPDX-License-Identifier: GPL-2.0
// Plugins of gpulens-probe-kernels: loads them, calls their functions, and checks what they return. Whatever is wrong with
// one ends the program with a message that names the file and the item, and exit status 5.
#pragma once
#include "probe/gpulens-plugin.h"
#include "probe/probe_runtime.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <sched.h>
#include <signal.h>
#include <string>
#include <thread>

// The layout of cuda_scheduling_examiner's plugins.
static_assert(sizeof(InitializationParameters) == 56 && offsetof(InitializationParameters, block_dim) == 0 &&
	      offsetof(InitializationParameters, grid_dim) == 12 &&
	      offsetof(InitializationParameters, data_size) == 24 &&
	      offsetof(InitializationParameters, additional_info) == 32 &&
	      offsetof(InitializationParameters, cuda_device) == 40 &&
	      offsetof(InitializationParameters, stream_priority) == 44 &&
	      offsetof(InitializationParameters, sm_mask) == 48);
static_assert(sizeof(KernelTimes) == 64 && offsetof(KernelTimes, kernel_name) == 0 &&
	      offsetof(KernelTimes, thread_count) == 8 && offsetof(KernelTimes, block_count) == 12 &&
	      offsetof(KernelTimes, shared_memory) == 16 && offsetof(KernelTimes, cuda_launch_times) == 24 &&
	      offsetof(KernelTimes, block_times) == 48 && offsetof(KernelTimes, block_smids) == 56);
static_assert(sizeof(TimingInformation) == 32 && offsetof(TimingInformation, kernel_count) == 0 &&
	      offsetof(TimingInformation, kernel_info) == 8 && offsetof(TimingInformation, resulting_data_size) == 16 &&
	      offsetof(TimingInformation, resulting_data) == 24);
static_assert(sizeof(BenchmarkLibraryFunctions) == 48 && offsetof(BenchmarkLibraryFunctions, initialize) == 0 &&
	      offsetof(BenchmarkLibraryFunctions, copy_in) == 8 && offsetof(BenchmarkLibraryFunctions, execute) == 16 &&
	      offsetof(BenchmarkLibraryFunctions, copy_out) == 24 &&
	      offsetof(BenchmarkLibraryFunctions, cleanup) == 32 &&
	      offsetof(BenchmarkLibraryFunctions, get_name) == 40);

static const int PLUGIN_FAILED = 5;                                     // exit status
static const int MAX_PLUGIN_KERNELS = 4096, MAX_PLUGIN_BLOCKS = 100000; // of an iteration; of a plugin in all
static const unsigned WARM_UPS = 4; // iterations before measurements, as in cuda_scheduling_examiner

[[noreturn]] static void refuse_plugin(const std::string &file, const std::string &why)
{
	fprintf(stderr, "gpulens-probe-kernels: %s: %s\n", file.c_str(), why.c_str());
	_exit(PLUGIN_FAILED);
}

// The plugin's file and function that this thread is in; null: none.
static thread_local const char *called_file, *called_function;

// Calls f, which is a function of the plugin, or reads what it returned.
template <typename F> static auto call_plugin(const std::string &file, const char *function, F f)
{
	struct Reset {
		~Reset() { called_file = nullptr; }
	} reset;

	called_function = function;
	called_file = file.c_str();
	return f();
}

// Names the plugin that ends the program by a signal.
static void report_signal(int number)
{
	const char *words[] = {"gpulens-probe-kernels: ", called_file, ": ", called_function, " ended by a signal\n"};

	for (const char *word : words)
		if (called_file && write(STDERR_FILENO, word, strlen(word)) < 0)
			break;
	signal(number, SIG_DFL);
	raise(number);
}

// Names the plugin that ends the program by exit().
static void report_exit()
{
	if (called_file)
		refuse_plugin(called_file, std::string(called_function) + " ended the program");
}

static void watch_plugins()
{
	for (int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT})
		signal(number, report_signal);
	atexit(report_exit);
}

// A moment by CLOCK_MONOTONIC_RAW, which plugins read, and by CLOCK_MONOTONIC, ns; and the error of that.
struct RawMoment {
	s64 raw, host, error;
};

static RawMoment read_raw_clock()
{
	RawMoment best = {0, 0, INT64_MAX};

	for (int i = 0; i < 20; i++) {
		struct timespec t;
		s64 from = host_now();
		clock_gettime(CLOCK_MONOTONIC_RAW, &t);
		s64 to = host_now();
		if ((to - from + 1) / 2 < best.error)
			best = {t.tv_sec * 1000000000LL + t.tv_nsec, from + (to - from) / 2, (to - from + 1) / 2};
	}
	return best;
}

// A kernel that a plugin launched: a copy of its KernelTimes.
struct PluginKernel {
	std::string name; // printable, without blanks; empty: none
	int threads, blocks, shared;
	double launch[3];
	std::vector<u64> times;
	std::vector<unsigned> sms;
};

// Times of the CPU: when copy_in, execute and copy_out were called, and when copy_out returned.
struct PluginIteration {
	s64 called[4];
	std::vector<PluginKernel> kernels;
};

static std::string make_printable(const char *text, bool blanks)
{
	std::string copy(text, strnlen(text, 200));

	for (char &c : copy)
		if (c == ' ' && !blanks)
			c = '_';
		else if (c < ' ' || c > '~')
			c = '?';
	return copy;
}

// One benchmark's instance of a plugin. Its thread calls initialize(), iterate() and clean_up().
class PluginRun {
	template <typename F> auto call(const char *function, F f) const
	{
		return call_plugin(asked_.file, function, f);
	}

public:
	PluginRun(const Plugin &plugin, int device, unsigned sms) : asked_(plugin), device_(device), sms_(sms) {}

	const Plugin &asked() const { return asked_; }
	const std::string &name() const { return name_; }
	const std::vector<PluginIteration> &iterations() const { return iterations_; }

	void load()
	{
		const std::string &file = asked_.file;
		std::string path = file.find('/') == file.npos ? "./" + file : file;
		void *library = call_plugin(file, "a constructor", [&] { return dlopen(path.c_str(), RTLD_NOW); });

		if (!library)
			refuse_plugin(file, std::string("it cannot be loaded: ") + dlerror());
		auto add = (int (*)(BenchmarkLibraryFunctions *))dlsym(library, "RegisterFunctions");
		if (!add)
			refuse_plugin(file, "it has no function RegisterFunctions");
		if (!call_plugin(file, "RegisterFunctions", [&] { return add(&functions_); }))
			refuse_plugin(file, "RegisterFunctions failed");
		require((const void *)functions_.initialize, "initialize");
		require((const void *)functions_.copy_out, "copy_out");
		require((const void *)functions_.get_name, "get_name");
		const char *name = call_plugin(file, "get_name", [&] { return functions_.get_name(); });
		if (!name)
			refuse_plugin(file, "get_name returned NULL");
		name_ = call_plugin(file, "get_name's text", [&] { return make_printable(name, true); });
	}

	void initialize()
	{
		pin();
		CHECK(cudaSetDevice(device_)); // of this thread
		for (int i = 0; i < 3; i++) {
			parameters_.block_dim[i] = asked_.threads[i];
			parameters_.grid_dim[i] = asked_.blocks[i];
		}
		info_ = asked_.info;
		parameters_.data_size = asked_.data_size;
		parameters_.additional_info = asked_.has_info ? &info_[0] : nullptr;
		parameters_.cuda_device = device_;
		parameters_.stream_priority = asked_.priority;
		parameters_.sm_mask = asked_.mask;
		data_ = call("initialize", [&] { return functions_.initialize(&parameters_); });
		if (!data_)
			refuse_plugin(asked_.file, "initialize failed");
		for (unsigned i = 0; asked_.warm_up && i < WARM_UPS; i++) {
			iterate();
			iterations_.clear();
			blocks_ = 0;
		}
	}

	void iterate()
	{
		PluginIteration done;
		TimingInformation times;

		memset(&times, 0, sizeof(times));
		done.called[0] = host_now();
		if (functions_.copy_in && !call("copy_in", [&] { return functions_.copy_in(data_); }))
			refuse_plugin(asked_.file, "copy_in failed");
		done.called[1] = host_now();
		if (functions_.execute && !call("execute", [&] { return functions_.execute(data_); }))
			refuse_plugin(asked_.file, "execute failed");
		done.called[2] = host_now();
		if (!call("copy_out", [&] { return functions_.copy_out(data_, &times); }))
			refuse_plugin(asked_.file, "copy_out failed");
		done.called[3] = host_now();
		if (times.kernel_count < 0 || times.kernel_count > MAX_PLUGIN_KERNELS)
			refuse_plugin(asked_.file, "kernel_count is " + std::to_string(times.kernel_count) +
							   ", not 0 to " + std::to_string(MAX_PLUGIN_KERNELS));
		if (times.kernel_count && !times.kernel_info)
			refuse_plugin(asked_.file, "kernel_info is NULL");
		for (int i = 0; i < times.kernel_count; i++)
			done.kernels.push_back(
				call("reading its kernel_info", [&] { return take_kernel(times.kernel_info[i], i); }));
		iterations_.push_back(std::move(done));
	}

	void clean_up()
	{
		if (functions_.cleanup)
			call("cleanup", [&] {
				functions_.cleanup(data_);
				return 0;
			});
	}

	// number: of the kernel in its iteration, from 0.
	[[noreturn]] void refuse_kernel(const std::string &name, size_t number, const std::string &why) const
	{
		refuse_plugin(asked_.file, "kernel " + std::to_string(number + 1) +
						   (name.empty() ? "" : " (" + name + ")") + ": " + why);
	}

private:
	void require(const void *function, const char *name) const
	{
		if (!function)
			refuse_plugin(asked_.file, std::string("RegisterFunctions did not set ") + name);
	}

	// Keeps the thread on the processor that the scenario asks for.
	void pin() const
	{
		cpu_set_t cores;

		if (asked_.core < 0)
			return;
		CPU_ZERO(&cores);
		if (asked_.core < CPU_SETSIZE)
			CPU_SET(asked_.core, &cores);
		if (asked_.core >= CPU_SETSIZE || sched_setaffinity(0, sizeof(cores), &cores))
			refuse_plugin(asked_.file, "cpu_core " + std::to_string(asked_.core) + " is not available");
	}

	void check_range(const PluginKernel &k, int number, const char *what, int value, int min, int max) const
	{
		if (value < min || value > max)
			refuse_kernel(k.name, number,
				      std::string(what) + " is " + std::to_string(value) + ", not " +
					      std::to_string(min) + " to " + std::to_string(max));
	}

	// Copies and checks what needs no clock to be checked.
	PluginKernel take_kernel(const KernelTimes &from, int number)
	{
		PluginKernel k;

		if (from.kernel_name)
			k.name = make_printable(from.kernel_name, false);
		k.threads = from.thread_count;
		k.blocks = from.block_count;
		k.shared = from.shared_memory;
		check_range(k, number, "thread_count", k.threads, 1, 1024);
		check_range(k, number, "block_count", k.blocks, 1, MAX_PLUGIN_BLOCKS);
		check_range(k, number, "shared_memory", k.shared, 0, INT32_MAX);
		blocks_ += k.blocks;
		if (blocks_ > MAX_PLUGIN_BLOCKS)
			refuse_kernel(k.name, number,
				      "there are more than " + std::to_string(MAX_PLUGIN_BLOCKS) + " blocks in all");
		if (!from.block_times)
			refuse_kernel(k.name, number, "block_times is NULL");
		if (!from.block_smids)
			refuse_kernel(k.name, number, "block_smids is NULL");
		memcpy(k.launch, from.cuda_launch_times, sizeof(k.launch));
		k.times.assign(from.block_times, from.block_times + 2 * (size_t)k.blocks);
		k.sms.assign(from.block_smids, from.block_smids + k.blocks);
		for (int b = 0; b < k.blocks; b++) {
			if (k.times[2 * b + 1] < k.times[2 * b])
				refuse_kernel(k.name, number, "block " + std::to_string(b) + " ends before it starts");
			if (k.sms[b] >= sms_)
				refuse_kernel(k.name, number,
					      "block " + std::to_string(b) + " ran on SM " + std::to_string(k.sms[b]) +
						      ", but the GPU has " + std::to_string(sms_));
		}
		return k;
	}

	const Plugin &asked_;
	int device_;
	unsigned sms_; // of the GPU
	BenchmarkLibraryFunctions functions_ = {};
	InitializationParameters parameters_ = {};
	std::string name_, info_; // info_: the plugin may write to it
	void *data_ = nullptr;
	int blocks_ = 0; // in all
	std::vector<PluginIteration> iterations_;
};

// The plugins of a process, each in a thread of its own, which wait for each other between their steps.
class PluginThreads {
public:
	enum Step { INITIALIZE, RUN, CLEAN_UP };

	const std::vector<std::unique_ptr<PluginRun>> &all() const { return plugins_; }

	void load(const Plugin &plugin, int device, unsigned sms)
	{
		plugins_.push_back(std::make_unique<PluginRun>(plugin, device, sms));
		plugins_.back()->load();
	}

	// Initializes all plugins. run: their part of the scenario.
	void start(const std::function<void(PluginRun &)> &run)
	{
		for (auto &plugin : plugins_)
			threads_.emplace_back([this, &plugin = *plugin, run] {
				plugin.initialize();
				end_step(RUN);
				run(plugin);
				end_step(CLEAN_UP);
				plugin.clean_up();
			});
		wait();
		first_ = read_raw_clock();
	}

	void begin(Step step)
	{
		ready_ = 0;
		step_ = step;
	}

	// Waits until all have ended the step.
	void wait()
	{
		while (ready_ < plugins_.size())
			usleep(50);
		last_ = read_raw_clock();
	}

	void end()
	{
		begin(CLEAN_UP);
		for (std::thread &t : threads_)
			t.join();
	}

	// Of raw_to_host(), ns.
	s64 clock_error() const { return plugins_.empty() ? 0 : std::max(first_.error, last_.error); }

	// Converts seconds of CLOCK_MONOTONIC_RAW to CLOCK_MONOTONIC.
	s64 raw_to_host(double seconds) const
	{
		double rate = (double)(last_.host - first_.host) / (double)(last_.raw - first_.raw);

		return first_.host + (s64)((seconds * 1e9 - (double)first_.raw) * rate);
	}

private:
	void end_step(Step next)
	{
		ready_++;
		while (step_ != next)
			usleep(50);
	}

	std::vector<std::unique_ptr<PluginRun>> plugins_;
	std::vector<std::thread> threads_;
	std::atomic<unsigned> ready_{0}; // plugins that have ended the step
	std::atomic<Step> step_{INITIALIZE};
	RawMoment first_{}, last_{};
};

// Converts a plugin's times, and prints them. Refuses times outside of the plugin's own calls.
class PluginPrinter {
public:
	// error: of block times, ns.
	PluginPrinter(FILE *out, const PluginRun &run, s64 origin, s64 error, const PluginThreads &clock)
		: out_(out), run_(run), origin_(origin), error_(error), clock_(clock)
	{
	}

	// to_host: converts the GPU's time to the CPU's since origin.
	template <typename F> void print(F to_host) const
	{
		fprintf(out_, "plugin %s\nran %zu\n", run_.name().c_str(), run_.iterations().size());
		for (const PluginIteration &done : run_.iterations()) {
			fprintf(out_, "iteration");
			for (s64 time : done.called)
				fprintf(out_, " %lld", time - origin_);
			fprintf(out_, " %zu\n", done.kernels.size());
			for (size_t i = 0; i < done.kernels.size(); i++)
				print_kernel(done, i, to_host);
		}
	}

private:
	static const s64 SLACK = 1000000; // ns; a wrong clock is further away

	bool is_within(const PluginIteration &done, s64 time, s64 error) const
	{
		return time >= done.called[0] - error - SLACK && time <= done.called[3] + error + SLACK;
	}

	template <typename F> void print_kernel(const PluginIteration &done, size_t number, F to_host) const
	{
		const PluginKernel &k = done.kernels[number];
		std::vector<s64> blocks;
		s64 launch[3], end = INT64_MIN;

		for (u64 time : k.times) {
			// Larger numbers, of 146 years, could not be converted.
			blocks.push_back(time >> 62 ? INT64_MAX : to_host(time) + origin_);
			end = std::max(end, blocks.back());
			if (!is_within(done, blocks.back(), error_))
				run_.refuse_kernel(k.name, number,
						   "block " + std::to_string((blocks.size() - 1) / 2) +
							   " has the time " + std::to_string(time) +
							   ", which %globaltimer did not have while the iteration ran");
		}
		find_launch(done, number, end - error_ - SLACK > done.called[2] ? done.called[3] : done.called[2],
			    launch);
		fprintf(out_, "reported %d %d %d %s\nkernel %lld %lld %lld 0\n", k.blocks, k.threads, k.shared,
			k.name.c_str(), launch[0] - origin_, launch[1] - origin_, launch[2] - origin_);
		for (int b = 0; b < k.blocks; b++)
			fprintf(out_, "block %lld %lld %u\n", blocks[2 * b] - origin_, blocks[2 * b + 1] - origin_,
				k.sms[b]);
	}

	// Sets the launch times by the host's clock. idle: when the stream was idle at the latest.
	void find_launch(const PluginIteration &done, size_t number, s64 idle, s64 *launch) const
	{
		const PluginKernel &k = done.kernels[number];
		const double *given = k.launch;

		if (!given[0] && !given[1] && !given[2]) {
			launch[0] = done.called[1];
			launch[1] = done.called[2];
			launch[2] = idle;
			return;
		}
		for (int i = 0; i < 3; i++) {
			bool is_time = given[i] > 0 && given[i] < 1e9;
			if (i == 2 && !given[i])
				launch[i] = std::max(idle, launch[1]);
			else
				launch[i] = is_time ? clock_.raw_to_host(given[i]) : INT64_MAX;
			if (!is_within(done, launch[i], 0))
				run_.refuse_kernel(
					k.name, number,
					"cuda_launch_times[" + std::to_string(i) + "] is " + std::to_string(given[i]) +
						", which CLOCK_MONOTONIC_RAW was not while the iteration ran");
			if (i && launch[i] < launch[i - 1])
				run_.refuse_kernel(k.name, number, "cuda_launch_times are not in order");
		}
	}

	FILE *out_;
	const PluginRun &run_;
	s64 origin_, error_;
	const PluginThreads &clock_;
};
