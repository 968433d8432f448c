// SPDX-License-Identifier: GPL-2.0
// Writes manual pages and completions of the command line of cli/cli.hpp.
// Usage: gpulens-docs FOLDER VERSION DATE MAN    (MAN: folder of the hand-written parts of pages)
#include "gpulens/cli/cli.hpp"
#include "lib/model/isolation.hpp"

#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>

namespace {

struct Page {
	std::string version, date, man; // man: folder of hand-written parts
};

// An option, as pages and completions show it.
struct Opt {
	std::vector<std::string> names; // "-i", "--image"; none: positional
	std::string value, about;       // value: "FILE"; empty: a flag
	bool required, repeats;
};

std::vector<Opt> options_of(const CLI::App &app)
{
	std::vector<Opt> list;

	for (const CLI::Option *o : app.get_options()) {
		Opt opt{{}, "", o->get_description(), o->get_required(), o->get_expected_max() > 1};
		for (const std::string &s : o->get_snames())
			opt.names.push_back("-" + s);
		for (const std::string &l : o->get_lnames())
			opt.names.push_back("--" + l);
		if (opt.names.empty())
			opt.value = o->get_name(true);
		else if (o->get_items_expected_max() > 0)
			opt.value = o->get_type_name();
		list.push_back(opt);
	}
	return list;
}

// The options of this command alone.
std::vector<Opt> own_options_of(const CLI::App &sub)
{
	std::vector<Opt> list = options_of(sub);

	std::erase_if(list, [](const Opt &o) { return !o.names.empty() && o.names.back() == "--help"; });
	return list;
}

// --- manual pages ---

std::string escape_roff(const std::string &text)
{
	std::string out;

	for (char c : text) {
		switch (c) {
		case '\\': out += "\\e"; break;
		case '-': out += "\\-"; break;
		case '\'': out += "\\(aq"; break;
		case '^': out += "\\(ha"; break;
		case '~': out += "\\(ti"; break;
		case '`': out += "\\(ga"; break;
		default: out += c;
		}
	}
	return !out.empty() && out[0] == '.' ? "\\&" + out : out;
}

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
	std::string line = ".B gpulens\n.RI [ OPTIONS ]\n.B " + escape_roff(sub.get_name()) + "\n";

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

std::string format_exit_status()
{
	std::string out = ".SH EXIT STATUS\n";

	for (const tool::ExitStatus &e : tool::EXIT_STATUS)
		out += fmt::format(".TP\n.B {}\n{}\n", e.code, escape_roff(e.meaning));
	return out;
}

std::string format_head(const Page &page, const std::string &name, const std::string &about)
{
	std::string upper = name;

	for (char &c : upper)
		c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
	return fmt::format(".\\\" Generated from the command line's definitions.\n.TH {} 1 {} \"gpulens {}\" \"User "
			   "Commands\"\n.SH NAME\n{} \\- {}\n",
			   escape_roff(upper), page.date, page.version, escape_roff(name), escape_roff(about));
}

std::string main_page(const Page &page, const CLI::App &app)
{
	std::string out = format_head(page, "gpulens", "show and control how NVIDIA GPUs schedule work") +
			  ".SH SYNOPSIS\n.B gpulens\n.RI [ OPTIONS ]\n.RI [ COMMAND ]\n.SH DESCRIPTION\n" +
			  read_part(page.man + "/description.man") +
			  ".SH OPTIONS\nThese options can stand before or after the command.\n";

	for (const Opt &o : options_of(app))
		out += format_option(o);
	out += ".SH COMMANDS\n";
	std::vector<std::string> also;
	for (const CLI::App *sub : app.get_subcommands({})) {
		out += ".SS " + escape_roff(sub->get_name()) + '\n' + escape_roff(sub->get_description()) + ".\n.PP\n" +
		       format_synopsis(*sub);
		for (const Opt &o : own_options_of(*sub))
			out += format_option(o);
		also.push_back(".BR gpulens\\-" + escape_roff(sub->get_name()) + " (1)");
	}
	return out + format_examples(tool::EXAMPLES) + format_exit_status() + read_part(page.man + "/rest.man") +
	       ".SH SEE ALSO\n" + fmt::format("{}\n", fmt::join(also, ",\n"));
}

std::string command_page(const Page &page, const CLI::App &app, const tool::Command &command)
{
	const CLI::App &sub = *app.get_subcommand(command.name);
	std::vector<Opt> own = own_options_of(sub);
	std::string out = format_head(page, "gpulens-" + sub.get_name(), sub.get_description()) + ".SH SYNOPSIS\n" +
			  format_synopsis(sub) + ".SH OPTIONS\n";

	for (const Opt &o : own)
		out += format_option(o);
	out += own.empty() ? "" : ".SS Options of every command\n";
	for (const Opt &o : options_of(app))
		out += format_option(o);
	return out + format_examples(command.examples) + format_exit_status() + ".SH SEE ALSO\n.BR gpulens (1)\n";
}

// --- completions ---

const char WHENS[] = "auto always never";
const char PROC_NAMES[] = "bars chip copy_topology device_info gpc0_tpc_mask gpc_mask image lce_for_pce0 local_memory "
			  "num_ces num_gpcs num_tpc_per_gpc pce_map runlist0 shared_lce_for_grce0 tpc_map";

// The bash command that completes a value.
std::string bash_values(const std::string &value)
{
	if (value == "FILE")
		return "_gpulens_files -f";
	if (value == "DIR")
		return "_gpulens_files -d";
	if (value == "X")
		return "_gpulens_words \"$(cd /proc && printf '%s ' gpu[0-9]* | sed 's/gpu//g; s/\\[0-9\\]\\*//')\"";
	if (value == "WHEN")
		return fmt::format("_gpulens_words \"{}\"", WHENS);
	if (value == "NAME")
		return fmt::format("_gpulens_words \"{}\"", PROC_NAMES);
	if (value == "HAZARD")
		return fmt::format("_gpulens_words \"{}\"", fmt::join(tool::HAZARD_IDS, " "));
	return ":";
}

std::string join_names(const std::vector<Opt> &options, const char *between, bool with_value_only)
{
	std::vector<std::string> names;

	for (const Opt &o : options)
		if (!with_value_only || !o.value.empty())
			names.insert(names.end(), o.names.begin(), o.names.end());
	return fmt::format("{}", fmt::join(names, between));
}

// Cases for the options of a command that take a value.
std::string bash_cases(const std::string &command, const std::vector<Opt> &options)
{
	std::string out;

	for (const Opt &o : options)
		for (const std::string &name : o.names)
			if (!o.value.empty())
				out += fmt::format("\t{}:{}) {}; return ;;\n", command, name, bash_values(o.value));
	return out;
}

std::string bash_completion(const CLI::App &app)
{
	std::vector<Opt> global = options_of(app);
	std::vector<std::string> commands;
	std::string cases, words, positionals, valued = join_names(global, "|", true);

	for (const CLI::App *sub : app.get_subcommands({})) {
		std::vector<Opt> own = own_options_of(*sub);
		commands.push_back(sub->get_name());
		cases += bash_cases(sub->get_name(), own);
		words += own.empty() ? ""
				     : fmt::format("\t{}) words=\"{} $words\" ;;\n", sub->get_name(),
						   join_names(own, " ", false));
		for (const Opt &o : own)
			if (o.names.empty() && bash_values(o.value) != ":")
				positionals += fmt::format("\t{}) {} ;;\n", sub->get_name(), bash_values(o.value));
	}
	return fmt::format(
		R"(# bash completion for gpulens                              -*- shell-script -*-
# Generated from the command line's definitions.
_gpulens_files() {{ # -f or -d
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}}
_gpulens_words() {{
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$head$cur")
	COMPREPLY=("${{COMPREPLY[@]#"$head"}}")
}}
_gpulens() {{
	local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} command='' head='' words i
	COMPREPLY=()
	# --option=value comes as three words
	if [[ $prev == = ]]; then
		prev=${{COMP_WORDS[COMP_CWORD - 2]}}
	elif [[ $cur == = ]]; then
		cur=''
	fi
	# and so does RULE:NAME
	for i in 2 3; do
		if ((COMP_CWORD > i)) && [[ ${{COMP_WORDS[COMP_CWORD - i]}} == --accept &&
			${{COMP_WORDS[COMP_CWORD - i + 2]}} == : ]]; then
			prev=--accept
			head=${{COMP_WORDS[COMP_CWORD - i + 1]}}:
			((i == 2)) && cur=''
		fi
	done
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${{COMP_WORDS[i - 1]}} in {0}) continue ;; esac
		case ${{COMP_WORDS[i]}} in {1}) command=${{COMP_WORDS[i]}}; break ;; esac
	done
	case $command:$prev in
{2}	esac
	case $prev in
{3}	esac
	words="{4}"
	case $command in
	'') words="{5} $words" ;;
{6}	esac
	if [[ $cur != -* ]]; then
		case $command in
		'') _gpulens_words "{5}"; return ;;
{7}		esac
		[[ -n $cur || ${{#COMPREPLY[@]}} -gt 0 ]] && return
	fi
	_gpulens_words "$words"
}}
complete -F _gpulens gpulens
)",
		valued, fmt::join(commands, "|"), cases,
		[&] {
		std::string out = bash_cases("", global);
		for (size_t at = 0; (at = out.find("\t:", at)) != out.npos;)
			out.erase(at + 1, 1);
		return out;
		}(),
		join_names(global, " ", false), fmt::join(commands, " "), words, positionals);
}

std::string quote_zsh(const std::string &text)
{
	std::string out;

	for (char c : text) {
		if (c == '[' || c == ']' || c == ':' || c == '\\')
			out += '\\';
		out += c == '\'' ? "'\\''" : std::string(1, c);
	}
	return out;
}

std::string zsh_values(const std::string &value)
{
	if (value == "FILE")
		return "_files";
	if (value == "DIR")
		return "_files -/";
	if (value == "X")
		return "compadd - /proc/gpu<->(N\\:t\\:s/gpu//)";
	if (value == "WHEN")
		return fmt::format("({})", WHENS);
	if (value == "NAME")
		return fmt::format("({})", PROC_NAMES);
	if (value == "HAZARD")
		return fmt::format("({})", quote_zsh(fmt::format("{}", fmt::join(tool::HAZARD_IDS, " "))));
	return "";
}

std::string zsh_specs(const std::vector<Opt> &options)
{
	std::string out;

	for (const Opt &o : options) {
		std::string value = o.value.empty() ? "" : ':' + quote_zsh(o.value) + ':' + zsh_values(o.value);
		std::string about = '[' + quote_zsh(o.about) + ']';
		if (o.names.empty())
			out += fmt::format(" \\\n\t\t\t'{}{}'", o.repeats ? "*" : "", value.empty() ? ":" : value);
		for (const std::string &name : o.names)
			out += fmt::format(" \\\n\t\t\t'{}{}{}{}'",
					   o.repeats ? "*" : fmt::format("({})", fmt::join(o.names, " ")), name, about,
					   value);
	}
	return out;
}

std::string zsh_completion(const CLI::App &app)
{
	std::vector<Opt> global = options_of(app);
	std::string commands, cases;

	for (const CLI::App *sub : app.get_subcommands({})) {
		commands += fmt::format("\t\t'{}:{}'\n", sub->get_name(), quote_zsh(sub->get_description()));
		cases += fmt::format("\t{})\n\t\t_arguments{} \\\n\t\t\t$global\n\t\t;;\n", sub->get_name(),
				     zsh_specs(own_options_of(*sub)));
	}
	std::string specs = zsh_specs(global);
	for (size_t at = 0; (at = specs.find(" \\\n\t\t\t", at)) != specs.npos;)
		specs.replace(at, 6, "\n\t\t");
	return fmt::format(R"(#compdef gpulens
# Generated from the command line's definitions.
_gpulens() {{
	local context state state_descr line curcontext=$curcontext
	local -A opt_args
	local -a commands global
	commands=(
{0}	)
	global=({1}
	)
	_arguments -C $global '1:command:->command' '*::argument:->argument' && return
	case $state in
	command) _describe command commands; return ;;
	esac
	curcontext=${{curcontext%:*:*}}:gpulens-$words[1]:
	case $words[1] in
{2}	esac
}}
_gpulens "$@"
)",
			   commands, specs, cases);
}

void write_page(const std::string &path, const std::string &text)
{
	std::filesystem::create_directories(std::filesystem::path(path).parent_path());
	tool::write_file(path, text);
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 5) {
		std::fprintf(stderr, "usage: gpulens-docs FOLDER VERSION DATE MAN\n");
		return 2;
	}
	try {
		std::string folder = argv[1];
		Page page{argv[2], argv[3], argv[4]};
		tool::CommandLine line;
		const tool::Commands commands = tool::all_commands();
		std::unique_ptr<CLI::App> app = tool::build_cli(commands, line);
		write_page(folder + "/man1/gpulens.1", main_page(page, *app));
		for (const tool::Command &command : commands)
			write_page(folder + "/man1/gpulens-" + command.name + ".1", command_page(page, *app, command));
		write_page(folder + "/bash/gpulens", bash_completion(*app));
		write_page(folder + "/zsh/_gpulens", zsh_completion(*app));
	} catch (const std::exception &e) {
		std::fprintf(stderr, "gpulens-docs: %s\n", e.what());
		return 1;
	}
	return 0;
}
