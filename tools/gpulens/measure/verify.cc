// SPDX-License-Identifier: GPL-2.0
// Runs the program, probes and neighbours, and judges what was seen.
#include "gpulens/measure/verify.hpp"

#include "gpulens/limit/own_mps.hpp"
#include "gpulens/measure/engine_share.hpp"
#include "gpulens/measure/limited_program.hpp"
#include "gpulens/measure/neighbour.hpp"
#include "gpulens/measure/probe.hpp"
#include "gpulens/out/partition_notes.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "lib/base/process_info.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <tuple>

namespace tool::measure {

using gpulens::VerifiedLimit;

namespace {

constexpr std::chrono::milliseconds POLL{50};
constexpr size_t PRODUCTS = 8;
constexpr double LEAST_FACTOR = 0.8; // a neighbour makes nothing faster: below, the times alone tell nothing
constexpr double SHARED = 1.5;       // times as long, or more: beside as much work on the same SMs

double find_median(std::vector<double> values)
{
	std::sort(values.begin(), values.end());
	return values.empty() ? 0 : (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

// What the processes of a program published while it ran; each with its largest number of launches.
class Pages {
public:
	explicit Pages(std::string proc) : proc_(std::move(proc)) {}

	void look(const std::function<bool(u32 pid)> &belongs)
	{
		for (const PublishedPartition &page : published_partitions(proc_)) {
			if (!belongs(page.pid))
				continue;
			PublishedPartition &kept =
				pages_.try_emplace({page.pid, page.method, page.gpu, page.tpcs}, page).first->second;
			if (page.launches)
				kept.launches = std::max(kept.launches.value_or(0), *page.launches);
		}
	}
	std::vector<PublishedPartition> list() const
	{
		std::vector<PublishedPartition> list;
		for (const auto &[key, page] : pages_)
			list.push_back(page);
		return list;
	}

private:
	std::string proc_;
	std::map<std::tuple<u32, std::string, std::string, std::vector<u32>>, PublishedPartition> pages_;
};

class Verifier {
public:
	Verifier(const Options &options, const VerifyOptions &verify_options)
		: options_(options), own_(verify_options), probe_(probe_path_of(verify_options.probe)),
		  pages_(options.sources.proc)
	{
		require_preloadable({probe_});
		report_.max_slowdown = own_.max_slowdown;
		report_.notes = {"the blocks of the program itself are not seen: nothing reports them for an "
				 "unmodified program"};
	}

	Report run()
	{
		if (!is_process())
			require_preloadable(own_.program);
		else if (std::string why = find_process(); !why.empty()) {
			report_.subject = fmt::format("process {}", own_.pid);
			report_.evidence.push_back({"acknowledgement", Finding::Unknown, why});
			conclude(report_);
			return std::move(report_);
		}
		verify_masks();
		sample_probe();
		report_.evidence.push_back(judge_acknowledgement(pages_.list(), limit()));
		judge_probe();
		if (limit().under_mps)
			judge_overlap();
		measure_times();
		if (is_process() && has_ended())
			report_.evidence.push_back({"process", Finding::Unknown, "the process ended before the end"});
		conclude(report_);
		return std::move(report_);
	}

private:
	const VerifiedLimit &limit() const { return verified_.limits[0]; }
	bool is_process() const { return own_.program.empty(); }

	// Returns why its partition is not known; empty: it is. Throws Error (Absent) if there is no such process.
	std::string find_process()
	{
		std::set<std::string> gpus;
		std::set<u32> tpcs;

		if (has_ended())
			throw Error(Error::Absent, fmt::format("there is no process {}", own_.pid));
		look();
		for (const PublishedPartition &page : pages_.list()) {
			gpus.insert(page.gpu);
			tpcs.insert(page.tpcs.begin(), page.tpcs.end());
			name_ = page.process;
		}
		if (gpus.empty())
			return "it publishes no partition: it is not limited by gpulens run or libgpulens-partition, "
			       "or belongs to another user";
		if (gpus.size() > 1)
			return "it has partitions of several GPUs";
		process_gpu_ = *gpus.begin();
		process_tpcs_ = {tpcs.begin(), tpcs.end()};
		return "";
	}

	bool has_ended() const { return kill(static_cast<pid_t>(own_.pid), 0) && errno == ESRCH; }

	void look()
	{
		if (is_process())
			pages_.look([this](u32 pid) { return pid == own_.pid; });
		else if (program_)
			pages_.look([this](u32 pid) { return descends_from(pid, static_cast<u32>(program_->pid())); });
	}

	void verify_masks()
	{
		verified_ = gpulens::verify_limits(named_gpu(options_), [this](const gpulens::Layout &layout) {
			gpulens::TpcMask mask(layout.map.tpcs);
			if (is_process())
				for (u32 tpc : process_tpcs_)
					mask.add(tpc);
			else
				mask = layout.parse_mask(own_.limit.tpcs);
			gpulens::TpcMask others = layout.complement(mask);
			if (!others.count())
				throw Error(Error::Input, "the limit is the whole GPU, which leaves no TPC for a "
							  "neighbour");
			return std::vector<gpulens::TpcMask>{mask, others};
		});
		if (own_.mps)
			gpulens::require_mps(limit(), "--mps");
		if (is_process() && limit().pci != process_gpu_)
			throw Error(Error::Input,
				    fmt::format("process {} is limited on GPU {}, not on {}; choose the GPU "
						"with -g",
						own_.pid, process_gpu_, limit().pci));
		if (own_.limit.planned)
			check_plan(*own_.limit.planned, limit());
		for (const std::string &note : partition_notes(limit().mps, limit().under_mps))
			report_.notes.push_back(note);
		report_.subject = is_process() ? fmt::format("process {} ({})", own_.pid, name_) : own_.program[0];
		report_.gpu = limit().pci;
		report_.limit = limit();
		report_.evidence.push_back(
			{"mask", Finding::Held,
			 fmt::format("with each TPC of the GPU disabled in turn, a probe avoided exactly its SMs{}{}",
				     is_process() ? " (now, not when the process began)" : "",
				     limit().under_mps ? ", without MPS" : "")});
	}

	// Runs the probe under the limit, beside the program, which is started again when it ends before the probe.
	void sample_probe()
	{
		blocks::ProgramOptions probe = limited_probe(probe_, limit());
		blocks::Machine machine = blocks::probe_machine(probe);
		blocks::Scenario scenario = sample_sms(machine);

		report_.sms = machine.sms;
		probe.start = [this](const std::vector<std::string> &program, const std::string &input) {
			return run_beside(program, input);
		};
		report_.log = blocks::run_scenario(probe, scenario);
		report_.within = check_limit(report_.log, limit());
		others_ = check_limit(blocks::run_scenario(limited_probe(probe_, verified_.limits[1]), scenario),
				      verified_.limits[1]);
	}

	std::string run_beside(const std::vector<std::string> &program, const std::string &input)
	{
		start_program();
		CapturedProgram probe(program, &limit(), true, input);
		while (!probe.has_ended() || (program_ && !program_->poll())) {
			look();
			std::this_thread::sleep_for(POLL);
			if (!probe.has_ended() && program_ && program_->poll()) {
				finish_program();
				start_program();
			}
		}
		if (program_)
			finish_program();
		Finished finished = probe.finish();
		require_success(program[0], finished.status);
		return finished.output;
	}

	void start_program()
	{
		if (is_process())
			return;
		program_ = std::make_unique<LimitedProgram>(own_.program, &limit());
		runs_++;
	}

	// Returns the time of the run, us.
	double finish_program()
	{
		require_success(own_.program[0], program_->wait());
		double us = program_->elapsed_us();
		program_.reset();
		return us;
	}

	void judge_probe()
	{
		const blocks::Within &within = report_.within;
		std::string beside =
			is_process() ? "beside the process"
				     : fmt::format("beside {} run{} of the program", runs_, runs_ == 1 ? "" : "s");

		if (limit().under_mps) {
			judge_number("probe", within, limit(), "the same limit");
			judge_number("others", others_, verified_.limits[1], "the limit of the neighbours");
			return;
		}
		report_.evidence.push_back(
			{"probe", within.outside.empty() ? Finding::Held : Finding::Violated,
			 within.outside.empty()
				 ? fmt::format("{} blocks of a probe under the same limit ran on {} of its {} SMs and "
					       "no other, {}",
					       within.blocks, within.used, 2 * limit().tpcs.size(), beside)
				 : fmt::format("blocks of a probe under the same limit ran on {} outside, {}",
					       sms_text(within), beside)});
		report_.evidence.push_back(
			{"others", others_.outside.empty() ? Finding::Held : Finding::Violated,
			 others_.outside.empty()
				 ? fmt::format("{} blocks of a probe under the limit of the neighbours avoided the SMs "
					       "of this one",
					       others_.blocks)
				 : fmt::format(
					   "blocks of a probe under the limit of the neighbours ran on {} of this one",
					   sms_text(others_))});
	}

	// Under MPS, only the number of SMs is seen.
	void judge_number(const char *name, const blocks::Within &within, const VerifiedLimit &limit, const char *whose)
	{
		size_t sms = within.sms_per_tpc * limit.tpcs.size(), used = within.used;

		report_.evidence.push_back({name,
					    used == sms  ? Finding::Held
					    : used > sms ? Finding::Violated
							 : Finding::Unknown,
					    fmt::format("{} blocks of a probe under {} ran on {} SMs, and its TPCs "
							"have {}",
							within.blocks, whose, used, sms)});
	}

	// Time of a scenario of the probe under the limit, us.
	double time_probe(const blocks::Scenario &scenario)
	{
		blocks::Log log = blocks::run_scenario(limited_probe(probe_, limit()), scenario);
		blocks::s64 first = log.kernels[0].first_start(), last = 0;

		for (const blocks::Ran &k : log.kernels)
			last = std::max(last, k.last_end());
		return static_cast<double>(last - first) / 1000;
	}

	// Under MPS it is not seen which SMs these are, but whether a neighbour has the same ones. One product would not show it: MPS
	// does not begin a kernel on an SM before the blocks of an earlier one have all begun, so that it waits before its start.
	void judge_overlap()
	{
		blocks::Scenario products = matrix_copy(report_.log.machine);
		std::vector<blocks::Kernel> &kernels = products.benchmarks[0].kernels;

		kernels.assign(PRODUCTS, blocks::Kernel(kernels[0]));
		double alone = time_probe(products), factors[2] = {};
		for (size_t i : {0, 1}) {
			Neighbour neighbour(probe_, &verified_.limits[i], "compute");
			factors[i] = time_probe(products) / alone;
		}
		report_.evidence.push_back({"overlap",
					    factors[0] < SHARED               ? Finding::Unknown
					    : factors[1] <= own_.max_slowdown ? Finding::Held
									      : Finding::Violated,
					    fmt::format("matrix products take {:.2f} times as long beside others on "
							"the same TPCs, and {:.2f} times beside others on all other "
							"TPCs",
							factors[0], factors[1])});
	}

	static std::string sms_text(const blocks::Within &within)
	{
		std::vector<u32> sms;

		for (const blocks::Outside &o : within.outside)
			sms.push_back(o.sm);
		return fmt::format("SM{} {}", sms.size() == 1 ? "" : "s", format_ranges(sms));
	}

	// Time of one run of the program, or of the probe's kernels in the partition of the process.
	double time_once()
	{
		if (!is_process()) {
			start_program();
			return finish_program();
		}
		return time_probe(matrix_copy(report_.log.machine));
	}

	void measure_times()
	{
		report_.timed = is_process()
					? "a matrix product and a copy of a probe in the partition, beside the process"
					: "the program from start to end";
		report_.slowdowns.push_back({.neighbour = ""});
		if (own_.neighbours.empty())
			return;
		time_once(); // warms up, and does not count
		for (u32 i = 0; i < own_.repeat; i++)
			report_.slowdowns[0].times_us.push_back(time_once());
		double alone = find_median(report_.slowdowns[0].times_us);
		for (const std::string &name : own_.neighbours)
			report_.slowdowns.push_back(measure_beside(name, alone));
	}

	// alone: median of the times without a neighbour, us.
	Slowdown measure_beside(const std::string &name, double alone)
	{
		Slowdown slowdown{.neighbour = name};
		std::unique_ptr<Neighbour> neighbour;

		try {
			neighbour = std::make_unique<Neighbour>(probe_, &verified_.limits[1], name);
		} catch (const Error &e) {
			slowdown.unknown = e.what();
			return slowdown;
		}
		std::optional<EngineShare> engine;
		if (!limit().under_mps) // its clients share a context
			engine.emplace(limit().pci);
		for (u32 i = 0; i < own_.repeat; i++)
			slowdown.times_us.push_back(time_once());
		auto is_neighbours = [&](u32 pid) { return descends_from(pid, static_cast<u32>(neighbour->pid())); };
		if (auto shares = engine ? engine->measure(is_neighbours) : std::nullopt)
			slowdown.neighbour_share = shares->those;
		bool throughout = neighbour->is_running();
		std::optional<unsigned long> launches = neighbour->stop();
		if (!throughout)
			slowdown.unknown = "the neighbour did not run all the time";
		else if (!launches.value_or(0))
			slowdown.unknown = "the neighbour completed nothing in this time, as far as it reports";
		else if (double factor = find_median(slowdown.times_us) / alone; factor < LEAST_FACTOR)
			slowdown.unknown = fmt::format("alone it was slower, {:.2f} times: not usable", 1 / factor);
		else
			slowdown.factor = factor;
		return slowdown;
	}

	const Options &options_;
	const VerifyOptions &own_;
	std::string probe_;
	Pages pages_;
	Report report_;
	std::string name_, process_gpu_; // of the process
	std::vector<u32> process_tpcs_;
	gpulens::VerifiedLimits verified_; // of the subject, and of all other TPCs
	blocks::Within others_;
	std::unique_ptr<LimitedProgram> program_;
	u32 runs_ = 0;
};

} // namespace

const char *finding_name(Finding finding)
{
	return finding == Finding::Held ? "held" : finding == Finding::Violated ? "violated" : "unknown";
}

Evidence judge_acknowledgement(const std::vector<PublishedPartition> &pages, const VerifiedLimit &limit)
{
	Evidence evidence{.name = "acknowledgement", .finding = Finding::Unknown, .text = ""};
	std::set<u32> processes;
	u64 launches = 0;

	for (const PublishedPartition &page : pages) {
		bool inside = std::includes(limit.tpcs.begin(), limit.tpcs.end(), page.tpcs.begin(), page.tpcs.end());
		if (page.gpu != limit.pci || !inside) {
			evidence.finding = Finding::Violated;
			evidence.text = fmt::format("process {} ({}) states that its kernels have TPCs {} of {}",
						    page.pid, page.process, format_ranges(page.tpcs), page.gpu);
			return evidence;
		}
		launches += page.launches.value_or(0);
		if (page.launches.value_or(0))
			processes.insert(page.pid);
	}
	if (launches) {
		evidence.finding = Finding::Held;
		evidence.text =
			fmt::format("{} launch{} of {} process{} had the mask, by the count of the library in {}",
				    launches, launches == 1 ? "" : "es", processes.size(),
				    processes.size() == 1 ? "" : "es", processes.size() == 1 ? "it" : "them");
	} else {
		evidence.text = pages.empty()
					? "no process with the mask was found; the program may have ended too soon"
					: "no launch of a kernel was counted";
	}
	return evidence;
}

void conclude(Report &report)
{
	std::vector<std::string> violated, unknown;
	const Slowdown *worst = nullptr;

	for (const Evidence &e : report.evidence)
		if (e.finding != Finding::Held)
			(e.finding == Finding::Violated ? violated : unknown).push_back(e.text);
	for (const Slowdown &s : report.slowdowns) {
		if (s.neighbour.empty())
			continue;
		if (!s.factor)
			unknown.push_back(fmt::format("neighbour {}: {}", s.neighbour, s.unknown));
		else if (!worst || *s.factor > *worst->factor)
			worst = &s;
	}
	if (worst && *worst->factor > report.max_slowdown)
		violated.push_back(
			fmt::format("the neighbour {} on the other TPCs makes it take {:.2f} times as long, more "
				    "than {:.2f}",
				    worst->neighbour, *worst->factor, report.max_slowdown));
	report.verdict = !violated.empty() ? Finding::Violated : !unknown.empty() ? Finding::Unknown : Finding::Held;
	const std::vector<std::string> &reasons = !violated.empty() ? violated : unknown;
	if (report.verdict == Finding::Held)
		report.sentence =
			fmt::format("no evidence against the limit of {} to TPCs {}{}", report.subject,
				    format_ranges(report.limit.tpcs),
				    worst ? fmt::format(", and no neighbour makes it take more than {:.2f} times as "
							"long ({}: {:.2f})",
							report.max_slowdown, worst->neighbour, *worst->factor)
					  : "; neighbours were not measured");
	else
		report.sentence = fmt::format("{}", fmt::join(reasons, "; "));
}

int verify_command(const Options &options, const VerifyOptions &verify_options)
{
	std::optional<OwnMps> daemon;
	if (verify_options.mps)
		daemon.emplace();
	Report report = Verifier(options, verify_options).run();

	if (!verify_options.file.empty())
		write_file(verify_options.file, report_svg(report));
	if (!print_text(options.json ? json_text(report_json(report)) : report_text(report, options.style())))
		return EXIT_REFUSED;
	return report.verdict == Finding::Held       ? EXIT_DONE
	       : report.verdict == Finding::Violated ? EXIT_PART
						     : EXIT_UNKNOWN;
}

} // namespace tool::measure
