// SPDX-License-Identifier: GPL-2.0
// See metrics.hpp.
#include "gpulens/out/metrics.hpp"

#include "lib/model/isolation.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

namespace tool {

namespace {

// A label's value is UTF-8, and a file's name need not be.
std::string utf8(const std::string &text)
{
	using nlohmann::json;

	return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

std::string escaped(const std::string &text)
{
	std::string out;

	for (char c : utf8(text)) {
		if (c == '\\' || c == '"')
			out += '\\';
		out += c == '\n' ? "\\n" : std::string(1, c);
	}
	return out;
}

std::string labels_text(const Labels &labels)
{
	std::string out;

	for (const auto &[name, value] : labels)
		out += fmt::format("{}{}=\"{}\"", out.empty() ? "" : ",", name, escaped(value));
	return out.empty() ? "" : '{' + out + '}';
}

double seconds(u64 ns)
{
	return static_cast<double>(ns) / 1e9;
}

// A runlist may name a TSG and its channels more than once.
void add_runlist(Metrics &to, const Runlist &rl, const std::string &gpu)
{
	std::string id = std::to_string(rl.id);
	std::set<u32> tsgs, channels;
	std::array<u64, ACTIVITIES> states{}; // all of them, so that a series does not vanish when its count gets zero

	to.gauge("gpulens_runlist_up", "1 when the runlist could be read.")
		.add({{"gpu", gpu}, {"runlist", id}}, u64{rl.err == 0});
	if (rl.err)
		return;
	for (const Channel *c : rl.channels())
		if (channels.insert(c->id).second)
			states[static_cast<size_t>(c->activity())]++;
	for (size_t i = 0; i < ACTIVITIES; i++)
		to.gauge("gpulens_channels", "Channels on the runlist, by what they do now.")
			.add({{"gpu", gpu}, {"runlist", id}, {"state", name_of(static_cast<Activity>(i))}}, states[i]);
	for (const Tsg &tsg : rl.tsgs)
		if (tsgs.insert(tsg.id).second && tsgs.size() <= MAX_TSGS)
			to.gauge("gpulens_tsg_timeslice_seconds",
				 fmt::format("Time slice as configured, of the first {} TSGs of a runlist.", MAX_TSGS))
				.add({{"gpu", gpu}, {"runlist", id}, {"tsg", std::to_string(tsg.id)}},
				     seconds(tsg.timeslice_ns));
	to.gauge("gpulens_tsgs", "Time-slice groups on the runlist.")
		.add({{"gpu", gpu}, {"runlist", id}}, u64{tsgs.size()});
	to.gauge("gpulens_runlist_entries", "Entries of the runlist, TSGs and channels.")
		.add({{"gpu", gpu}, {"runlist", id}}, u64{rl.length});
}

void add_hazards(Metrics &to, const Gpu &gpu, const std::string &label)
{
	std::map<std::string, u64> counts{{"shared-runlist", 0}, {"grce-shares-pce", 0}};

	// What nobody could look at has no number of hazards, not zero of them.
	if (!gpu.engine_failures.empty())
		return;
	for (const Hazard &h : isolation_of(gpu).hazards)
		counts[h.name]++;
	for (const auto &[name, n] : counts)
		to.gauge("gpulens_hazards",
			 "Ways in which tasks on this GPU can disturb each other; gpulens isolation.")
			.add({{"gpu", label}, {"hazard", name}}, n);
}

bool take_prefix(std::string &name, const std::string &prefix)
{
	if (name.compare(0, prefix.size(), prefix) != 0)
		return false;
	name.erase(0, prefix.size());
	return true;
}

bool take_suffix(std::string &name, const std::string &suffix)
{
	if (name.size() < suffix.size() || name.compare(name.size() - suffix.size(), suffix.size(), suffix) != 0)
		return false;
	name.erase(name.size() - suffix.size());
	return true;
}

// read_KIND, write_FILE, and the same with _failed.
bool add_calls(Metrics &to, std::string name, u64 n, const std::string &gpu)
{
	bool reads = take_prefix(name, "read_");

	if (!reads && !take_prefix(name, "write_"))
		return false;
	const char *what = reads ? "Collections" : "Writes";
	bool failed = take_suffix(name, "_failed");
	to.counter(fmt::format("gpulens_{}{}_total", reads ? "read" : "write", failed ? "_failures" : "s"),
		   failed ? fmt::format("{} of a file of /proc/gpuX that failed or were refused.", what)
			  : fmt::format("{} of a file of /proc/gpuX.", what))
		.add({{"gpu", gpu}, {"file", name}}, n);
	return true;
}

void add_cost(Metrics &to, std::string name, u64 n, const std::string &gpu)
{
	static const std::map<std::string, const char *> about = {
		{"sample_ticks", "Ticks of samplers that have samples."},
		{"sample_ticks_lost", "Ticks of samplers without samples: late, or no room."},
		{"bar0_read32", "Register reads of 32 bits."},
		{"bar0_write32", "Register writes of 32 bits, and words written through the window."},
		{"bar0_read64", "Words of 8 bytes read through the window to GPU memory."},
		{"system_words", "Words of system memory read or written."},
		{"window_borrows", "Times that the window to GPU memory was borrowed."},
		{"window_stops", "Times that all processors were stopped for that."},
		{"window_stopped", "Time that all processors were stopped for that."},
		{"window_longest_stop", "The longest of these stops."},
	};
	bool time = take_suffix(name, "_ns");
	auto known = about.find(name);
	std::string help = known == about.end() ? "As in /proc/gpuX/stats." : known->second;

	if (name.find("longest") != name.npos && time)
		to.gauge("gpulens_" + name + "_seconds", help).add({{"gpu", gpu}}, seconds(n));
	else if (time)
		to.counter("gpulens_" + name + "_seconds_total", help).add({{"gpu", gpu}}, seconds(n));
	else
		to.counter("gpulens_" + name + "_total", help).add({{"gpu", gpu}}, n);
}

} // namespace

Family::Family(std::string name, std::string type, std::string help)
	: name_(std::move(name)), head_(fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name_, type, help))
{
}

void Family::add(const Labels &labels, u64 value)
{
	std::string text = labels_text(labels);

	if (seen_.insert(text).second)
		samples_ += fmt::format("{}{} {}\n", name_, text, value);
}

void Family::add(const Labels &labels, double value)
{
	std::string text = labels_text(labels);

	if (seen_.insert(text).second)
		samples_ += fmt::format("{}{} {}\n", name_, text, value);
}

std::string Family::text() const
{
	return head_ + samples_;
}

Family &Metrics::family(const std::string &name, const char *type, const std::string &help)
{
	auto at = std::find_if(families_.begin(), families_.end(), [&](const Family &f) { return f.name() == name; });

	return at != families_.end() ? *at : families_.emplace_back(name, type, help);
}

std::string Metrics::text() const
{
	std::string out;

	for (const Family &f : families_)
		out += f.text();
	return out;
}

void add_gpu(Metrics &to, const Gpu &gpu, const std::string &label)
{
	to.gauge("gpulens_gpu_info", "Which GPU it is; always 1.")
		.add({{"gpu", label},
		      {"device", gpu.chip.device},
		      {"chip", gpu.chip.name},
		      {"architecture", gpu.chip.architecture}},
		     u64{1});
	if (gpu.chip.memory_bytes)
		to.gauge("gpulens_memory_bytes", "Memory of the GPU itself.")
			.add({{"gpu", label}}, u64{gpu.chip.memory_bytes});
	for (const Engine &e : gpu.engines)
		to.gauge("gpulens_engine_info", "Engines, and the runlist that each serves, if any; always 1.")
			.add({{"gpu", label},
			      {"engine", e.short_name()},
			      {"runlist", e.runlist == LENS_NONE ? "" : std::to_string(e.runlist)}},
			     u64{1});
	for (const Runlist &rl : gpu.runlists)
		add_runlist(to, rl, label);
	add_hazards(to, gpu, label);
	if (gpu.took_ns)
		to.gauge("gpulens_snapshot_seconds", "What taking the snapshot took that these values are from.")
			.add({{"gpu", label}}, seconds(gpu.took_ns));
}

void add_stats(Metrics &to, const std::string &stats, const std::string &label)
{
	std::istringstream in(stats);
	std::string name;
	u64 n = 0;

	while (in >> name >> n) {
		bool sound = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == name.npos;
		if (sound && !add_calls(to, name, n, label))
			add_cost(to, name, n, label);
	}
}

} // namespace tool
