// SPDX-License-Identifier: GPL-2.0
// Writes manual pages: section 1 from the command lines of the programs, section 3 from the headers of libgpulens-partition,
// section 5 from docs/proc.md.
// Usage: gpulens-docs FOLDER VERSION DATE MAN HEADERS PROC
//   MAN: folder of the hand-written parts of pages. HEADERS: folder of the headers. PROC: docs/proc.md as roff, by lowdown
#include "docs/library.hpp"
#include "docs/options.hpp"
#include "gpulens/top/text.hpp"
#include "lab/cli/commands.hpp"

#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <sstream>

using docs::escape_roff;
using docs::Opt;
using docs::options_of;
using docs::own_options_of;

namespace {

struct Page {
	std::string version, date, man; // man: folder of hand-written parts
};

// --- manual pages ---

std::string read_part(const std::string &path)
{
	std::ifstream in(path);
	std::string text{std::istreambuf_iterator<char>(in), {}};

	if (text.empty())
		throw std::runtime_error(path + ": missing or empty");
	return text;
}

std::string format_option(const Opt &o)
{
	std::vector<std::string> names;

	for (const std::string &name : o.names)
		names.push_back("\\fB" + escape_roff(name) + "\\fR" +
				(o.value.empty() ? "" : " \\fI" + escape_roff(o.value) + "\\fR"));
	if (names.empty())
		names.push_back("\\fI" + escape_roff(o.value) + "\\fR");
	return fmt::format(".TP\n{}\n{}{}\n", fmt::join(names, ", "), escape_roff(o.about),
			   o.repeats && !o.names.empty() ? "; can be repeated" : "");
}

std::string format_synopsis(const CLI::App &sub)
{
	std::string line = fmt::format(".B {}\n.RI [ OPTIONS ]\n.B {}\n", escape_roff(sub.get_parent()->get_name()),
				       escape_roff(sub.get_name()));

	for (const Opt &o : own_options_of(sub)) {
		std::string name =
			o.names.empty() ? "" : "\\fB" + escape_roff(o.names[0]) + "\\fR" + (o.value.empty() ? "" : " ");
		std::string value = o.value.empty() ? "" : "\\fI" + escape_roff(o.value) + "\\fR";
		line += fmt::format("{}{}{}{}{}\n", o.required ? "" : "[", name, value, o.required ? "" : "]",
				    o.repeats ? " ..." : "");
	}
	return line;
}

std::string format_examples(const std::vector<const char *> &examples)
{
	std::string out = ".SH EXAMPLES\n.nf\n";

	for (const char *line : examples)
		out += escape_roff(line) + '\n';
	return out + ".fi\n";
}

std::string format_exit_status(const tool::Program &program)
{
	std::string out = ".SH EXIT STATUS\n";

	for (const tool::ExitStatus &e : program.statuses)
		out += fmt::format(".TP\n.B {}\n{}\n", e.code, escape_roff(e.meaning));
	return out;
}

// description: of the command, and sections that only it has.
std::string format_description(const Page &page, const std::string &name)
{
	std::string path = page.man + "/" + name + ".man", out;

	if (std::filesystem::exists(path)) // a test requires one of each command
		out = ".SH DESCRIPTION\n" + read_part(path);
	if (name != "top")
		return out;
	out += ".SH KEYS\n.nf\n";
	for (const std::string &line : tool::top_help())
		out += escape_roff(line) + '\n';
	return out + ".fi\n";
}

std::string format_head(const Page &page, const std::string &name, const std::string &about, const char *section = "1",
			const char *manual = "User Commands")
{
	std::string upper = name;

	for (char &c : upper)
		c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
	return fmt::format(".\\\" Generated.\n.TH {} {} {} \"gpulens {}\" \"{}\"\n.SH NAME\n{} \\- {}\n",
			   escape_roff(upper), section, page.date, page.version, manual, escape_roff(name),
			   escape_roff(about));
}

// "Show ... work." as the line of NAME has it.
std::string name_line(std::string about)
{
	about[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(about[0])));
	return about.substr(0, about.find_last_not_of('.') + 1);
}

std::string main_page(const Page &page, const tool::Program &program, const CLI::App &app)
{
	std::string out = format_head(page, program.name, name_line(program.about)) +
			  fmt::format(".SH SYNOPSIS\n.B {}\n.RI [ OPTIONS ]\n.RI [ COMMAND ]\n.SH DESCRIPTION\n",
				      escape_roff(program.name)) +
			  read_part(fmt::format("{}/{}.man", page.man, program.name)) +
			  ".SH OPTIONS\nThese options can stand before or after the command.\n";

	for (const Opt &o : options_of(app))
		out += format_option(o);
	out += ".SH COMMANDS\n";
	std::vector<std::string> also = {".BR gpulens (5)", ".BR gpulens\\-partition (3)"};
	for (const std::string other : {"gpulens", "gpulens-lab"})
		if (other != program.name)
			also.push_back(fmt::format(".BR {} (1)", escape_roff(other)));
	for (const CLI::App *sub : app.get_subcommands({})) {
		out += ".SS " + escape_roff(sub->get_name()) + '\n' + escape_roff(sub->get_description()) + ".\n.PP\n" +
		       format_synopsis(*sub);
		for (const Opt &o : own_options_of(*sub))
			out += format_option(o);
		also.push_back(fmt::format(".BR {}\\-{} (1)", escape_roff(program.name), escape_roff(sub->get_name())));
	}
	return out + format_examples(program.examples) + format_exit_status(program) +
	       read_part(page.man + "/rest.man") + ".SH SEE ALSO\n" + fmt::format("{}\n", fmt::join(also, ",\n"));
}

std::string command_page(const Page &page, const tool::Program &program, const CLI::App &app,
			 const tool::Command &command)
{
	const CLI::App &sub = *app.get_subcommand(command.name);
	std::vector<Opt> own = own_options_of(sub);
	std::string out = format_head(page, app.get_name() + "-" + sub.get_name(), sub.get_description()) +
			  ".SH SYNOPSIS\n" + format_synopsis(sub) + format_description(page, sub.get_name()) +
			  ".SH OPTIONS\n";

	for (const Opt &o : own)
		out += format_option(o);
	out += own.empty() ? "" : ".SS Options of every command\n";
	for (const Opt &o : options_of(app))
		out += format_option(o);
	return out + format_examples(command.examples) + format_exit_status(program) +
	       read_part(page.man + "/rest.man") +
	       fmt::format(".SH SEE ALSO\n.BR {} (1),\n.BR gpulens (5)\n", escape_roff(app.get_name()));
}

// Makes a page of what lowdown made of docs/proc.md: mandoc(1) finds titles on a line of their own, as lowdown 1 writes
// them, paragraphs after titles, and the fonts C and CR (lowdown 2) wrong.
std::string proc_page(const Page &page, const std::string &body)
{
	std::string out = format_head(page, "gpulens", "files of a GPU's scheduling hardware in /proc/gpuX", "5",
				      "File Formats") +
			  ".SH DESCRIPTION\n";
	std::istringstream in(body);
	std::string line;
	bool title = true;

	while (std::getline(in, line)) {
		if (title && (line == ".PP" || line == ".LP"))
			continue;
		title = line.starts_with(".SH") || line.starts_with(".SS");
		if (line == ".SH" || line == ".SS") {
			out += line;
			std::getline(in, line);
			line.insert(0, 1, ' ');
		}
		for (std::string_view font : {"\\fC", "\\f(CR"})
			for (size_t at = 0; (at = line.find(font, at)) != line.npos;)
				line.replace(at, font.size(), "\\fB");
		out += line + '\n';
	}
	return out + ".SH SEE ALSO\n.BR gpulens (1)\n";
}

// Headers of libgpulens-partition, and what each is about.
constexpr struct {
	const char *name, *about;
} LIBRARY[] = {
	{"gpulens-partition", "partitions of the TPCs of NVIDIA GPUs"},
	{"libsmctrl", "functions of libsmctrl, of libgpulens-partition"},
};

void write_page(const std::string &path, const std::string &text)
{
	std::filesystem::create_directories(std::filesystem::path(path).parent_path());
	tool::write_file(path, text);
}

void write_program(const std::string &folder, const Page &page, const tool::Program &program)
{
	tool::CommandLine line;
	std::unique_ptr<CLI::App> app = tool::build_cli(program, line);

	write_page(fmt::format("{}/man1/{}.1", folder, program.name), main_page(page, program, *app));
	for (const tool::Command &command : program.commands)
		write_page(fmt::format("{}/man1/{}-{}.1", folder, program.name, command.name),
			   command_page(page, program, *app, command));
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 7) {
		std::fprintf(stderr, "usage: gpulens-docs FOLDER VERSION DATE MAN HEADERS PROC\n");
		return 2;
	}
	try {
		std::string folder = argv[1];
		Page page{argv[2], argv[3], argv[4]};
		for (const tool::Program &program : {tool::gpulens_program(), tool::lab_program()})
			write_program(folder, page, program);
		for (const auto &[name, about] : LIBRARY) {
			std::string head = format_head(page, name, about, "3", "Library Functions");
			std::string header = read_part(std::string(argv[5]) + "/" + name + ".h");
			for (const auto &[file, text] : docs::library_pages(header, name, head))
				write_page(std::string(folder).append("/man3/").append(file), text);
		}
		write_page(folder + "/man5/gpulens.5", proc_page(page, read_part(argv[6])));
	} catch (const std::exception &e) {
		std::fprintf(stderr, "gpulens-docs: %s\n", e.what());
		return 1;
	}
	return 0;
}
