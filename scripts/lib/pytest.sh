# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0
# Sourced by the scripts that run pytest.

# lens_pytest ARGUMENT...: pytest, which Debian calls pytest-3, in place of this shell: call it in a subshell. $lower, if
# set, is a command that runs it at a lower priority.
lens_pytest() {
	# shellcheck disable=SC2086 # a command and its options
	if command -v pytest-3 >/dev/null 2>&1; then exec ${lower:-} pytest-3 -p no:cacheprovider -q "$@"; fi
	# shellcheck disable=SC2086
	exec ${lower:-} pytest -p no:cacheprovider -q "$@"
}
