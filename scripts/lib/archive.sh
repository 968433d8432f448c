# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0
# Debian's archive for other releases and architectures than this machine's: apt with its state in build/apt/, so that
# nothing is added to the machine and no root is needed. Sourced by the shell scripts, in the project's root.
# The mirror is the one that this machine's own apt uses; security updates lie beside it, in debian-security.

lens_mirror() {
	# shellcheck disable=SC2016 # apt's own format
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 2>/dev/null |
		head -n 1
}

# lens_need_roots WHO: fails where lens_new_root cannot work, and says what it takes, after WHO and a colon.
lens_need_roots() {
	if command -v debootstrap >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then return; fi
	echo "$1: install debootstrap, and run this as root" >&2
	return 1
}

# lens_new_root ROOT RELEASE [OPTION...]: the base system of a release in a folder, which is made anew. What debootstrap
# says is in ROOT.log, the end of it on stdout where it fails.
lens_new_root() {
	lens_root=$1 lens_suite=$2
	shift 2
	rm -rf "$lens_root" "$lens_root.complete"
	mkdir -p "$lens_root"
	lens_url=$(unset APT_CONFIG && lens_mirror)
	debootstrap --variant=minbase "$@" "$lens_suite" "$lens_root" "$lens_url" >"$lens_root.log" 2>&1 || {
		tail -n 5 "$lens_root.log"
		return 1
	}
}

# lens_archive SUITE ARCHITECTURE: apt-get and apt-cache mean that part of the archive from here on. Packages of this
# machine's architecture are known too, as NAME:ARCHITECTURE.
lens_archive() {
	lens_apt=$PWD/build/apt/$1-$2
	APT_CONFIG=$lens_apt/apt.conf
	if [ -f "$lens_apt/complete" ]; then
		export APT_CONFIG
		return
	fi
	lens_keys=/usr/share/keyrings/debian-archive-keyring.gpg
	lens_url=$(unset APT_CONFIG && lens_mirror)
	if [ -z "$lens_url" ] || [ ! -r $lens_keys ]; then
		echo "this machine's apt knows no mirror of Debian: it takes Debian, and package lists (apt-get update)" >&2
		return 1
	fi
	case $1 in *-security) lens_url=${lens_url%/debian*}/debian-security ;; esac
	mkdir -p "$lens_apt/lists/partial" "$lens_apt/cache/archives/partial"
	: >"$lens_apt/status"
	echo "deb [signed-by=$lens_keys] $lens_url $1 main" >"$lens_apt/sources.list"
	cat >"$APT_CONFIG" <<-END
		APT::Architecture "$2";
		APT::Architectures { "$2"; "$(dpkg --print-architecture)"; };
		APT::Sandbox::User "$(id -un)";
		Dir::Etc::SourceList "$lens_apt/sources.list";
		Dir::Etc::SourceParts "/dev/null";
		Dir::State::Lists "$lens_apt/lists";
		Dir::State::Status "$lens_apt/status";
		Dir::Cache "$lens_apt/cache";
	END
	export APT_CONFIG
	if ! apt-get -q update >"$lens_apt/log" 2>&1; then
		cat "$lens_apt/log" >&2
		return 1
	fi
	touch "$lens_apt/complete"
}

# lens_depends PACKAGE PATTERN: the names among what it depends on that match
lens_depends() {
	apt-cache show --no-all-versions "$1" | sed -n 's/^Depends: //p' | tr ',|' '\n' | sed 's/^ *//; s/ .*//' | grep -E "$2"
}

# lens_unpack FOLDER PACKAGE...: fetches packages and unpacks them there
lens_unpack() {
	lens_to=$1
	shift
	if ! (cd "$lens_to" && apt-get -q download "$@" >download.log 2>&1); then
		cat "$lens_to/download.log" >&2
		return 1
	fi
	for lens_deb in "$lens_to"/*.deb; do
		dpkg -x "$lens_deb" "$lens_to" || return 1
	done
	rm -f "$lens_to"/*.deb "$lens_to/download.log"
}
