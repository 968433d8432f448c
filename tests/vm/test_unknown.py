# SPDX-License-Identifier: GPL-2.0
"""A chip with an unlisted id of an architecture that the module knows: GA102 and TU104 with another number in BOOT_0
(open-gpu-kernel-modules nv_arch.h lists neither 0x17d nor 0x16d). Only the device table is read."""

import json
import pathlib
from collections.abc import Iterator

import pytest

from lib import paths
from lib.guest import Gpu, Guest
from support.vm.cards import healthy

UNKNOWN = {"ga102": "0x17d000a1", "tu104": "0x16d000a1"}


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """One guest with both chips."""
    folder: pathlib.Path = tmp_path_factory.mktemp("profiles")
    gpus = []
    for name, boot0 in UNKNOWN.items():
        profile = json.loads((paths.PROFILES / f"{name}.json").read_text())
        profile["boot0"] = boot0
        (folder / f"{name}.json").write_text(json.dumps(profile))
        gpus.append(Gpu(str(folder / f"{name}.json")))
    with Guest(gpus) as made:
        for emu in made.emu:
            emu.cmd({"cmd": "reset-counts"})
        made.load("gpulens", "control=1")
        yield made
        made.unload()
        healthy(made)


def test_the_log_names_the_unknown_chip(guest: Guest) -> None:  # pylint: disable=redefined-outer-name
    """One line for each GPU, with the id and the generation as which it is read."""
    log = guest.check("dmesg")
    assert "0000:00:04.0: unknown chip 0x17d: only its device table is read, as on GA10x" in log
    assert "0000:00:05.0: unknown chip 0x16d: only its device table is read, as on TU10x" in log


@pytest.mark.parametrize("index, generation", [(0, "GA10x"), (1, "TU10x")])
def test_only_what_the_device_table_says_is_shown(guest: Guest,  # pylint: disable=redefined-outer-name
                                                  index: int, generation: str) -> None:
    """chip, device_info and num_ces can be read; every other file gives EOPNOTSUPP, and no unknown register is read."""
    folder = f"/proc/gpu{index}"
    chip = guest.read(f"{folder}/chip")
    assert f"\nUnknown chip: only the device table is read, as of {generation}\n" in chip
    assert "\nGraphics/Compute 0 " in guest.read(f"{folder}/device_info")
    assert guest.read(f"{folder}/num_ces") == {"GA10x": "0x5\n", "TU10x": "0x5\n"}[generation]
    for name in ("num_gpcs", "num_tpc_per_gpc", "gpc_mask", "tpc_map", "pce_map", "copy_topology", "local_memory"):
        assert guest.run(f"tryop read {folder}/{name}")[1].split()[-1] == "EOPNOTSUPP", name
    for name in ("disable_channel", "preempt_tsg", "resubmit_runlist"):
        assert guest.run(f"tryop write {folder}/{name} 1")[1].split()[-1] == "EOPNOTSUPP", name
    there = guest.check(f"ls {folder}").split()
    assert not [name for name in there if name.startswith(("runlist0", "gpc0", "lce_for", "shared_lce"))]
    assert guest.emu[index].cmd({"cmd": "counts"})["unknown_reads"] == 0
