// SPDX-License-Identifier: GPL-2.0
// Launches kernels that record when and on which SM each of their blocks runs. gpulens-lab probe-kernels runs this program.
// Only what works on the GPU is here; tools/gpulens/blocks/ checks the user's files and writes the results.
//
//	gpulens-probe-kernels info DEVICE    prints the properties of the GPU
//	gpulens-probe-kernels run DEVICE     launches the kernels on standard input and prints their times
//	gpulens-probe-kernels load DEVICE compute|memory|copies
//	                                     loads the GPU until standard input ends: matrix products; copies from memory to
//	                                     memory by kernels; or copies between the CPU's memory and the GPU's
//
// Input and output are lines of words and decimal numbers. Times are nanoseconds of the CPU's monotonic clock since the
// scenario began; block times are read from the GPU's %globaltimer and converted. Standard input of run:
//	gpulens-probe 1
//	all MASK                            optional: mask of launches that no other mask applies to
//	threads                             optional: a thread launches the kernels of each stream and waits for it; otherwise
//	                                    one thread launches those of all streams of a process
//	barrier                             optional: an iteration begins when all streams have ended the previous one
//	process                             optional: the streams below are of a further process
//	stream PRIORITY                     a line for each stream; streams are numbered from 0
//	null | blocking                     optional, after stream: it is the legacy default stream of the process, or waits
//	                                    for that one; other streams are cudaStreamNonBlocking
//	mask MASK                           optional: of the stream or kernel above
//	iterations N NS                     optional, after stream: its kernels are launched N times, but no more after NS
//	kernel spin|copy|matrix|random_walk|inorder_walk STREAM WORK REPEAT BLOCKS THREADS SHARED RELEASE
//	                                    in the order of launches; WORK: ns, bytes, or width; REPEAT: of a walk its reads
//	                                    per thread; SHARED: bytes
//	zero_copy | managed                 optional, after kernel: memory of a walk; otherwise the GPU's
//	percentage P                        optional, after stream: CUDA_MPS_ACTIVE_THREAD_PERCENTAGE of the process
//	plugin STREAM RELEASE PRIORITY DATA_SIZE MASK THREADS(3) BLOCKS(3)
//	                                    instead of kernels of a stream; MASK: 64 bits, in hexadecimal digits
//	file TEXT, info TEXT, core N, warm_up
//	                                    after plugin, each on its own line; all but file are optional
//	copies IN OUT                       optional, after kernel: bytes its stream copies to the GPU before it and back after
//	end
// MASK: two numbers of 16 hexadecimal digits, the upper and the lower 64 bits; a set bit disables a TPC. Masks are set by
// libgpulens-partition, which must be beside the program or in the folder above.
// Standard output:
//	gpulens-probe 1
//	name TEXT, sms N, threads_per_sm N, blocks_per_sm N, shared_per_block N, channels N, capability N
//	                                    each on its own line; capability: 10 * major + minor
//	copy_engines N                      if any: asyncEngineCount
//	clock UNCERTAINTY RESOLUTION        only run: error between launch times and those of blocks and copies; step of the GPU's clock
//	ran N                               only run, of a kernel with iterations: the number of them; as many kernels follow
//	kernel BEFORE AFTER DONE PER_SM     only run: before and after the launch call, when the stream was found idle;
//	                                    number of blocks that fit on an SM
//	copy BEFORE AFTER START END         only run: before and after the call, and the time it took; in, then out
//	block START END SM                  only run: a line for each block of the kernel above
//	plugin NAME, ran N                  only run: after all kernels, of each plugin; as many iterations follow
//	iteration COPY_IN EXECUTE COPY_OUT END KERNELS
//	                                    when its functions were called and the last one returned; as many kernels follow
//	reported BLOCKS THREADS SHARED NAME before the lines kernel and block of a plugin's kernel; the name may be empty
//	ready                               only load: the first kernel or copy is done
//	launches N                          only load: number of kernels or copies, when standard input has ended
//	end
// Exit status: 0 success; 1 CUDA failed, with a message; 2 bad usage or input; 4 a mask could not be set; 5 a plugin failed.
// What plugins print on standard output goes to standard error.
#include "probe/probe_load.hpp"
#include "probe/probe_plugin.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

// In the output of one of several processes: after the first lines, and after each kernel. It is not printed.
static const char PART_END[] = "--\n";

// What the processes of a scenario share. Both clocks are read by the first process, because the GPU's clock is the same for
// all of them.
struct Shared {
	std::atomic<unsigned> arrived[4];       // by step: the processes that have come to it
	std::atomic<unsigned> iterations[1024]; // by stream: ended ones; ~0 after the last
	Moment first, last;
	s64 origin;
	u64 step;                     // of the GPU's clock
	std::atomic<s64> event_error; // largest one of the processes, ns
	std::atomic<s64> raw_error;   // likewise, of CLOCK_MONOTONIC_RAW
};

// Raises a number that processes share.
static void raise_to(std::atomic<s64> &number, s64 value)
{
	s64 before = number;

	while (before < value && !number.compare_exchange_weak(before, value))
		;
}

class Runner {
public:
	Runner(Scenario &scenario, Shared &shared, unsigned process)
		: all_(scenario), shared_(shared), process_(process), masked_(scenario.has_masks())
	{
		for (size_t i = 0; i < scenario.streams.size(); i++)
			if (scenario.streams[i].process == process && !scenario.streams[i].plugin)
				own_.push_back(i);
		for (Kernel &k : scenario.kernels)
			if (scenario.streams[k.stream].process == process)
				kernels_.push_back(&k);
	}

	// Runs the process's streams, and prints the kernels' times to out.
	void run(int device, FILE *out)
	{
		Limits p = print_machine(device, process_ == 0 ? out : nullptr);
		device_ = device;
		prepare(p);
		start_plugins(p);
		if (all_.has_copies())
			compare_event();
		wait_for_all(0);
		if (process_ == 0) {
			service_launch();
			CHECK(gpulens::launch("measure_resolution", single_thread(service_stream()), mail_, 1000U));
			CHECK(cudaDeviceSynchronize());
			shared_.step = mail_->time;
			shared_.first = read();
			// The first launch is in 10 ms, so that none is late.
			shared_.origin = host_now() + 10000000;
		}
		wait_for_all(1);
		plugins_.begin(PluginThreads::RUN);
		if (all_.threads)
			launch_by_threads();
		else
			launch_all();
		plugins_.wait();
		CHECK(cudaDeviceSynchronize());
		raise_to(shared_.raw_error, plugins_.clock_error());
		wait_for_all(2);
		if (process_ == 0)
			shared_.last = read();
		wait_for_all(3);
		print_times(out);
		plugins_.end();
	}

private:
	// A stream for what this program does by itself; with nothing but plugins it makes none.
	cudaStream_t service_stream() const { return own_.empty() ? cudaStreamLegacy : all_.streams[own_[0]].stream; }

	void wait_for_all(unsigned step)
	{
		shared_.arrived[step]++;
		while (shared_.arrived[step] < all_.processes)
			usleep(50);
	}

	// A launch of this program's own may use all TPCs, also where launches without a mask are refused.
	void service_launch()
	{
		if (masked_)
			masks_.next(0);
	}

	Moment read()
	{
		service_launch();
		return read_clocks(mail_, service_stream());
	}

	static void create_stream(Stream &s)
	{
		if (s.kind == NULL_STREAM)
			s.stream = cudaStreamLegacy;
		else
			CHECK(cudaStreamCreateWithPriority(
				&s.stream, s.kind == BLOCKING ? cudaStreamDefault : cudaStreamNonBlocking, s.priority));
	}

	// Creates streams and memory, and uses each stream and each kernel once.
	void prepare(const Limits &p)
	{
		CHECK(cudaHostAlloc((void **)&mail_, sizeof(*mail_), cudaHostAllocMapped));
		memset((void *)mail_, 0, sizeof(*mail_));
		for (size_t i : own_)
			create_stream(all_.streams[i]);
		prepare_kernels(kernels_, p);
		for (Kernel *k : kernels_)
			prepare_copies(*k);
		CHECK(cudaDeviceSynchronize());
		if (masked_)
			masks_ = load_masks();
		if (all_.mask.set)
			masks_.all(all_.mask.disabled);
		for (size_t i : own_)
			if (all_.streams[i].mask.set)
				masks_.stream(all_.streams[i].stream, all_.streams[i].mask.disabled);
		for (const Kernel *k : kernels_) {
			launch(*k, false, 0);
			CHECK(cudaDeviceSynchronize());
		}
	}

	// Loads the plugins of the process, and initializes them in threads of their own.
	void start_plugins(const Limits &p)
	{
		for (const Plugin &plugin : all_.plugins)
			if (all_.streams[plugin.stream].process == process_)
				plugins_.load(plugin, device_, p.sms);
		plugins_.start([this](PluginRun &plugin) { run_iterations(plugin); });
	}

	// A part of a plugin's thread.
	void run_iterations(PluginRun &plugin)
	{
		Stream &s = all_.streams[plugin.asked().stream];

		sleep_until(shared_.origin + (s64)s.release);
		while (!s.ended) {
			plugin.iterate();
			end_iteration(s, plugin.asked().stream);
			while (s.waiting)
				begin_iteration(s);
		}
	}

	// Allocates memory and events, and copies once.
	void prepare_copies(Kernel &k)
	{
		size_t bytes = std::max(k.copy_in, k.copy_out);

		if (!bytes)
			return;
		CHECK(cudaMallocHost(&k.host, bytes));
		CHECK(cudaMalloc(&k.copy, bytes));
		memset(k.host, 0, bytes);
		CHECK(cudaMemcpy(k.copy, k.host, bytes, cudaMemcpyHostToDevice));
		CHECK(cudaMemcpy(k.host, k.copy, bytes, cudaMemcpyDeviceToHost));
		for (Launch &l : k.launches)
			for (CopyRun *run : {&l.in, &l.out}) {
				CHECK(cudaEventCreateWithFlags(&run->begin, 0));
				CHECK(cudaEventCreateWithFlags(&run->end, 0));
			}
	}

	// Finds the GPU's time of an event, which lies between the two events that are the least apart.
	void compare_event()
	{
		cudaEvent_t from, to;
		float least = INFINITY;

		for (unsigned i = 0; i < 20; i++) {
			float ms;
			CHECK(cudaEventCreateWithFlags(&from, 0));
			CHECK(cudaEventCreateWithFlags(&to, 0));
			CHECK(cudaEventRecord(from, service_stream()));
			service_launch();
			CHECK(gpulens::launch("stamp", single_thread(service_stream()), &mail_->time));
			CHECK(cudaEventRecord(to, service_stream()));
			CHECK(cudaStreamSynchronize(service_stream()));
			CHECK(cudaEventElapsedTime(&ms, from, to));
			if (ms >= least)
				continue;
			least = ms;
			event_ = from;
			event_time_ = mail_->time;
		}
		raise_to(shared_.event_error, (s64)(least * 1e6F));
	}

	// Returns the error of time_of(), ns: of the event that it compares with, and of a float of the scenario's length in ms.
	s64 event_error() const
	{
		float ms = (float)(shared_.last.gpu - shared_.first.gpu) / 1e6F;

		return all_.has_copies() ? shared_.event_error + (s64)((nextafterf(ms, INFINITY) - ms) * 1e6F) : 0;
	}

	u64 time_of(cudaEvent_t event) const
	{
		float ms;

		CHECK(cudaEventElapsedTime(&ms, event_, event));
		return event_time_ + (u64)((double)ms * 1e6);
	}

	static void copy(const Kernel &k, CopyRun &run, cudaStream_t s, bool in)
	{
		run.before = host_now();
		CHECK(cudaEventRecord(run.begin, s));
		if (in)
			CHECK(cudaMemcpyAsync(k.copy, k.host, k.copy_in, cudaMemcpyHostToDevice, s));
		else
			CHECK(cudaMemcpyAsync(k.host, k.copy, k.copy_out, cudaMemcpyDeviceToHost, s));
		CHECK(cudaEventRecord(run.end, s));
		run.after = host_now();
	}

	void launch(const Kernel &k, bool work, unsigned iteration)
	{
		if (k.mask.set)
			masks_.next(k.mask.disabled);
		launch_kernel(k, all_.streams[k.stream].stream, work, iteration);
	}

	// One thread launches all kernels of the process, so that launches are ordered.
	void launch_all()
	{
		for (;;) {
			Stream *first = nullptr;
			s64 due = INT64_MAX;
			bool ended = true;
			for (size_t i : own_) {
				Stream &s = all_.streams[i];
				ended &= s.ended;
				if (s.ended || s.waiting || s.next == s.kernels.size())
					continue;
				s64 release = shared_.origin + s.base + (s64)all_.kernels[s.kernels[s.next]].release;
				if (release < due) {
					first = &s;
					due = release;
				}
			}
			if (ended)
				return;
			if (host_now() < due) {
				poll_streams(due);
				continue;
			}
			launch_next(*first);
		}
	}

	// Launches the next kernel of a stream.
	void launch_next(Stream &s)
	{
		Kernel &k = all_.kernels[s.kernels[s.next]];
		Launch &l = k.launches[s.iteration];

		if (k.copy_in)
			copy(k, l.in, s.stream, true);
		l.before = host_now();
		launch(k, true, s.iteration);
		l.after = host_now();
		if (k.copy_out)
			copy(k, l.out, s.stream, false);
		s.pending.push_back(s.kernels[s.next++]);
	}

	void launch_by_threads()
	{
		std::vector<std::thread> threads;

		for (size_t i : own_)
			threads.emplace_back([this, i] { run_stream(i); });
		for (std::thread &t : threads)
			t.join();
	}

	// A thread's part: launches the kernels of a stream when they are due, and waits until they have ended.
	void run_stream(size_t number)
	{
		Stream &s = all_.streams[number];

		CHECK(cudaSetDevice(device_)); // of this thread
		while (!s.ended) {
			while (s.next < s.kernels.size()) {
				sleep_until(shared_.origin + s.base + (s64)all_.kernels[s.kernels[s.next]].release);
				launch_next(s);
			}
			CHECK(cudaStreamSynchronize(s.stream));
			set_done(s);
			end_iteration(s, number);
			while (s.waiting)
				begin_iteration(s);
		}
	}

	// All kernels of a stream that were launched have ended.
	void set_done(Stream &s)
	{
		s64 now = host_now();

		for (size_t k : s.pending)
			all_.kernels[k].launches[s.iteration].done = now;
		s.pending.clear();
	}

	// Checks which streams are idle, and records when. Stops at the time until.
	void poll_streams(s64 until)
	{
		for (size_t i : own_) {
			Stream &s = all_.streams[i];
			if (host_now() >= until)
				return;
			if (s.waiting)
				begin_iteration(s);
			if (s.pending.empty())
				continue;
			cudaError_t err = cudaStreamQuery(s.stream);
			if (err == cudaErrorNotReady)
				continue;
			CHECK(err);
			set_done(s);
			if (s.next == s.kernels.size())
				end_iteration(s, i);
		}
	}

	void end_iteration(Stream &s, size_t number)
	{
		s64 ran = host_now() - shared_.origin - (s64)s.release;

		s.ended = s.iteration + 1 >= s.iterations || (s.limit && ran >= (s64)s.limit);
		shared_.iterations[number] = s.ended ? ~0U : s.iteration + 1;
		s.waiting = !s.ended;
	}

	// Begins the next iteration, unless other streams have to end theirs first.
	void begin_iteration(Stream &s)
	{
		for (size_t i = 0; all_.barrier && i < all_.streams.size(); i++)
			if (shared_.iterations[i] <= s.iteration)
				return;
		s.waiting = false;
		s.iteration++;
		s.next = 0;
		s.base = host_now() - shared_.origin - (s64)s.release;
	}

	// Converts times linearly between the two moments.
	void print_times(FILE *out)
	{
		const Moment &first = shared_.first, &last = shared_.last;
		s64 origin = shared_.origin;
		double rate = (double)(last.host - first.host) / (double)(last.gpu - first.gpu);
		auto to_host = [&](u64 gpu) {
			return first.host + (s64)((double)((s64)gpu - first.gpu) * rate) - origin;
		};

		if (process_ == 0)
			fprintf(out, "clock %lld %llu\n", clock_error(), shared_.step);
		if (process_ == 0)
			end_part(out);
		for (const Kernel *k : kernels_) {
			const Stream &s = all_.streams[k->stream];
			std::vector<BlockRecord> records(k->blocks);
			if (s.iterations)
				fprintf(out, "ran %u\n", s.iteration + 1);
			for (unsigned i = 0; i <= s.iteration; i++) {
				const Launch &l = k->launches[i];
				CHECK(cudaMemcpy(records.data(), k->records + (size_t)i * k->blocks,
						 k->blocks * sizeof(BlockRecord), cudaMemcpyDeviceToHost));
				fprintf(out, "kernel %lld %lld %lld %d\n", l.before - origin, l.after - origin,
					l.done - origin, k->per_sm);
				for (bool in : {true, false}) {
					const CopyRun &c = in ? l.in : l.out;
					if (in ? k->copy_in : k->copy_out)
						fprintf(out, "copy %lld %lld %lld %lld\n", c.before - origin,
							c.after - origin, to_host(time_of(c.begin)),
							to_host(time_of(c.end)));
				}
				for (const BlockRecord &b : records)
					fprintf(out, "block %lld %lld %u\n", to_host(b.start), to_host(b.end), b.sm);
			}
			end_part(out);
		}
		for (const auto &plugin : plugins_.all()) {
			PluginPrinter(out, *plugin, origin, clock_error(), plugins_).print(to_host);
			end_part(out);
		}
	}

	s64 clock_error() const
	{
		return std::max(shared_.first.error, shared_.last.error) + (s64)shared_.step + event_error() +
		       shared_.raw_error;
	}

	void end_part(FILE *out) const
	{
		if (all_.processes > 1)
			fputs(PART_END, out);
	}

	Scenario &all_;
	Shared &shared_;
	unsigned process_;
	int device_ = 0;
	bool masked_;
	std::vector<size_t> own_; // streams of the process, but those of plugins
	std::vector<Kernel *> kernels_;
	PluginThreads plugins_;
	Mailbox *mail_ = nullptr;
	cudaEvent_t event_ = nullptr; // the GPU's time of which is event_time_
	u64 event_time_ = 0;
	MaskFunctions masks_;
};

// Prints the next part of a process's output.
static void copy_part(FILE *from, FILE *out)
{
	char *line = nullptr;
	size_t size = 0;

	while (getline(&line, &size, from) > 0 && strcmp(line, PART_END))
		fputs(line, out);
	free(line);
}

// Forks a process for each of the scenario's, before any of them uses CUDA, whose contexts cannot be inherited. If one
// fails, ends the others, which would wait for it.
static void run_processes(Scenario &all, Shared &shared, int device, FILE *out)
{
	std::vector<FILE *> outputs(all.processes);
	std::vector<pid_t> children;
	int failed = 0;

	for (unsigned i = 0; i < all.processes; i++) {
		outputs[i] = tmpfile();
		pid_t pid = outputs[i] ? fork() : -1;
		if (!pid) {
			if (!all.percentages[i].empty())
				setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", all.percentages[i].c_str(), 1);
			Runner(all, shared, i).run(device, outputs[i]);
			exit(fflush(outputs[i]) ? 1 : 0);
		}
		if (pid < 0) {
			perror("gpulens-probe-kernels: fork");
			failed = 1;
			break;
		}
		children.push_back(pid);
	}
	while (!children.empty() && !failed) {
		int status = 0;
		children.erase(std::find(children.begin(), children.end(), wait(&status)));
		if (status)
			failed = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	}
	for (pid_t pid : children)
		kill(pid, SIGKILL);
	if (failed)
		exit(failed);
	for (FILE *output : outputs)
		rewind(output);
	copy_part(outputs[0], out);
	for (const Kernel &k : all.kernels)
		copy_part(outputs[all.streams[k.stream].process], out);
	for (const Plugin &p : all.plugins)
		copy_part(outputs[all.streams[p.stream].process], out);
}

static void run_scenario(int device, FILE *out)
{
	Scenario all = read_input();
	void *memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || all.streams.size() > sizeof(Shared::iterations) / sizeof(unsigned))
		refuse_input("too many streams, or no memory");
	Shared &shared = *new (memory) Shared();
	if (all.processes > 1)
		run_processes(all, shared, device, out);
	else
		Runner(all, shared, 0).run(device, out);
	fputs("end\n", out);
	if (fclose(out))
		exit(1);
}

int main(int argc, char **argv)
{
	bool loads = argc == 4 && !strcmp(argv[1], "load") && is_load(argv[3]);

	if (!loads && (argc != 3 || (strcmp(argv[1], "info") && strcmp(argv[1], "run")))) {
		fprintf(stderr, "usage: gpulens-probe-kernels info|run DEVICE, or load DEVICE compute|memory|copies\n");
		return 2;
	}
	// With lazy loading, the first launch of a kernel would load it, and might wait for running kernels.
	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	if (!strcmp(argv[1], "run")) {
		FILE *out = fdopen(dup(STDOUT_FILENO), "w");
		if (!out || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
			refuse_input("no standard output");
		setlinebuf(stdout);
		watch_plugins();
		run_scenario(atoi(argv[2]), out);
		return 0;
	}
	if (loads)
		load_gpu(atoi(argv[2]), argv[3]);
	else
		print_machine(atoi(argv[2]), stdout);
	puts("end");
	return 0;
}
