# SPDX-License-Identifier: GPL-2.0
"""Guests that several modules of tests/vm share, since a boot takes as long as many tests. One runs at a time. A module
takes it with its fixture and gives it back in the state after boot: gpulens unloaded, every GPU with the scenario of
its kind. Modules that need other GPUs, kernel arguments or processors boot their own guest."""

import contextlib
from collections.abc import Iterator
from typing import NamedTuple, Optional

from lib import paths
from lib.guest import Gpu, Guest
from support.vm.cards import gpu_of, healthy, load_scenario
from support.vm.chips import CHIPS, chips_for

LIMIT = 3600  # seconds


class Kind(NamedTuple):
    """The GPUs and options that a guest boots with."""
    gpus: tuple[Gpu, ...]
    iommu: bool = False
    tool: bool = False  # with the gpulens program


# gpu0 to gpu3 in the order of CHIPS
FOUR = Kind(tuple(gpu_of(chip) for chip in CHIPS))
FOUR_IOMMU = FOUR._replace(iommu=True)
# a GPU with PCCSR, one with channel RAM, and one of which no scheduling register is published
PAIR = Kind((*(gpu_of(chip) for chip in chips_for("pair")), Gpu("gb202")), tool=True)


class SharedGuests:
    """Boots a guest of a kind when it is taken, and ends it when another kind is."""

    def __init__(self) -> None:
        self._kind: Optional[Kind] = None
        self._guest: Optional[Guest] = None
        self._stack = contextlib.ExitStack()

    @contextlib.contextmanager
    def take(self, kind: Kind, scenario: Optional[str] = None) -> Iterator[Guest]:
        """A running guest of that kind without gpulens; scenario: a file for each of its GPUs that has one."""
        if self._guest is None or kind != self._kind or self._guest.lost:
            self.end()
            self._guest = self._stack.enter_context(
                Guest(kind.gpus, mem=512, iommu=kind.iommu, programs=[paths.tool()] if kind.tool else [],
                      append="secretmem.enable=1", limit=LIMIT))
            self._kind = kind
        guest = self._guest
        set_scenarios(guest, kind, scenario)
        yield guest
        if guest is not self._guest or guest.lost:
            return
        try:
            if guest.run("grep -q '^gpulens ' /proc/modules")[0] == 0:
                guest.unload()
            healthy(guest)
            guest.complain()
            guest.complain(guest.leaks())
        except BaseException:
            self.end()
            raise
        set_scenarios(guest, kind, None)

    def end(self) -> None:
        """Ends the running guest, if any: for a module that leaves the guest in a state that cannot be undone."""
        self._guest = None
        self._stack.close()


def set_scenarios(guest: Guest, kind: Kind, scenario: Optional[str]) -> None:
    """Each GPU as after boot, or with that scenario: no fault, no log, the machine's time."""
    for emu, gpu in zip(guest.emu, kind.gpus):
        emu.cmd({"cmd": "fault", "kind": "none"})
        emu.cmd({"cmd": "log", "on": False})
        emu.cmd({"cmd": "time", "mode": "real", "access_ns": 1000})
        if gpu.scenario is not None:
            load_scenario(emu, scenario or gpu.scenario)
