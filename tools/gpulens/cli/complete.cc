// SPDX-License-Identifier: GPL-2.0
// Goes through the words as the parser would, which wants a whole command line. Values are completed by the type that the
// help names ("FILE"), or from the words that the option takes.
#include "gpulens/cli/texts.hpp"

#include "gpulens/blocks/scenario.hpp"
#include "gpulens/cli/options.hpp"
#include "lib/base/file.hpp"
#include "lib/base/machine_name.hpp"
#include "lib/source/image/proc_text.hpp"
#include "lib/source/module/proc.hpp"
#include "lib/source/table/sources.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <glob.h>
#include <nlohmann/json.hpp>
#include <set>

namespace tool {

namespace {

struct Candidate {
	std::string word, about;
};

struct Answer {
	std::string kind = "words";
	std::vector<Candidate> candidates;

	void add(const std::string &word, const std::string &about = "") { candidates.push_back({word, about}); }
};

// Adds the numbers behind the last prefix in the paths of this pattern.
void add_numbers(Answer &answer, const std::string &pattern, std::string_view prefix, const std::string &before = "")
{
	std::set<u64> numbers;
	glob_t found{};

	if (!glob(pattern.c_str(), 0, nullptr, &found))
		for (std::string_view path :
		     std::vector<std::string_view>(found.gl_pathv, found.gl_pathv + found.gl_pathc))
			numbers.insert(std::strtoull(path.data() + path.rfind(prefix) + prefix.size(), nullptr, 10));
	globfree(&found);
	for (u64 number : numbers)
		answer.add(before + std::to_string(number));
}

// The GPUs as far as they can be read now. Standard input is the shell's.
std::vector<Gpu> find_gpus(const SourceOptions &sources)
try {
	return std::ranges::count(sources.files, "-") ? std::vector<Gpu>() : load_gpus(sources);
} catch (const std::exception &) { // then nothing can be offered
	return {};
}

// Adds the TSGs, or channels, of these GPUs.
void add_ids(Answer &answer, bool tsgs, const SourceOptions &sources)
{
	for (const Gpu &gpu : find_gpus(sources)) {
		auto add = [&](u32 runlist, u32 id, const std::string &about) {
			answer.add(gpu.chip.ids_per_runlist ? fmt::format("{}:{}", runlist, id) : std::to_string(id),
				   about);
		};
		for (const Runlist &rl : gpu.runlists)
			for (const Tsg &tsg : rl.tsgs) {
				std::string owner = tsg.owner ? tsg.owner->text() : "";
				if (tsgs)
					add(rl.id, tsg.id, owner);
				else
					for (const Channel &channel : tsg.channels)
						add(rl.id, channel.id, owner);
			}
	}
}

// Adds the runlists of the files; without files those of /proc, which every user may list.
void add_runlists(Answer &answer, const SourceOptions &sources, const std::string &before = "")
{
	std::set<u32> ids;

	if (sources.files.empty())
		return add_numbers(answer, sources.proc + "/gpu[0-9]*/runlist[0-9]*", "runlist", before);
	for (const Gpu &gpu : find_gpus(sources))
		for (const Runlist &rl : gpu.runlists)
			ids.insert(rl.id);
	for (u32 id : ids)
		answer.add(before + std::to_string(id));
}

// Adds the tasks of a plan, if it is one.
void add_tasks(Answer &answer, const std::string &plan)
try {
	const nlohmann::json whole = nlohmann::json::parse(read_file(plan));

	for (const nlohmann::json &task : whole.at("tasks"))
		answer.add(task.at("name").get<std::string>());
} catch (const std::exception &) { // then nothing can be offered
}

// plan: the value of --plan.
Answer complete_value(const CLI::Option &option, const SourceOptions &sources, const std::string &plan)
{
	std::string type = option.nonpositional() ? option.get_type_name() : option.get_name(true);
	Answer answer;

	for (const std::string &word : words_of(option))
		answer.add(word);
	if (!answer.candidates.empty())
		return answer;
	if (type == "FILE" || type == "LOG" || type == "PLAN" || type == "LAYOUT") {
		answer.kind = "files";
	} else if (type == "DIR") {
		answer.kind = "folders";
	} else if (type == "SCENARIO") {
		answer.kind = "files";
		for (const blocks::Builtin &builtin : blocks::builtins())
			answer.add(builtin.name);
	} else if (type == "X") {
		for (unsigned gpu : found_gpus(sources.proc))
			answer.add(std::to_string(gpu));
	} else if (type == "Y" || type == "RUNLIST") {
		add_runlists(answer, sources);
	} else if (type == "TASK") {
		add_tasks(answer, plan);
	} else if (type == "TSG" || type == "CHANNEL" || type == "[RUNLIST:]ID") {
		add_ids(answer, type != "CHANNEL", sources);
	} else if (type == "PID") {
		add_numbers(answer, "/proc/[0-9]*", "/");
	} else if (type == "HOST") {
		answer.add(this_machine());
	} else if (type == "NAME" && !option.nonpositional()) {
		for (const std::string &name : proc_files())
			if (!name.starts_with("runlist"))
				answer.add(name);
		add_runlists(answer, sources, "runlist");
	}
	return answer;
}

// A command line without its last word.
struct Read {
	const CLI::App *app, *command = nullptr;
	const CLI::Option *pending = nullptr; // its value comes next
	std::set<const CLI::Option *> given{};
	std::vector<const CLI::Option *> positionals{}; // of the command
	size_t arguments = 0;
	bool ended = false; // options, by --
	SourceOptions sources{};
	std::string plan{};
	std::string program{}; // the index of the program to run; empty: none yet

	const CLI::Option *find(const std::string &name) const
	{
		const CLI::Option *option = command ? command->get_option_no_throw(name) : nullptr;
		return option ? option : app->get_option_no_throw(name);
	}
	// The argument that comes next.
	const CLI::Option *argument() const
	{
		if (positionals.empty())
			return nullptr;
		const CLI::Option *last = positionals.back();
		return arguments < positionals.size() ? positionals[arguments]
		       : last->get_expected_max() > 1 ? last
						      : nullptr;
	}
	bool runs_program() const { return argument() && argument()->get_name(true) == "PROGRAM"; }
	void begin_command(const CLI::App *found)
	{
		command = found;
		for (const CLI::Option *option : found->get_options())
			if (!option->nonpositional())
				positionals.push_back(option);
	}
	void read_value(const std::string &option, const std::string &value)
	{
		if (option == "plan")
			plan = value;
		else if (option == "proc")
			sources.proc = value;
		else if (option == "image")
			sources.files.push_back(value);
		else if (option == "gpu")
			sources.gpus.push_back(static_cast<unsigned>(std::strtoul(value.c_str(), nullptr, 10)));
	}
	void read_word(const std::string &word, size_t index)
	{
		if (const CLI::Option *option = std::exchange(pending, nullptr)) {
			read_value(option->get_single_name(), word);
		} else if (!ended && word == "--") {
			ended = true;
		} else if (!ended && word.size() > 1 && word[0] == '-') {
			size_t equals = word.find('=');
			const CLI::Option *option = find(word.substr(0, equals));
			given.insert(option);
			if (option && equals != word.npos)
				read_value(option->get_single_name(), word.substr(equals + 1));
			else if (option && takes_value(*option))
				pending = option;
		} else if (command) {
			if (runs_program() && program.empty())
				program = std::to_string(index);
			arguments++;
		} else {
			for (const CLI::App *known : app->get_subcommands({}))
				if (known->get_name() == word)
					begin_command(known);
		}
	}
};

void add_options(Answer &answer, const Read &read)
{
	std::set<std::string> names;

	for (const CLI::App *app : {read.command, read.app})
		for (const CLI::Option *option : app ? app->get_options() : std::vector<const CLI::Option *>()) {
			if (read.given.contains(option) && option->get_expected_max() <= 1)
				continue;
			for (const std::string &name : names_of(*option))
				if (names.insert(name).second)
					answer.add(name, option->get_description());
		}
}

Answer complete_word(const Read &read, const std::string &word, size_t index)
{
	const bool option = !read.ended && word.starts_with("-");
	Answer answer;

	if (!read.program.empty())
		return {"program " + read.program, {}};
	if (read.pending)
		return complete_value(*read.pending, read.sources, read.plan);
	if (size_t equals = word.find('='); option && equals != word.npos) {
		const CLI::Option *named = read.find(word.substr(0, equals));
		answer = named && takes_value(*named) ? complete_value(*named, read.sources, read.plan) : Answer();
		for (Candidate &candidate : answer.candidates)
			candidate.word.insert(0, word, 0, equals + 1);
		return answer;
	}
	if (!option && !read.command) {
		for (const CLI::App *command : read.app->get_subcommands({}))
			answer.add(command->get_name(), command->get_description());
		return answer;
	}
	if (!option && read.runs_program() && (read.ended || !word.empty()))
		return {"program " + std::to_string(index), {}};
	if (!option && read.argument())
		answer = complete_value(*read.argument(), read.sources, read.plan);
	if (option || (word.empty() && answer.kind == "words" && answer.candidates.empty()))
		add_options(answer, read);
	return answer;
}

} // namespace

std::string completions_text(const CLI::App &app, const std::vector<std::string> &words)
{
	std::string last = words.empty() ? "" : words.back(), text;
	Read read{.app = &app};

	read.sources.source = &SOURCES.front(); // the module alone: no driver initializes a GPU
	for (size_t i = 0; i + 1 < words.size(); i++)
		read.read_word(words[i], i);
	Answer answer = complete_word(read, last, words.empty() ? 0 : words.size() - 1);
	text = answer.kind + '\n';
	for (const auto &[word, about] : answer.candidates)
		if (word.starts_with(last))
			text += fmt::format("{}{}{}\n", word, about.empty() ? "" : "\t", about);
	return text;
}

} // namespace tool
