#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Proves that device_info and the runlistY files name the same runlists, that a graphics engine is on runlist 0, and
# that every runlist reads to its end with boxes that belong together. Reads only.
# shellcheck source=tests/selftests/ktap.inc
. "$(dirname "$0")/ktap.inc"
need_observe

for gpu in $gpus; do
	name=${gpu#/proc/}
	from_engines=$(sed 1d "$gpu/device_info" | awk '{ print $(NF - 6) }' | grep -v -e - | sort -nu | tr '\n' ' ')
	from_files=$(find "$gpu" -name 'runlist[0-9]*' | sed 's/.*runlist//' | sort -nu | tr '\n' ' ')
	same "$name has a runlist file for each runlist with an engine" "$from_engines" "$from_files"
	check "$name has a graphics engine" grep -q '^Graphics/Compute 0 .* 0x00 ' "$gpu/device_info"
	same "$name gives each engine nine columns" "" \
		"$(sed 1d "$gpu/device_info" | awk '$(NF - 8) !~ /^0x/ { print }')"
	for list in $from_files; do
		if ! text=$(cat "$gpu/runlist$list" 2>&1); then
			not_ok "$name runlist$list can be read ($text)"
			continue
		fi
		opened=$(echo "$text" | grep -c -e 'TSG Entry' -e 'Channel Info')
		closed=$(echo "$text" | grep -c '^ *+-*+$')
		same "$name runlist$list closes every box" "$opened" "$closed"
		promised=$(echo "$text" | awk '/^\| Length:/ { sub("\\|$", ""); n += $3 } END { print n + 0 }')
		found=$(echo "$text" | grep -c '^  +- Channel Info')
		same "$name runlist$list has the channels its TSGs promise" "$promised" "$found"
		same "$name runlist$list has no complaint" "" "$(echo "$text" | grep '^!' | grep -v '^! empty')"
	done
done
finish
