# SPDX-License-Identifier: GPL-2.0
"""Prints "lens-count: PASSED FAILED SKIPPED" for a JUnit file of pytest or ctest. A test that had an error and a
failure counts once; a missing or broken file prints nothing and fails."""

import sys
import xml.etree.ElementTree


def main(path: str) -> int:
    """Counts the test cases of one file."""
    counts = [0, 0, 0]
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
            counts[1] += 1
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            counts[2] += 1
        else:
            counts[0] += 1
    print("lens-count:", *counts)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
