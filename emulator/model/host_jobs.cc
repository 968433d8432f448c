// SPDX-License-Identifier: GPL-2.0
// Host: jobs of channels. They arrive at their time, take the time that their channel is on an engine, and end.
#include "model/host.hpp"

#include <algorithm>

namespace emu {

void Host::give_jobs(Runlist &rl, u32 chid, Phys semaphore)
{
	Channel &ch = *channel(rl, chid);
	ch.jobs = std::make_shared<ChannelJobs>();
	ch.jobs->semaphore = semaphore;
	ch.work = false;
	rl.has_jobs = true;
}

void Host::plan_jobs(Runlist &rl, u32 chid, u64 first, u64 length, u64 period, u64 count)
{
	ChannelJobs &jobs = *channel(rl, chid)->jobs;
	jobs.length = length;
	jobs.period = period;
	jobs.left = period ? count : std::min<u64>(count, 1);
	if (jobs.left)
		rl.arrivals.insert({first, chid});
	update_next_event();
}

void Host::add_jobs(Runlist &rl, u32 chid, u64 length, u64 count)
{
	Channel &ch = *channel(rl, chid);
	bool idle = ch.jobs->waiting.empty();
	count_run_time(rl, now_);
	for (u64 i = 0; i < count; i++)
		ch.jobs->add_job(now_, length);
	ch.work = true;
	ch.lost = false; // a doorbell rings
	if (idle)
		find_job_end(rl, now_);
	channel_changed();
}

void Host::bring_jobs(Runlist &rl, u64 t)
{
	while (!rl.arrivals.empty() && rl.arrivals.begin()->first <= t) {
		auto [at, chid] = *rl.arrivals.begin();
		rl.arrivals.erase(rl.arrivals.begin());
		Channel &ch = *channel(rl, chid);
		count_run_time(rl, t);
		ch.jobs->add_job(at, ch.jobs->length);
		ch.work = true;
		ch.lost = false;
		if (--ch.jobs->left)
			rl.arrivals.insert({at + ch.jobs->period, chid});
	}
	find_job_end(rl, t);
	if (rl.phase == Phase::Invalid && rl.phase_end == NEVER && !rl.list.tsgs.empty())
		choose_next(rl, t);
}

// When the first job of the channels that run ends, unless their time slice ends before.
void Host::find_job_end(Runlist &rl, u64 t)
{
	rl.job_due = NEVER;
	if (!rl.has_jobs || rl.phase != Phase::Valid)
		return;
	for (int chid : rl.now.chid)
		if (chid >= 0)
			if (const Channel &ch = *channel(rl, u32(chid)); ch.jobs && !ch.jobs->waiting.empty())
				rl.job_due = std::min(rl.job_due, t + ch.jobs->first_left);
}

// The time slice ends where no channel of it has work.
void Host::end_jobs(Runlist &rl, u64 t)
{
	bool busy = false;
	count_run_time(rl, t);
	for (int chid : rl.now.chid) {
		if (chid < 0)
			continue;
		Channel &ch = *channel(rl, u32(chid));
		if (ch.jobs && !ch.jobs->waiting.empty() && !ch.jobs->first_left) {
			ch.jobs->end_first(t);
			mem_.wr32(ch.jobs->semaphore, ch.jobs->count);
			ch.work = !ch.jobs->waiting.empty();
		}
		busy |= ch.work;
	}
	find_job_end(rl, t);
	if (!busy)
		choose_next(rl, t);
}

} // namespace emu
