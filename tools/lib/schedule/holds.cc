// SPDX-License-Identifier: GPL-2.0
// See holds.hpp.
#include "lib/schedule/holds.hpp"

#include <algorithm>
#include <cerrno>

namespace tool::schedule {

HoldTable::Entry *HoldWriter::find(u64 channel) const
{
	u32 n = table_.entries.load();

	for (u32 i = 0; i < n; i++)
		if (table_.entry[i].channel.load() == channel)
			return &table_.entry[i];
	return nullptr;
}

bool HoldWriter::holds(u64 channel) const
{
	const HoldTable::Entry *entry = find(channel);

	return entry && entry->since.load();
}

bool HoldWriter::extend_lease()
{
	u64 now = port_.now(), end = table_.lease_end.load();
	bool over = end && now > end;

	if (over)
		release_all();
	port_.pass_step();
	// now is from before: a lease that this process slept through is not extended.
	table_.lease_end.store(now + lease_ns_);
	return !over;
}

int HoldWriter::hold(u64 channel)
{
	HoldTable::Entry *entry = find(channel);
	u64 now = port_.now();

	if (now > table_.lease_end.load())
		return ETIME;
	if (!entry) {
		u32 n = table_.entries.load();
		if (n == MAX_HOLDS)
			return ENOSPC;
		entry = &table_.entry[n];
		entry->since.store(0);
		entry->channel.store(channel);
		port_.pass_step();
		table_.entries.store(n + 1);
	}
	port_.pass_step();
	if (!entry->since.load())
		entry->since.store(std::max<u64>(now, 1));
	port_.pass_step();
	int err = port_.disable_channel(channel);
	port_.pass_step();
	if (err == EALREADY)
		entry->since.store(0);
	else if (err)
		free_entry(*entry); // it may have reached the GPU all the same
	return err;
}

int HoldWriter::free_entry(HoldTable::Entry &entry)
{
	int err = port_.enable_channel(entry.channel.load());

	port_.pass_step();
	// A channel that is not there any more is held by nobody.
	if (!err || err == ENOENT)
		entry.since.store(0);
	return err;
}

int HoldWriter::release(u64 channel)
{
	HoldTable::Entry *entry = find(channel);

	return entry && entry->since.load() ? free_entry(*entry) : 0;
}

int HoldWriter::release_all()
{
	u32 n = std::min(table_.entries.load(), MAX_HOLDS);
	int first = 0;

	for (u32 i = 0; i < n; i++) {
		if (!table_.entry[i].since.load())
			continue;
		int err = free_entry(table_.entry[i]);
		first = first ? first : err;
	}
	return first;
}

u32 HoldWatch::enforce(bool alive)
{
	u32 n = std::min(table_.entries.load(), MAX_HOLDS), left = 0;
	u64 now = port_.now();
	bool over = !alive || now > table_.lease_end.load();

	for (u32 i = 0; i < n; i++) {
		HoldTable::Entry &entry = table_.entry[i];
		u64 since = entry.since.load();
		if (!since || (!over && now < since + MAX_HOLD_NS))
			continue;
		port_.pass_step();
		int err = port_.enable_channel(entry.channel.load());
		expired_++;
		if (err && err != ENOENT)
			left++;
		else if (!alive)
			entry.since.store(0);
	}
	return left;
}

} // namespace tool::schedule
