// SPDX-License-Identifier: GPL-2.0
// The control commands: one JSON object in, one out. The list is in emulator/README.md.
#include "model/bits.hpp"
#include "model/gpu.hpp"
#include "model/host.hpp"
#include "model/bus.hpp"

#include <fstream>
#include <stdexcept>

namespace emu {

using nlohmann::json;

json Gpu::control(const json &command)
{
	try {
		tick(0);
		json reply = dispatch(command);
		reply["ok"] = true;
		return reply;
	} catch (const std::exception &e) {
		return {{"ok", false}, {"error", e.what()}};
	}
}

static json counts_json(const Counts &c)
{
	static const char *const widths[] = {"1", "2", "4", "8"};
	static const char *const regions[] = {"bar0", "pramin", "bar1", "bar2"};
	json j = {{"reads", json::object()}, {"writes", json::object()}, {"by_region", json::object()}};
	for (int i = 0; i < 4; i++) {
		j["reads"][widths[i]] = c.reads[i];
		j["writes"][widths[i]] = c.writes[i];
		j["by_region"][regions[i]] = c.region_reads[i] + c.region_writes[i];
		j["reads_by_region"][regions[i]] = c.region_reads[i];
		j["writes_by_region"][regions[i]] = c.region_writes[i];
	}
	j["unknown_reads"] = c.unknown_reads;
	j["unknown_writes"] = c.unknown_writes;
	j["wide_register_accesses"] = c.wide_register_accesses;
	return j;
}

json Gpu::dispatch(const json &q)
{
	std::string cmd = q.at("cmd");
	if (cmd == "counts")
		return counts_json(counts_);
	if (cmd == "reset-counts") {
		reset_counts();
		return json::object();
	}
	if (cmd == "log") {
		set_log(q.at("on"));
		return json::object();
	}
	if (cmd == "log-read") {
		json list = json::array();
		for (const Access &a : take_log()) {
			json one = {{"op", a.write ? "w" : "r"},
				    {"bar", a.bar},
				    {"off", a.offset},
				    {"size", a.size},
				    {"value", a.value}};
			if (a.unknown)
				one["unknown"] = true;
			list.push_back(one);
		}
		return {{"accesses", list}};
	}
	if (cmd == "running") {
		json list = json::array();
		for (const Running &r : running())
			list.push_back({{"engine", r.engine},
					{"runlist", r.runlist},
					{"tsg", r.tsg ? json(*r.tsg) : json()},
					{"channel", r.channel ? json(*r.channel) : json()}});
		return {{"engines", list}};
	}
	if (cmd == "runtime")
		return control_runtime();
	if (cmd == "state")
		return control_state();
	if (cmd == "scenario") {
		json scenario;
		if (auto data = q.find("data"); data != q.end()) {
			scenario = *data;
		} else {
			std::string file = q.at("file");
			std::ifstream in(file);
			if (!in)
				throw std::runtime_error("cannot read " + file);
			scenario = json::parse(in);
		}
		if (auto with = q.find("with"); with != q.end()) // keys that replace the scenario's own
			scenario.update(*with);
		load_scenario(scenario);
		return json::object();
	}
	if (cmd == "sysmem") {
		uint64_t base = number(q.at("base"));
		mem_.window = {number(q, "bus", base), base, number(q.at("bytes"))};
		return {{"reachable", mem_.sys && mem_.sys->at(mem_.window.base, mem_.window.bytes)}};
	}
	if (cmd == "translate")
		return control_translate(q);
	if (cmd == "peek") {
		uint64_t addr = number(q.at("addr")), words = number(q, "words", 1);
		if (words > 1u << 20)
			throw std::invalid_argument("too many words");
		Aperture ap = q.value("ap", "vid") == "sys" ? Aperture::SysCoherent : Aperture::Vid;
		json list = json::array();
		for (uint64_t i = 0; i < words; i++)
			list.push_back(mem_.rd32({ap, addr + 4 * i}));
		return {{"words", list}};
	}
	if (cmd == "poke") {
		uint64_t addr = number(q.at("addr"));
		Aperture ap = q.value("ap", "vid") == "sys" ? Aperture::SysCoherent : Aperture::Vid;
		for (const auto &w : q.at("words")) {
			uint32_t v = uint32_t(number(w));
			if (!mem_.write({ap, addr}, &v, 4))
				throw std::invalid_argument("no memory there");
			addr += 4;
		}
		return json::object();
	}
	if (cmd == "reg-peek")
		return {{"value", peek_register(uint32_t(number(q.at("off"))) & 0xffffff)}};
	if (cmd == "reg-poke") {
		poke_register(uint32_t(number(q.at("off"))) & 0xffffff, uint32_t(number(q.at("value"))));
		return json::object();
	}
	if (cmd == "fault")
		return control_fault(q);
	if (cmd == "time") {
		if (auto mode = q.find("mode"); mode != q.end())
			real_time(*mode == "real");
		if (auto ns = q.find("access_ns"); ns != q.end())
			access_ns_ = number(*ns);
		if (auto ns = q.find("advance_ns"); ns != q.end()) {
			if (real_time_)
				throw std::invalid_argument("time is real");
			advance(number(*ns));
		}
		return {{"now_ns", now()}, {"mode", real_time_ ? "real" : "virtual"}};
	}
	throw std::invalid_argument("unknown command " + cmd);
}

// Where an address ends up: of BAR1 or BAR2, or of the address space of an instance block.
json Gpu::control_translate(const json &q)
{
	std::optional<Phys> p;
	uint64_t va = number(q.at("va"));
	if (auto bar = q.find("bar"); bar != q.end()) {
		p = bus().target(number(*bar) == 1 ? 1 : 2, va);
	} else {
		Phys inst{Aperture(number(q, "inst_target", 0)), number(q.at("inst"))};
		if (auto space = address_space(mem_, profile_.is.pages, inst))
			p = emu::translate(mem_, *space, va);
	}
	if (!p)
		return {{"mapped", false}};
	return {{"mapped", true}, {"addr", p->addr}, {"target", unsigned(p->ap)}};
}

json Gpu::control_fault(const json &q)
{
	std::string kind = q.at("kind");
	Host &h = host();
	if (kind == "all-ones") {
		all_ones_ = true;
	} else if (kind == "bad-read") {
		bad_reads_[uint32_t(number(q.at("off"))) & ~3u] = uint32_t(number(q, "value", 0xbadf5040));
	} else if (kind == "protected") {
		bus().protect(number(q.at("addr")), number(q.at("bytes")));
	} else if (kind == "slow") {
		slow_ns_ = number(q.at("ns"));
	} else if (kind == "preempt-hangs") {
		h.preempt_hangs = true;
	} else if (kind == "torn") {
		torn_ = Torn{};
		torn_.runlist = int(number(q.at("runlist")));
		torn_.every = number(q.at("every"));
		torn_.in_place = q.value("in_place", false);
	} else if (kind == "halves") {
		halves_ = true;
	} else if (kind == "none") {
		all_ones_ = halves_ = false;
		bad_reads_.clear();
		bus().protect(0, 0);
		slow_ns_ = 0;
		torn_ = Torn{};
		h.preempt_hangs = false;
		for (auto &rl : h.runlists()) // hung preempts go on
			if (rl.phase == Phase::Save && rl.phase_end == NEVER)
				rl.phase_end = h.now() + profile_.timing.save_wfi;
			else if ((rl.tsg_preempt_pending || rl.runlist_preempt_pending) && rl.phase != Phase::Save)
				rl.preempt_done = h.now();
		h.channel_changed();
	} else {
		throw std::invalid_argument("unknown fault " + kind);
	}
	return {{"torn_times", torn_.times}};
}

static const char *phase_name(Phase p)
{
	switch (p) {
	case Phase::Load: return "load";
	case Phase::Valid: return "valid";
	case Phase::Switch: return "switch";
	case Phase::Save: return "save";
	default: return "invalid";
	}
}

json Gpu::control_state()
{
	json runlists = json::array(), channels = json::array();
	for (auto &rl : host().runlists()) {
		json tsgs = json::array();
		for (const auto &t : rl.list.tsgs) {
			json ids = json::array();
			for (const auto &c : t.channels) {
				ids.push_back(c.id);
				const Channel *ch = host().channel(rl, c.id);
				if (!ch)
					continue;
				Phys inst = profile_.pfifo() ? ch->inst : c.inst;
				json one = {{"runlist", rl.info.id},
					    {"id", c.id},
					    {"tsg", t.bare ? json() : json(t.id)},
					    {"runqueue", c.runqueue},
					    {"enabled", ch->enabled},
					    {"busy", ch->work},
					    {"next", ch->next},
					    {"faulted", ch->pbdma_faulted || ch->eng_faulted},
					    {"inst", inst.addr},
					    {"inst_target", unsigned(inst.ap)}};
				if (auto h = host().images().locate(inst)) {
					one["context"] = h->addr;
					if (auto m = host().images().modes(inst)) {
						one["graphics_preemption"] = m->graphics & 3;
						one["compute_preemption"] = m->compute & 3;
					}
				}
				channels.push_back(one);
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
				    {"phase", phase_name(rl.phase)},
				    {"error", rl.list.error},
				    {"tsgs", tsgs}});
	}
	return {{"chip", profile_.name},
		{"now_ns", now()},
		{"runlists", runlists},
		{"channels", channels},
		{"preempts_over_pending", host().preempts_over_pending}};
}

json Gpu::control_runtime()
{
	host().account_all();
	json runlists = json::array(), tsgs = json::array(), channels = json::array();
	for (auto &rl : host().runlists()) {
		uint64_t ran = 0;
		for (const auto &[id, a] : rl.accounts) {
			ran += a.ran_ns;
			tsgs.push_back({{"runlist", rl.info.id}, {"id", id}, {"ns", a.ran_ns}, {"slices", a.slices}});
		}
		for (const auto &t : rl.list.tsgs)
			for (const auto &c : t.channels)
				if (const Channel *ch = host().channel(rl, c.id))
					channels.push_back({{"runlist", rl.info.id},
							    {"id", c.id},
							    {"tsg", t.id},
							    {"ns", ch->ran_ns},
							    {"slices", ch->slices}});
		runlists.push_back({{"id", rl.info.id}, {"ns", ran}});
	}
	return {{"now_ns", now()}, {"runlists", runlists}, {"tsgs", tsgs}, {"channels", channels}};
}

} // namespace emu
