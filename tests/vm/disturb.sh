#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Runs inside a guest for test_storm.py: callers of gpulens's files, and what takes modules, drivers and GPUs away from
# under them. Says what happened; the test judges.
#
#	disturb.sh LIMIT SEED READERS WRITERS PLAN...
#
# Each caller is one helper (storm) after another on whatever files there are, with seeds that count up from SEED; their
# reports are /tmp/storm.N. Writers also steer as a user would, since few of the helper's random requests are right. A
# PLAN is a file of steps, one a line, as the functions below are named; all plans are carried out at once, each step
# noted in PLAN.log: "BEGIN END STEP RESULT", in seconds, RESULT like tryop's, or the module tools' own last words. The
# callers end after the plans. Exit status 1 when something has not ended after LIMIT seconds; then it says where each
# process is.
set -u

pci=/sys/bus/pci
calm=/tmp/calm

steer() { # steer NUMBER: a request that is right where its GPU and its channel are, reported as the helper does
	for file in disable_channel enable_channel; do
		result=$(tryop write /proc/gpu$(($1 % 5))/$file 16)
		case $result in
		OK*) echo "write OK 1" ;;
		*) echo "$result 1" ;;
		esac
	done
}

call() { # call NUMBER SEED [-w]
	number=$1 seed=$2 options=${3-} files='/proc/gpu*/*'
	if [ "$options" ]; then files='/proc/gpu*/*_channel /proc/gpu*/*_tsg /proc/gpu*/*_runlist'; fi
	until [ -e $calm ]; do
		set -- /proc/gpu*/chip
		if [ -e "$1" ]; then
			# shellcheck disable=SC2086 # patterns
			storm -s "$seed" -n 40 $options $files
			if [ "$options" ]; then steer "$seed"; fi
			seed=$((seed + 1))
		else
			sleep 0.05
		fi
	done >/tmp/storm."$number" 2>&1
}

tool() { # tool insmod|rmmod WORDS...: the reason without the words before it
	if said=$("$@" 2>&1); then
		echo OK
	else
		echo "${said##*: }"
	fi
}

step() { # step NAME [WORDS...]
	case $1 in
	load) tool insmod /modules/gpulens.ko control=1 ;;
	unload) tool rmmod gpulens ;;
	load_driver) tool insmod /modules/sleeper.ko delay=20 ;;
	unload_driver) tool rmmod sleeper ;;
	bind | unbind) tryop write $pci/drivers/sleeper/"$1" "$2" ;;
	remove) tryop write $pci/devices/"$2"/remove 1 ;;
	rescan) tryop write $pci/rescan 1 ;;
	power) tryop write $pci/devices/"$2"/power/control "$3" ;;
	timeout) tryop write /sys/module/gpulens/parameters/timeout_ms "$2" ;;
	*) echo "no such step" ;;
	esac
}

note() { # note STEP [WORDS...]
	read -r begin _ </proc/uptime
	result=$(step "$@")
	read -r end _ </proc/uptime
	echo "$begin $end $1 ${result%% [0-9]*}"
}

carry_out() { # carry_out PLAN
	# shellcheck disable=SC2086 # words are words
	while read -r name words; do
		case $name in
		sleep) sleep $words ;;
		both) # both STEP WORDS / STEP WORDS
			note ${words%% / *} &
			note ${words#* / }
			wait
			;;
		*) note $name $words ;;
		esac
	done <"$1" >"$1".log 2>&1
}

limit=$1 seed=$2 readers=$3 writers=$4
shift 4
rm -f $calm /tmp/storm.* /tmp/*.log
callers='' plans='' number=0
while [ $number -lt $((readers + writers)) ]; do
	call $number $((seed + 10000 * number)) "$([ $number -lt "$readers" ] || echo -w)" &
	renice -n 10 -p $! # they are many
	callers="$callers $!" number=$((number + 1))
done
for plan; do
	carry_out "$plan" &
	plans="$plans $!"
done

tries=0
for pid in $plans calm $callers; do
	if [ "$pid" = calm ]; then
		touch $calm
		continue
	fi
	while kill -0 "$pid" 2>/dev/null; do
		tries=$((tries + 1))
		if [ $tries -gt $((10 * limit)) ]; then
			echo "still there after $limit s:"
			for each in /proc/[0-9]*; do
				if [ -s "$each"/cmdline ]; then
					tr '\0' ' ' <"$each"/cmdline | cut -c 1-100
					cat "$each"/stack
				fi
			done
			exit 1
		fi
		sleep 0.1
	done
done
