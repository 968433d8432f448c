// SPDX-License-Identifier: GPL-2.0
// See driver_samples.hpp.
#include "lib/source/driver/driver_samples.hpp"

#include "lib/base/errors.hpp"
#include "lib/model/recording.hpp"

#include <algorithm>
#include <cstring>
#include <endian.h>
#include <fmt/format.h>
#include <set>
#include <thread>
#include <uapi/gpulens.h>

namespace tool {

namespace {

constexpr u64 SOON_NS = 1000000;
constexpr u64 OWNERS_EVERY_NS = 4000000000;

using clock = std::chrono::steady_clock; // CLOCK_MONOTONIC, as the module's

u64 now_ns()
{
	return static_cast<u64>(
		std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now().time_since_epoch()).count());
}

template <typename T> void append(std::string &to, const T &record)
{
	to.append(reinterpret_cast<const char *>(&record), sizeof(record));
}

template <size_t N> void put_name(char (&to)[N], const std::string &name)
{
	std::memcpy(to, name.data(), std::min(name.size(), N - 1));
}

} // namespace

DriverSamples::DriverSamples(unsigned gpu, u32 period_us, const std::vector<RunTsg> &tsgs)
	: gpu_(gpu), period_ns_(u64{period_us} * 1000)
{
	std::vector<rm::Attached> there = client_.gpus();
	const rm::Attached &one = rm::the_one(there, gpu);

	subdevice_ = client_.open(one);
	rm::ResidentChannel resident;
	u32 status = client_.ask(subdevice_, resident);
	if (status != rm::NV_OK && status != rm::NV_ERR_INVALID_CHANNEL)
		throw Error(Error::Source,
			    fmt::format("{}: driver {} does not say what is on the graphics engine: {}", rm::NODE,
					client_.version(),
					rm::refusal(rm::ResidentChannel::NAME, status, client_.version())));
	// Those that gpulens run has begun are known without being told.
	std::vector<RunTsg> all = tsgs;
	for (const Process &p : rm::processes(client_, subdevice_, [](const char *, u32) {}))
		for (const RunTsg &tsg : rm::tsgs_of(p.pid))
			all.push_back(tsg);
	std::erase_if(all, [&](const RunTsg &tsg) { return tsg.device != one.device || tsg.engine != "GR0"; });
	drop_impossible(all);
	begin(one, all);
	told_ns_ = now_ns();
}

// Programs say of themselves which channels they have: those that are not allocated and those of which two say so are nobody's.
// An ordinary user is not told what is allocated, and sees only what programs of the same user say.
void DriverSamples::drop_impossible(std::vector<RunTsg> &tsgs)
{
	rm::AllocatedChannels allocated;
	std::map<u32, std::set<std::pair<u32, u32>>> claims; // by channel: process and TSG
	bool told = client_.ask(subdevice_, allocated) == rm::NV_OK;

	for (const RunTsg &one : tsgs)
		for (u32 channel : one.channels)
			claims[channel].emplace(one.pid, one.tsg);
	for (RunTsg &one : tsgs)
		std::erase_if(one.channels, [&](u32 channel) {
			return claims[channel].size() > 1 ||
			       (told && !(allocated.mask[channel / 32] >> channel % 32 & 1));
		});
	std::erase_if(tsgs, [](const RunTsg &one) { return one.channels.empty(); });
}

void DriverSamples::begin(const rm::Attached &gpu, const std::vector<RunTsg> &tsgs)
{
	std::string records;
	gpulens_samples_header head{};
	const lens_chip_id *row = nullptr;
	gpulens_header snapshot{};
	gpulens_engine engine{};
	gpulens_chip chip{};
	rm::ArchInfo arch;
	bool known = false;

	due_ = now_ns();
	snapshot.magic = htole32(GPULENS_MAGIC);
	snapshot.version = htole16(GPULENS_VERSION);
	snapshot.record_bytes = htole16(GPULENS_RECORD_BYTES);
	snapshot.gpu = htole32(gpu_);
	snapshot.time_ns = htole64(due_);
	chip.type = htole16(GPULENS_RECORD_CHIP);
	if (client_.ask(subdevice_, arch) == rm::NV_OK) {
		lens_chip_find(arch.architecture | arch.implementation, &row, &known);
		chip.chip_id = htole16(static_cast<u16>(arch.architecture | arch.implementation));
	}
	put_name(chip.name, row ? row->name : "unknown");
	put_name(chip.device, gpu.pci);
	head.magic = htole32(GPULENS_SAMPLES_MAGIC);
	head.version = htole16(GPULENS_SAMPLES_VERSION);
	head.sample_bytes = htole16(sizeof(gpulens_sample));
	head.engines = htole32(1);
	head.gpu = htole32(gpu_);
	head.time_ns = htole64(due_);
	head.period_us = htole32(static_cast<u32>(period_ns_ / 1000));
	engine.type = htole16(GPULENS_RECORD_ENGINE);
	engine.engine_id = engine.intr = engine.reset = engine.fault = htole16(GPULENS_NONE);
	put_name(engine.name, "Graphics/Compute 0");
	append(records, chip);
	add_tsgs(records, tsgs);
	snapshot.records = htole32(static_cast<u32>(records.size() / GPULENS_RECORD_BYTES));
	append(bytes_, snapshot);
	bytes_ += records;
	append(bytes_, head);
	append(bytes_, engine);
	for (const RunTsg &one : tsgs)
		for (u32 channel : one.channels)
			tell_owner(channel, one.pid);
}

// Their runlist and its TSGs, so that their slices are known; nothing where there are none.
void DriverSamples::add_tsgs(std::string &records, const std::vector<RunTsg> &tsgs)
{
	gpulens_runlist list{};
	std::string entries;

	for (const RunTsg &one : tsgs) {
		gpulens_tsg tsg{};
		tsg.type = htole16(GPULENS_RECORD_TSG);
		tsg.id = htole16(static_cast<u16>(one.tsg));
		tsg.timeslice_ns = htole64(one.timeslice_us.value_or(0) * 1000);
		append(entries, tsg);
		for (u32 channel : one.channels)
			tsg_of_[channel] = one.tsg;
	}
	if (entries.empty())
		return;
	list.type = htole16(GPULENS_RECORD_RUNLIST);
	list.entries = htole16(static_cast<u16>(entries.size() / GPULENS_RECORD_BYTES));
	append(records, list);
	records += entries;
}

void DriverSamples::tick()
{
	rm::ResidentChannel resident;
	gpulens_sample one{};
	u64 before = now_ns(), missed = before > due_ ? (before - due_) / period_ns_ : 0;

	if (missed) {
		gpulens_sample late{};
		late.time_ns = htole64(due_);
		late.engine = GPULENS_SAMPLE_ALL;
		late.kind = GPULENS_SAMPLE_LATE;
		late.ticks = htole32(static_cast<u32>(std::min<u64>(missed, ~u32{0})));
		append(bytes_, late);
		due_ += missed * period_ns_;
	}
	u32 status = client_.ask(subdevice_, resident);
	u64 took = now_ns() - before;
	one.time_ns = htole64(before + took / 2);
	// Of an answer that took long nobody knows of when it is.
	owners_.resident(before + took / 2,
			 status == rm::NV_OK && took < SOON_NS ? std::optional(resident.channel) : std::nullopt);
	one.at.id = one.at.channel = htole16(GPULENS_NONE);
	if (status == rm::NV_OK) {
		auto owner = tsg_of_.find(resident.channel);
		one.kind = GPULENS_SAMPLE_ON;
		one.at.id = one.at.channel = htole16(static_cast<u16>(resident.channel));
		if (owner == tsg_of_.end())
			one.flags = GPULENS_SAMPLE_BARE_CHANNEL;
		else
			one.at.id = htole16(static_cast<u16>(owner->second));
	} else if (status == rm::NV_ERR_INVALID_CHANNEL) { // no context is alive
		one.kind = GPULENS_SAMPLE_IDLE;
	} else {
		one.kind = GPULENS_SAMPLE_ERROR;
		one.word = htole32(status);
	}
	append(bytes_, one);
	due_ += period_ns_;
}

void DriverSamples::tell_owner(u32 channel, u32 pid)
{
	gpulens_sample remark{};
	ProcessRecord process{};
	u32 &known = pid_of_[channel];

	if (known == pid)
		return;
	known = pid;
	remark.time_ns = htole64(now_ns());
	remark.engine = GPULENS_SAMPLE_ALL;
	remark.kind = SAMPLE_RECORD;
	process.type = htole16(RECORD_PROCESS);
	process.channel = htole16(static_cast<u16>(channel));
	process.pid = htole32(pid);
	put_name(process.name, rm::process_name(pid));
	append(bytes_, remark);
	append(bytes_, process);
}

void DriverSamples::ask_owners()
{
	u64 began = now_ns();
	std::vector<rm::ActiveProcess> notes = rm::active_processes(client_, subdevice_);
	std::vector<u64> times;

	times.reserve(notes.size());
	for (const rm::ActiveProcess &one : notes)
		times.push_back(one.time_ns);
	clock_.asked(began, now_ns(), times);
	owners_.active(notes);
}

void DriverSamples::tell_owners()
{
	std::optional<rm::NoteClock::Offset> offset = clock_.offset();

	told_ns_ = now_ns();
	if (!offset)
		return;
	for (const auto &[channel, pid] : owners_.pids(*offset)) {
		auto said = pid_of_.find(channel);
		if (said != pid_of_.end() && said->second != pid)
			tsg_of_.erase(channel); // the driver knows better than the program
		tell_owner(channel, pid);
	}
}

std::string_view DriverSamples::finish()
{
	bytes_.clear();
	ask_owners();
	tell_owners();
	return bytes_;
}

std::string_view DriverSamples::read(std::chrono::milliseconds time)
{
	clock::time_point end = clock::now() + time;

	if (told_)
		bytes_.clear();
	told_ = true;
	while (clock::now() < end && bytes_.size() < size_t{1} << 18) {
		std::this_thread::sleep_until(clock::time_point(std::chrono::nanoseconds(due_)));
		tick();
		if (now_ns() >= clock_.next_ns())
			ask_owners();
		if (now_ns() - told_ns_ > OWNERS_EVERY_NS)
			tell_owners();
	}
	return bytes_;
}

} // namespace tool
