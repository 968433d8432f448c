#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Proves that what does not change reads the same every time, byte by byte or at once, after a seek, and with several
# readers at the same time. Reads only.
# shellcheck source=tests/selftests/ktap.inc
. "$(dirname "$0")/ktap.inc"
need_observe

work=$(mktemp -d) || skip_all "no room for temporary files"
trap 'rm -rf "$work"' EXIT

for gpu in $gpus; do
	name=${gpu#/proc/}
	for path in "$gpu"/*; do
		file=${path##*/}
		case $file in
		runlist* | snapshot | image | stats | tpc_map | CWD_*) continue ;; # state in there may change between two readings
		samples) continue ;; # nothing is there until a period is written
		# of files that differ in a number only, the first: one function answers for all
		gpc[1-9]*_tpc_mask | lce_for_pce[1-9]* | shared_lce_for_grce[1-9]*) continue ;;
		esac
		if [ ! -r "$path" ] || [ "$(stat -c %a "$path")" = 200 ]; then continue; fi
		if ! cat "$path" >"$work/once"; then
			not_ok "$name $file can be read"
			continue
		fi
		cat "$path" >"$work/twice"
		dd if="$path" of="$work/bytes" bs=1 2>/dev/null
		# dd's skip= on a file seeks: 3 bytes in, then the rest
		dd if="$path" of="$work/tail" bs=3 skip=1 2>/dev/null
		tail -c +4 "$work/once" >"$work/once.tail"
		if cmp -s "$work/once" "$work/twice" && cmp -s "$work/once" "$work/bytes" &&
			cmp -s "$work/once.tail" "$work/tail"; then
			ok "$name $file is the same in whatever way it is read"
		else
			not_ok "$name $file is the same in whatever way it is read"
		fi
	done
	for reader in 1 2 3 4; do
		(dd if="$gpu/device_info" bs=7 2>/dev/null; cat "$gpu/num_gpcs") >"$work/reader.$reader" &
	done
	wait
	cat "$gpu/device_info" "$gpu/num_gpcs" >"$work/alone"
	for reader in 1 2 3 4; do
		check "$name gives reader $reader of four a whole text" cmp -s "$work/alone" "$work/reader.$reader"
	done
	list=$(find "$gpu" -name 'runlist[0-9]*' | sed 's/.*\///' | sort | head -n 1)
	if [ -n "$list" ]; then
		dd if="$gpu/$list" bs=1 2>/dev/null | sed 's/:.*//' | grep -v '^ *| *[a-z+]' >"$work/bytes"
		sed 's/:.*//' "$gpu/$list" | grep -v '^ *| *[a-z+]' >"$work/once"
		check "$name $list has the same lines byte by byte" cmp -s "$work/once" "$work/bytes"
	fi
done
finish
