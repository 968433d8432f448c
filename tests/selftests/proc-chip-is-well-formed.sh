#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Proves that every GPU says which chip it is, where it sits and what its BOOT_0 register holds, and that GPUs are
# numbered from 0 without holes and in PCI order. Reads only.
# shellcheck source=tests/selftests/ktap.inc
. "$(dirname "$0")/ktap.inc"

number=0
last=''
for gpu in $(echo "$gpus" | sed 's/.*gpu//' | sort -n); do
	same "gpu$gpu follows the one before" "$number" "$gpu"
	number=$((number + 1))
	text=$(cat "/proc/gpu$gpu/chip")
	chip=$(echo "$text" | sed -n 's/^Chip: *\([A-Z0-9]*\) .*/\1/p')
	device=$(echo "$text" | sed -n 's/^Device: *//p')
	boot=$(echo "$text" | sed -n 's/^BOOT_0: *\(0x[0-9a-f]\{8\}\)$/\1/p')
	check "gpu$gpu names its chip ($chip)" [ -n "$chip" ]
	check "gpu$gpu shows BOOT_0 ($boot)" [ -n "$boot" ]
	check "gpu$gpu BOOT_0 is no failed read" [ "$boot" != 0xffffffff ]
	case $device in
	????:??:??.?)
		check "gpu$gpu is on the bus ($device)" [ -e "/sys/bus/pci/devices/$device" ]
		same "gpu$gpu is NVIDIA's" 0x10de "$(cat "/sys/bus/pci/devices/$device/vendor")"
		same "gpu$gpu comes after $last" "$(printf '%s\n%s\n' "$last" "$device" | sort | tail -n 1)" "$device"
		last=$device
		;;
	esac
done
finish
