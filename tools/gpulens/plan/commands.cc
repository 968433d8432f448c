// SPDX-License-Identifier: GPL-2.0
// Reads task files and measurements, and prints plans and fits.
#include "gpulens/plan/commands.hpp"

#include "gpulens/out/partition_notes.hpp"
#include "gpulens/plan/fit.hpp"
#include "gpulens/plan/play.hpp"
#include "gpulens/plan/status.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"
#include "lib/source/table/sources.hpp"
#include "lib/tpc/gpc_map.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <optional>

namespace tool::plan {

using json = nlohmann::ordered_json;

namespace {

// Returns the GPU to plan for; nothing if a number of TPCs is given instead.
std::optional<Gpu> read_gpu(const Options &options, const PlanOptions &plan_options, const std::string &tasks)
{
	if (plan_options.tpcs)
		return std::nullopt;
	std::vector<Gpu> gpus;
	try {
		gpus = load_gpus(options.sources);
	} catch (const Error &e) {
		if (!options.sources.files.empty())
			throw;
		parse_tasks(tasks, name_of_file(plan_options.file), MAX_TPCS); // throws what is wrong with them
		throw Error(e.code, fmt::format("{}\nWithout a GPU, gpulens plan {} --tpcs N plans sizes.", e.what(),
						plan_options.file));
	}
	if (gpus.size() != 1)
		throw Error(Error::Source,
			    "a plan needs exactly one GPU: use -g X, -i FILE once, or --tpcs N without a GPU");
	// TPCs of a plan are given to programs by masks, which number them by %smid. --source module leaves that out.
	add_sms(gpus, options.sources);
	return std::move(gpus[0]);
}

// What the plan takes for granted about the GPU.
std::vector<std::string> notes_on_gpu(const Plan &plan, const std::optional<Gpu> &gpu)
{
	std::vector<std::string> notes;

	if (gpu && plan.map.numbering == TpcNumbering::ByGpc && gpu->tpc_order != LENS_TPC_ORDER_PUBLISHED)
		notes.push_back(gpu->tpc_order == LENS_TPC_ORDER_WRONG
					? "TPC numbers are known to be wrong: this chip does not number TPCs GPC by GPC"
					: "TPC numbers are assumed: their order is not published for this chip");
	if (gpu && plan.map.numbering == TpcNumbering::BySmid && gpu->sms.empty())
		notes.push_back("GPCs have the driver's numbers, as the hardware's table of TPCs has them, and not the "
				"physical "
				"ones, which gpulens run takes");
	bool several = plan.allocation().fits && plan.file.tasks.size() > 1;
	if (several && plan.on != Place::Mps)
		notes.push_back(turns_note(mps_runs(gpu ? gpu->processes : std::nullopt)));
	if (several && !plan.sharing.separate_memory)
		notes.push_back(memory_note());
	return notes;
}

std::string show_plan(const Plan &plan, const std::optional<Play> &play, const Options &options)
{
	if (!options.json)
		return plan_text(plan, options.style()) + (play ? play_text(plan, *play, options.style()) : "");
	json j = plan_json(plan);
	if (play)
		j["play"] = play_json(plan, *play);
	return json_text(j);
}

} // namespace

int plan_command(const Options &options, const PlanOptions &plan_options)
{
	std::string name = name_of_file(plan_options.file);
	std::string tasks = read_json_file(plan_options.file);
	std::optional<Gpu> gpu = read_gpu(options, plan_options, tasks);
	GpcMap map = gpu ? gpc_map(*gpu) : GpcMap{.tpcs = *plan_options.tpcs, .gpcs{}};
	PlanOptions with_chip = plan_options;
	if (gpu)
		with_chip.chip = gpu->chip.id;
	Plan plan = make_plan(tasks, name, map, with_chip);
	plan.gpu = gpu ? gpu->title() : "";
	plan.device = gpu ? gpu->chip.device : "";
	for (const std::string &note : notes_on_gpu(plan, gpu))
		plan.notes.push_back(note);
	if (plan_options.quiet && !options.json)
		plan.notes.clear();
	std::optional<Play> play;
	if (plan_options.play_ns && plan.allocation().fits) {
		const std::string &times = plan_options.times;
		play = play_plan(plan,
				 times.empty() ? std::vector<Samples>()
					       : parse_samples(read_file(times), name_of_file(times)),
				 plan_options.play_ns);
	}
	if (!plan_options.picture.empty() && plan.allocation().fits)
		write_file(plan_options.picture, plan_svg(plan, play));
	bool shown = print_text(show_plan(plan, play, options));
	for (const std::string &text : impossible_texts(plan))
		std::fprintf(stderr, "gpulens: %s: %s\n", name.c_str(), text.c_str());
	if (!shown)
		return EXIT_PART;
	return plan.allocation().fits ? EXIT_DONE : plan.gave_up() ? EXIT_UNKNOWN : EXIT_PART;
}

int status_command(const Options &options, const std::string &file)
{
	std::vector<TaskStatus> tasks = read_status(read_json_file(file), name_of_file(file));

	return print_text(options.json ? json_text(status_json(tasks)) : status_text(tasks, options.style()))
		       ? EXIT_DONE
		       : EXIT_PART;
}

int fit_command(const Options &options, const FitOptions &fit)
{
	std::vector<Fit> fits = fit_samples(read_file(fit.file), name_of_file(fit.file));
	std::string text = options.json ? json_text(fit_json(fits, fit.model)) : fit_text(fits, fit.model);

	if (!fit.output.empty()) {
		std::string tasks = json_text(tasks_json(fits, fit.model, fit.periods_us, fit.deadlines_us));
		if (fit.output == "-")
			text = tasks;
		else
			write_file(fit.output, tasks);
	}
	if (!fit.picture.empty())
		write_file(fit.picture, fit_svg(fits));
	return print_text(text) ? EXIT_DONE : EXIT_PART;
}

} // namespace tool::plan
