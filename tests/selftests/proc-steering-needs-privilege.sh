#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Proves that the files that steer are for root alone to write and for nobody to read. Changes nothing: what is written
# here is no id, so that even a file that let it through would refuse it.
# shellcheck source=tests/selftests/ktap.inc
. "$(dirname "$0")/ktap.inc"

for gpu in $gpus; do
	name=${gpu#/proc/}
	for file in disable_channel enable_channel preempt_tsg switch_to_tsg preempt_runlist resubmit_runlist \
		wfi_preempt_channel cta_preempt_channel cil_preempt_channel tsg_timeslice; do
		same "$name $file has mode 200" 200 "$(stat -c %a "$gpu/$file")"
		if (echo nonsense >"$gpu/$file") 2>/dev/null; then
			not_ok "$name $file refuses what is no id"
		else
			ok "$name $file refuses what is no id"
		fi
	done
done
finish
