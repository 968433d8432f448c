// SPDX-License-Identifier: GPL-2.0
// Joins the module's TSGs with processes. A TSG of which nothing shows whose it is, or about which two processes disagree,
// has no owner: a wrong one would be worse.
#pragma once
#include "lib/model/model.hpp"
#include "lib/rm/run_tsg.hpp"

#include <map>
#include <set>
#include <utility>
#include <vector>

namespace tool {

// Gives each TSG the owner that claims it: one process alone, for the runlist of that engine, the TSG's id, and each
// channel that the TSG has there. claims: of this GPU.
void join_claims(Gpu &gpu, const std::vector<RunTsg> &claims);

// The channels of each TSG, or of a channel in none, by id and address of the instance block. Ids are used again: a task
// with other channels than before is another one.
using ChannelSet = std::set<std::pair<u32, u64>>;
using Identities = std::map<TaskId, ChannelSet>;
Identities identities_of(const Gpu &gpu);
// Do they have a channel in common, at the same address?
bool share_channel(const ChannelSet &a, const ChannelSet &b);
// Returns the tasks of which before and now have nothing in common.
std::vector<TaskId> find_replaced(const Identities &before, const Identities &now);

} // namespace tool
