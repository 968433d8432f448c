# SPDX-License-Identifier: GPL-2.0
# bash completion of gpulens and gpulens-lab, which say what can follow: --complete                -*- shell-script -*-
_gpulens_paths() { # -f: files, -d: folders, -c: programs
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "$1" -- "$cur" | sort -u)
}
_gpulens() {
	local words=() from=() lines=() head='' cur=${COMP_WORDS[COMP_CWORD]} i line
	COMPREPLY=()
	# --option=value and RULE:NAME come as several words
	for ((i = 1; i <= COMP_CWORD; i++)); do
		if ((${#words[@]})) && [[ ${COMP_WORDS[i]} == [=:] || ${COMP_WORDS[i - 1]} == [=:] ]]; then
			words[-1]+=${COMP_WORDS[i]}
		else
			words+=("${COMP_WORDS[i]}")
			from+=("$i")
		fi
	done
	if ((from[-1] != COMP_CWORD)); then
		cur=${cur##[=:]}
		head=${words[-1]%"$cur"}
	fi
	mapfile -t lines < <("$1" --complete "${words[@]}" 2>/dev/null)
	case ${lines[0]-} in
	files) _gpulens_paths -f ;;
	folders) _gpulens_paths -d ;;
	program*)
		i=${from[${lines[0]#* }]}
		if ((i == COMP_CWORD)); then
			_gpulens_paths -c
		elif declare -F _comp_command_offset >/dev/null; then
			_comp_command_offset "$i"
		elif declare -F _command_offset >/dev/null; then
			_command_offset "$i"
		else
			_gpulens_paths -f
		fi
		;;
	esac
	for line in "${lines[@]:1}"; do
		line=${line%%$'\t'*}
		COMPREPLY+=("${line#"$head"}")
	done
}
complete -F _gpulens gpulens gpulens-lab
