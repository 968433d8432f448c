// SPDX-License-Identifier: GPL-2.0
// Options that several commands have.
#include "gpulens/cli/options.hpp"

#include "lib/base/format.hpp"
#include "lib/base/nearest_word.hpp"
#include "lib/source/table/sources.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>

namespace tool {

namespace {

const std::string ONE_OF = "one of "; // begin of the name of validators, with the words behind it

std::vector<std::pair<std::string, const SourceRow *>> source_choices()
{
	std::vector<std::pair<std::string, const SourceRow *>> choices = {{"auto", nullptr}};

	for (const SourceRow &row : SOURCES)
		choices.emplace_back(row.name, &row);
	return choices;
}

} // namespace

void add_common_options(CLI::App &parser, Options &options)
{
	add_list(parser, "-i,--image", options.sources.files, "FILE",
		 "recorded GPU to read: a copy of /proc/gpuX/image or /proc/gpuX/snapshot; - is standard input")
		->check(not_an_option());
	add_list(parser, "-g,--gpu", options.sources.gpus, "X", "GPU number, the X of /proc/gpuX (default: all GPUs)")
		->check(number_of("a GPU; -g can be repeated"));
	add_choice(parser, "--source", options.sources.source, source_choices(), "SOURCE", sources_help().c_str());
	parser.add_option("--proc", options.sources.proc,
			  "procfs of the host, for containers that mount it elsewhere (default: /proc)")
		->type_name("DIR")
		->check(not_an_option());
	parser.add_flag("--json", options.json, "print JSON; docs/json-schema.json is its schema");
	parser.add_flag("--wide", options.wide,
			"all columns of a table, and lines of any length, also on a narrow terminal");
	add_choice<When>(
		parser, "--color", options.colour,
		{{"auto", When::Auto}, {"always", When::Always}, {"never", When::Never}}, "WHEN",
		"auto, always or never; auto colors output on a terminal unless NO_COLOR is set (default: auto)");
}

void begin_group(CLI::App &parser, const char *heading)
{
	parser.option_defaults()->group(heading);
}

CLI::Option *add_duration(CLI::App &parser, const char *name, u64 &ns, u64 unit, const char *about)
{
	auto store = [&ns, unit, name](const std::string &text) {
		std::optional<u64> parsed = parse_duration(text, unit);
		if (!parsed || !*parsed)
			throw CLI::ValidationError(name, "not a time such as 10s, 500ms or 100us: " + text);
		ns = *parsed;
	};
	return parser.add_option_function<std::string>(name, store, about)->type_name("TIME");
}

CLI::Option *add_period(CLI::App &parser, u32 &us, const char *about)
{
	auto store = [&us](const std::string &text) {
		std::optional<u64> ns = parse_duration(text, 1000);
		if (!ns || *ns < 10000 || *ns > 1000000000)
			throw CLI::ValidationError("--every", "not a time from 10us to 1s: " + text);
		us = static_cast<u32>(*ns / 1000);
	};
	return parser.add_option_function<std::string>("--every", store, about)->type_name("TIME");
}

std::vector<std::string> names_of(const CLI::Option &option)
{
	std::vector<std::string> names;

	for (const std::string &name : option.get_snames())
		names.push_back("-" + name);
	for (const std::string &name : option.get_lnames())
		names.push_back("--" + name);
	return names;
}

bool takes_value(const CLI::Option &option)
{
	return option.get_items_expected_max() > 0;
}

CLI::Validator number_of(const std::string &what)
{
	return check_that([what](const std::string &text) {
		u32 value = 0;
		return CLI::detail::lexical_cast(text, value) ? ""
							      : fmt::format("{} is not the number of {}", text, what);
	});
}

CLI::Validator one_of(const std::vector<std::string> &words,
		      const std::function<std::string(const std::string &)> &error_of)
{
	std::string names = fmt::format("{}", fmt::join(words, ","));
	auto check = [words, names, error_of](const std::string &text) {
		if (std::find(words.begin(), words.end(), text) != words.end())
			return std::string();
		return error_of ? error_of(text) : text + " not in {" + names + "}" + suggestion_of(text, words);
	};

	return check_that(check).name(ONE_OF + names);
}

CLI::Validator some_of(const std::vector<std::string> &words)
{
	std::string names = fmt::format("{}", fmt::join(words, ","));
	auto check = [words, names](const std::string &text) {
		for (const std::string &word : CLI::detail::split(text, ','))
			if (std::find(words.begin(), words.end(), word) == words.end())
				return fmt::format("{} not in {{{}}}{}", word.empty() ? "an empty word" : word, names,
						   suggestion_of(word, words));
		return std::string();
	};

	return check_that(check).name(ONE_OF + names);
}

std::vector<std::string> words_of(const CLI::Option &option)
{
	std::vector<std::string> words;

	for (int i = 0;; i++) {
		std::string name;
		try {
			name = const_cast<CLI::Option &>(option).get_validator(i)->get_name();
		} catch (const CLI::OptionNotFound &) {
			return words;
		}
		if (name.compare(0, ONE_OF.size(), ONE_OF) == 0)
			return CLI::detail::split(name.substr(ONE_OF.size()), ',');
	}
}

void refuse_files(const Options &options, const std::string &command)
{
	if (options.sources.files.empty())
		return;
	throw CLI::ValidationError("-i", command + " needs a GPU of this machine, and " + options.sources.files[0] +
						 " is a recorded one: gpulens -i " + options.sources.files[0] +
						 " shows it");
}

void refuse_gpus(const Options &options, const std::string &command)
{
	const SourceOptions &sources = options.sources;
	const char *option = !sources.files.empty()  ? "-i"
			     : !sources.gpus.empty() ? "-g"
			     : sources.source        ? "--source"
						     : "";

	if (*option)
		throw CLI::ValidationError(option, command + " reads no GPU");
}

CLI::Validator not_an_option()
{
	return check_that([](const std::string &name) {
		return name.size() > 1 && name[0] == '-' ? "it looks like an option; write ./" + name : "";
	});
}

CLI::Validator file_of(const std::vector<std::string> &ends)
{
	return check_that([ends](const std::string &name) {
		for (const std::string &end : ends)
			if (name.size() > end.size() && name.ends_with(end))
				return std::string();
		return fmt::format("not {}: {}", fmt::join(ends, " or "), name);
	});
}

} // namespace tool
