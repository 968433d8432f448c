// SPDX-License-Identifier: GPL-2.0
// See commands.hpp.
#include "gpulens/plan/commands.hpp"

#include "gpulens/plan/curves_svg.hpp"
#include "gpulens/plan/fit.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"
#include "lib/source/table/sources.hpp"
#include "lib/tpc/gpc_map.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

namespace tool::plan {

using json = nlohmann::ordered_json;

namespace {

constexpr int BAR = 40; // columns

GpcMap map_for(const Options &options, const PlanOptions &what, std::string &title)
{
	if (what.tpcs)
		return {*what.tpcs, {}};
	std::vector<Gpu> gpus = load_gpus(options.sources);
	if (gpus.size() != 1)
		throw SourceError("a plan is for one GPU: say -g X, or -i once");
	title = gpus[0].title();
	return gpc_map(gpus[0]);
}

bool ends_with(const std::string &name, const char *end)
{
	return name.size() > std::char_traits<char>::length(end) && name.ends_with(end);
}

// On a terminal only; gone when all is done.
class Progress {
public:
	Progress() : terminal_(isatty(STDERR_FILENO)) {}
	Progress(const Progress &) = delete;
	Progress &operator=(const Progress &) = delete;
	~Progress()
	{
		if (terminal_)
			std::fprintf(stderr, "\r\033[K");
	}
	void show(u64 done, u64 all) const
	{
		int filled = all ? static_cast<int>(done * BAR / all) : 0;
		if (terminal_)
			std::fprintf(stderr, "\r[%s%s] %3.0f %%", std::string(size_t(filled), '#').c_str(),
				     std::string(size_t(BAR - filled), '.').c_str(),
				     all ? 100.0 * double(done) / double(all) : 0);
	}

private:
	bool terminal_;
};

} // namespace

bool is_results_file(const std::string &name)
{
	return ends_with(name, ".csv") || ends_with(name, ".svg");
}

int plan_command(const Options &options, const PlanOptions &what)
{
	return with_user_files([&] {
		std::string title, name = name_of_file(what.file);
		GpcMap map = map_for(options, what, title);
		Plan plan = make_plan(read_whole(what.file), name, map, what);
		plan.gpu = title;
		bool shown = print(options.json ? json_text(plan_json(plan))
						: plan_text(plan, style_of_output(options.colour)));
		for (const std::string &text : impossible_texts(plan))
			std::fprintf(stderr, "gpulens: %s: %s\n", name.c_str(), text.c_str());
		return shown && plan.allocation().fits ? EXIT_DONE : EXIT_PART;
	});
}

int evaluate_command(const Options &options, const PlanOptions &what, const EvaluateOptions &more)
{
	Evaluation e = more.evaluation;

	e.test = what.test;
	e.start = what.start;
	e.quantum = what.quantum;
	e.least = what.least;
	e.tpcs = what.tpcs.value_or(e.tpcs);
	if (!Sizes{e.tpcs, e.quantum, e.least}.largest() || e.utilizations().empty()) {
		std::fprintf(stderr, "gpulens: %s\n",
			     e.utilizations().empty() ? "--from is above --to"
						      : "no partition may have as few TPCs as there are");
		return EXIT_USAGE;
	}
	return with_user_files([&] {
		Results results;
		{
			Progress bar;
			results = evaluate(e, [&](u64 done, u64 all) { bar.show(done, all); });
		}
		for (const std::string &file : more.files)
			write_whole(file,
				    ends_with(file, ".csv") ? results_csv(results, more.times) : curves_svg(results));
		return print(options.json ? json_text(results_json(results)) : results_text(results)) ? EXIT_DONE
												      : EXIT_PART;
	});
}

int fit_command(const Options &options, const std::string &file)
{
	return with_user_files([&] {
		std::vector<Fit> fits = fit_samples(read_whole(file), name_of_file(file));
		return print(options.json ? json_text(fit_json(fits)) : fit_text(fits)) ? EXIT_DONE : EXIT_PART;
	});
}

} // namespace tool::plan
