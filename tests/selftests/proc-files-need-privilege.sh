#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Proves that the files that control are for root alone to write and for nobody to read, that what shows runlists is for
# root (and the group of gid=) and that topology is for everybody. Changes nothing: what is written here is no id, so
# that even a file that let it through would refuse it.
# shellcheck source=tests/selftests/ktap.inc
. "$(dirname "$0")/ktap.inc"

parameters=/sys/module/gpulens/parameters
observe=400
if [ "$(cat $parameters/gid)" != -1 ]; then observe=440; fi

for gpu in $gpus; do
	name=${gpu#/proc/}
	for file in disable_channel enable_channel hold_channel preempt_tsg switch_to_tsg preempt_runlist resubmit_runlist \
		wfi_preempt_channel cta_preempt_channel cil_preempt_channel tsg_timeslice; do
		same "$name $file has mode 200" 200 "$(stat -c %a "$gpu/$file")"
		if (echo nonsense >"$gpu/$file") 2>/dev/null; then
			not_ok "$name $file refuses what is no id"
		else
			ok "$name $file refuses what is no id"
		fi
	done
	for file in "$gpu"/runlist[0-9]* "$gpu/bars"; do
		if [ -e "$file" ]; then same "$name ${file##*/} has mode $observe" $observe "$(stat -c %a "$file")"; fi
	done
	same "$name image has mode $observe" $observe "$(stat -c %a "$gpu/image")"
	for file in chip device_info snapshot stats; do
		same "$name $file has mode 444" 444 "$(stat -c %a "$gpu/$file")"
		check "$name $file can be read" grep -q . "$gpu/$file"
	done
done
finish
