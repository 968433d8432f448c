// SPDX-License-Identifier: GPL-2.0
// The control commands: one JSON object in, one out. The tables are at the end.
#include "control/commands.hpp"

#include "model/bus.hpp"
#include "model/host.hpp"

#include <algorithm>
#include <stdexcept>

namespace emu {

using nlohmann::json;

namespace {

json count_accesses(EmulatedGpu &gpu, const json &)
{
	static const char *const widths[] = {"1", "2", "4", "8"};
	static const char *const regions[] = {"bar0", "pramin", "bar1", "bar2"};
	const Counts &c = gpu.counts();
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

json reset_counts(EmulatedGpu &gpu, const json &)
{
	gpu.reset_counts();
	return json::object();
}

json switch_log(EmulatedGpu &gpu, const json &q)
{
	gpu.set_log(q.at("on"));
	return json::object();
}

json read_log(EmulatedGpu &gpu, const json &)
{
	json list = json::array();
	for (const Access &a : gpu.take_log()) {
		json access = {{"op", a.write ? "w" : "r"},
			       {"bar", a.bar},
			       {"off", a.offset},
			       {"size", a.size},
			       {"value", a.value}};
		if (a.unknown)
			access["unknown"] = true;
		list.push_back(access);
	}
	return {{"accesses", list}};
}

json list_unmodelled(EmulatedGpu &gpu, const json &q)
{
	json list = json::array();
	for (const auto &[offset, u] : gpu.unmodelled()) {
		json entry = {{"off", offset}, {"reads", u.reads}, {"writes", u.writes}};
		if (u.written)
			entry["written"] = *u.written;
		list.push_back(entry);
	}
	if (q.value("reset", false))
		gpu.reset_unmodelled();
	return {{"registers", list}};
}

json report_work(EmulatedGpu &gpu, const json &)
{
	const Work &work = gpu.host().work();
	const Work::Counts &c = work.counts();
	json ignored = json::array();
	for (const auto &[method, times] : work.ignored())
		ignored.push_back({{"class", method.first}, {"method", method.second}, {"times", times}});
	return {{"entries", c.entries},
		{"methods", c.methods},
		{"copied_bytes", c.copied_bytes},
		{"releases", c.releases},
		{"acquires", c.acquires},
		{"faults", c.faults},
		{"ignored", ignored},
		{"ignored_unlisted", c.ignored_unlisted},
		{"refused_writes", gpu.memories().vid.refused()}};
}

json add_jobs(EmulatedGpu &gpu, const json &q)
{
	Host &host = gpu.host();
	Runlist *rl = host.runlist(int(read_number(q.at("runlist"))));
	u64 length = read_number(q.at("length_us")), id = read_number(q.at("channel"));
	Channel *ch = rl ? host.channel(*rl, u32(id)) : nullptr;
	if (!ch || !ch->jobs)
		throw std::invalid_argument("channel " + std::to_string(id) + " has no jobs in the scenario");
	if (!length || length > 1'000'000'000)
		throw std::invalid_argument("length_us must be 1 to 1000000000");
	host.add_jobs(*rl, u32(id), 1000 * length, std::min<u64>(read_number(q, "count", 1), 4096));
	return json::object();
}

json list_running(EmulatedGpu &gpu, const json &)
{
	json list = json::array();
	for (const Running &r : gpu.running())
		list.push_back({{"engine", r.engine},
				{"runlist", r.runlist},
				{"tsg", r.tsg ? json(*r.tsg) : json()},
				{"channel", r.channel ? json(*r.channel) : json()}});
	return {{"engines", list}};
}

json load_scenario(EmulatedGpu &gpu, const json &q)
{
	std::string file = q.contains("data") ? "" : q.at("file").get<std::string>();
	json scenario = file.empty() ? q.at("data") : read_json_file("scenario", file);
	if (auto with = q.find("with"); with != q.end())
		scenario.update(*with);
	gpu.load_scenario(scenario, file);
	return json::object();
}

json set_system_memory(EmulatedGpu &gpu, const json &q)
{
	Memories &mem = gpu.memories();
	u64 base = read_number(q.at("base"));
	mem.window = {read_number(q, "bus", base), base, read_number(q.at("bytes"))};
	return {{"reachable", mem.sys && mem.sys->at(mem.window.base, mem.window.bytes)}};
}

// Where an address ends up: of BAR1 or BAR2, or of the address space of an instance block.
json translate_address(EmulatedGpu &gpu, const json &q)
{
	std::optional<Phys> target;
	u64 va = read_number(q.at("va"));
	if (auto bar = q.find("bar"); bar != q.end()) {
		target = gpu.bus().target(read_number(*bar) == 1 ? 1 : 2, va);
	} else {
		Phys inst{Aperture(read_number(q, "inst_target", 0)), read_number(q.at("inst"))};
		if (auto space = address_space(gpu.memories(), gpu.profile().traits.pages, inst))
			target = translate(gpu.memories(), *space, va);
	}
	if (!target)
		return {{"mapped", false}};
	return {{"mapped", true}, {"addr", target->addr}, {"target", unsigned(target->ap)}};
}

Aperture read_aperture(const json &q)
{
	return q.value("ap", "vid") == "sys" ? Aperture::SysCoherent : Aperture::Vid;
}

json read_memory(EmulatedGpu &gpu, const json &q)
{
	u64 addr = read_number(q.at("addr")), words = read_number(q, "words", 1);
	if (words > 1u << 20)
		throw std::invalid_argument("too many words");
	Aperture ap = read_aperture(q);
	json list = json::array();
	for (u64 i = 0; i < words; i++)
		list.push_back(gpu.memories().rd32({ap, addr + 4 * i}));
	return {{"words", list}};
}

json write_memory(EmulatedGpu &gpu, const json &q)
{
	u64 addr = read_number(q.at("addr"));
	Aperture ap = read_aperture(q);
	for (const auto &word : q.at("words")) {
		u32 v = u32(read_number(word));
		if (!gpu.memories().write({ap, addr}, &v, 4))
			throw std::invalid_argument("no memory there");
		addr += 4;
	}
	return json::object();
}

json read_register(EmulatedGpu &gpu, const json &q)
{
	return {{"value", gpu.peek_register(u32(read_number(q.at("off"))) & 0xffffff)}};
}

json write_register(EmulatedGpu &gpu, const json &q)
{
	u32 offset = u32(read_number(q.at("off"))) & 0xffffff;
	gpu.poke_register(offset, u32(read_number(q.at("value"))));
	return json::object();
}

json inject_fault(EmulatedGpu &gpu, const json &q)
{
	std::string kind = q.at("kind");
	for (const Fault &fault : all_faults())
		if (kind == fault.name) {
			fault.inject(gpu, q);
			return {{"torn_times", gpu.mover().times()}};
		}
	throw std::invalid_argument("unknown fault " + kind);
}

json set_time(EmulatedGpu &gpu, const json &q)
{
	if (auto mode = q.find("mode"); mode != q.end())
		gpu.real_time(*mode == "real");
	if (auto ns = q.find("access_ns"); ns != q.end())
		gpu.set_access_ns(read_number(*ns));
	if (auto ns = q.find("advance_ns"); ns != q.end()) {
		if (gpu.is_real_time())
			throw std::invalid_argument("time is real");
		gpu.advance(read_number(*ns));
	}
	return {{"now_ns", gpu.now()}, {"mode", gpu.is_real_time() ? "real" : "virtual"}};
}

void answer_all_ones(EmulatedGpu &gpu, const json &)
{
	gpu.faults().all_ones = true;
}

void answer_bad_value(EmulatedGpu &gpu, const json &q)
{
	u32 offset = u32(read_number(q.at("off"))) & ~3u;
	gpu.faults().bad_reads[offset] = u32(read_number(q, "value", 0xbadf5040));
}

void protect_memory(EmulatedGpu &gpu, const json &q)
{
	u64 addr = read_number(q.at("addr"));
	gpu.bus().protect(addr, read_number(q.at("bytes")));
}

void halve_wide_reads(EmulatedGpu &gpu, const json &)
{
	gpu.faults().halves = true;
}

void slow_down(EmulatedGpu &gpu, const json &q)
{
	gpu.faults().slow_ns = read_number(q.at("ns"));
}

void hang_preempts(EmulatedGpu &gpu, const json &)
{
	gpu.host().preempt_hangs = true;
}

void lose_enabled(EmulatedGpu &gpu, const json &)
{
	gpu.host().lose_enabled = true;
}

void move_runlist(EmulatedGpu &gpu, const json &q)
{
	int runlist = int(read_number(q.at("runlist")));
	u64 every = read_number(q.at("every"));
	gpu.mover().start(runlist, every, q.value("in_place", false));
}

void end_faults(EmulatedGpu &gpu, const json &)
{
	Host &host = gpu.host();
	gpu.faults() = {};
	gpu.bus().protect(0, 0);
	gpu.mover().stop();
	host.preempt_hangs = host.lose_enabled = false;
	for (auto &rl : host.runlists()) // hung preempts go on
		if (rl.phase == Phase::Save && rl.phase_end == NEVER)
			rl.phase_end = host.now() + gpu.profile().timing.save_wfi;
		else if ((rl.tsg_preempt_pending || rl.runlist_preempt_pending) && rl.phase != Phase::Save)
			rl.preempt_done = host.now();
	host.channel_changed();
}

constexpr Command COMMANDS[] = {
	{"counts", "", count_accesses},
	{"reset-counts", "", reset_counts},
	{"log", "on", switch_log},
	{"log-read", "", read_log},
	{"unmodelled", "reset", list_unmodelled},
	{"work", "", report_work},
	{"job", "runlist, channel, length_us, count", add_jobs},
	{"jobs", "", report_jobs},
	{"running", "", list_running},
	{"runtime", "", report_runtime},
	{"state", "", report_state},
	{"scenario", "file, data, with", load_scenario},
	{"sysmem", "base, bytes, bus", set_system_memory},
	{"translate", "va, bar, inst, inst_target", translate_address},
	{"peek", "ap, addr, words", read_memory},
	{"poke", "ap, addr, words", write_memory},
	{"reg-peek", "off", read_register},
	{"reg-poke", "off, value", write_register},
	{"fault", "kind", inject_fault},
	{"time", "mode, advance_ns, access_ns", set_time},
};

constexpr Fault FAULTS[] = {
	{"all-ones", "", answer_all_ones},
	{"bad-read", "off, value", answer_bad_value},
	{"protected", "addr, bytes", protect_memory},
	{"halves", "", halve_wide_reads},
	{"slow", "ns", slow_down},
	{"preempt-hangs", "", hang_preempts},
	{"lose-enabled", "", lose_enabled},
	{"torn", "runlist, every, in_place", move_runlist},
	{"none", "", end_faults},
};

} // namespace

std::span<const Command> all_commands()
{
	return COMMANDS;
}

std::span<const Fault> all_faults()
{
	return FAULTS;
}

json run_command(EmulatedGpu &gpu, const json &command)
{
	std::string name = command.at("cmd");
	for (const Command &c : COMMANDS)
		if (name == c.name)
			return c.run(gpu, command);
	throw std::invalid_argument("unknown command " + name);
}

} // namespace emu
