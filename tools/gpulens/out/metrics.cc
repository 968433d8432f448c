// SPDX-License-Identifier: GPL-2.0
// Formats metrics, and fills them in from GPUs and statistics.
#include "gpulens/out/metrics.hpp"

#include "lib/base/format.hpp"
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

// Replaces invalid UTF-8, which a file name may have and a label's value may not.
std::string to_utf8(const std::string &text)
{
	using nlohmann::json;

	return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

std::string escape_label(const std::string &text)
{
	std::string out;

	for (char c : to_utf8(text)) {
		if (c == '\\' || c == '"')
			out += '\\';
		out += c == '\n' ? "\\n" : std::string(1, c);
	}
	return out;
}

std::string format_labels(const Labels &labels)
{
	std::string out;

	for (const auto &[name, value] : labels)
		out += fmt::format("{}{}=\"{}\"", out.empty() ? "" : ",", name, escape_label(value));
	return out.empty() ? "" : '{' + out + '}';
}

// The value of the label state, in the order of enum Activity.
constexpr std::array<const char *, ACTIVITIES> STATES = {"faulted", "idle",     "off",        "on_pbdma",
							 "runs",    "runs_off", "unreadable", "waits"};

// A runlist may name a TSG and its channels more than once.
void add_runlist(Metrics &metrics, const Runlist &rl, const std::string &gpu)
{
	std::string id = std::to_string(rl.id);
	std::set<u32> tsgs, channels;
	std::array<u64, ACTIVITIES> states{}; // including zeros, so that no series disappears

	metrics.gauge("gpulens_runlist_up", "1 if the runlist could be read.")
		.add({{"gpu", gpu}, {"runlist", id}}, u64{rl.err == 0});
	if (rl.err)
		return;
	for (const Channel *c : rl.channels())
		if (channels.insert(c->id).second)
			states[static_cast<size_t>(c->activity())]++;
	for (size_t i = 0; i < ACTIVITIES; i++)
		metrics.gauge("gpulens_channels", "Number of channels on the runlist, by state.")
			.add({{"gpu", gpu}, {"runlist", id}, {"state", STATES[i]}}, states[i]);
	for (const Tsg &tsg : rl.tsgs)
		if (tsgs.insert(tsg.id).second)
			metrics.gauge("gpulens_tsg_timeslice_seconds", "Configured time slice of a TSG.")
				.add({{"gpu", gpu}, {"runlist", id}, {"tsg", std::to_string(tsg.id)}},
				     to_seconds(tsg.timeslice_ns));
	metrics.gauge("gpulens_tsgs", "Number of time-slice groups (TSGs) on the runlist.")
		.add({{"gpu", gpu}, {"runlist", id}}, u64{tsgs.size()});
	metrics.gauge("gpulens_runlist_entries", "Number of entries of the runlist: TSGs and channels.")
		.add({{"gpu", gpu}, {"runlist", id}}, u64{rl.length});
}

void add_hazards(Metrics &metrics, const Gpu &gpu, const std::string &label)
{
	std::map<std::string, u64> counts{{"shared-runlist", 0}, {"grce-shares-pce", 0}};

	// Omit the metric if the check cannot run.
	if (!gpu.engine_failures.empty())
		return;
	for (const Hazard &h : isolation_of(gpu).hazards)
		counts[h.name]++;
	for (const auto &[name, n] : counts)
		metrics.gauge("gpulens_hazards",
			      "Number of hazards: how tasks on this GPU can disturb each other (gpulens isolation).")
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

// Adds a counter named read_KIND or write_FILE, or the same with _failed. Returns false for other names.
bool add_calls(Metrics &metrics, std::string name, u64 n, const std::string &gpu)
{
	bool reads = take_prefix(name, "read_");

	if (!reads && !take_prefix(name, "write_"))
		return false;
	const char *calls = reads ? "Collections" : "Writes";
	bool failed = take_suffix(name, "_failed");
	metrics.counter(fmt::format("gpulens_{}{}_total", reads ? "read" : "write", failed ? "_failures" : "s"),
			failed ? fmt::format("{} of a file of /proc/gpuX that failed or were refused.", calls)
			       : fmt::format("{} of a file of /proc/gpuX.", calls))
		.add({{"gpu", gpu}, {"file", name}}, n);
	return true;
}

void add_cost(Metrics &metrics, std::string name, u64 n, const std::string &gpu)
{
	static const std::map<std::string, const char *> about = {
		{"sample_ticks", "Ticks of samplers with samples."},
		{"sample_ticks_lost", "Ticks of samplers without samples: late, or ring buffer full."},
		{"bar0_read32", "Register reads of 32 bits."},
		{"bar0_write32", "Register writes of 32 bits, and words written through the PRAMIN window."},
		{"bar0_read64", "Words of 8 bytes read through the PRAMIN window."},
		{"system_words", "Words of system memory read or written."},
		{"window_borrows", "Number of times that the PRAMIN window was acquired."},
		{"window_stops", "Number of times that all processors were stopped to use the PRAMIN window."},
		{"window_stopped", "Time for which all processors were stopped to use the PRAMIN window."},
		{"window_longest_stop", "The longest of these stops."},
		{"enable_resubmits", "Runlists submitted again because a channel that was enabled went unnoticed."},
	};
	bool time = take_suffix(name, "_ns");
	auto known = about.find(name);
	std::string help = known == about.end() ? "See /proc/gpuX/stats." : known->second;

	if (name.find("longest") != name.npos && time)
		metrics.gauge("gpulens_" + name + "_seconds", help).add({{"gpu", gpu}}, to_seconds(n));
	else if (time)
		metrics.counter("gpulens_" + name + "_seconds_total", help).add({{"gpu", gpu}}, to_seconds(n));
	else
		metrics.counter("gpulens_" + name + "_total", help).add({{"gpu", gpu}}, n);
}

} // namespace

Family::Family(std::string name, std::string type, std::string help)
	: name_(std::move(name)), head_(fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name_, type, help))
{
}

void Family::add(const Labels &labels, u64 value)
{
	std::string text = format_labels(labels);

	if (seen_.insert(text).second)
		samples_ += fmt::format("{}{} {}\n", name_, text, value);
}

void Family::add(const Labels &labels, double value)
{
	std::string text = format_labels(labels);

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

std::string process_label(std::string text)
{
	std::replace_if(
		text.begin(), text.end(), [](char c) { return c == ' ' || c == ','; }, '_');
	return text;
}

std::string engine_label(const Engine &engine)
{
	std::string label;

	for (char c : engine.short_name())
		if (c == ' ' || c == ',')
			label += '_';
		else if (c != '(' && c != ')')
			label += c;
	return label;
}

void add_owner_labels(Labels &labels, const Owner &owner)
{
	labels.insert(labels.end(), {{"pid", owner.pid ? std::to_string(owner.pid) : ""},
				     {"process", process_label(owner.name)},
				     {"user", process_label(owner.user)},
				     {"container", owner.container},
				     {"pod", owner.pod},
				     {"slurm_job", owner.job},
				     {"slurm_step", owner.step}});
}

namespace {

void add_memory(Metrics &metrics, const Process &process, const std::string &label)
{
	Labels labels = {{"gpu", label}};

	if (!process.memory_bytes)
		return;
	add_owner_labels(labels, make_owner(process.pid, Evidence::Unknown));
	labels.emplace_back("mig", process.mig ? process.mig->text() : "");
	metrics.gauge("gpulens_process_memory_bytes", "GPU memory that a process has allocated.")
		.add(labels, *process.memory_bytes);
}

} // namespace

void add_gpu(Metrics &metrics, const Gpu &gpu, const std::string &label, const std::string &uuid)
{
	Labels info = {{"gpu", label},
		       {"device", gpu.chip.device},
		       {"chip", gpu.chip.name},
		       {"architecture", gpu.chip.architecture}};

	if (!uuid.empty())
		info.emplace_back("uuid", uuid);
	metrics.gauge("gpulens_gpu_info", "Identification of the GPU; always 1.").add(info, u64{1});
	if (gpu.chip.memory_bytes)
		metrics.gauge("gpulens_memory_bytes", "Size of the GPU's own memory.")
			.add({{"gpu", label}}, u64{gpu.chip.memory_bytes});
	for (const Engine &e : gpu.engines)
		metrics.gauge("gpulens_engine_info", "Engines, with the runlist that each serves, if any; always 1.")
			.add({{"gpu", label},
			      {"engine", engine_label(e)},
			      {"runlist", e.runlist == LENS_NONE ? "" : std::to_string(e.runlist)}},
			     u64{1});
	for (const Runlist &rl : gpu.runlists)
		add_runlist(metrics, rl, label);
	for (const Process &process : gpu.processes.value_or(std::vector<Process>()))
		add_memory(metrics, process, label);
	add_hazards(metrics, gpu, label);
	if (gpu.took_ns)
		metrics.gauge("gpulens_snapshot_seconds", "Duration of the snapshot that these values are from.")
			.add({{"gpu", label}}, to_seconds(gpu.took_ns));
}

void add_stats(Metrics &metrics, const std::string &stats, const std::string &label)
{
	std::istringstream in(stats);
	std::string name;
	u64 n = 0;

	while (in >> name >> n) {
		bool sound = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == name.npos;
		if (sound && !add_calls(metrics, name, n, label))
			add_cost(metrics, name, n, label);
	}
}

} // namespace tool
