#compdef gpulens gpulens-lab
# SPDX-License-Identifier: GPL-2.0
# zsh completion of gpulens and gpulens-lab, which say what can follow: --complete
local -a lines
local kind
lines=("${(@f)$(${~words[1]} --complete "${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
kind=$lines[1]
lines=("${(@)${(@)lines[2,-1]//:/\\:}/$'\t'/:}")
(($#lines)) && _describe word lines
case $kind in
files | folders)
	compset -P '*='
	if [[ $kind == files ]]; then _files; else _files -/; fi
	;;
program*)
	shift $((${kind#* } + 1)) words
	((CURRENT -= ${kind#* } + 1))
	_normal
	;;
esac
