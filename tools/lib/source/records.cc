// SPDX-License-Identifier: GPL-2.0
// The fields of a process record have fixed sizes: records of text follow for a user or container that does not fit, and for
// each pod, which has no field.
#include "lib/source/records.hpp"

#include "gpulens/gpu.h"
#include "lib/model/recording.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <endian.h>

namespace tool {

namespace {

// Copies what there is room for. Returns whether that is all.
template <size_t N> bool copy_text(char (&to)[N], const std::string &text)
{
	std::memcpy(to, text.data(), std::min(text.size(), N - 1));
	return text.size() < N;
}

} // namespace

void add_owner_record(std::string &bytes, const TaskId &id, const std::optional<Owner> &owner)
{
	using std::chrono::steady_clock; // CLOCK_MONOTONIC
	u64 time_ns = static_cast<u64>(
		std::chrono::duration_cast<std::chrono::nanoseconds>(steady_clock::now().time_since_epoch()).count());
	ProcessRecord process{};
	bool whole_user = true, whole_container = true;

	process.type = htole16(RECORD_PROCESS);
	process.channel = htole16(static_cast<u16>(id.runlist == LENS_NONE ? id.id : GPULENS_NONE));
	if (id.runlist != LENS_NONE) {
		process.flags = static_cast<u8>(PROCESS_TSG | (id.bare ? PROCESS_BARE : 0));
		process.runlist = htole16(static_cast<u16>(id.runlist));
		process.tsg = htole16(static_cast<u16>(id.id));
	}
	if (owner) {
		process.pid = htole32(owner->pid);
		process.evidence = static_cast<u8>(owner->evidence);
		copy_text(process.name, owner->name);
		whole_user = copy_text(process.user, owner->user);
		whole_container = copy_text(process.container, owner->container);
	}
	append_record(bytes, time_ns, &process);
	if (!owner)
		return;
	if (!whole_user)
		append_text(bytes, time_ns, RecordedText::User, owner->user);
	if (!whole_container)
		append_text(bytes, time_ns, RecordedText::Container, owner->container);
	if (!owner->pod.empty())
		append_text(bytes, time_ns, RecordedText::Pod, owner->pod);
}

} // namespace tool
