// SPDX-License-Identifier: GPL-2.0
// See publish_stream.hpp.
#include "partition/publish_stream.hpp"

#include "lib/launch/publish.hpp"
#include "lib/tpc/gpc_map.hpp"

#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <pthread.h>

namespace gpulens {

namespace {

using nlohmann::json;

std::mutex lock;

// Kept for ever: partitions may be closed while the program exits.
std::map<const void *, json> &all()
{
	static auto &told = *new std::map<const void *, json>;
	return told;
}

// As tell() does, fork() takes this lock before the one of announce().
void keep_over_fork()
{
	static const bool done = announce_over_fork() &&
				 !pthread_atfork([] { lock.lock(); }, [] { lock.unlock(); }, [] { lock.unlock(); });

	static_cast<void>(done);
}

void announce_all()
{
	json list = json::array();

	for (const auto &[key, one] : all())
		list.push_back(one);
	announce(list.dump());
}

} // namespace

void tell(const void *key, const Layout &layout, const char *way, const char *scope, const TpcMask &tpcs)
{
	keep_over_fork();
	std::lock_guard<std::mutex> hold(lock);

	all()[key] = {{"gpu", layout.device},
		      {"way", way},
		      {"scope", scope},
		      {"tpcs", tpcs.tpcs()},
		      {"gpcs", tool::plan::gpcs_of(layout.map, tpcs)}};
	announce_all();
}

void untell(const void *key)
{
	std::lock_guard<std::mutex> hold(lock);

	if (all().erase(key))
		announce_all();
}

} // namespace gpulens
