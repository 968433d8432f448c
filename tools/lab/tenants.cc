// SPDX-License-Identifier: GPL-2.0
// Makes a table of the lines that the program prints.
#include "lab/tenants.hpp"

#include "gpulens/blocks/program.hpp"
#include "gpulens/cmd/tpc_limit.hpp"
#include "gpulens/measure/limited_program.hpp"
#include "gpulens/out/table.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"

#include <fmt/format.h>
#include <sstream>

namespace tool::measure {

using json = nlohmann::ordered_json;

namespace {

constexpr char PROGRAM_NAME[] = "gpulens-tenants";
constexpr int NOT_HERE = 3; // exit status of the program: the method does not work on this GPU
constexpr int TENANTS_JSON_VERSION = 1;

std::string cell_text(const json &value)
{
	return value.is_string()         ? replace_controls(value.get<std::string>())
	       : value.is_null()         ? "-"
	       : value.is_number_float() ? fmt::format("{:.3f}", value.get<double>())
					 : value.dump();
}

std::string lines_table(const json &lines, const Style &style)
{
	std::vector<std::string> titles;

	for (const auto &[key, value] : lines.at(0).items()) {
		std::string title = replace_controls(key);
		if (!title.empty() && title[0] >= 'a' && title[0] <= 'z')
			title[0] = static_cast<char>(title[0] - 'a' + 'A');
		for (char &c : title)
			c = c == '_' ? ' ' : c;
		titles.push_back((value.is_string() ? "<" : "") + title);
	}
	Table table(titles);
	for (const json &line : lines) {
		std::vector<Cell> cells;
		for (const auto &[key, value] : line.items())
			cells.emplace_back(cell_text(value));
		table.add(cells);
	}
	return table.str(style);
}

} // namespace

json parse_lines(const std::string &text)
{
	std::istringstream in(text);
	std::string line;
	json lines = json::array();

	while (std::getline(in, line)) {
		json object = json::parse(line, nullptr, false);
		bool same =
			object.is_object() && !object.empty() && (lines.empty() || object.size() == lines[0].size());
		for (auto item = object.begin(); same && item != object.end(); ++item)
			same = item->is_primitive() && (lines.empty() || lines[0].contains(item.key()));
		if (!same)
			throw Error(Error::Failed, fmt::format("{}: line {} of its output is \"{}\"", PROGRAM_NAME,
							       lines.size() + 1, replace_controls(line.substr(0, 80))));
		lines.push_back(object);
	}
	if (lines.empty())
		throw Error(Error::Failed, fmt::format("{}: it printed nothing", PROGRAM_NAME));
	return lines;
}

int tenants_command(const Options &options, const TenantsOptions &tenants_options)
{
	std::string path = tenants_options.program.empty()
				   ? blocks::installed_program(PROGRAM_NAME, "or name another program with --program")
				   : tenants_options.program;
	std::optional<gpulens::VerifiedLimit> whole;
	if (std::optional<unsigned> gpu = named_gpu(options))
		whole = gpulens::whole_gpu(*gpu);
	Finished finished = CapturedProgram({path, tenants_options.experiment, tenants_options.way},
					    whole ? &*whole : nullptr, true)
				    .finish();
	if (finished.status)
		throw Error(finished.status == NOT_HERE ? Error::Unsupported : Error::Failed,
			    fmt::format("{}: {}", path, end_text(finished.status)));
	json lines = parse_lines(finished.output);
	std::string text = options.json ? json_text({{"version", TENANTS_JSON_VERSION},
						     {"command", "tenants"},
						     {"experiment", tenants_options.experiment},
						     {"device", whole ? json(whole->pci) : json(nullptr)},
						     {"lines", lines}})
					: lines_table(lines, options.style());
	return print_text(text) ? EXIT_DONE : EXIT_PART;
}

} // namespace tool::measure
