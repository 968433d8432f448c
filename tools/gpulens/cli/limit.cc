// SPDX-License-Identifier: GPL-2.0
// Adds the options of a limit to a command.
#include "gpulens/cli/limit.hpp"

#include "gpulens/cli/options.hpp"
#include "lib/turns/plan_file.hpp"
#include "lib/base/file.hpp"
#include "lib/launch/environment.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tool {

void add_no_cooperative(CLI::App &parser)
{
	parser.add_flag_callback(
		"--no-cooperative", [] { setenv(gpulens::environment::NO_COOPERATIVE, "1", 1); },
		"state that no cooperative kernels are launched: on GPUs before Hopper they are not recognized, and "
		"wait for "
		"ever where the TPCs do not hold all of their blocks");
}

LimitOptions::LimitOptions(CLI::App &parser, const std::string &subject)
{
	// An empty value must not mean "no limit".
	CLI::Validator not_empty = check_that([](const std::string &text) {
		return text.empty() ? "an empty limit would let the program run on the whole GPU" : "";
	});
	std::string limit = "limit " + subject + " to ";

	begin_group(parser, "Limit to TPCs");
	add_no_cooperative(parser);
	tpcs_ = parser.add_option("--tpcs", values_->tpcs, limit + "these TPCs: 0-9,12 or 0x3ff")
			->type_name("TPCS")
			->check(not_empty)
			->check(check_that([](const std::string &text) {
				bool named = text == "all" || text.starts_with("gpc:") || text.starts_with("half:");
				return named || plan::parse_mask(text) ||
						       plan::parse_numbers(text, plan::MAX_LISTED_TPCS)
					       ? ""
					       : fmt::format("\"{}\": expected {}", text, plan::TPC_FORMS);
			}));
	gpcs_ = parser.add_option("--gpcs", values_->gpcs, limit + "the TPCs of these GPCs: 2,3")
			->type_name("GPCS")
			->check(not_empty)
			->excludes(tpcs_);
	half_ = parser.add_option("--half", values_->half, limit + "one half of the GPCs: a or b")
			->type_name("HALF")
			->check(one_of({"a", "b"}))
			->excludes(tpcs_)
			->excludes(gpcs_);
	plan_ = parser.add_option("--plan", values_->plan,
				  limit + "the TPCs that this plan (output of gpulens plan --json) gives to --task")
			->type_name("FILE")
			->check(not_empty)
			->check(not_an_option())
			->check(check_that([](const std::string &name) {
				return name == "-" ? "standard input is the program's" : "";
			}))
			->excludes(tpcs_)
			->excludes(gpcs_)
			->excludes(half_);
	task_ = parser.add_option("--task", values_->task, "name of the task in the plan")
			->type_name("TASK")
			->check(not_empty)
			->needs(plan_);
	plan_->needs(task_);
	begin_group(parser);
}

std::optional<Limit> LimitOptions::limit() const
{
	if (*tpcs_)
		return Limit{.tpcs = values_->tpcs};
	if (*gpcs_)
		return Limit{.tpcs = "gpc:" + values_->gpcs};
	if (*half_)
		return Limit{.tpcs = "half:" + values_->half};
	if (!*plan_)
		return std::nullopt;
	plan::PlannedTask found = plan::find_planned_task(read_json_file(values_->plan), values_->plan, values_->task);
	return Limit{
		.tpcs = fmt::format("{}", fmt::join(found.tpcs, ",")),
		.planned = PlannedPlace{
			.file = values_->plan, .device = found.device, .gpcs = found.gpcs, .on_mps = found.on_mps}};
}

void LimitOptions::exclude(CLI::Option *other) const
{
	for (CLI::Option *own : {tpcs_, gpcs_, half_, plan_, task_})
		own->excludes(other);
}

} // namespace tool
