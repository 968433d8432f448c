# SPDX-License-Identifier: GPL-2.0
"""What every run of pytest ends with: how long it kept a processor occupied, with all programs that it waited for.
Unlike its duration, this hardly depends on what runs beside it."""

import resource
from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    terminalreporter.write_line(f"processor time: {sum(usage.ru_utime + usage.ru_stime for usage in used):.0f} s")
