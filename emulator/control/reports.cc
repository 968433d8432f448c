// SPDX-License-Identifier: GPL-2.0
// The commands "state" and "runtime": lists, channels and run times as the schedulers have them.
#include "control/commands.hpp"

#include <set>

namespace emu {

using nlohmann::json;

namespace {

const char *name_phase(Phase phase)
{
	switch (phase) {
	case Phase::Load: return "load";
	case Phase::Valid: return "valid";
	case Phase::Switch: return "switch";
	case Phase::Save: return "save";
	default: return "invalid";
	}
}

// The TSGs of a list, each once, however often it is listed.
std::vector<const ListTsg *> list_once(const Runlist &rl)
{
	std::vector<const ListTsg *> once;
	std::set<u32> seen;

	for (const ListTsg &t : rl.list.tsgs)
		if (t.bare || seen.insert(t.id).second)
			once.push_back(&t);
	return once;
}

} // namespace

json report_state(EmulatedGpu &gpu, const json &)
{
	Host &host = gpu.host();
	const Profile &profile = gpu.profile();
	json runlists = json::array(), channels = json::array();
	for (auto &rl : host.runlists()) {
		json tsgs = json::array();
		for (const auto &t : rl.list.tsgs) {
			json ids = json::array();
			for (const auto &c : t.channels) {
				ids.push_back(c.id);
				const Channel *ch = host.channel(rl, c.id);
				if (!ch)
					continue;
				Phys inst = profile.pfifo() ? ch->inst : c.inst;
				json channel = {{"runlist", rl.info.id},
						{"id", c.id},
						{"tsg", t.bare ? json() : json(t.id)},
						{"runqueue", c.runqueue},
						{"enabled", ch->enabled},
						{"busy", ch->work},
						{"next", ch->next},
						{"faulted", ch->pbdma_faulted || ch->eng_faulted},
						{"inst", inst.addr},
						{"inst_target", unsigned(inst.ap)}};
				if (auto context_image = host.context_images().find_context_image(inst)) {
					channel["context"] = context_image->addr;
					if (auto modes = host.context_images().read_modes(inst)) {
						channel["graphics_preemption"] = modes->graphics & 3;
						channel["compute_preemption"] = modes->compute & 3;
					}
				}
				channels.push_back(channel);
			}
			tsgs.push_back({{"id", t.bare ? json() : json(t.id)},
					{"timeout", t.timeout},
					{"scale", t.scale},
					{"timeslice_ns", t.timeslice_ns()},
					{"channels", ids}});
		}
		json submitted = json::array();
		for (const auto &[list, times] : rl.submitted)
			submitted.push_back({{"target", unsigned(std::get<0>(list))},
					     {"base", std::get<1>(list)},
					     {"length", std::get<2>(list)},
					     {"times", times}});
		runlists.push_back({{"id", rl.info.id},
				    {"submitted", submitted},
				    {"base", rl.base.addr},
				    {"base_target", unsigned(rl.base.ap)},
				    {"length", rl.length},
				    {"pending", rl.submit_pending},
				    {"sched_disabled", rl.sched_disabled},
				    {"phase", name_phase(rl.phase)},
				    {"error", rl.list.error},
				    {"tsgs", tsgs}});
	}
	return {{"chip", profile.name},
		{"now_ns", gpu.now()},
		{"runlists", runlists},
		{"channels", channels},
		{"preempts_over_pending", host.preempts_over_pending}};
}

json report_jobs(EmulatedGpu &gpu, const json &)
{
	Host &host = gpu.host();
	json channels = json::array();
	host.count_run_times();
	for (auto &rl : host.runlists())
		for (const ListTsg *t : list_once(rl))
			for (const auto &c : t->channels) {
				const Channel *ch = host.channel(rl, c.id);
				if (!ch || !ch->jobs)
					continue;
				const ChannelJobs &jobs = *ch->jobs;
				json finished = json::array(), waiting = json::array();
				for (const Job &job : jobs.finished)
					finished.push_back({{"arrived_ns", job.arrived}, {"ended_ns", job.ended}});
				for (const Job &job : jobs.waiting)
					waiting.push_back(job.arrived);
				channels.push_back({{"runlist", rl.info.id},
						    {"id", c.id},
						    {"tsg", t->id},
						    {"semaphore", jobs.semaphore.addr},
						    {"semaphore_target", unsigned(jobs.semaphore.ap)},
						    {"count", jobs.count},
						    {"finished", finished},
						    {"waiting", waiting}});
			}
	return {{"now_ns", gpu.now()}, {"channels", channels}};
}

json report_runtime(EmulatedGpu &gpu, const json &)
{
	Host &host = gpu.host();
	host.count_run_times();
	json runlists = json::array(), tsgs = json::array(), channels = json::array();
	for (auto &rl : host.runlists()) {
		u64 ran = 0;
		for (const auto &[id, a] : rl.accounts) {
			ran += a.ran_ns;
			tsgs.push_back({{"runlist", rl.info.id}, {"id", id}, {"ns", a.ran_ns}, {"slices", a.slices}});
		}
		for (const ListTsg *t : list_once(rl))
			for (const auto &c : t->channels)
				if (const Channel *ch = host.channel(rl, c.id))
					channels.push_back({{"runlist", rl.info.id},
							    {"id", c.id},
							    {"tsg", t->id},
							    {"ns", ch->ran_ns},
							    {"slices", ch->slices}});
		runlists.push_back({{"id", rl.info.id}, {"ns", ran}});
	}
	return {{"now_ns", gpu.now()}, {"runlists", runlists}, {"tsgs", tsgs}, {"channels", channels}};
}

} // namespace emu
