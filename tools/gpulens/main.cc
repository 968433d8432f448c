// SPDX-License-Identifier: GPL-2.0
// gpulens. Commands that an older version had are those of gpulens-lab, which is started for them.
#include "gpulens/cli/cli.hpp"
#include "lib/base/file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <unistd.h>

namespace {

// A command of an older version, the word with which it was meant (empty: any), and the command of gpulens-lab.
const struct {
	const char *command, *word, *now;
} IN_LAB[] = {
	{"blocks", "", "blocks"},   {"probe-kernels", "", "probe-kernels"}, {"experiment", "", "experiment"},
	{"tenants", "", "tenants"}, {"simulate", "warps", "warps"},         {"plan", "--evaluate", "evaluate"},
};

// Options that stand before commands, and have a value, which may be the name of one.
const char *const VALUED[] = {"-i", "--image", "-g", "--gpu", "--source", "--proc", "--color"};

bool is_command(const tool::Program &program, const std::string &word)
{
	return std::ranges::any_of(IN_LAB, [&](const auto &old) { return word == old.command; }) ||
	       std::ranges::any_of(program.commands, [&](const tool::Command &c) { return word == c.name; });
}

// Returns the words for gpulens-lab; empty: the command is one of gpulens.
std::vector<std::string> words_for_lab(const tool::Program &program, int argc, char **argv)
{
	std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
	auto command = words.begin();

	while (command != words.end() && !is_command(program, *command))
		command += std::min<ptrdiff_t>(std::ranges::count(VALUED, *command) + 1, words.end() - command);

	for (const auto &old : IN_LAB) {
		if (command == words.end() || *command != old.command)
			continue;
		auto word = std::find(command + 1, words.end(), old.word);
		if (*old.word && word == words.end())
			continue;
		*command = old.now;
		if (*old.word)
			words.erase(word);
		std::fprintf(stderr, "gpulens: this is gpulens-lab %s now\n", old.now);
		return words;
	}
	return {};
}

// Returns an exit status where it is not started.
int start_lab(std::vector<std::string> words)
{
	std::string path = tool::installed_file("gpulens-lab");
	std::vector<char *> arguments = {path.data()};

	for (std::string &word : words)
		arguments.push_back(word.data());
	arguments.push_back(nullptr);
	execv(path.c_str(), arguments.data());
	std::fprintf(stderr, "gpulens: %s: %s; it is in the package gpulens-lab\n", path.c_str(), std::strerror(errno));
	return tool::EXIT_SOURCE;
}

} // namespace

int main(int argc, char **argv)
{
	tool::Program program = tool::gpulens_program();
	std::vector<std::string> words = words_for_lab(program, argc, argv);

	return words.empty() ? tool::run_program(program, argc, argv) : start_lab(std::move(words));
}
