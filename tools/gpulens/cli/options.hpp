// SPDX-License-Identifier: GPL-2.0
// Kinds of options that several commands have. Wrong values are errors of wrong usage, CLI::ValidationError.
#pragma once
#include "gpulens/out/output.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tool {

// -i, -g, --source, --proc, --json and --color.
void add_common_options(CLI::App &parser, Options &options);

// The heading in the help of the options that are added from now on; none: "Options", as at first.
void begin_group(CLI::App &parser, const char *heading = "Options");

// A time with a unit ("10s", "500ms", "100us"), stored in nanoseconds. unit: of a bare number, in nanoseconds.
CLI::Option *add_duration(CLI::App &parser, const char *name, u64 &ns, u64 unit, const char *about);
// --every, a sampling period from 10us to 1s.
CLI::Option *add_period(CLI::App &parser, u32 &us, const char *about);
// An option that may be given several times, with a value each time.
template <typename T>
CLI::Option *add_list(CLI::App &parser, const char *name, std::vector<T> &values, const char *type, const char *about)
{
	return parser.add_option(name, values, about)->type_name(type)->allow_extra_args(false);
}

// A check without the text that CLI11 puts into the help.
template <typename F> CLI::Validator check_that(F error_of)
{
	return CLI::Validator(error_of, "");
}

template <typename T> CLI::Validator in_range(T least, T greatest)
{
	return check_that([least, greatest](const std::string &text) {
		T value{};
		return CLI::detail::lexical_cast(text, value) && value >= least && value <= greatest
			       ? std::string()
			       : fmt::format("{} is not a number from {} to {}", text, least, greatest);
	});
}

// The value is a whole number of 32 bits. what: what it is the number of, for the message: "a GPU".
CLI::Validator number_of(const std::string &what);

// The value is one of these words, which completions offer as well. error_of: makes the message about another value; empty:
// "VALUE not in {WORDS}", with a suggestion if one of them is near.
CLI::Validator one_of(const std::vector<std::string> &words,
		      const std::function<std::string(const std::string &)> &error_of = {});
// The value is some of these words with commas between them, which completions offer one by one.
CLI::Validator some_of(const std::vector<std::string> &words);
// Returns the words of an option with one_of() or some_of(); empty for others.
std::vector<std::string> words_of(const CLI::Option &option);

// Returns "-i" and "--image"; nothing for an argument.
std::vector<std::string> names_of(const CLI::Option &option);
// Whether a value follows its name.
bool takes_value(const CLI::Option &option);

// Throws CLI::ValidationError if the command line names recorded GPUs: this command needs a GPU of this machine.
void refuse_files(const Options &options, const std::string &command);
// The same if it names any GPU or source of GPUs: this command reads none.
void refuse_gpus(const Options &options, const std::string &command);

// The value does not begin with a hyphen: run -o --tpcs=0-9 would take the limit for the file.
CLI::Validator not_an_option();
// The value ends with one of these: ".svg".
CLI::Validator file_of(const std::vector<std::string> &ends);

// An option with a few named values.
template <typename T>
CLI::Option *add_choice(CLI::App &parser, const char *name, T &value,
			const std::vector<std::pair<std::string, T>> &choices, const char *type,
			const std::string &about)
{
	std::vector<std::string> words;
	words.reserve(choices.size());
	auto choose = [&value, choices](const std::string &text) {
		for (const auto &[word, meaning] : choices)
			if (word == text)
				value = meaning;
	};

	for (const auto &[word, meaning] : choices)
		words.push_back(word);
	return parser.add_option_function<std::string>(name, choose, about)->type_name(type)->check(one_of(words));
}

} // namespace tool
