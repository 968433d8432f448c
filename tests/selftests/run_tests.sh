#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Runs the programs given, or all of this folder, and prints one KTAP result for each with its own lines under it.
# Exit status 0 when none failed. Where there is no make (a guest), call this directly.
cd "$(dirname "$0")" || exit 1
if [ $# -eq 0 ]; then set -- proc-*.sh control-*.sh; fi
echo "KTAP version 1"
echo "1..$#"
number=0 status=0
for program in "$@"; do
	number=$((number + 1))
	output=$(sh "./$program" 2>&1)
	code=$?
	echo "$output" | sed 's/^/  /'
	case $code in
	0) echo "ok $number $program" ;;
	4) echo "ok $number $program # SKIP $(echo "$output" | sed -n 's/.*# SKIP //p' | head -n 1)" ;;
	*)
		echo "not ok $number $program # exit=$code"
		status=1
		;;
	esac
done
exit $status
