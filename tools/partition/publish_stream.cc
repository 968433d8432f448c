// SPDX-License-Identifier: GPL-2.0
// See publish_stream.hpp.
#include "partition/publish_stream.hpp"

#include "lib/launch/partition_entry.hpp"
#include "lib/launch/publish.hpp"
#include "lib/tpc/gpc_map.hpp"

#include <map>
#include <mutex>
#include <pthread.h>
#include <vector>

namespace gpulens {

namespace {

std::mutex lock;

// Kept for ever: partitions may be closed while the program exits.
std::map<const void *, tool::PartitionEntry> &all()
{
	static auto &entries = *new std::map<const void *, tool::PartitionEntry>;
	return entries;
}

// As tell() does, fork() takes this lock before that of publish().
void keep_over_fork()
{
	static const bool done = publish_over_fork() &&
				 !pthread_atfork([] { lock.lock(); }, [] { lock.unlock(); }, [] { lock.unlock(); });

	static_cast<void>(done);
}

void publish_all()
{
	std::vector<tool::PartitionEntry> list;

	for (const auto &[key, entry] : all())
		list.push_back(entry);
	publish(tool::format_partitions(list));
}

} // namespace

void tell(const void *key, const Layout &layout, const char *way, const char *scope, const TpcMask &tpcs)
{
	keep_over_fork();
	std::lock_guard<std::mutex> hold(lock);

	all()[key] = {.gpu = layout.device,
		      .way = way,
		      .scope = scope,
		      .tpcs = tpcs.tpcs(),
		      .gpcs = tool::plan::gpcs_of(layout.map, tpcs)};
	publish_all();
}

void untell(const void *key)
{
	std::lock_guard<std::mutex> hold(lock);

	if (all().erase(key))
		publish_all();
}

} // namespace gpulens
