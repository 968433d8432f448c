// SPDX-License-Identifier: GPL-2.0
// The only wire format between gpulens run and the libraries that it preloads into a program: names of environment
// variables, the text of each, and the acknowledgement. Header only: the libraries bring no other code into the program.
#pragma once
#include "lib/launch/launch_hook.hpp"

#include <cerrno>
#include <charconv>
#include <string>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpulens::environment {

constexpr char RUN_LIBRARY[] = "libgpulens-run.so";         // records the program's TSGs
constexpr char CONFINE_LIBRARY[] = "libgpulens-confine.so"; // sets the mask of the program's launches
constexpr char GATE_LIBRARY[] = "libgpulens-gate.so";       // has the program's launches wait
constexpr char CALLS_LIBRARY[] = "libgpulens-calls.so";     // records the program's calls of CUDA's driver API

constexpr char RUN_FILE[] = "GPULENS_RUN_FILE";             // path of the file for TSGs; its lines: lib/rm/run_tsg.hpp
constexpr char LAUNCH_MASK[] = "GPULENS_LAUNCH_MASK";       // VerifiedMask
constexpr char NO_COOPERATIVE[] = "GPULENS_NO_COOPERATIVE"; // "1": the user states that programs launch no such kernels
constexpr char PARTITION[] = "GPULENS_PARTITION"; // what the program publishes: lib/launch/partition_entry.hpp

constexpr char FIXED[] = "GPULENS_FIXED"; // "1": other processes cannot change the partition

constexpr char CALLS_FOLDER[] = "GPULENS_CALLS_FOLDER"; // of records of calls: lib/launch/call_log.hpp

constexpr char SCHEDULE_SLICE[] = "GPULENS_SCHEDULE_SLICE"; // us, in place of the time slice that CUDA's library sets
constexpr char SCHEDULE_BUDGET[] =
	"GPULENS_SCHEDULE_BUDGET"; // "RUN/PERIOD" in us: hold the program for the rest of each period
constexpr char SCHEDULE_FOLDER[] = "GPULENS_SCHEDULE_FOLDER"; // of agents' pages: lib/launch/agent_page.hpp
constexpr char SCHEDULE_TASK[] = "GPULENS_SCHEDULE_TASK";     // name of the program's task in a policy
constexpr char SCHEDULE_GATE[] = "GPULENS_SCHEDULE_GATE";     // "1": the process has a gate

// A process acknowledges that it keeps a limit by ioctl(-1, GUARD_ACKNOWLEDGE, the limit), which a seccomp filter passes to the
// guard (gpulens/limit/guard.hpp). Result: 0, or EBADF where there is no guard.
constexpr unsigned GUARD_ACKNOWLEDGE = 0x47504c41; // "GPLA"
constexpr unsigned LIMIT_IN_SPACE = 1;             // CONFINE_LIBRARY: launches get their mask
constexpr unsigned LIMIT_IN_TIME = 2; // RUN_LIBRARY: time slices are set, and the agent starts with the first TSG

// By system call: ioctl() may be another preloaded library's.
inline bool acknowledge(unsigned limit)
{
	return !syscall(SYS_ioctl, -1, GUARD_ACKNOWLEDGE, limit) || errno == EBADF;
}

// A launch mask that gpulens run has verified. As text "FORMAT:LOW:HIGH:CLUSTER:UUID" in lower-case hexadecimal without
// prefixes or signs; the UUID has 32 digits.
struct VerifiedMask {
	uint32_t format; // DescriptorFormat::id
	LaunchMask mask;
	GpuUuid gpu;
};

template <typename T> void append_hex(std::string &text, T value)
{
	char digits[16];

	text.append(digits, std::to_chars(digits, digits + sizeof(digits), value, 16).ptr);
}

inline std::string format_launch_mask(const VerifiedMask &mask)
{
	std::string text;

	append_hex(text, mask.format);
	for (uint64_t bits : mask.mask.bits)
		append_hex(text += ':', bits);
	append_hex(text += ':', mask.mask.cluster);
	text += ':';
	for (unsigned char byte : mask.gpu) {
		append_hex(text, byte >> 4);
		append_hex(text, byte & 0xf);
	}
	return text;
}

// Removes 1 to max_digits digits of lower-case hexadecimal from the front of text, up to a colon or to the end (last). False:
// there is something else.
template <typename T> bool take_hex(std::string_view &text, size_t max_digits, bool last, T &value)
{
	size_t end = last ? text.size() : text.find(':');

	if (end == text.npos || !end || end > max_digits || text.find_first_not_of("0123456789abcdef") < end)
		return false;
	std::from_chars(text.data(), text.data() + end, value, 16);
	text.remove_prefix(last ? end : end + 1);
	return true;
}

// False: not such a text, or a mask that disables every TPC.
inline bool parse_launch_mask(std::string_view text, VerifiedMask &mask)
{
	LaunchBits &bits = mask.mask.bits;

	if (!take_hex(text, 8, false, mask.format) || !take_hex(text, 16, false, bits[0]) ||
	    !take_hex(text, 16, false, bits[1]) || !take_hex(text, 8, false, mask.mask.cluster) ||
	    text.size() != 2 * mask.gpu.size() || (bits[0] & bits[1]) == ~uint64_t{0} || !mask.mask.cluster)
		return false;
	for (unsigned char &byte : mask.gpu) {
		std::string_view digits = text.substr(0, 2);
		if (!take_hex(digits, 2, true, byte))
			return false;
		text.remove_prefix(2);
	}
	return true;
}

} // namespace gpulens::environment
