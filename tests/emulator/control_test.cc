// SPDX-License-Identifier: GPL-2.0
// The control commands: emulator/README.md documents each under its name with its arguments; and the messages that
// refuse a command.
#include "common.hpp"

#include "control/commands.hpp"

#include <sstream>

using namespace emu_test;

namespace {

// The first two cells of each row of the table in README.md that begins with this header.
std::vector<std::pair<std::string, std::string>> documented_rows(const std::string &header)
{
	std::ifstream in(EMU_DATA_DIR "/README.md");
	std::vector<std::pair<std::string, std::string>> rows;
	std::string line;
	while (std::getline(in, line) && line.rfind(header, 0) != 0)
		;
	std::getline(in, line); // | --- | --- |
	auto trim = [](const std::string &cell) {
		size_t first = cell.find_first_not_of(' ');
		return first == std::string::npos ? "" : cell.substr(first, cell.find_last_not_of(' ') + 1 - first);
	};
	while (std::getline(in, line) && line.starts_with('|')) {
		std::istringstream cells(line.substr(1));
		std::string name, arguments;
		std::getline(cells, name, '|');
		std::getline(cells, arguments, '|');
		rows.emplace_back(trim(name), trim(arguments));
	}
	return rows;
}

template <class Table> std::vector<std::pair<std::string, std::string>> rows_of(Table table)
{
	std::vector<std::pair<std::string, std::string>> rows;
	for (const auto &row : table)
		rows.emplace_back(row.name, row.arguments);
	return rows;
}

std::string error_of(const json &command)
{
	return make_gpu("gp106")->control(command).value("error", "");
}

} // namespace

TEST(Commands, every_command_is_documented_with_its_arguments)
{
	EXPECT_EQ(documented_rows("| command | arguments |"), rows_of(emu::all_commands()));
	EXPECT_EQ(documented_rows("| fault | arguments |"), rows_of(emu::all_faults()));
	EXPECT_EQ(emu::all_commands().size(), 20u);
	EXPECT_EQ(emu::all_faults().size(), 9u);
}

TEST(Commands, a_refused_command_gets_a_message)
{
	EXPECT_EQ(error_of({{"cmd", "fly"}}), "unknown command fly");
	EXPECT_EQ(error_of({{"cmd", "fault"}, {"kind", "fire"}}), "unknown fault fire");
	EXPECT_EQ(error_of({{"cmd", "peek"}, {"addr", 0}, {"words", 1048577}}), "too many words");
	EXPECT_EQ(error_of({{"cmd", "poke"}, {"ap", "sys"}, {"addr", 0}, {"words", {1}}}), "no memory there");
	EXPECT_EQ(error_of({{"cmd", "scenario"}, {"file", "/nowhere"}}),
		  "scenario /nowhere: No such file or directory");
	EXPECT_EQ(error_of({{"cmd", "time"}, {"mode", "real"}, {"advance_ns", 1}}), "time is real");
	EXPECT_EQ(error_of({{"cmd", "reg-peek"}}), "[json.exception.out_of_range.403] key 'off' not found");
}
