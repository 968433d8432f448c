// SPDX-License-Identifier: GPL-2.0
// The answers of fake_rm.cc about a program's own TSGs and channels, and what controls of these do.
#include "fake_rm.hpp"
#include "fake_schedule.hpp"

#include <algorithm>

namespace fake {

static constexpr uint32_t OK = 0, ARGUMENT = 0x1f, REFUSED = 0x40, NOT_SUPPORTED = 0x56,
			  OBJECT_NOT_FOUND = 0x57; // nvstatuscodes.h

// NVA06C GPFIFO_SCHEDULE (enable 0), SET_TIMESLICE (us 0), PREEMPT
uint32_t Rm::schedule_group(uint32_t object, uint32_t cmd, const Params &p)
{
	SharedTsg *t = shared_tsg(object);
	Behaviour behaviour = behaviour_of(cmd == 0xa06c0103   ? "slice"
					   : cmd == 0xa06c0105 ? "preempt"
					   : p.bytes[0]        ? "list"
							       : "unlist");

	if (!t)
		return cmd == 0xa06c0101 ? OK : NOT_SUPPORTED;
	if (behaviour == Behaviour::Refused)
		return REFUSED;
	if (behaviour == Behaviour::Inert)
		return OK;
	if (cmd == 0xa06c0103)
		(behaviour == Behaviour::Commit ? t->later_slice_us : t->slice_us) = p.get(0);
	else if (cmd == 0xa06c0105)
		t->saves++;
	else
		t->disabled = !p.bytes[0];
	if (cmd == 0xa06c0101 && p.bytes[0])
		commit_all();
	return OK;
}

// NV2080 FIFO_DISABLE_CHANNELS: disable 0, count 4, only scheduling 8, rewind 9, clients 24, channels 280
uint32_t Rm::disable_channels(const Params &p)
{
	Behaviour behaviour = behaviour_of("disable");

	if (p.get(4) > 64 || p.bytes[9])
		return ARGUMENT;
	if (behaviour == Behaviour::Refused)
		return REFUSED;
	for (auto &[group, channels] : groups_) {
		uint32_t named = 0;
		for (uint32_t i = 0; i < p.get(4); i++)
			named += std::find(channels.begin(), channels.end(), p.get(280 + 4 * i)) != channels.end();
		SharedTsg *t = named ? shared_tsg(group) : nullptr;
		// A TSG with an enabled channel goes on.
		if (!t || behaviour == Behaviour::Inert || (p.bytes[0] && named < channels.size()))
			continue;
		if (behaviour == Behaviour::Commit)
			t->later_disabled = p.bytes[0] + 1U;
		else
			t->disabled = p.bytes[0];
		if (p.bytes[0] && !p.bytes[8])
			t->saves++;
	}
	return OK;
}

// A number of the recording: 5, or "0x5".
static uint32_t read_number(const json &j)
{
	return j.is_string() ? static_cast<uint32_t>(std::stoul(j.get<std::string>(), nullptr, 0)) : j.get<uint32_t>();
}

uint32_t Rm::answer_group(uint32_t object, uint32_t cmd, const Params &p)
{
	const json *tsg = nullptr;

	for (size_t i = 0; i < groups_.size(); i++)
		if (groups_[i].first == object)
			tsg = this->tsg(i);
	if (!tsg)
		return OBJECT_NOT_FOUND;
	switch (cmd) {
	case 0xa06c0103:
	case 0xa06c0105:
	case 0xa06c0101: return schedule_group(object, cmd, p); // SET_TIMESLICE, PREEMPT, GPFIFO_SCHEDULE
	case 0xa06c0106: p.put(0, read_number((*tsg)["hw_tsg_id"])); return OK; // GET_INFO
	case 0xa06c0104:                                                        // GET_TIMESLICE
		p.put(0, read_number((*tsg)["timeslice_us"]));
		p.put(4, 0);
		return OK;
	default: return NOT_SUPPORTED;
	}
}

// FIFO_GET_CHANNELLIST: count 0, handles 8, ids 16
uint32_t Rm::answer_device(uint32_t cmd, const Params &p)
{
	uint32_t *handles, *ids;

	if (cmd != 0x80170d)
		return NOT_SUPPORTED;
	memcpy(&handles, p.bytes + 8, 8);
	memcpy(&ids, p.bytes + 16, 8);
	for (size_t i = 0; i < groups_.size() && tsg(i); i++) {
		const std::vector<uint32_t> &channels = groups_[i].second;
		for (uint32_t n = 0; n < p.get(0); n++)
			for (size_t c = 0; c < channels.size(); c++)
				if (channels[c] == handles[n])
					ids[n] = (*tsg(i))["chids"][c];
	}
	return OK;
}

// GR_GET_CTXSW_STATS: channel 0, saves 8, CILP's 24
uint32_t Rm::count_switches(const Params &p)
{
	SharedTsg *t = shared_tsg(p.get(0));

	p.put(8, t ? t->saves.load() : 0);
	p.put(24, t ? t->saves.load() : 0);
	return t ? OK : ARGUMENT;
}

} // namespace fake
