// SPDX-License-Identifier: GPL-2.0
// gpulens. Command lines of an older version still work, with a note.
#include "gpulens/cli/cli.hpp"
#include "gpulens/cli/options.hpp"
#include "lib/base/child_process.hpp"
#include "lib/base/file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace {

using Words = std::vector<std::string>;

const std::string LAB = "gpulens-lab";

// A command of an older version, the word with which it was meant (empty: any), and what stands for both.
const struct {
	std::string command, word;
	Words now;
} OLD[] = {
	{"copy", "", {"copy-engines"}},
	{"preemption", "", {"preemption-mode"}},
	{"neighbour", "", {"load"}},
	{"preempt-runlist", "", {"preempt", "--runlist"}},
	{"blocks", "", {LAB, "blocks"}},
	{"probe-kernels", "", {LAB, "probe-kernels"}},
	{"experiment", "", {LAB, "experiment"}},
	{"tenants", "", {LAB, "tenants"}},
	{"simulate", "warps", {LAB, "warps"}},
	{"simulate", "--policy", {"schedule", "--simulate"}},
	{"simulate", "", {LAB, "interleave"}},
	{"plan", "--evaluate", {LAB, "evaluate"}},
	{"plan", "--status", {"plan", "status"}},
	{"masks", "--amd", {"amd", "masks"}},
	{"partitions", "--ways", {"partitions", "--methods"}},
};

// Replaces what an older version had. Returns whether the words are for gpulens-lab.
bool renew_words(const tool::Program &program, Words &words)
{
	auto is_command = [&](const std::string &word) {
		return std::ranges::any_of(OLD, [&](const auto &old) { return word == old.command; }) ||
		       std::ranges::any_of(program.commands, [&](const auto &command) { return word == command.name; });
	};
	tool::Options options;
	CLI::App common;
	auto command = words.begin();

	// The value of an option that stands before the command may be the name of one.
	tool::add_common_options(common, options);
	auto has_value = [&](const std::string &word) {
		const CLI::Option *option = word.starts_with('-') ? common.get_option_no_throw(word) : nullptr;
		return option && tool::takes_value(*option);
	};
	while (command != words.end() && !is_command(*command))
		command += std::min<ptrdiff_t>(has_value(*command) ? 2 : 1, words.end() - command);
	for (const auto &[name, word, now] : OLD) {
		if (command == words.end() || *command != name)
			continue;
		auto with = std::find_if(command + 1, words.end(), [&meant = word](const std::string &given) {
			return given == meant || given.starts_with(meant + '=');
		});
		if (!word.empty() && with == words.end())
			continue;
		std::fprintf(stderr, "gpulens: %s%s%s is %s now\n", name.c_str(), word.empty() ? "" : " ", word.c_str(),
			     fmt::format("{}", fmt::join(now, " ")).c_str());
		if (!word.empty() && *with != word)
			with->erase(0, word.size() + 1);
		else if (!word.empty())
			words.erase(with);
		bool lab = now[0] == LAB;
		words.insert(words.erase(command), now.begin() + lab, now.end());
		return lab;
	}
	return false;
}

// Returns an exit status where it is not started.
int start_lab(Words words)
{
	std::string path = tool::installed_file(LAB);

	words.insert(words.begin(), path);
	execv(path.c_str(), tool::exec_words(words).data());
	std::fprintf(stderr, "gpulens: %s: %s; it is in the package %s\n", path.c_str(), std::strerror(errno),
		     LAB.c_str());
	return tool::EXIT_SOURCE;
}

} // namespace

int main(int argc, char **argv)
{
	tool::Program program = tool::gpulens_program();
	Words words(argv + std::min(argc, 1), argv + argc);

	return renew_words(program, words) ? start_lab(std::move(words)) : tool::run_program(program, words);
}
