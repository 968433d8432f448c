// SPDX-License-Identifier: GPL-2.0
// Queries the resident channel periodically and writes records of samples.
#include "lib/source/driver/driver_samples.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "lib/base/monotonic.hpp"
#include "lib/model/recording.hpp"
#include "lib/rm/claims.hpp"
#include "lib/rm/processes.hpp"
#include "lib/source/records.hpp"

#include <algorithm>
#include <cstring>
#include <endian.h>
#include <fmt/format.h>
#include <thread>
#include <utility>

namespace tool {

namespace {

constexpr u64 MAX_QUERY_NS = 1000000; // the time of a slower answer is too uncertain
constexpr u64 MAX_PERIOD_NS = 800000; // with a longer one, samples are too far apart to know owners by
constexpr size_t MAX_BYTES = 1 << 18; // of sample read()

using clock = std::chrono::steady_clock; // CLOCK_MONOTONIC, as the module uses

template <typename T> void append_record(std::string &records, const T &record)
{
	records.append(reinterpret_cast<const char *>(&record), sizeof(record));
}

template <size_t N> void copy_name(char (&field)[N], const std::string &name)
{
	std::memcpy(field, name.data(), std::min(name.size(), N - 1));
}

// In a sample.
u32 context_id(const rm::ContextSwitch &s)
{
	return FIRST_CONTEXT_ID | s.context % FIRST_CONTEXT_ID;
}

} // namespace

DriverSamples::DriverSamples(unsigned gpu, u32 period_us, const std::vector<RunTsg> &tsgs, rm::Search search)
	: gpu_(gpu), period_ns_(u64{period_us} * 1000),
	  at_random_(search == rm::Search::Background && period_ns_ > MAX_PERIOD_NS), random_(std::random_device()()),
	  finder_(client_, subdevice_, 0, search)
{
	std::vector<rm::Attached> attached = client_.gpus();
	const rm::Attached &sampled = rm::find_attached(attached, gpu);

	subdevice_ = client_.open(sampled);
	rm::ResidentChannel resident;
	u32 status = client_.query(subdevice_, resident);
	if (status != rm::NV_OK && status != rm::NV_ERR_INVALID_CHANNEL)
		throw Error(Error::Source,
			    fmt::format("{}: driver {} does not report the resident channel: {}", rm::NODE,
					client_.version(),
					rm::explain_refusal(rm::ResidentChannel::NAME, status, client_.version())));
	// TSGs of programs that gpulens run started.
	std::vector<RunTsg> all =
		rm::find_claims(client_, subdevice_, sampled, rm::list_processes(client_, subdevice_), tsgs);
	std::erase_if(all, [](const RunTsg &tsg) { return tsg.engine != "GR0"; });
	for (const RunTsg &tsg : all)
		tsgs_of_[tsg.pid].push_back(tsg);
	std::string why;
	try {
		switches_ = std::make_unique<rm::ContextSwitches>(client_, subdevice_);
	} catch (const Error &e) {
		why = e.what();
	}
	if (switches_)
		period_ns_ = rm::ContextSwitches::EVERY_NS;
	add_headers(sampled, all);
	if (!why.empty())
		append_text(bytes_, due_, RecordedText::Sampled, why);
}

void DriverSamples::add_headers(const rm::Attached &gpu, const std::vector<RunTsg> &tsgs)
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
	if (client_.query(subdevice_, arch) == rm::NV_OK) {
		lens_chip_find(arch.architecture | arch.implementation, &row, &known);
		chip.chip_id = htole16(static_cast<u16>(arch.architecture | arch.implementation));
	}
	copy_name(chip.name, row && row->name ? row->name : "unknown");
	copy_name(chip.device, gpu.pci);
	head.magic = htole32(GPULENS_SAMPLES_MAGIC);
	head.version = htole16(GPULENS_SAMPLES_VERSION);
	head.sample_bytes = htole16(sizeof(gpulens_sample));
	head.engines = htole32(1);
	head.gpu = htole32(gpu_);
	head.time_ns = htole64(due_);
	head.period_us = htole32(switches_ ? 0 : static_cast<u32>(period_ns_ / 1000));
	engine.type = htole16(GPULENS_RECORD_ENGINE);
	engine.engine_id = engine.intr = engine.reset = engine.fault = htole16(GPULENS_NONE);
	copy_name(engine.name, "Graphics/Compute 0");
	append_record(records, chip);
	add_tsgs(records, tsgs);
	snapshot.records = htole32(static_cast<u32>(records.size() / GPULENS_RECORD_BYTES));
	append_record(bytes_, snapshot);
	bytes_ += records;
	append_record(bytes_, head);
	append_record(bytes_, engine);
	for (const RunTsg &tsg : tsgs)
		for (u32 channel : tsg.channels)
			add_owner(channel, tsg.pid, Evidence::Reported);
}

// Adds a runlist with the TSGs and their time slices; nothing if there are no TSGs.
void DriverSamples::add_tsgs(std::string &records, const std::vector<RunTsg> &tsgs)
{
	gpulens_runlist list{};
	std::string entries;

	for (const RunTsg &tsg : tsgs) {
		gpulens_tsg record{};
		record.type = htole16(GPULENS_RECORD_TSG);
		record.id = htole16(static_cast<u16>(tsg.tsg));
		record.timeslice_ns = htole64(tsg.timeslice_us.value_or(0) * 1000);
		append_record(entries, record);
		for (u32 channel : tsg.channels)
			tsg_of_[channel] = tsg.tsg;
	}
	if (entries.empty())
		return;
	list.type = htole16(GPULENS_RECORD_RUNLIST);
	list.entries = htole16(static_cast<u16>(entries.size() / GPULENS_RECORD_BYTES));
	append_record(records, list);
	records += entries;
}

// Queries the resident channel. Returns the status, and the time of the answer.
u32 DriverSamples::query_resident(rm::ResidentChannel &resident, u64 &time_ns)
{
	u64 before = now_ns();
	u32 status = client_.query(subdevice_, resident);
	u64 took = now_ns() - before;

	time_ns = before + took / 2;
	finder_.add_resident(time_ns, status == rm::NV_OK && took < MAX_QUERY_NS ? std::optional(resident.channel)
										 : std::nullopt);
	return status;
}

void DriverSamples::add_sample()
{
	rm::ResidentChannel resident;
	gpulens_sample sample{};
	u64 before = now_ns(), missed = before > due_ ? (before - due_) / period_ns_ : 0, time_ns = 0;

	if (missed) {
		gpulens_sample late{};
		late.time_ns = htole64(due_);
		late.engine = GPULENS_SAMPLE_ALL;
		late.kind = GPULENS_SAMPLE_LATE;
		late.ticks = htole32(static_cast<u32>(std::min<u64>(missed, ~u32{0})));
		append_record(bytes_, late);
		due_ += missed * period_ns_;
	}
	u32 status = query_resident(resident, time_ns);
	sample.time_ns = htole64(time_ns);
	sample.at.id = sample.at.channel = htole16(GPULENS_NONE);
	if (status == rm::NV_OK) {
		auto owner = tsg_of_.find(resident.channel);
		sample.kind = GPULENS_SAMPLE_ON;
		sample.at.id = sample.at.channel = htole16(static_cast<u16>(resident.channel));
		if (owner == tsg_of_.end())
			sample.flags = GPULENS_SAMPLE_BARE_CHANNEL;
		else
			sample.at.id = htole16(static_cast<u16>(owner->second));
	} else if (status == rm::NV_ERR_INVALID_CHANNEL) { // the engine has no context
		sample.kind = GPULENS_SAMPLE_IDLE;
	} else {
		sample.kind = GPULENS_SAMPLE_ERROR;
		sample.word = htole32(status);
	}
	append_record(bytes_, sample);
	due_ += next_distance_ns();
}

// Returns whose a context is alone; 0: the driver's, hidden, or of all clients of MPS, of which the driver names one.
u32 DriverSamples::process_of(const rm::ContextSwitch &s)
{
	auto [known, added] = pid_of_.try_emplace(s.context, 0, 0);
	auto &[named, pid] = known->second;

	if (s.pid == named && !added)
		return pid;
	named = s.pid;
	pid = s.pid == rm::SwitchRecord::KERNEL_PID ? 0 : s.pid;
	std::vector<u32> clients = pid ? rm::list_users(client_, subdevice_, rm::MPS_COMPUTE, [](const char *, u32) {})
				       : std::vector<u32>();
	if (std::find(clients.begin(), clients.end(), pid) != clients.end())
		pid = 0;
	if (pid || !added)
		add_owner(context_id(s), pid, Evidence::Switched);
	return pid;
}

// The sample of a context that is on the engine from now on.
gpulens_sample DriverSamples::name_context(const rm::ContextSwitch &s)
{
	u32 pid = process_of(s);
	auto claimed = tsgs_of_.find(pid);
	gpulens_sample sample{};

	sample.kind = GPULENS_SAMPLE_ON;
	sample.at.channel = htole16(GPULENS_NONE);
	// Which of a program's TSGs has the context is known only where there is but one.
	if (pid && claimed != tsgs_of_.end() && claimed->second.size() == 1 && !claimed->second[0].channels.empty()) {
		sample.at.id = htole16(static_cast<u16>(claimed->second[0].tsg));
		sample.at.channel = htole16(static_cast<u16>(claimed->second[0].channels[0]));
		return sample;
	}
	sample.at.id = htole16(static_cast<u16>(context_id(s)));
	sample.flags = GPULENS_SAMPLE_BARE_CHANNEL;
	return sample;
}

void DriverSamples::add_switches()
{
	u64 until = 0;
	std::vector<rm::ContextSwitch> switches = switches_->read(until);

	due_ = now_ns() + period_ns_;
	switched_ = switched_ || !switches.empty();
	if (!switched_) {
		// Nothing switches: the context that is on was there before. Where programs take turns, a record comes first.
		if (std::exchange(bound_, true)) {
			due_ = now_ns();
			add_sample();
		}
		return;
	}
	for (const rm::ContextSwitch &s : switches) {
		if (s.lost)
			add_lost(s);
		last_ = s.starts ? name_context(s) : gpulens_sample{};
		if (!s.starts) {
			last_.kind = GPULENS_SAMPLE_IDLE;
			last_.at.id = last_.at.channel = htole16(GPULENS_NONE);
		}
		last_.time_ns = htole64(s.time_ns);
		append_record(bytes_, last_);
	}
	if (switches.empty()) { // it is still as it was
		last_.time_ns = htole64(until);
		append_record(bytes_, last_);
	}
}

// What was on the engine before this switch is unknown.
void DriverSamples::add_lost(const rm::ContextSwitch &s)
{
	gpulens_sample gap{};

	gap.time_ns = htole64(s.time_ns);
	gap.engine = GPULENS_SAMPLE_ALL;
	gap.kind = GPULENS_SAMPLE_FULL;
	gap.ticks = htole32(s.lost);
	append_record(bytes_, gap);
}

u64 DriverSamples::next_distance_ns()
{
	return at_random_ ? std::uniform_int_distribution<u64>(period_ns_ / 2, period_ns_ * 3 / 2)(random_)
			  : period_ns_;
}

void DriverSamples::add_owner(u32 channel, u32 pid, Evidence evidence)
{
	claims_[channel] = pid;
	add_owner_record(bytes_, {LENS_NONE, true, static_cast<int>(channel)},
			 pid ? std::optional(make_owner(pid, evidence)) : std::nullopt);
}

void DriverSamples::add_owners(bool now)
{
	for (const rm::OwnerFinder::Change &change : finder_.take_changes(now)) {
		auto claim = claims_.find(change.key);
		if (claim != claims_.end() && claim->second == change.pid)
			continue; // as the program claims
		if (claim != claims_.end() && claim->second != change.pid)
			tsg_of_.erase(change.key); // the driver's report contradicts the program's claim
		add_owner(change.key, change.pid, Evidence::Resident);
	}
}

void DriverSamples::finish(std::string &last)
{
	bytes_.clear();
	if (switches_)
		add_switches();
	if (switched_)
		append_text(bytes_, due_, RecordedText::Clock, format_duration(switches_->clock_error_ns()));
	else
		add_owners(true);
	last += bytes_;
}

std::string_view DriverSamples::read(std::chrono::milliseconds time)
{
	u64 end = now_ns() + static_cast<u64>(std::chrono::nanoseconds(time).count()), now = now_ns();

	if (returned_)
		bytes_.clear();
	returned_ = true;
	while (now < end && bytes_.size() < MAX_BYTES) {
		u64 next =
			switched_ ? std::min(due_, end) : std::min({due_, next_look_ns_, finder_.next_query_ns(), end});
		std::this_thread::sleep_until(clock::time_point(std::chrono::nanoseconds(next)));
		now = now_ns();
		if (now >= due_ && switches_) {
			add_switches();
		} else if (now >= due_) {
			add_sample();
		} else if (switched_) {
			continue; // the end
		} else if (now >= next_look_ns_) {
			rm::ResidentChannel resident;
			u64 time_ns = 0;
			query_resident(resident, time_ns);
		} else if (now < finder_.next_query_ns()) {
			continue; // the end
		}
		now = now_ns();
		if (switched_)
			continue;
		finder_.query_if_due();
		add_owners(false);
		now = now_ns();
		next_look_ns_ = period_ns_ > MAX_PERIOD_NS ? finder_.next_look_ns(now) : ~u64{0};
	}
	return bytes_;
}

} // namespace tool
