// SPDX-License-Identifier: GPL-2.0
// See fake_switches.hpp. Sizes and offsets are those of class/cl90cd.h, cl90cdfecs.h and nvos.h of open-gpu-kernel-modules
// 595.45.04, written here a second time.
#include "fake_rm.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace fake {

namespace {

constexpr uint32_t OK = 0, ARGUMENT = 0x1f, NOT_SUPPORTED = 0x56, RECORD_BYTES = 32;
constexpr uint64_t GAP_NS = 93000;

uint32_t get32(const uint8_t *bytes, size_t at)
{
	uint32_t v;

	memcpy(&v, bytes + at, 4);
	return v;
}

template <typename T> void store_value(uint8_t *bytes, size_t at, T v)
{
	memcpy(bytes + at, &v, sizeof(v));
}

} // namespace

Switches::Switches() : how_(getenv("GPULENS_FAKE_RM_SWITCHES") ? getenv("GPULENS_FAKE_RM_SWITCHES") : "")
{
}

void Switches::set_series(std::vector<Turn> turns, uint64_t length_ns)
{
	turns_ = std::move(turns);
	length_ns_ = length_ns;
}

// attr 24: coherency 31:29 write-back; attr2 28: protection of users 22:22 read-only; size 64
uint32_t Switches::alloc_memory(uint32_t handle, const uint8_t *parameters)
{
	uint64_t bytes;

	memcpy(&bytes, parameters + 64, 8);
	if (get32(parameters, 24) >> 29 != 5 || !(get32(parameters, 28) >> 22 & 1) || !bytes)
		return ARGUMENT;
	memories_[handle] = {bytes, nullptr};
	return OK;
}

// recordSize 16, recordCount 20, hBufferHeader 60, hRecordBuffer 64
uint32_t Switches::alloc_buffer(uint32_t handle, const uint8_t *parameters)
{
	Buffer buffer = {
		.header = get32(parameters, 60), .records = get32(parameters, 64), .count = get32(parameters, 20)};

	if (get32(parameters, 16) != RECORD_BYTES || !memories_.count(buffer.header) ||
	    !memories_.count(buffer.records) || memories_[buffer.records].bytes < uint64_t{buffer.count} * RECORD_BYTES)
		return ARGUMENT;
	buffers_[handle] = buffer;
	return OK;
}

uint32_t Switches::map(uint32_t memory, int fd, uint64_t length)
{
	auto found = memories_.find(memory);

	if (found == memories_.end() || found->second.bytes != length || ftruncate(fd, static_cast<off_t>(length)))
		return ARGUMENT;
	void *at = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return ARGUMENT;
	found->second.at = static_cast<uint8_t *>(at);
	return OK;
}

// hEventBuffer 0, recordSize 4, bAllUsers 16, reasonCode 20
uint32_t Switches::bind(uint8_t *parameters)
{
	if (how_ == "admin") {
		store_value(parameters, 20, uint32_t{4});
		return NOT_SUPPORTED;
	}
	auto found = buffers_.find(get32(parameters, 0));
	if (found == buffers_.end() || get32(parameters, 4) != 24)
		return ARGUMENT;
	found->second.bound = true;
	return OK;
}

// flags 4: 2, keep the newest
uint32_t Switches::enable(uint32_t buffer, const uint8_t *parameters, uint64_t now)
{
	Buffer &b = buffers_.at(buffer);

	b.enabled = parameters[0] && get32(parameters, 4) == 2;
	b.until_ns = now;
	return b.enabled ? OK : ARGUMENT;
}

// TIMER_GET_TIME
uint32_t Switches::read_timer(uint8_t *parameters)
{
	store_value(parameters, 0, gpu_ns(read_clock_ns()));
	return OK;
}

uint32_t Switches::update_get(uint32_t buffer, uint32_t get)
{
	if (get >= buffers_.at(buffer).count)
		return ARGUMENT;
	store_value(memories_[buffers_.at(buffer).header].at, 0, get);
	return OK;
}

// The header: put 4, recordCount 8, recordDropcount 16. A record: its head 0 to 7, tag 8, number 10, context 12, pid 16, time 24.
void Switches::write(Buffer &buffer, uint8_t tag, const Turn &turn, uint64_t now)
{
	uint8_t *header = memories_[buffer.header].at;
	uint32_t at = get32(header, 4);
	uint8_t *record = memories_[buffer.records].at + size_t{at} * RECORD_BYTES;
	uint64_t count, dropped;

	memcpy(&count, header + 8, 8);
	memcpy(&dropped, header + 16, 8);
	buffer.number++;
	if (how_ == "drop" && buffer.number % 99 == 0) {
		store_value(header, 16, dropped + 1);
		return;
	}
	memset(record, 0, RECORD_BYTES);
	record[8] = tag;
	store_value(record, 10, buffer.number);
	store_value(record, 12, how_ == "hidden" ? 0 : how_ == "kernel" ? ~0U : 0x30 + turn.chid);
	store_value(record, 16, how_ == "hidden" ? 0 : how_ == "kernel" ? ~0U : turn.pid);
	store_value(record, 24, gpu_ns(now));
	store_value(header, 8, count + 1);
	store_value(header, 4, (at + 1) % buffer.count);
}

uint32_t Switches::flush(uint32_t buffer, uint64_t now)
{
	Buffer &b = buffers_.at(buffer);

	for (Turn &turn : turns_)
		if (!turn.file.empty())
			std::ifstream(turn.file) >> turn.pid;
	if (!b.bound || !b.enabled || turns_.empty() || how_ == "idle")
		return OK;
	auto write_at = [&](uint64_t time, uint8_t tag, const Turn &turn) {
		if (time > b.until_ns && time <= now)
			write(b, tag, turn, time);
	};
	for (uint64_t series = b.until_ns / length_ns_ * length_ns_; series <= now; series += length_ns_)
		for (size_t i = 0; i < turns_.size(); i++) {
			uint64_t end = i + 1 < turns_.size() ? turns_[i + 1].ns : length_ns_;
			write_at(series + turns_[i].ns, 6, turns_[i]);
			write_at(series + end - GAP_NS, 7, turns_[i]);
		}
	b.until_ns = now;
	return OK;
}

void Switches::free(uint32_t handle)
{
	buffers_.erase(handle);
	if (auto found = memories_.find(handle); found != memories_.end()) {
		if (found->second.at)
			munmap(found->second.at, found->second.bytes);
		memories_.erase(found);
	}
}

// nvos33: hMemory 8, length 24, status 40, fd 48
void Rm::map(uint8_t *bytes)
{
	Params m{bytes, 56};
	uint64_t length;

	memcpy(&length, bytes + 24, 8);
	m.put(40, owns(static_cast<int>(m.get(48))) ? switches_.map(m.get(8), static_cast<int>(m.get(48)), length)
						    : ARGUMENT);
	log("map", m.get(8), m.get(40));
}

uint32_t Rm::answer_buffer(uint32_t buffer, uint32_t cmd, const Params &p)
{
	switch (cmd) {
	case 0x90cd0101: set_switches(); return switches_.enable(buffer, p.bytes, read_clock_ns());
	case 0x90cd0102: return switches_.update_get(buffer, p.get(0));
	case 0x90cd0104: return switches_.flush(buffer, read_clock_ns());
	default: return NOT_SUPPORTED;
	}
}

void Rm::set_switches()
{
	const char *state = getenv("GPULENS_FAKE_RM_STATE") ? getenv("GPULENS_FAKE_RM_STATE") : "two";
	std::vector<Switches::Turn> turns;

	// "FILE:US,FILE:US": the turns of live processes, whose pids the files have, one after another and again.
	if (const char *text = getenv("GPULENS_FAKE_RM_TURNS")) {
		uint64_t at = 0;
		int n = 0;
		char file[256];
		for (unsigned us; sscanf(text, "%255[^:]:%u%n", file, &us, &n) == 2;) {
			turns.push_back({at, static_cast<uint32_t>(turns.size()), 0, file});
			at += us * 1000ULL;
			text += n + (text[n] == ',');
		}
		return switches_.set_series(turns, at);
	}
	for (const json &turn :
	     facts_["live_run2"]["states"][state]["resident_channel_timeseries"]["first_changes_us_chid"])
		turns.push_back({turn[0].get<uint64_t>() * 1000, turn[1].get<uint32_t>(), owner(turn[1].get<int>())});
	switches_.set_series(turns, turns.back().ns + 2000000);
}

} // namespace fake
