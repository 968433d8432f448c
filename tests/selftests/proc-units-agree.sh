#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Proves that the counts, the GPC and TPC masks and tpc_map tell the same story about the die. Reads only.
# shellcheck source=tests/selftests/ktap.inc
. "$(dirname "$0")/ktap.inc"

bits() { # how many bits are set in $1, of at most 32
	bits_left=$(($1))
	bits_n=0
	while [ $bits_left -gt 0 ]; do
		bits_n=$((bits_n + (bits_left & 1)))
		bits_left=$((bits_left >> 1))
	done
	echo $bits_n
}

for gpu in $gpus; do
	name=${gpu#/proc/}
	gpcs=$(($(cat "$gpu/num_gpcs"))) tpcs=$(($(cat "$gpu/num_tpc_per_gpc"))) mask=$(cat "$gpu/gpc_mask")
	check "$name has GPCs ($gpcs)" [ "$gpcs" -gt 0 ]
	check "$name has TPCs ($tpcs per GPC)" [ "$tpcs" -gt 0 ]
	check "$name disables no GPC that it does not have" [ $((mask >> gpcs)) -eq 0 ]
	same "$name maps every enabled GPC" $((gpcs - $(bits "$mask"))) "$(grep -c '^gpc [0-9]*: 0x' "$gpu/tpc_map")"
	total=0
	gpc=0
	while [ $gpc -lt $gpcs ]; do
		if [ $((mask >> gpc & 1)) -eq 1 ]; then
			check "$name shows no mask of the disabled GPC $gpc" [ ! -e "$gpu/gpc${gpc}_tpc_mask" ]
		else
			off=$(cat "$gpu/gpc${gpc}_tpc_mask")
			check "$name GPC $gpc disables no TPC that it does not have" [ $((off >> tpcs)) -eq 0 ]
			total=$((total + tpcs - $(bits "$off")))
		fi
		gpc=$((gpc + 1))
	done
	# the digits of the map, counted bit by bit; a line with ! says how its order is known
	mapped=$(sed '/^!/d; s/.*0x//; s/./&\n/g' "$gpu/tpc_map" | awk '
		BEGIN { split("1 1 2 1 2 2 3 1 2 2 3 2 3 3 4", ones, " ") }
		NF { n += ones[index("123456789abcdef", $1)] } END { print n + 0 }')
	same "$name maps as many TPCs as are enabled" "$total" "$mapped"
done
finish
