#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Proves that a channel disabled reads as disabled, and enabled again as enabled. It takes work off a GPU: it runs only
# where LENS_EMULATED=1 says that every GPU here is emulated.
# shellcheck source=tests/selftests/ktap.inc
. "$(dirname "$0")/ktap.inc"

if [ "${LENS_EMULATED:-0}" != 1 ]; then
	skip_all "it disables channels; set LENS_EMULATED=1 where all GPUs are emulated"
fi
need_observe

enabled() { # the Enabled bit of channel $2 in /proc/$1/runlist0
	grep -A1 "Channel Info $2 " "/proc/$1/runlist0" | sed -n 's/.*Enabled: *\([01]\).*/\1/p'
}

for gpu in $gpus; do
	name=${gpu#/proc/}
	form=''
	if grep -q RUNLIST:ID "$gpu/chip"; then form=0:; fi
	channels=$(sed -n 's/.*Channel Info \([0-9]*\) .*/\1/p' "$gpu/runlist0")
	check "$name has channels on runlist 0" [ -n "$channels" ]
	for channel in $channels; do
		if [ "$(enabled "$name" "$channel")" != 1 ]; then continue; fi
		echo "$form$channel" >"$gpu/disable_channel"
		same "$name channel $channel was disabled" 0 "$(enabled "$name" "$channel")"
		echo "$form$channel" >"$gpu/enable_channel"
		same "$name channel $channel was enabled" 1 "$(enabled "$name" "$channel")"
		break
	done
done
finish
