// SPDX-License-Identifier: GPL-2.0
// Replays a trace of a driver's accesses, in mmiotrace's text format (Linux Documentation/trace/mmiotrace.rst), against
// an emulated GPU: writes as they come, reads compared. emulator/README.md has what traces of real cards gave.
#pragma once
#include "common.hpp"

#include "model/host.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>

namespace emu_test {

struct TracedAccess {
	bool write;
	unsigned size;
	uint64_t ns; // timestamp
	int bar;     // 0, 1, 2 as of emu::Gpu; -1: none of the GPU's
	uint64_t offset, value;
};

struct ReplayResult {
	struct Difference {
		unsigned times = 0;
		uint64_t bits = 0;                 // that differed at any time
		uint64_t traced = 0, emulated = 0; // at the first
	};
	// clock: reads of PTIMER's time, which is put to the trace's and not compared. elsewhere: accesses of other
	// devices, and beyond the emulated BARs
	unsigned reads = 0, writes = 0, equal = 0, unmodelled = 0, clock = 0, elsewhere = 0;
	std::map<std::pair<int, uint64_t>, Difference> differences; // by BAR and offset

	unsigned different() const
	{
		unsigned n = 0;
		for (const auto &[place, d] : differences)
			n += d.times;
		return n;
	}
	std::string report() const
	{
		std::ostringstream out;
		out << reads << " reads: " << equal << " equal, " << different() << " differ, " << unmodelled
		    << " not modelled, " << clock << " of the time; " << writes << " writes; " << elsewhere
		    << " elsewhere\n";
		for (const auto &[place, d] : differences)
			out << "bar" << place.first << std::hex << std::setfill('0') << " 0x" << std::setw(6)
			    << place.second << std::dec << ": " << d.times << " times, bits " << std::hex << d.bits
			    << "; first " << d.traced << " in the trace, " << d.emulated << " here\n"
			    << std::dec;
		return out.str();
	}
};

using BarBases = std::array<uint64_t, 3>; // bus addresses of BAR0, BAR1, BAR2; 0: PCIDEV says it, or nothing

class Trace {
public:
	// Throws std::invalid_argument with the number of a line that is no record.
	Trace(std::istream &in, const emu::Profile &profile, BarBases bases = {}) : profile_(profile), bases_(bases)
	{
		std::string text;
		for (unsigned line = 1; std::getline(in, text); line++)
			if (!parse(text))
				throw std::invalid_argument("line " + std::to_string(line) +
							    " is no record of mmiotrace: " + text);
	}

	// The GPU's time goes as PTIMER does in the trace, or as the timestamps where it is not read.
	ReplayResult replay(emu::EmulatedGpu &gpu) const
	{
		ReplayResult r;
		std::vector<Reading> times = readings();
		if (times.empty() && !accesses_.empty())
			times.push_back({accesses_.front().ns, gpu.now()});
		double rate = 1;
		if (times.size() > 1)
			rate = double(times.back().time - times[0].time) / double(times.back().ns - times[0].ns);
		for (const TracedAccess &a : accesses_) {
			int64_t since = std::llround((double(a.ns) - double(times[0].ns)) * rate);
			if (uint64_t due = times[0].time + since; due > gpu.now())
				gpu.advance(due - gpu.now());
			if (a.bar < 0 || a.offset + a.size > profile_.bar_size[a.bar])
				r.elsewhere++;
			else if (a.write)
				gpu.write(a.bar, a.offset, a.size, a.value), r.writes++;
			else
				compare(gpu, a, r);
		}
		return r;
	}

private:
	static bool is_time(const TracedAccess &a) { return a.bar == 0 && (a.offset == 0x9400 || a.offset == 0x9410); }

	static void compare(emu::EmulatedGpu &gpu, const TracedAccess &a, ReplayResult &r)
	{
		r.reads++;
		uint64_t unknown = gpu.counts().unknown_reads, here = gpu.read(a.bar, a.offset, a.size);
		if (is_time(a)) {
			r.clock++;
		} else if (gpu.counts().unknown_reads != unknown) {
			r.unmodelled++;
		} else if (here == a.value) {
			r.equal++;
		} else {
			auto &d = r.differences[{a.bar, a.offset}];
			if (!d.times++)
				d.traced = a.value, d.emulated = here;
			d.bits |= a.value ^ here;
		}
	}

	struct Reading {
		uint64_t ns, time; // timestamp, PTIMER's time
	};

	// Each read of TIME_0 after one of TIME_1.
	std::vector<Reading> readings() const
	{
		std::vector<Reading> all;
		std::optional<uint64_t> high;
		for (const TracedAccess &a : accesses_) {
			if (a.write || !is_time(a))
				continue;
			if (a.offset == 0x9410)
				high = a.value;
			else if (high)
				all.push_back({a.ns, *high << 32 | a.value});
		}
		return all;
	}

	bool parse(const std::string &text)
	{
		std::istringstream in(text);
		std::string keyword, map_id, fraction;
		if (!(in >> keyword) || keyword[0] == '#')
			return true;
		if (keyword == "PCIDEV")
			return parse_device(in);
		if (keyword != "R" && keyword != "W") {
			static const char *const others[] = {"MAP", "UNMAP", "MARK", "VERSION", "LSPCI", "UNKNOWN"};
			return std::find(std::begin(others), std::end(others), keyword) != std::end(others);
		}
		TracedAccess a{};
		uint64_t seconds, address;
		a.write = keyword == "W";
		if (!(in >> a.size >> seconds >> fraction >> map_id >> std::hex >> address >> a.value) ||
		    fraction[0] != '.')
			return false;
		a.ns = seconds * 1'000'000'000 +
		       std::strtoull((fraction + "000000000").substr(1, 9).c_str(), nullptr, 10);
		a.bar = -1;
		for (int i = 0; i < 3; i++)
			if (bases_[i] && address - bases_[i] < profile_.bar_size[i])
				a.bar = i, a.offset = address - bases_[i];
		accesses_.push_back(a);
		return true;
	}

	// Bus, device and function; vendor and device; interrupt; seven bases with their flags; seven sizes; the driver.
	bool parse_device(std::istream &in)
	{
		uint64_t place, ids, irq, base[7];
		in >> std::hex >> place >> ids >> irq;
		for (uint64_t &b : base)
			in >> b;
		if (!in)
			return false;
		for (int i = 0; ids >> 16 == 0x10de && i < 3; i++)
			if (!bases_[i])
				bases_[i] = base[profile_.bar_index[i]] & ~0xfull;
		return true;
	}

	const emu::Profile &profile_;
	BarBases bases_;
	std::vector<TracedAccess> accesses_;
};

} // namespace emu_test
