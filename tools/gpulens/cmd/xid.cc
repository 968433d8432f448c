// SPDX-License-Identifier: GPL-2.0
// Parses Xid messages, and joins them with what the processes and runlists of this machine say now.
#include "gpulens/cmd/xid.hpp"

#include "gpulens/out/gpu_json.hpp"
#include "lib/base/file.hpp"
#include "lib/base/format.hpp"
#include "lib/model/model.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <regex>
#include <sstream>
#include <tuple>
#include <unistd.h>

namespace tool {

using json = nlohmann::ordered_json;

namespace {

constexpr size_t LINE_LIMIT = 4096; // std::regex recurses by character

struct Meaning {
	u32 number;
	const char *what, *others;
};

// The numbers: nverror.h of open-gpu-kernel-modules 595.45.04; 109: by its text in issues 447 and 502 there. What they mean:
// "Xid Errors" at docs.nvidia.com/deploy. A fault is reported to all channels of the TSG (kernel_rc_notification.c there), and
// by MPS to all its clients on the GPU ("Limited Error Containment" of its document).
const Meaning MEANINGS[] = {
	{13, "a kernel or shader of the program did what it must not, as an access outside of its memory",
	 "The program's TSG ends, and under MPS all clients of that server. Other TSGs go on."},
	{31, "the program used a GPU address that its page tables do not map",
	 "The program's TSG ends, and under MPS all clients of that server. Other TSGs go on."},
	{32, "Host (the PBDMA) could not read the commands of the channel",
	 "The channel's TSG ends. Other TSGs go on. Without a fault of the program: look for errors of PCIe and "
	 "memory."},
	{43, "the driver ended the channel for an error of the program",
	 "The program's TSG ends. The GPU and other TSGs go on."},
	{45, "the driver removed the channel: its program was ended, or an earlier Xid removed it",
	 "It follows from something else: look for an earlier Xid, or for who ended the program."},
	{69, "a method of the channel was not one of its class", "The program's TSG ends. Other TSGs go on."},
	{79, "the GPU does not answer on PCIe any more", "Nothing on this GPU goes on. gpulens cannot read it."},
	{109, "the context of the channel did not leave its engine in time",
	 "Until then no other TSG of that runlist could run there. Programs whose kernels cannot be preempted when "
	 "their slice ends are the usual ones: see gpulens preemption-mode, and with the module "
	 "/proc/gpuX/ctxsw_timeout for the time that they have."},
};

const Meaning *meaning_of(u32 number)
{
	const Meaning *found = std::ranges::find(MEANINGS, number, &Meaning::number);

	return found == std::end(MEANINGS) ? nullptr : found;
}

std::optional<u32> number_in(const std::string &text, const std::regex &form, int base)
{
	std::smatch found;

	if (!std::regex_search(text, found, form))
		return std::nullopt;
	return static_cast<u32>(std::stoul(found[1], nullptr, base));
}

std::optional<Xid> parse_xid(const std::string &line)
{
	static const std::regex head(
		"Xid \\((?:PCI:)?([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})(?: ([^)]*))?\\): "
		"([0-9]{1,5}), ");
	static const std::regex pid("^pid=([0-9]{1,9}),"), name("name=([^,]*), ");
	static const std::regex channel("\\b(?:Ch|ChI[Dd]|Channel ID|[Cc]hannel) \\(?(?:0x)?([0-9a-fA-F]{1,8})\\b");
	static const std::regex cause("caused by previous Xid ([0-9]{1,5})\\b");
	std::smatch found, named;

	if (!std::regex_search(line, found, head))
		return std::nullopt;
	Xid xid{.number = static_cast<u32>(std::stoul(found[3])),
		.device = found[1].str() + ".0",
		.mig = found[2],
		.message = replace_controls(found.suffix())};
	xid.pid = number_in(xid.message, pid, 10);
	if (std::regex_search(xid.message, named, name)) {
		xid.name = named[1] == "<unknown>" ? "" : named[1].str();
		xid.message = named.suffix();
	}
	xid.channel = number_in(xid.message, channel, 16);
	xid.cause = number_in(xid.message, cause, 10);
	return xid;
}

// What is known of it now.
struct Finding {
	const Xid &xid;
	const Gpu *gpu = nullptr;                // null: no source shows it
	std::vector<const Channel *> channels{}; // with that id; from Ampere on each runlist has its own ids
	std::optional<Owner> process{};          // if it still runs
};

// The driver shortens names as the kernel does, to 15 characters.
bool is_same_name(const std::string &a, const std::string &b)
{
	return a.empty() || b.empty() || a.substr(0, 15) == b.substr(0, 15);
}

Finding find_now(const Xid &xid, const std::vector<Gpu> &gpus)
{
	Finding found{.xid = xid};

	for (const Gpu &gpu : gpus)
		if (is_same_address(gpu.chip.device, xid.device))
			found.gpu = &gpu;
	if (found.gpu && xid.channel)
		for (const Runlist &rl : found.gpu->runlists)
			for (const Channel *c : rl.channels())
				if (c->id == *xid.channel)
					found.channels.push_back(c);
	if (xid.pid && process_exists(*xid.pid)) {
		Owner owner = make_owner(*xid.pid, Evidence::Unknown);
		if (is_same_name(owner.name, xid.name))
			found.process = owner;
	}
	return found;
}

std::string describe_process(const Finding &found)
{
	const Xid &xid = found.xid;
	std::string text;

	if (!xid.pid)
		return "the message names none";
	text = std::to_string(*xid.pid) + (xid.name.empty() ? "" : ' ' + xid.name);
	if (!found.process)
		return text + ", which does not run now";
	for (const auto &[what, value] : {std::pair{"user", found.process->user},
					  {"container", found.process->container.substr(0, 12)},
					  {"pod", found.process->pod},
					  {"Slurm job", found.process->job},
					  {"step", found.process->step}})
		if (!value.empty())
			text += fmt::format(", {} {}", what, value);
	return text + ", which still runs";
}

std::string describe_channel(const Finding &found)
{
	const Xid &xid = found.xid;
	std::vector<std::string> places;

	if (!xid.channel)
		return "the message names none";
	for (const Channel *c : found.channels)
		places.push_back(fmt::format("on runlist {}{}{}", c->runlist,
					     c->tsg == LENS_NONE ? "" : fmt::format(", TSG {}", c->tsg),
					     c->owner ? fmt::format(", of {}", c->owner->text()) : ""));
	if (!places.empty())
		return fmt::format("{} is now {}", *xid.channel, fmt::join(places, "; or "));
	if (!found.gpu)
		return fmt::format("{}; no source shows this GPU", *xid.channel);
	if (!found.gpu->has_runlists)
		return fmt::format("{}; {} reports no runlists", *xid.channel, found.gpu->source);
	return fmt::format("{} is on no runlist any more", *xid.channel);
}

std::string format_finding(const Finding &found, const Style &style)
{
	const Xid &xid = found.xid;
	const Meaning *meaning = meaning_of(xid.number);
	std::string out = fmt::format("Xid {} on {}{}{}", xid.number, xid.device,
				      found.gpu && found.gpu->index != LENS_NONE ? " (" + found.gpu->name() + ")" : "",
				      xid.mig.empty() ? "" : ", MIG " + xid.mig);

	out = style.paint(Ink::Bold, out) + (xid.times > 1 ? fmt::format(", {} times", xid.times) : "") + '\n';
	for (const auto &[key, text] :
	     {std::pair{"what", std::string(meaning ? meaning->what
						    : "not about scheduling; \"Xid Errors\" at "
						      "docs.nvidia.com/deploy lists it")},
	      {"process", describe_process(found)},
	      {"channel", describe_channel(found)},
	      {"others", meaning ? meaning->others : ""},
	      {"message", xid.message}}) {
		if (text.empty())
			continue;
		out += fmt::format("  {:<8} ", key) +
		       wrap_text(text, style.width > 40 ? style.width - 11 : 0, std::string(11, ' ')) + '\n';
	}
	return out;
}

json finding_json(const Finding &found)
{
	const Xid &xid = found.xid;
	const Meaning *meaning = meaning_of(xid.number);
	json tasks = json::array();
	const Owner owner = found.process.value_or(Owner{});
	auto or_null = [](const std::optional<u32> &number) { return number ? json(*number) : json(nullptr); };

	for (const Channel *c : found.channels)
		tasks.push_back({{"runlist", c->runlist}, {"tsg", c->tsg == LENS_NONE ? json(nullptr) : json(c->tsg)}});
	return {{"xid", xid.number},
		{"device", xid.device},
		{"mig", text_or_null(xid.mig)},
		{"pid", or_null(xid.pid)},
		{"name", text_or_null(xid.name)},
		{"runs", found.process.has_value()},
		{"user", text_or_null(owner.user)},
		{"container", text_or_null(owner.container)},
		{"pod", text_or_null(owner.pod)},
		{"slurm_job", text_or_null(owner.job)},
		{"channel", or_null(xid.channel)},
		{"now", tasks},
		{"caused_by", or_null(xid.cause)},
		{"times", xid.times},
		{"what", text_or_null(meaning ? meaning->what : "")},
		{"message", xid.message}};
}

} // namespace

std::vector<Xid> parse_xids(const std::string &log)
{
	std::istringstream in(log);
	std::map<std::tuple<u32, std::string, std::string, std::optional<u32>, std::optional<u32>>, size_t> known;
	std::vector<Xid> xids;

	for (std::string line; std::getline(in, line);) {
		std::optional<Xid> xid = parse_xid(line.substr(0, LINE_LIMIT));
		if (!xid)
			continue;
		auto [at, is_new] =
			known.try_emplace({xid->number, xid->device, xid->mig, xid->pid, xid->channel}, xids.size());
		if (is_new)
			xids.push_back(*xid);
		else
			xids[at->second].times++;
	}
	return xids;
}

int explain_xids(const std::vector<std::string> &lines, const Options &options)
{
	Style style = options.style();
	std::vector<Gpu> gpus;
	std::string out;
	json list = json::array();

	if (lines.empty() && isatty(STDIN_FILENO))
		throw Error(Error::Input, "give a line of the kernel log, or pipe it in: sudo dmesg | gpulens xid");
	std::vector<Xid> xids = parse_xids(lines.empty() ? read_file("-") : fmt::format("{}", fmt::join(lines, "\n")));
	if (xids.empty()) {
		std::fprintf(
			stderr,
			"gpulens: xid: no line has a message of the form \"NVRM: Xid (PCI:0000:26:00): 31, ...\"\n");
		return EXIT_PART;
	}
	try {
		gpus = load_gpus(options.sources);
	} catch (const Error &e) {
		std::fprintf(stderr, "gpulens: xid: channels are not looked up: %s\n", e.what());
	}
	for (const Xid &xid : xids) {
		Finding found = find_now(xid, gpus);
		list.push_back(finding_json(found));
		out += (out.empty() ? "" : "\n") + format_finding(found, style);
	}
	return print_text(options.json ? json_text({{"version", JSON_VERSION}, {"xids", list}}) : out) ? EXIT_DONE
												       : EXIT_PART;
}

} // namespace tool
