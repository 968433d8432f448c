// SPDX-License-Identifier: GPL-2.0
// The driver's records of context switches, faked: the recording's series of resident channels, each with a start and, 93 us
// before the next one (as seen on an H200), an end. Context n is channel n - 0x30. GPULENS_FAKE_RM_SWITCHES: what it does.
//	all      every record
//	admin    the bind is refused, as for a user where profiling is for administrators
//	hidden   the processes are other users'
//	kernel   the processes are the driver's
//	drop     each 99th record is dropped: starts and ends in turn
//	idle     no record: nothing switches
#pragma once
#include <cstdint>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace fake {

// Of CLOCK_MONOTONIC.
inline uint64_t read_clock_ns()
{
	timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

class Switches {
public:
	struct Turn {
		uint64_t ns; // from the begin of the series
		uint32_t chid, pid;
		std::string file{}; // that has the pid, as soon as it is there
	};

	Switches();
	bool faked() const { return !how_.empty(); }
	void set_series(std::vector<Turn> turns, uint64_t length_ns);

	// Each returns a status. NV_MEMORY_ALLOCATION_PARAMS; NV_EVENT_BUFFER_ALLOC_PARAMETERS; the parameters of
	// NV2080_CTRL_CMD_GR_FECS_BIND_EVTBUF_FOR_UID_V2.
	uint32_t alloc_memory(uint32_t handle, const uint8_t *parameters);
	uint32_t alloc_buffer(uint32_t handle, const uint8_t *parameters);
	uint32_t map(uint32_t memory, int fd, uint64_t length);
	uint32_t bind(uint8_t *parameters);
	static uint32_t read_timer(uint8_t *parameters);
	// Of an event buffer; now: CLOCK_MONOTONIC, ns.
	uint32_t enable(uint32_t buffer, const uint8_t *parameters, uint64_t now);
	uint32_t update_get(uint32_t buffer, uint32_t get);
	uint32_t flush(uint32_t buffer, uint64_t now);
	void free(uint32_t handle);

	// The GPU's own clock, ns ahead of CLOCK_MONOTONIC, and 16 ppm slower as an H100's was.
	static uint64_t gpu_ns(uint64_t now) { return 1795404266631443000 + now - now / 1000000 * 16; }

private:
	struct Memory {
		uint64_t bytes = 0;
		uint8_t *at = nullptr;
	};

	struct Buffer {
		uint32_t header = 0, records = 0, count = 0;
		uint64_t until_ns = 0; // of what was written
		bool bound = false, enabled = false;
		uint16_t number = 0;
	};

	void write(Buffer &buffer, uint8_t tag, const Turn &turn, uint64_t now);

	std::string how_;
	std::vector<Turn> turns_;
	uint64_t length_ns_ = 0;
	std::map<uint32_t, Memory> memories_; // by handle
	std::map<uint32_t, Buffer> buffers_;
};

} // namespace fake
