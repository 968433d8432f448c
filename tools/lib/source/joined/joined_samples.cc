// SPDX-License-Identifier: GPL-2.0
// A record of an owner may stand only between two samples, so it waits while the last sample is incomplete. A read of the
// module ends in time for the driver's next query.
#include "lib/source/joined/joined_samples.hpp"

#include "hw/ptop.h"
#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "lib/base/monotonic.hpp"
#include "lib/rm/claims.hpp"
#include "lib/source/records.hpp"
#include "lib/source/snapshot/snapshot.hpp"

#include <algorithm>
#include <cstring>
#include <endian.h>
#include <thread>
#include <uapi/gpulens.h>
#include <utility>

namespace tool {

namespace {

constexpr u32 LONGEST_PERIOD_US = 2000; // with longer ones, too many turns would be missed
constexpr u64 PAUSE_NS = 1000000;
constexpr u32 BARE = 1 << 16; // in a key of OwnerFinder: a channel in no TSG

rm::Attached find_device(rm::Client &client, const std::string &device)
{
	std::vector<rm::Attached> all = client.gpus();
	auto at = std::find_if(all.begin(), all.end(),
			       [&](const rm::Attached &gpu) { return is_same_address(gpu.pci, device); });

	if (at == all.end())
		throw Error(Error::Source, "NVIDIA's driver does not have this GPU");
	return *at;
}

// Null where the driver gives none.
std::unique_ptr<rm::ContextSwitches> open_switches(rm::Client &client, const rm::Subdevice &gpu)
{
	try {
		return std::make_unique<rm::ContextSwitches>(client, gpu);
	} catch (const Error &) {
		return nullptr;
	}
}

} // namespace

JoinedSamples::JoinedSamples(std::unique_ptr<SampleStream> module, const std::string &device,
			     std::shared_ptr<TaskWatch> watch, const SampleOptions &options)
	: module_(std::move(module)), watch_(std::move(watch)), attached_(find_device(client_, device)),
	  subdevice_(client_.open(attached_)),
	  finder_(std::make_unique<rm::OwnerFinder>(client_, subdevice_, u64{options.period_us} * 1500,
						    rm::Search::Screen, open_switches(client_, subdevice_))),
	  finds_owners_(options.period_us <= LONGEST_PERIOD_US)
{
}

void JoinedSamples::add_owner(const TaskId &id, u32 pid, Evidence evidence)
{
	add_owner_record(added_, id, pid ? std::optional(make_owner(pid, evidence)) : std::nullopt);
}

// The owners that programs report, from the snapshot at the beginning.
void JoinedSamples::take_snapshot(std::string_view bytes)
{
	Gpu gpu = from_snapshot(bytes, "snapshot");

	join_claims(gpu, rm::find_claims(client_, subdevice_, attached_, rm::list_processes(client_, subdevice_)));
	for (const Runlist &rl : gpu.runlists)
		for (const Tsg &tsg : rl.tsgs)
			if (tsg.owner)
				add_owner({static_cast<int>(rl.id), false, static_cast<int>(tsg.id)}, tsg.owner->pid,
					  tsg.owner->evidence);
}

// Returns false if more bytes are needed.
bool JoinedSamples::take_head()
{
	gpulens_samples_header head;
	gpulens_header snapshot;
	size_t at = 0;

	if (pending_.size() < sizeof(head))
		return false;
	std::memcpy(&snapshot, pending_.data(), sizeof(snapshot));
	if (le32toh(snapshot.magic) == GPULENS_MAGIC)
		at = GPULENS_RECORD_BYTES * (size_t{le32toh(snapshot.records)} + 1);
	if (pending_.size() < at + sizeof(head))
		return false;
	std::memcpy(&head, pending_.data() + at, sizeof(head));
	size_t end = at + sizeof(head) + size_t{le32toh(head.engines)} * GPULENS_RECORD_BYTES;
	if (le32toh(head.magic) != GPULENS_SAMPLES_MAGIC || le16toh(head.sample_bytes) != sizeof(gpulens_sample))
		throw Error(Error::Source, "samples of an unknown layout");
	if (pending_.size() < end)
		return false;
	if (at)
		take_snapshot(std::string_view(pending_).substr(0, at));
	for (u32 i = 0; i < le32toh(head.engines); i++) {
		gpulens_engine engine;
		std::memcpy(&engine, pending_.data() + at + sizeof(head) + size_t{i} * GPULENS_RECORD_BYTES,
			    sizeof(engine));
		if (le16toh(engine.engine_type) == NV_PTOP_DEVICE_INFO_TYPE_ENUM_GRAPHICS && !le16toh(engine.inst)) {
			graphics_ = static_cast<int>(i);
			runlist_ = id_of_record(engine.runlist);
		}
	}
	pending_.erase(0, end);
	return true;
}

void JoinedSamples::take_sample(const char *bytes)
{
	gpulens_sample sample;

	std::memcpy(&sample, bytes, sizeof(sample));
	if (sample.engine != graphics_)
		return;
	bool on = sample.kind == GPULENS_SAMPLE_ON && le16toh(sample.at.id) != static_cast<u16>(GPULENS_NONE);
	bool bare = sample.flags & GPULENS_SAMPLE_BARE_CHANNEL;
	finder_->add_resident(le64toh(sample.time_ns),
			      on ? std::optional(le16toh(sample.at.id) | (bare ? BARE : 0)) : std::nullopt);
}

void JoinedSamples::add_changes(bool now)
{
	for (const TaskId &id : watch_->take_replaced()) {
		if (id.runlist == runlist_)
			finder_->forget(static_cast<u32>(id.id) | (id.bare ? BARE : 0));
		add_owner(id, 0, Evidence::Unknown);
	}
	for (const rm::OwnerFinder::Change &change : finder_->take_changes(now))
		add_owner({runlist_, (change.key & BARE) != 0, static_cast<int>(change.key & (BARE - 1))}, change.pid,
			  finder_->has_switched() ? Evidence::Switched : Evidence::Resident);
}

// Waits for samples until a query is due, or as long as there is time.
void JoinedSamples::read_module(std::chrono::milliseconds time)
{
	u64 now = now_ns(), due = finds_owners_ ? finder_->next_query_ns() : ~u64{0};
	auto until_query = std::chrono::milliseconds((std::max(due, now) - now) / 1000000);

	bytes_ = module_->read(std::min(time, until_query));
	// The module waits; a file in its place, as in tests, does not.
	if (bytes_.empty() && time.count() && now_ns() < std::min(due, now + PAUSE_NS))
		std::this_thread::sleep_for(std::chrono::nanoseconds(PAUSE_NS));
	pending_ += bytes_;
}

std::string_view JoinedSamples::read(std::chrono::milliseconds time)
{
	size_t at = 0;

	read_module(time);
	if (!begun_ && !(begun_ = take_head()))
		return bytes_;
	for (; at + sizeof(gpulens_sample) <= pending_.size(); at += sizeof(gpulens_sample))
		take_sample(pending_.data() + at);
	pending_.erase(0, at);
	if (finds_owners_)
		finder_->query_if_due();
	add_changes(false);
	// A record stands between two samples only.
	if (pending_.empty()) {
		bytes_ += added_;
		added_.clear();
	}
	return bytes_;
}

void JoinedSamples::finish(std::string &last)
{
	if (!begun_ || !pending_.empty())
		return;
	add_changes(finds_owners_);
	last += std::exchange(added_, {});
}

} // namespace tool
