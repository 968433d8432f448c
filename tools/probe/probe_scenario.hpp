// SPDX-License-Identifier: GPL-2.0
// The scenario on standard input of gpulens-probe-kernels, whose head describes the lines, and its state while it runs.
#pragma once
#include "device/kernels.hpp"
#include "device/runtime.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

typedef unsigned long long u64;
typedef long long s64;

using gpulens::BlockRecord;
using gpulens::Limits;
using gpulens::Mailbox;

[[noreturn]] static void refuse_input(const char *why)
{
	fprintf(stderr, "gpulens-probe-kernels: %s\n", why);
	exit(2);
}

enum StreamKind { NON_BLOCKING, BLOCKING, NULL_STREAM };
enum Kind { SPIN, COPY, MATRIX, RANDOM_WALK, IN_ORDER_WALK };
static const char *const KIND_NAMES[] = {"spin", "copy", "matrix", "random_walk", "inorder_walk"};
enum Memory { DEVICE, ZERO_COPY, MANAGED };

typedef unsigned __int128 Bits;

struct Mask {
	bool set = false;
	Bits disabled = 0;
};

// A copy in a stream: around the call by the host's clock, and events around the copy.
struct CopyRun {
	s64 before = 0, after = 0;
	cudaEvent_t begin = nullptr, end = nullptr;
};

// One launch of a kernel, by the host's clock: around the call, and when its stream was found idle; and its copies.
struct Launch {
	s64 before = 0, after = 0, done = 0;
	CopyRun in, out;
};

struct Kernel {
	int kind = SPIN;
	Memory memory = DEVICE; // of a walk
	unsigned stream = 0, repeat = 0, blocks = 0, threads = 0, shared = 0;
	u64 work = 0, release = 0;
	u64 copy_in = 0, copy_out = 0;         // bytes; 0: none
	void *host = nullptr, *copy = nullptr; // locked memory and GPU memory for copies
	Mask mask;
	BlockRecord *records = nullptr; // by iteration and block; GPU memory, as a, b and c
	void *a = nullptr, *b = nullptr, *c = nullptr;
	std::vector<Launch> launches; // by iteration
	int per_sm = 0;               // number of blocks that fit on an SM

	bool is_walk() const { return kind == RANDOM_WALK || kind == IN_ORDER_WALK; }
	unsigned side() const { return threads == 64 ? 8 : threads == 256 ? 16 : 32; }
	unsigned all_shared() const { return shared + (kind == MATRIX ? 2 * threads * sizeof(float) : 0); }
};

// A benchmark that is loaded from a shared object, in place of kernels of a stream.
struct Plugin {
	unsigned stream = 0;
	int priority = 0; // what initialize is given, as the next ones
	u64 data_size = 0, mask = 0;
	int threads[3] = {1, 1, 1}, blocks[3] = {1, 1, 1};
	std::string file, info;
	bool has_info = false, warm_up = false;
	int core = -1; // the processor that its thread stays on; -1: any
};

struct Stream {
	int priority = 0;
	StreamKind kind = NON_BLOCKING;
	unsigned process = 0, iterations = 0; // iterations: 0: one, and not asked for
	u64 limit = 0;                        // ns
	u64 release = 0;                      // of its first kernel, or of its plugin
	bool plugin = false;
	Mask mask;
	std::vector<size_t> kernels; // in the order of launches
	cudaStream_t stream = nullptr;
	unsigned iteration = 0;
	size_t next = 0;      // kernel to launch
	s64 base = 0;         // when the iteration began, relative to the first one
	bool waiting = false; // for the other streams' iterations
	bool ended = false;
	std::vector<size_t> pending; // kernels that were launched and have not been found done
};

struct Scenario {
	std::vector<Stream> streams;
	std::vector<Kernel> kernels;
	std::vector<Plugin> plugins;
	std::vector<std::string> percentages; // of the threads that MPS gives to each process; empty: not asked for
	Mask mask;                            // of all launches without another one
	bool barrier = false, threads = false;
	unsigned processes = 1;

	bool has_copies() const
	{
		return std::any_of(kernels.begin(), kernels.end(),
				   [](const Kernel &k) { return k.copy_in || k.copy_out; });
	}

	bool has_masks() const
	{
		bool any = mask.set;

		for (const Stream &s : streams)
			any |= s.mask.set;
		for (const Kernel &k : kernels)
			any |= k.mask.set;
		return any;
	}
};

static Mask read_mask()
{
	u64 high, low;
	Mask mask;

	if (scanf("%16llx %16llx", &high, &low) != 2)
		refuse_input("a mask without two numbers");
	mask.set = true;
	mask.disabled = (Bits)high << 64 | low;
	return mask;
}

static Kernel read_kernel(const std::vector<Stream> &streams)
{
	char kind[32];
	Kernel k;

	if (scanf("%31s %u %llu %u %u %u %u %llu", kind, &k.stream, &k.work, &k.repeat, &k.blocks, &k.threads,
		  &k.shared, &k.release) != 8)
		refuse_input("a kernel without 8 words");
	while (k.kind <= IN_ORDER_WALK && strcmp(kind, KIND_NAMES[k.kind]))
		k.kind++;
	if (k.kind > IN_ORDER_WALK || k.stream >= streams.size() || !k.blocks || !k.threads || k.threads > 1024 ||
	    (k.kind == MATRIX && k.side() * k.side() != k.threads))
		refuse_input("invalid kernel");
	return k;
}

// Returns the rest of the line, behind a blank.
static std::string read_rest()
{
	char *line = nullptr;
	size_t size = 0;
	ssize_t got = getchar() == ' ' ? getline(&line, &size, stdin) : -1;
	std::string text(line ? line : "", got > 0 ? (size_t)got - 1 : 0);

	free(line);
	if (text.empty())
		refuse_input("a line without text");
	return text;
}

static Plugin read_plugin(std::vector<Stream> &streams)
{
	Plugin p;
	u64 release;

	if (scanf("%u %llu %d %llu %llx %d %d %d %d %d %d", &p.stream, &release, &p.priority, &p.data_size, &p.mask,
		  &p.threads[0], &p.threads[1], &p.threads[2], &p.blocks[0], &p.blocks[1], &p.blocks[2]) != 11)
		refuse_input("a plugin without 11 numbers");
	if (p.stream >= streams.size() || streams[p.stream].plugin || !streams[p.stream].kernels.empty())
		refuse_input("a plugin without a stream of its own");
	streams[p.stream].plugin = true;
	streams[p.stream].release = release;
	return p;
}

// Reads a line of the plugin above. Returns whether it was one.
static bool read_plugin_line(const char *word, Plugin &p)
{
	if (!strcmp(word, "file")) {
		p.file = read_rest();
	} else if (!strcmp(word, "info")) {
		p.info = read_rest();
		p.has_info = true;
	} else if (!strcmp(word, "core")) {
		if (scanf("%d", &p.core) != 1)
			refuse_input("core without a number");
	} else if (!strcmp(word, "warm_up")) {
		p.warm_up = true;
	} else {
		return false;
	}
	return true;
}

static Scenario read_input()
{
	Scenario all;
	char word[32];
	int version;

	if (scanf("%31s %d", word, &version) != 2 || strcmp(word, "gpulens-probe") || version != 1)
		refuse_input("the input does not begin with gpulens-probe 1");
	while (scanf("%31s", word) == 1 && strcmp(word, "end")) {
		if (!strcmp(word, "all")) {
			all.mask = read_mask();
		} else if (!strcmp(word, "barrier")) {
			all.barrier = true;
		} else if (!strcmp(word, "threads")) {
			all.threads = true;
		} else if (!strcmp(word, "process") && !all.streams.empty()) {
			all.processes++;
		} else if (!strcmp(word, "percentage")) {
			all.percentages.resize(all.processes);
			all.percentages.back() = read_rest();
		} else if (!strcmp(word, "plugin")) {
			all.plugins.push_back(read_plugin(all.streams));
		} else if (!all.plugins.empty() && read_plugin_line(word, all.plugins.back())) {
			continue;
		} else if (!strcmp(word, "stream")) {
			Stream s;
			if (scanf("%d", &s.priority) != 1)
				refuse_input("a stream without priority");
			s.process = all.processes - 1;
			all.streams.push_back(s);
		} else if (!strcmp(word, "null") && !all.streams.empty()) {
			all.streams.back().kind = NULL_STREAM;
		} else if (!strcmp(word, "blocking") && !all.streams.empty()) {
			all.streams.back().kind = BLOCKING;
		} else if (!strcmp(word, "iterations") && !all.streams.empty()) {
			Stream &s = all.streams.back();
			if (scanf("%u %llu", &s.iterations, &s.limit) != 2 || !s.iterations)
				refuse_input("iterations without two numbers");
		} else if (!strcmp(word, "mask") && !all.streams.empty()) {
			(all.kernels.empty() ? all.streams.back().mask : all.kernels.back().mask) = read_mask();
		} else if (!strcmp(word, "zero_copy") && !all.kernels.empty()) {
			all.kernels.back().memory = ZERO_COPY;
		} else if (!strcmp(word, "managed") && !all.kernels.empty()) {
			all.kernels.back().memory = MANAGED;
		} else if (!strcmp(word, "copies") && !all.kernels.empty()) {
			if (scanf("%llu %llu", &all.kernels.back().copy_in, &all.kernels.back().copy_out) != 2)
				refuse_input("copies without two numbers");
		} else if (!strcmp(word, "kernel")) {
			all.kernels.push_back(read_kernel(all.streams));
			Kernel &k = all.kernels.back();
			if (all.streams[k.stream].plugin)
				refuse_input("a kernel in a plugin's stream");
			if (all.streams[k.stream].kernels.empty())
				all.streams[k.stream].release = k.release;
			all.streams[k.stream].kernels.push_back(all.kernels.size() - 1);
			k.launches.resize(std::max(all.streams[k.stream].iterations, 1U));
		} else {
			refuse_input("expected a line of a scenario, or end");
		}
	}
	if (strcmp(word, "end"))
		refuse_input("the input does not end with end");
	for (const Stream &s : all.streams)
		if (s.kernels.empty() && !s.plugin)
			refuse_input("a stream without kernels");
	for (const Plugin &p : all.plugins)
		if (p.file.empty())
			refuse_input("a plugin without file");
	if (all.streams.empty())
		refuse_input("no kernels");
	all.percentages.resize(all.processes);
	return all;
}
