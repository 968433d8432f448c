// SPDX-License-Identifier: GPL-2.0
// The end of work is computed when it is launched, and only those who wait for it sleep. Whose turn it is follows from the
// clock and the number of processes alone, so that processes need no messages.
#include "fake_work.hpp"

#include "fake_calls.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

namespace {

constexpr int64_t US = 1000, MS = 1000 * US;
constexpr double BYTES_PER_NS = 10;   // of copies
constexpr size_t MOST_COPIED = 65536; // of larger copies nobody reads the data
constexpr const char *KERNELS[] = {"stamp", "spin", "log_slices", "multiply", "work"};

int64_t read_clock()
{
	timespec t{};

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

void sleep_until(int64_t at)
{
	timespec t{at / 1'000'000'000, at % 1'000'000'000};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr))
		;
}

// The turns of processes on an engine.
class Turns {
public:
	// expected: processes that take turns, though some may come later.
	Turns(const char *engine, int64_t slice, int64_t expected) : slice_(slice), expected_(expected)
	{
		const char *path = getenv("FAKE_CUDA_TURNS");

		if (!path)
			return;
		fd_ = open((std::string(path) + engine).c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
		flock(fd_, LOCK_EX);
		struct stat s {};
		fstat(fd_, &s);
		index_ = s.st_size;
		if (write(fd_, "x", 1) != 1)
			abort();
		flock(fd_, LOCK_UN);
	}

	int64_t count() const
	{
		struct stat s {};

		return fd_ >= 0 && !fstat(fd_, &s) ? std::max<int64_t>(s.st_size, expected_) : 1;
	}
	// The end of the turn at a time, or the begin of the next one if it is not this process' turn.
	int64_t change_after(int64_t at) const
	{
		int64_t all = slice_ * count(), begin = at / all * all + slice_ * index_;

		return at < begin ? begin : at < begin + slice_ ? begin + slice_ : begin + all;
	}
	bool has_turn(int64_t at) const { return at / slice_ % count() == index_; }
	bool is_alone() const { return count() == 1; }
	// When work of that length ends that begins at a time.
	int64_t advance(int64_t at, int64_t length) const
	{
		while (!is_alone()) {
			int64_t change = change_after(at);
			if (!has_turn(at)) {
				at = change;
				continue;
			}
			if (length <= change - at)
				break;
			length -= change - at;
			at = change;
		}
		return at + length;
	}

private:
	int64_t slice_, expected_, index_ = 0;
	int fd_ = -1;
};

uint64_t *to_words(void *parameter)
{
	return *static_cast<uint64_t **>(parameter);
}

void write_slices(Queue &queue, const Turns &turns)
{
	int64_t end = read_clock();
	uint64_t count = 0;

	for (int64_t at = queue.begin; at < end;) {
		int64_t change = turns.is_alone() ? end : std::min(end, turns.change_after(at));
		if (turns.is_alone() || turns.has_turn(at)) {
			if (count == queue.room)
				break;
			queue.slices[1 + 2 * count] = static_cast<uint64_t>(at);
			queue.slices[2 + 2 * count] = static_cast<uint64_t>(change);
			count++;
		}
		at = change;
	}
	queue.slices[0] = count;
}

const Turns &kernel_turns()
{
	static const Turns turns(".kernels", 2 * MS, 1);
	return turns;
}

// A stream beyond the channels waits until the first one has begun its last kernel.
int64_t begin_of_spin(const Queue &queue)
{
	static int64_t last_of_first;
	const char *connections = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
	int64_t begin = std::max({read_clock(), queue.until, earliest_begin()});

	if (!queue.number)
		last_of_first = begin;
	if (!getenv("FAKE_CUDA_CHANNELS") && queue.number >= static_cast<unsigned>(connections ? atoi(connections) : 8))
		begin = std::max(begin, last_of_first);
	return begin;
}

struct Event {
	int64_t at;
};

int start_copy(void *to, const void *from, size_t bytes, void *stream)
{
	const char *expected = getenv("FAKE_CUDA_COPIERS");
	static const Turns turns(".copies", MS, expected ? atoi(expected) : 1);
	Queue &queue = queue_of(stream);
	int64_t length = static_cast<int64_t>(static_cast<double>(bytes) / BYTES_PER_NS);

	memcpy(to, from, std::min(bytes, MOST_COPIED));
	queue.until = turns.advance(std::max(read_clock(), queue.until), length);
	return 0;
}

void *to_pointer(uint64_t where)
{
	return reinterpret_cast<void *>(where); // NOLINT(performance-no-int-to-ptr)
}

} // namespace

void *find_kernel(const char *name)
{
	for (const char *const &kernel : KERNELS)
		if (!strcmp(name, kernel))
			return const_cast<char *>(kernel);
	return nullptr;
}

bool run_kernel(void *function, Queue &queue, unsigned blocks, const std::vector<uint32_t> &sms, void **parameters)
{
	if (function == find_kernel("stamp"))
		*to_words(parameters[0]) = static_cast<uint64_t>(read_clock());
	else if (function == find_kernel("spin")) {
		int64_t begin = begin_of_spin(queue), end = begin + *static_cast<int64_t *>(parameters[1]);
		for (unsigned i = 0; i < blocks; i++) {
			uint64_t record[] = {static_cast<uint64_t>(begin), static_cast<uint64_t>(end),
					     sms[(queue.number + i) % sms.size()]};
			memcpy(to_words(parameters[0]) + 3 * size_t{i}, record, sizeof(record));
		}
		queue.until = end;
	} else if (function == find_kernel("log_slices")) {
		queue.slices = to_words(parameters[0]);
		queue.stop = reinterpret_cast<volatile uint32_t *>(to_words(parameters[1]));
		queue.room = *static_cast<uint32_t *>(parameters[4]);
		queue.begin = read_clock();
		kernel_turns();
	} else if (function == find_kernel("work")) { // a round takes a microsecond
		uint64_t *counter = to_words(parameters[1]), rounds = *static_cast<uint32_t *>(parameters[0]);
		int64_t begin = std::max(read_clock(), queue.until);
		queue.until = begin + static_cast<int64_t>(rounds) * US;
		counter[0] += rounds;
		counter[1] = static_cast<uint64_t>(begin);
		counter[2] = static_cast<uint64_t>(queue.until);
		*reinterpret_cast<uint32_t *>(to_words(parameters[2])) += static_cast<uint32_t>(rounds * sms.size());
	} else if (function == find_kernel("multiply")) // from the last event on, however late this process is
		queue.until = (queue.until ? queue.until : read_clock()) + 16 * MS / static_cast<int64_t>(sms.size());
	else
		return false;
	return true;
}

void finish_work(Queue &queue)
{
	sleep_until(queue.until);
	if (!queue.slices)
		return;
	while (!*queue.stop)
		sleep_until(read_clock() + MS);
	write_slices(queue, kernel_turns());
	queue.slices = nullptr;
}

extern "C" {

int cuDeviceGetName(char *to, int room, int)
{
	snprintf(to, static_cast<size_t>(room), "Fake H200");
	return 0;
}

int cuEventCreate(void **event, unsigned)
{
	*event = new Event{0};
	return 0;
}

int cuEventRecord(void *event, void *stream)
{
	Queue &queue = queue_of(stream);

	queue.until = std::max(read_clock(), queue.until);
	static_cast<Event *>(event)->at = queue.until;
	return 0;
}

int cuEventSynchronize(void *event)
{
	sleep_until(static_cast<Event *>(event)->at);
	return 0;
}

int cuEventElapsedTime(float *ms, void *from, void *to)
{
	*ms = static_cast<float>(static_cast<Event *>(to)->at - static_cast<Event *>(from)->at) / 1e6F;
	return 0;
}

int cuMemHostAlloc(void **to, size_t bytes, unsigned)
{
	BlockingCall call(__func__);
	*to = calloc(1, bytes);
	return 0;
}

int cuMemsetD8_v2(uint64_t memory, unsigned char value, size_t bytes)
{
	memset(to_pointer(memory), value, bytes);
	return 0;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
	return start_copy(to_pointer(to), from, bytes, stream);
}

int cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
	return start_copy(to_pointer(to), to_pointer(from), bytes, stream);
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
	return start_copy(to, to_pointer(from), bytes, stream);
}
}

bool is_under_mps()
{
	const char *pipes = getenv("CUDA_MPS_PIPE_DIRECTORY");
	struct stat about {};

	return getenv("FAKE_CUDA_MPS") && (!pipes || (!stat(pipes, &about) && S_ISDIR(about.st_mode)));
}
