# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0
# Sourced by the scripts that run pytest.

# lens_pytest ARGUMENT...: pytest, which Debian calls pytest-3, in place of this shell: call it in a subshell.
lens_pytest() {
	if command -v pytest-3 >/dev/null 2>&1; then exec pytest-3 -p no:cacheprovider -q "$@"; fi
	exec pytest -p no:cacheprovider -q "$@"
}
