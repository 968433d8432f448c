// SPDX-License-Identifier: GPL-2.0
// Keeps the list of published partitions and passes it to publish() as JSON.
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

// By key. Never destroyed: partitions may be closed by destructors that run after those of this file.
std::map<const void *, tool::PartitionEntry> &published()
{
	static auto &partitions = *new std::map<const void *, tool::PartitionEntry>;
	return partitions;
}

// Registers handlers that keep the lock consistent across fork(). fork() must take this lock before publish()'s, in
// the same order as publish_partition(), so publish() registers its handlers first.
void register_fork_handlers()
{
	static const bool registered =
		publish_over_fork() &&
		!pthread_atfork([] { lock.lock(); }, [] { lock.unlock(); }, [] { lock.unlock(); });

	static_cast<void>(registered);
}

void publish_all()
{
	std::vector<tool::PartitionEntry> list;

	for (const auto &[key, partition] : published())
		list.push_back(partition);
	publish(tool::format_partitions(list));
}

} // namespace

void publish_partition(const void *key, const Layout &layout, const char *method, const char *scope,
		       const TpcMask &tpcs)
{
	register_fork_handlers();
	std::lock_guard<std::mutex> hold(lock);

	published()[key] = {.gpu = layout.device,
			    .method = method,
			    .scope = scope,
			    .tpcs = tpcs.tpcs(),
			    .gpcs = tool::plan::gpcs_of(layout.map, tpcs)};
	publish_all();
}

void withdraw_partition(const void *key)
{
	std::lock_guard<std::mutex> hold(lock);

	if (published().erase(key))
		publish_all();
}

} // namespace gpulens
