// SPDX-License-Identifier: GPL-2.0
// Reads clocks, and writes and parses their record.
#include "lib/timeline/clocks.hpp"

#include "lib/model/recording.hpp"

#include <cstring>
#include <ctime>
#include <endian.h>

namespace tool {

namespace {

u64 read_clock(clockid_t clock)
{
	timespec t{};

	clock_gettime(clock, &t);
	return static_cast<u64>(t.tv_sec) * 1000000000 + static_cast<u64>(t.tv_nsec);
}

} // namespace

Clocks read_clocks()
{
	return {read_clock(CLOCK_MONOTONIC), read_clock(CLOCK_BOOTTIME), read_clock(CLOCK_REALTIME)};
}

std::string clocks_record(const Clocks &clocks)
{
	ClocksRecord record{};
	std::string bytes;

	record.type = htole16(RECORD_CLOCKS);
	record.monotonic_ns = htole64(clocks.monotonic_ns);
	record.boottime_ns = htole64(clocks.boottime_ns);
	record.realtime_ns = htole64(clocks.realtime_ns);
	append_record(bytes, clocks.monotonic_ns, &record);
	return bytes;
}

std::optional<Clocks> parse_clocks(std::string_view bytes)
{
	ClocksRecord record;

	if (bytes.size() < sizeof(record))
		return std::nullopt;
	std::memcpy(&record, bytes.data(), sizeof(record));
	if (le16toh(record.type) != RECORD_CLOCKS)
		return std::nullopt;
	return Clocks{le64toh(record.monotonic_ns), le64toh(record.boottime_ns), le64toh(record.realtime_ns)};
}

} // namespace tool
