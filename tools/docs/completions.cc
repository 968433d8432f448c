// SPDX-License-Identifier: GPL-2.0
// See completions.hpp. Values are completed by the type that the help names ("FILE"), or from the words of the option.
#include "docs/completions.hpp"

#include "gpulens/blocks/scenario.hpp"
#include "docs/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace docs {

namespace {

const char PROC_NAMES[] = "bars chip copy_topology device_info gpc0_tpc_mask gpc_mask image lce_for_pce0 local_memory "
			  "num_ces num_gpcs num_tpc_per_gpc pce_map runlist0 shared_lce_for_grce0 tpc_map";

// A type of values, and the function of each completion file that completes it.
struct ValueType {
	const char *type, *bash, *zsh;
};
constexpr ValueType VALUE_TYPES[] = {
	{"FILE", "_gpulens_files -f", "_files"},
	{"LOG", "_gpulens_files -f", "_files"},
	{"DIR", "_gpulens_files -d", "_files -/"},
	{"X", "_gpulens_gpus", "_gpulens_gpus"},
	{"Y", "_gpulens_runlists", "_gpulens_runlists"},
	{"RUNLIST", "_gpulens_runlists", "_gpulens_runlists"},
	{"NAME", "_gpulens_proc_files", "_gpulens_proc_files"},
	{"SCENARIO", "_gpulens_scenarios", "_gpulens_scenarios"},
	{"PID", "_gpulens_pids", "_pids"},
	{"HOST", "_gpulens_words \"$HOSTNAME\"", "_hosts"},
};

const ValueType *find_type(const std::string &value)
{
	for (const ValueType &type : VALUE_TYPES)
		if (value == type.type)
			return &type;
	return nullptr;
}

std::string scenario_names()
{
	std::vector<std::string> names;

	for (const tool::blocks::Builtin &builtin : tool::blocks::builtins())
		names.emplace_back(builtin.name);
	return fmt::format("{}", fmt::join(names, " "));
}

// The positional argument of a command that runs a program: that program, and its arguments.
bool runs_program(const Opt &o)
{
	return o.names.empty() && o.value == "PROGRAM";
}

/* -- bash -- */

// The bash command that completes a value.
std::string bash_values(const Opt &o)
{
	const ValueType *type = find_type(o.value);

	if (!o.words.empty())
		return fmt::format("_gpulens_words \"{}\"", fmt::join(o.words, " "));
	return type ? type->bash : ":";
}

std::string join_names(const std::vector<Opt> &options, const char *between, bool with_value_only)
{
	std::vector<std::string> names;

	for (const Opt &o : options)
		if (!with_value_only || !o.value.empty())
			names.insert(names.end(), o.names.begin(), o.names.end());
	return fmt::format("{}", fmt::join(names, between));
}

// Cases for the options that take a value. command: "record:" before each; empty for those of all.
std::string bash_cases(const std::string &command, const std::vector<Opt> &options)
{
	std::string out;

	for (const Opt &o : options)
		for (const std::string &name : o.names)
			if (!o.value.empty())
				out += fmt::format("\t{}{}) {}; return ;;\n", command, name, bash_values(o));
	return out;
}

const char BASH[] = R"sh(# bash completion for @PROGRAM@                              -*- shell-script -*-
# Generated from the command line's definitions.
_gpulens_files() { # -f or -d
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}
_gpulens_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$head$cur")
	COMPREPLY=("${COMPREPLY[@]#"$head"}")
}
# The numbers behind a name in paths: PATTERN of files below $proc, NAME.
_gpulens_numbers() {
	local path
	for path in "$proc"/$1; do
		[[ -e $path ]] && printf '%s\n' "${path##*"$2"}"
	done | sort -nu
}
_gpulens_gpus() {
	_gpulens_words "$(_gpulens_numbers 'gpu[0-9]*' gpu)"
}
_gpulens_runlists() {
	_gpulens_words "$(_gpulens_numbers 'gpu[0-9]*/runlist[0-9]*' runlist)"
}
_gpulens_proc_files() {
	_gpulens_words "@PROC_NAMES@ $(_gpulens_numbers 'gpu[0-9]*/runlist[0-9]*' runlist | sed 's/^/runlist/')"
	mapfile -t COMPREPLY < <(printf '%s\n' "${COMPREPLY[@]}" | sort -u)
}
_gpulens_scenarios() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -W "@SCENARIOS@" -- "$cur"; compgen -f -- "$cur")
}
_gpulens_pids() {
	_gpulens_words "$(cd /proc && printf '%s\n' [0-9]*)"
}
# The program behind run and its arguments. Fails while the word is not one of these.
_gpulens_program() { # index of the command
	local at program=0 sure=''
	for ((at = $1 + 1; at <= COMP_CWORD && !program; at++)); do
		case ${COMP_WORDS[at - 1]} in =|@VALUED_OF_PROGRAMS@) continue ;; esac
		case ${COMP_WORDS[at]} in
		--) program=$((at + 1)) sure=yes ;;
		=|-*) ;;
		*) program=$at ;;
		esac
	done
	((program && COMP_CWORD >= program)) || return 1
	if ((COMP_CWORD == program)); then
		[[ -n $cur || -n $sure ]] || return 1
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -c -- "$cur" | sort -u)
	elif declare -F _comp_command_offset >/dev/null; then
		_comp_command_offset "$program"
	elif declare -F _command_offset >/dev/null; then
		_command_offset "$program"
	else
		_gpulens_files -f
	fi
}
_gpulens() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command='' head='' proc=/proc words i
	COMPREPLY=()
	# --option=value comes as three words
	if [[ $prev == = ]]; then
		prev=${COMP_WORDS[COMP_CWORD - 2]}
	elif [[ $cur == = ]]; then
		cur=''
	fi
	# and so does RULE:NAME
	for i in 2 3; do
		if ((COMP_CWORD > i)) && [[ ${COMP_WORDS[COMP_CWORD - i]} == --accept &&
			${COMP_WORDS[COMP_CWORD - i + 2]} == : ]]; then
			prev=--accept
			head=${COMP_WORDS[COMP_CWORD - i + 1]}:
			((i == 2)) && cur=''
		fi
	done
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i - 1]} in --proc) proc=${COMP_WORDS[i]} ;; esac
	done
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i - 1]} in @VALUED@) continue ;; esac
		case ${COMP_WORDS[i]} in @COMMANDS|@) command=${COMP_WORDS[i]}; break ;; esac
	done
	case $command in
	@PROGRAMS@) _gpulens_program "$i" && return ;;
	esac
	case $command:$prev in
@CASES@	esac
	case $prev in
@COMMON_CASES@	esac
	words="@OPTIONS@"
	case $command in
	'') words="@COMMANDS @ $words" ;;
@WORDS@	esac
	if [[ $cur != -* ]]; then
		case $command in
		'') _gpulens_words "@COMMANDS @"; return ;;
@POSITIONALS@		esac
		[[ -n $cur || ${#COMPREPLY[@]} -gt 0 ]] && return
	fi
	_gpulens_words "$words"
}
complete -F _gpulens @PROGRAM@
)sh";

void replace_all(std::string &text, const std::string &old, const std::string &now)
{
	for (size_t at = 0; (at = text.find(old, at)) != text.npos; at += now.size())
		text.replace(at, old.size(), now);
}

// Replaces each @NAME@ of a template. Functions of each program have names of their own.
std::string fill_template(std::string text, const std::string &program,
			  const std::vector<std::pair<std::string, std::string>> &values)
{
	std::string function = '_' + program;

	replace_all(function, "-", "_");
	for (const auto &[name, value] : values)
		replace_all(text, '@' + name + '@', value);
	replace_all(text, "_gpulens", function);
	replace_all(text, "@PROGRAM@", program);
	return text;
}

} // namespace

std::string bash_completion(const CLI::App &app)
{
	std::vector<Opt> global = options_of(app);
	std::vector<std::string> commands, programs;
	std::string cases, words, positionals, valued = join_names(global, "|", true), valued_of_programs = valued;

	for (const CLI::App *sub : app.get_subcommands({})) {
		std::vector<Opt> own = own_options_of(*sub);
		commands.push_back(sub->get_name());
		cases += bash_cases(sub->get_name() + ":", own);
		words += own.empty() ? ""
				     : fmt::format("\t{}) words=\"{} $words\" ;;\n", sub->get_name(),
						   join_names(own, " ", false));
		for (const Opt &o : own) {
			if (o.names.empty() && bash_values(o) != ":")
				positionals += fmt::format("\t\t{}) {} ;;\n", sub->get_name(), bash_values(o));
			if (!runs_program(o))
				continue;
			programs.push_back(sub->get_name());
			valued_of_programs += "|" + join_names(own, "|", true);
		}
	}
	return fill_template(BASH, app.get_name(),
			     {{"PROC_NAMES", PROC_NAMES},
			      {"SCENARIOS", scenario_names()},
			      {"VALUED_OF_PROGRAMS", valued_of_programs},
			      {"VALUED", valued},
			      {"COMMANDS|", fmt::format("{}", fmt::join(commands, "|"))},
			      {"COMMANDS ", fmt::format("{}", fmt::join(commands, " "))},
			      {"PROGRAMS", programs.empty() ? "/" : fmt::format("{}", fmt::join(programs, "|"))},
			      {"CASES", cases},
			      {"COMMON_CASES", bash_cases("", global)},
			      {"OPTIONS", join_names(global, " ", false)},
			      {"WORDS", words},
			      {"POSITIONALS", positionals}});
}

/* -- zsh -- */

namespace {

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

std::string zsh_values(const Opt &o)
{
	const ValueType *type = find_type(o.value);

	if (!o.words.empty())
		return fmt::format("({})", quote_zsh(fmt::format("{}", fmt::join(o.words, " "))));
	return type ? type->zsh : "";
}

std::string zsh_specs(const std::vector<Opt> &options)
{
	std::string out;

	for (const Opt &o : options) {
		std::string value = o.value.empty() ? "" : ':' + quote_zsh(o.value) + ':' + zsh_values(o);
		std::string about = '[' + quote_zsh(o.about) + ']';
		if (runs_program(o))
			out += " \\\n\t\t\t'(-):PROGRAM:_command_names -e' \\\n\t\t\t'*::argument:_normal'";
		else if (o.names.empty())
			out += fmt::format(" \\\n\t\t\t'{}{}'", o.repeats ? "*" : "", value.empty() ? ":" : value);
		for (const std::string &name : o.names)
			out += fmt::format(" \\\n\t\t\t'{}{}{}{}'",
					   o.repeats ? "*" : fmt::format("({})", fmt::join(o.names, " ")), name, about,
					   value);
	}
	return out;
}

const char ZSH[] = R"sh(#compdef @PROGRAM@
# Generated from the command line's definitions.
_gpulens_gpus() {
	compadd "$@" - /proc/gpu<->(N:t:s/gpu//)
}
_gpulens_runlists() {
	local -aU numbers=(/proc/gpu<->/runlist<->(N:t:s/runlist//))
	compadd "$@" -a numbers
}
_gpulens_proc_files() {
	local -aU names=(@PROC_NAMES@ /proc/gpu<->/runlist<->(N:t))
	compadd "$@" -a names
}
_gpulens_scenarios() {
	compadd - @SCENARIOS@
	_files
}
_gpulens() {
	local context state state_descr line curcontext=$curcontext
	local -A opt_args
	local -a commands global
	commands=(
@COMMANDS@	)
	global=(@OPTIONS@
	)
	_arguments -C $global '1:command:->command' '*::argument:->argument' && return
	case $state in
	command) _describe command commands; return ;;
	esac
	curcontext=${curcontext%:*:*}:@PROGRAM@-$words[1]:
	case $words[1] in
@CASES@	esac
}
_gpulens "$@"
)sh";

} // namespace

std::string zsh_completion(const CLI::App &app)
{
	std::string commands, cases;

	for (const CLI::App *sub : app.get_subcommands({})) {
		commands += fmt::format("\t\t'{}:{}'\n", sub->get_name(), quote_zsh(sub->get_description()));
		cases += fmt::format("\t{})\n\t\t_arguments{} \\\n\t\t\t$global\n\t\t;;\n", sub->get_name(),
				     zsh_specs(own_options_of(*sub)));
	}
	std::string specs = zsh_specs(options_of(app));
	replace_all(specs, " \\\n\t\t\t", "\n\t\t");
	return fill_template(ZSH, app.get_name(),
			     {{"PROC_NAMES", PROC_NAMES},
			      {"SCENARIOS", scenario_names()},
			      {"COMMANDS", commands},
			      {"OPTIONS", specs},
			      {"CASES", cases}});
}

} // namespace docs
