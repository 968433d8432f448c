# SPDX-License-Identifier: GPL-2.0
"""A card that no driver has set up is shown: Host is off in PMC_ENABLE, and each read of PFIFO is refused, as on a
Tesla K80 (PMC_ENABLE 0xc0002020) and on a Titan V after POST (0x40000020). And the table of TPCs, which every user may
read, does not make a GPU refuse reads."""

from collections.abc import Iterator
from typing import Any

import pytest

from lib.guest import Gpu, Guest
from support.vm.cards import healthy, scenario

# pylint: disable=redefined-outer-name

PMC_ENABLE = 0x200
COLD = (("gk110", 0xC0002020), ("gv100", 0x40000020))


def errno_of(guest: Guest, path: str, value: str = "") -> str:
    """The errno of one call, or OK."""
    words = guest.run(f"tryop write {path} {value}" if value else f"tryop read {path}")[1].split()
    return words[0] if words[0] == "OK" else words[-1]


def list_refused(log: dict[str, Any]) -> list[int]:
    """The registers whose reads were refused."""
    return [access["off"] for access in log["accesses"]
            if access["op"] == "r" and access["bar"] == 0 and access["value"] >> 16 in (0xBAD0, 0xBADF)]


@pytest.fixture(scope="module")
def cold() -> Iterator[Guest]:
    """A guest with both cards, in which the module is not loaded."""
    with Guest([Gpu(name, scenario("tenants")) for name, _ in COLD]) as guest:
        yield guest
        healthy(guest)


def test_a_card_without_host_is_shown_and_its_runlists_follow(cold: Guest) -> None:
    """Attached at once, with an error for runlists alone, a line in the log and no refused read; readable once Host is
    on. Seen failing with the error of read_runlists() returned: no /proc/gpu0."""
    for emu, (_, enable) in zip(cold.emu, COLD):
        emu.cmd({"cmd": "reg-poke", "off": PMC_ENABLE, "value": enable})
        emu.cmd({"cmd": "log", "on": True})
        emu.cmd({"cmd": "log-read"})
    cold.load("gpulens", "control=1")
    log = cold.check("dmesg")
    for index, emu in enumerate(cold.emu):
        folder = f"/proc/gpu{index}"
        assert f"0000:00:0{4 + index}.0: no runlists until a driver enables Host (NV_PMC_ENABLE PFIFO is 0)" in log
        assert "Graphics/Compute 0" in cold.read(f"{folder}/device_info")
        assert cold.read(f"{folder}/num_gpcs").startswith("0x")
        assert errno_of(cold, f"{folder}/snapshot") == "OK"
        assert errno_of(cold, f"{folder}/runlist0") == "ENODATA"
        assert errno_of(cold, f"{folder}/disable_channel", "16") == "ENODATA"
        assert errno_of(cold, f"{folder}/hold_channel", "16") == "ENODATA"
        assert not list_refused(emu.cmd({"cmd": "log-read"})), folder
    for index, emu in enumerate(cold.emu):
        emu.cmd({"cmd": "reg-poke", "off": PMC_ENABLE, "value": COLD[index][1] | 1 << 8})
        assert "TSG Entry" in cold.read(f"/proc/gpu{index}/runlist0")
        assert errno_of(cold, f"/proc/gpu{index}/hold_channel", "16") == "OK"
    assert "BOOT_0" not in log
    cold.unload()


@pytest.fixture(scope="module")
def ada() -> Iterator[Guest]:
    """A guest with an AD102 on which no context is."""
    with Guest([Gpu("ad102")]) as guest:
        guest.load("gpulens")
        yield guest
        guest.unload()
        healthy(guest)


def test_no_user_makes_an_idle_graphics_engine_refuse_reads(ada: Guest) -> None:
    """The table of TPCs is not read while no context is there. Seen failing without show_check_graphics(): 20 refused
    reads of 0x405000."""
    ada.emu[0].cmd({"cmd": "log", "on": True})
    ada.emu[0].cmd({"cmd": "log-read"})
    said = ada.check("become -u 1000 -- sh -c 'for i in $(seq 10); do tryop read /proc/gpu0/CWD_GPC_TPC_ID0; "
                     "tryop read /proc/gpu0/tpc_map >/dev/null; done'")
    assert said.split() == ["read", "ENODATA"] * 10
    assert not list_refused(ada.emu[0].cmd({"cmd": "log-read"}))
    ada.emu[0].cmd({"cmd": "scenario", "file": scenario("tenants-per-runlist")})
    assert ada.check("become -u 1000 -- cat /proc/gpu0/CWD_GPC_TPC_ID0").startswith("0x")
