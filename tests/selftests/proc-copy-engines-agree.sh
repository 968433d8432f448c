#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Proves that copy_topology, pce_map, lce_for_pceY and device_info tell the same story about copy engines. Reads only.
# shellcheck source=tests/selftests/ktap.inc
. "$(dirname "$0")/ktap.inc"

for gpu in $gpus; do
	name=${gpu#/proc/}
	if [ ! -e "$gpu/pce_map" ]; then
		echo "# $name: this generation shows no map of copy engines"
		continue
	fi
	map=$(cat "$gpu/pce_map")
	same "$name has a line for each logical copy engine" "$(grep -c '^\[*[A-Za-z]*\]* *Copy Engine' "$gpu/device_info")" \
		"$(grep -c -e '^LCE[0-9]* -> ' -e '^GRCE[0-9]* -> ' "$gpu/copy_topology")"
	for file in "$gpu"/lce_for_pce*; do
		pce=${file##*pce}
		lce=$(($(cat "$file")))
		line=$(grep -e "^LCE0*$lce -> " -e "^GRCE$lce -> " "$gpu/copy_topology")
		case "$line " in
		*"PCE$(printf %02d "$pce")"[\ \)]*) ok "$name PCE $pce stands with LCE $lce" ;;
		*)
			check "$name PCE $pce serves none, or is absent" [ $lce -eq 15 -o $((map >> pce & 1)) -eq 0 ]
			;;
		esac
	done
done
finish
