// SPDX-License-Identifier: GPL-2.0
// Goes through the stages. What is said is collected as text for the terminal, and again, without what tells the
// machine, for the file.
#include "gpulens/cmd/first_card.hpp"

#include "gpulens/cmd/compare_gpus.hpp"
#include "gpulens/cmd/loaded_module.hpp"
#include "gpulens/cmd/machine_facts.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"
#include "lib/base/format.hpp"
#include "lib/base/signals.hpp"
#include "lib/rm/client.hpp"
#include "lib/source/driver/driver_source.hpp"
#include "lib/source/image/from_image.hpp"
#include "lib/source/module/load_command.hpp"
#include "lib/source/module/module_source.hpp"
#include "lib/source/module/proc.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iostream>
#include <sstream>
#include <unistd.h>

namespace tool {

namespace {

constexpr const char *CONTENT =
	"In this file: the report below; the words of registers that gpulens read to decode the GPU{}; versions of "
	"gpulens, kernel and driver. Not in it: serial numbers and UUIDs, names of this machine and of users, the "
	"place on the PCI bus (written as 0000:00:00.0), and the text of kernel messages. The masks of disabled units "
	"are this card's own.";
constexpr const char *MEMORY_CONTENT =
	", and words of memory: runlists, instance blocks, page table entries, heads of context images, with the "
	"addresses in them";
constexpr const char *HIDDEN_PLACE = "0000:00:00.0";
// What begins a kernel message that is of interest here, and whose it is.
constexpr std::pair<const char *, const char *> SPEAKERS[] = {{"gpulens", "gpulens"}, {"NVRM", "driver"},
							      {"nvidia", "driver"},   {"nouveau", "driver"},
							      {"BUG", "kernel"},      {"WARNING", "kernel"}};

struct Visit {
	std::string chip;
	Image image;          // without words where the kernel is locked down
	std::string no_image; // why it has none
	std::vector<Comparison> facts;
	std::string remarks; // lines
	bool quiet = true;   // no driver has complained
};

// What the driver says of a GPU, as far as it does.
struct DriverView {
	Gpu gpu;
	std::string why; // it says nothing; empty: it does
};

const Card &choose_card(const Machine &machine, const std::vector<unsigned> &numbers)
{
	size_t n = machine.cards.size();

	if (!n)
		throw Error(Error::Source, "this machine has no GPU of NVIDIA: lspci -d 10de:");
	if (numbers.size() > 1 || (numbers.empty() && n > 1) || (!numbers.empty() && numbers[0] >= n))
		throw Error(Error::Source, fmt::format("one GPU at a time: use -g X, with X from 0 to {}", n - 1));
	return machine.cards[numbers.empty() ? 0 : numbers[0]];
}

DriverView ask_driver(const Card &card, const Gpu &nouveau)
{
	if (card.driver == "nouveau")
		return {nouveau, ""};
	if (!rm::Client::has_node())
		return {{}, card.driver.empty() ? "no driver is bound" : card.driver + " cannot be asked"};
	try {
		for (Gpu &gpu : DriverSource().gpus({}))
			if (is_same_address(gpu.chip.device, card.device))
				return {std::move(gpu), ""};
	} catch (const Error &e) {
		return {{}, e.what()};
	}
	return {{}, "the driver has not initialised this GPU"};
}

// Returns the module's number of the GPU. Throws Error.
unsigned find_number(const std::string &proc, const Card &card)
{
	for (unsigned x : proc_gpus(proc))
		if (is_same_address(device_of(fmt::format("{}/gpu{}/chip", proc, x)), card.device))
			return x;
	throw Error(Error::Source,
		    fmt::format("the module does not show the GPU {}; the kernel log says why", card.device));
}

void check_parameter(const char *name, std::string_view wanted)
{
	std::string path = fmt::format("/sys/module/gpulens/parameters/{}", name), value;

	if (int err = read_path(path, value))
		throw Error(Error::Source, explain_file(err, path));
	if (value != fmt::format("{}\n", wanted))
		throw Error(Error::Failed, fmt::format("the module was loaded with {}={}, not {}: see /etc/modprobe.d",
						       name, value.substr(0, value.find('\n')), wanted));
}

std::string read_stat(const std::string &stats, const std::string &name)
{
	std::istringstream in(stats);
	std::string word, value;

	while (in >> word >> value)
		if (word == name)
			return value;
	return "0";
}

// Prints new messages, and adds how many there were to the remarks.
void report_log(KernelLog &log, Visit &visit)
{
	std::map<std::string, unsigned> counts;

	for (const std::string &text : log.read_new())
		for (auto [begin, whose] : SPEAKERS)
			if (text.starts_with(begin)) {
				counts[whose]++;
				std::fprintf(stderr, "kernel: %s\n", replace_controls(text).c_str());
				break;
			}
	visit.quiet = !counts["driver"] && !counts["kernel"];
	visit.remarks += log.readable() ? fmt::format("New kernel messages: {} of gpulens, {} of the driver, {} "
						      "warnings\n",
						      counts["gpulens"], counts["driver"], counts["kernel"])
					: "New kernel messages: unknown, /dev/kmsg cannot be read\n";
}

void count_bad_reads(const Image &image, std::string &remarks)
{
	std::vector<std::string> bad;

	for (size_t i = 0; i < image.regs.size(); i++)
		if (lens_is_bad_read(image.regs.value(i)))
			bad.push_back(fmt::format("{:#x}", image.regs.offset(i)));
	remarks += fmt::format("PRI errors: {} of {} registers{}{}\n", bad.size(), image.regs.size(),
			       bad.empty() ? "" : ": ", fmt::join(bad, " "));
}

// Loads the module, reads the GPU, compares, and unloads the module.
class Witness {
public:
	Witness(const std::string &proc, const Card &card, const std::vector<std::string> &words)
		: proc_(proc), card_(card), words_(words), nouveau_(read_nouveau_log(log_.read_new(), card.device))
	{
	}

	Visit visit(bool memory)
	{
		std::vector<std::string> words = words_;
		Visit visit;

		words.insert(words.end(), {memory ? "vram=on" : "vram=off", "control=0"});
		try {
			LoadedModule module(words);
			check_parameter("vram", memory ? "on" : "off");
			check_parameter("control", "N");
			check_signals();
			read(find_number(proc_, card_), memory, visit);
			module.unload();
		} catch (...) {
			report_log(log_, visit);
			throw;
		}
		report_log(log_, visit);
		return visit;
	}

private:
	void check_signals() const
	{
		if (stop_.came())
			throw Error(Error::Failed, "stopped by a signal; the module is unloaded, nothing was written");
	}

	void read(unsigned number, bool memory, Visit &visit)
	{
		ModuleSource source(proc_);
		DriverView before = ask_driver(card_, nouveau_);
		Gpu gpu;

		check_signals();
		try {
			std::string path = fmt::format("{}/gpu{}/image", proc_, number);
			visit.image = image_of(read_proc(path), path);
			gpu = from_image(visit.image, path);
		} catch (const Error &e) {
			gpu = source.gpus({number}).at(0);
			visit.image.boot0 = gpu.chip.boot0;
			visit.no_image = e.what();
		}
		check_signals();
		DriverView after = ask_driver(card_, nouveau_);
		visit.chip = gpu.chip.name;
		if (memory) {
			visit.facts = compare_channels(gpu, before.gpu, after.gpu, before.why);
		} else {
			visit.facts = compare_gpus(gpu, before.gpu, before.why);
			compare_to_sysfs(visit);
		}
		std::string stats = source.stats(number).value_or("");
		visit.remarks = fmt::format("Longest stop of all processors: {}, of {} stops\n",
					    format_duration(std::stoull(read_stat(stats, "window_longest_stop_ns"))),
					    read_stat(stats, "window_stops"));
		if (visit.no_image.empty())
			count_bad_reads(visit.image, visit.remarks);
		else
			visit.remarks += fmt::format("No raw words: {}\n", visit.no_image);
		check_signals();
	}

	void compare_to_sysfs(Visit &visit) const
	{
		const Image &image = visit.image;
		Values ours, theirs;

		if (image.pci_vendor && image.pci_device)
			ours[""] = fmt::format("{:#06x}:{:#06x}", *image.pci_vendor, *image.pci_device);
		if (!card_.ids.empty())
			theirs[""] = card_.ids;
		visit.facts.push_back(compare_values("PCI ids", "sysfs", ours, theirs,
						     theirs.empty() ? "not on PCI" : "gpulens: no raw words"));
		for (Comparison &c : visit.facts)
			if (c.fact == "memory size" && c.verdict == Verdict::NotComparable && card_.bar1_bytes)
				c.text += fmt::format("; BAR1 has {}, which is a window of any size",
						      format_bytes(card_.bar1_bytes));
	}

	StopSignals stop_;
	std::string proc_;
	const Card &card_;
	std::vector<std::string> words_;
	KernelLog log_;
	Gpu nouveau_;
};

std::string visit_text(const Visit &visit, bool memory, const Style &style)
{
	return fmt::format("Loaded with vram={} control=0\n", memory ? "on" : "off") +
	       comparisons_text(visit.facts, style) + visit.remarks;
}

// The image with the report as comments, without what tells the machine.
std::string file_text(const Machine &machine, const Card &card, const std::vector<Visit> &visits)
{
	std::string report = fmt::format(CONTENT, visits.size() > 1 ? MEMORY_CONTENT : "");
	Image image = visits.back().image;

	report = wrap_text(report, 110, "") + '\n' +
		 fmt::format("gpulens {}; kernel {}; lockdown {}; Secure Boot {}\n", GPULENS_RELEASE, machine.kernel,
			     machine.lockdown.empty() ? "unknown" : machine.lockdown, machine.secure_boot) +
		 fmt::format("GPU {}; driver {} {}; GSP firmware {}\n", card.ids,
			     card.driver.empty() ? "none" : card.driver, card.version,
			     card.firmware.empty() ? "none" : card.firmware);
	for (size_t i = 0; i < visits.size(); i++)
		report += visit_text(visits[i], i > 0, {});
	for (const Card &c : machine.cards)
		for (size_t at; c.device != HIDDEN_PLACE && (at = report.find(c.device)) != report.npos;)
			report.replace(at, c.device.size(), HIDDEN_PLACE);
	if (!image.pci_address.empty())
		image.pci_address = HIDDEN_PLACE;
	std::string words = write_image(image), out = words.substr(0, words.find('\n') + 1);
	std::istringstream lines(report);
	for (std::string line; std::getline(lines, line);)
		out += "# " + line + '\n';
	return out + words.substr(words.find('\n') + 1);
}

bool ask_user(const std::string &question)
{
	std::string answer;

	return print_text(question) && std::getline(std::cin, answer) && (answer == "y" || answer == "yes");
}

} // namespace

int witness_first_card(const Options &options, const FirstCardOptions &wanted)
{
	Style style = options.style();
	Machine machine = read_machine(options.sources.proc);
	const Card &card = choose_card(machine, options.sources.gpus);
	std::vector<std::string> words =
		wanted.module.empty() ? load_words() : std::vector<std::string>{"insmod", wanted.module};
	std::vector<Visit> visits;

	if (!print_text(machine_text(machine, static_cast<size_t>(&card - machine.cards.data()), style)))
		return EXIT_PART;
	if (module_loaded())
		throw Error(Error::Failed,
			    "the module is loaded already, perhaps with other parameters, and this command "
			    "unloads only what it has loaded: sudo rmmod gpulens");
	if (words.empty())
		throw Error(Error::Source, fmt::format("the module is not here: {}", load_command()));
	if (geteuid())
		throw Error(Error::NotOwner, "loading a module takes root: sudo gpulens first-card");
	if (!wanted.yes &&
	    !ask_user(fmt::format("This runs {} vram=off control=0, reads{}, and unloads the module again. "
				  "Go on? [y/N] ",
				  fmt::join(words, " "), wanted.runlists ? ", does so again with vram=on" : "")))
		throw Error(Error::Failed, "nothing was loaded (--yes answers)");
	Witness witness(options.sources.proc, card, words);
	for (bool memory : {false, true})
		if (!memory || wanted.runlists) {
			visits.push_back(witness.visit(memory));
			if (!print_text(visit_text(visits.back(), memory, style)))
				return EXIT_PART;
		}
	std::string chip = visits[0].chip, file = wanted.file;
	std::ranges::replace_if(
		chip, [](unsigned char c) { return !std::isalnum(c); }, '-');
	if (file.empty())
		file = fmt::format("gpulens-first-card-{}.image", chip);
	write_file(file, file_text(machine, card, visits));
	if (file != "-" &&
	    !print_text(fmt::format("The module is unloaded. {} has the report; read it, then send it as "
				    "docs/first-card.md says.\n",
				    file)))
		return EXIT_PART;
	bool good = std::ranges::all_of(visits, [](const Visit &v) {
		return v.quiet && std::ranges::none_of(
					  v.facts, [](const Comparison &c) { return c.verdict == Verdict::Different; });
	});
	return good ? EXIT_DONE : EXIT_PART;
}

} // namespace tool
