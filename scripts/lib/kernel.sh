# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0
# Which kernel the module is built for and the guest runs. Sourced by the shell scripts; run with
# "sh scripts/lib/kernel.sh kdir|kver" it prints the answer, for make and Python.
# Does not fetch anything: scripts/setup installs headers, scripts/fetch-kernel gets the image.
#
# Rule: KDIR from the environment; else the running kernel's headers; else the newest in /usr/src of Debian's
# linux-headers-<version>-amd64 and Ubuntu's linux-headers-<version>-generic.

lens_kdir() {
	if [ -n "${KDIR:-}" ]; then
		echo "$KDIR"
	elif [ -f "/lib/modules/$(uname -r)/build/include/generated/utsrelease.h" ]; then
		echo "/lib/modules/$(uname -r)/build"
	else
		find /usr/src -maxdepth 1 \( -name 'linux-headers-*-amd64' -o -name 'linux-headers-*-generic' \) 2>/dev/null |
			sort -V | tail -n 1
	fi
}

# What "uname -r" says under that kernel. Not "make kernelrelease": Debian's headers answer 6.1.192 for 6.1.0-56-amd64.
lens_kver() {
	lens_release=$(lens_kdir)/include/generated/utsrelease.h
	if [ -f "$lens_release" ]; then sed -n 's/^#define UTS_RELEASE "\(.*\)"$/\1/p' "$lens_release"; fi
}

# lens_no_warning COMMAND...: a build, with warnings as errors; prints what it says. The kernel's build says two things
# that are no warnings about a module: that debugging data (BTF) is left out, and that pahole, its maker, is another.
lens_no_warning() {
	mkdir -p build
	lens_log=build/warnings.$$
	lens_status=0
	KCFLAGS=-Werror "$@" >$lens_log 2>&1 || lens_status=$?
	sed -i -e '/^Skipping BTF generation/d' -e '/pahole version differs/,+2d' $lens_log
	cat $lens_log
	if grep -qi warning $lens_log; then lens_status=1; fi
	rm -f $lens_log
	return $lens_status
}

# lens_keep_module IMAGE VERSION NAME FOLDER: copies a module of an unpacked kernel, and what it needs, to
# FOLDER/lib/modules/VERSION/ with modules.dep. Fails where IMAGE has none.
lens_keep_module() {
	# a line of modules.dep: the module's path, a colon, the paths of what it needs
	lens_line=$(grep "/$3\\.ko[.a-z]*:" "$1/lib/modules/$2/modules.dep") || return 1
	rm -rf "$4" "$4.part"
	for lens_path in $(echo "$lens_line" | tr -d :); do
		mkdir -p "$4.part/lib/modules/$2/${lens_path%/*}"
		cp "$1/lib/modules/$2/$lens_path" "$4.part/lib/modules/$2/$lens_path"
	done
	echo "$lens_line" >"$4.part/lib/modules/$2/modules.dep"
	mv "$4.part" "$4"
}

case ${0##*/}:${1:-} in
kernel.sh:kdir) lens_kdir ;;
kernel.sh:kver) lens_kver ;;
esac
