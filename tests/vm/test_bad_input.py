# SPDX-License-Identifier: GPL-2.0
"""Every file that steers, given every kind of input it must refuse: the errno of docs/proc.md's table, and the GPU's
access log shows no write (but to the PRAMIN window, which a look-up in a runlist borrows and gives back)."""

from collections.abc import Iterator

import pytest

from lib.guest import Guest
from support.vm.cards import Card
from support.vm.chips import CHIPS, Chip

CHANNEL_FILES = ("disable_channel", "enable_channel", "wfi_preempt_channel", "cta_preempt_channel",
                 "cil_preempt_channel")
TSG_FILES = ("preempt_tsg", "switch_to_tsg", "tsg_timeslice")
RUNLIST_FILES = ("preempt_runlist", "resubmit_runlist")
FILES = CHANNEL_FILES + TSG_FILES + RUNLIST_FILES

SYNTAX = {
    "empty": "", "newline": "\\n", "text": "abc", "blank_before": " 8", "trailing_letter": "8x", "trailing_word": "8 9",
    "two_newlines": "8\\n\\n", "negative": "-1", "plus": "+8", "bare_0x": "0x", "bad_octal": "08", "nul": "8\\0",
    "two_colons": "0:0:8", "no_runlist": ":8", "no_id": "0:", "fraction": "1.5",
}


# behind the id of tsg_timeslice
NO_SLICE = {
    "none": "", "blank": " ", "two_blanks": "  1000", "tab": "\\t1000", "blank_behind": " 1000 ", "fraction": " 1.5",
    "trailing_letter": " 1000us", "trailing_word": " 1000 5", "two_newlines": " 1000\\n\\n", "negative": " -1",
    "plus": " +1000", "hex": " 0x3e8", "nul": " 1000\\0", "runlist": " 0:1000",
}


def good(chip: Chip, name: str) -> str:
    """The id that this file would accept."""
    if name in RUNLIST_FILES:
        return "0"
    return chip.ref(8 if name in CHANNEL_FILES else 3)


def supported(chip: Chip, name: str) -> bool:
    """Whether this generation has it at all."""
    return chip.preempts_runlists or name != "preempt_runlist"


def refused(card: Card, name: str, text: str, errno: str, who: str = "") -> None:
    """The id is refused with that errno, beside a good time slice where one is wanted."""
    refused_text(card, name, f"{text} 1000" if name == "tsg_timeslice" else text, errno, who)


def refused_text(card: Card, name: str, text: str, errno: str, who: str = "") -> None:
    """The write is refused with that errno, at the write, and nothing was written to the GPU."""
    card.emu.cmd({"cmd": "log", "on": True})
    answer = card.write(name, text, who)
    accesses = card.emu.cmd({"cmd": "log-read"})["accesses"]
    card.emu.cmd({"cmd": "log", "on": False})
    assert answer == f"write {errno}"
    writes = [one for one in accesses if one["op"] == "w" and (one["bar"], one["off"]) != (0, card.chip.window)]
    assert not writes


@pytest.mark.parametrize("kind", SYNTAX)
@pytest.mark.parametrize("name", FILES)
def test_what_is_no_id_is_invalid(card: Card, name: str, kind: str) -> None:
    """EINVAL: not a number, trailing text, empty."""
    refused(card, name, SYNTAX[kind], "EINVAL")


@pytest.mark.parametrize("name", FILES)
def test_a_very_long_write_is_invalid(card: Card, name: str) -> None:
    """EINVAL: 100,000 digits."""
    answer = card.guest.run(f"tryop writelen {card.path(name)} 100000")[1].strip()
    assert answer == "write EINVAL"


@pytest.mark.parametrize("text", ["4294967296", "18446744073709551616", "0x100000000"])
@pytest.mark.parametrize("name", FILES)
def test_numbers_of_33_bits_and_more_are_out_of_range(card: Card, name: str, text: str) -> None:
    """ERANGE: 2^32, 2^64; never the number that is left when upper bits are cut off."""
    refused(card, name, text, "ERANGE")


@pytest.mark.parametrize("name", FILES)
def test_an_id_beyond_the_chip_is_out_of_range(card: Card, name: str) -> None:
    """ERANGE: the first id that the chip does not have: 4096 on GP106 and TU102, 2048 on AD102 and GH100."""
    chip = card.chip
    if not supported(chip, name):
        pytest.skip("not on this generation")
    if name in RUNLIST_FILES:
        refused(card, name, "4096", "ERANGE")
    else:
        refused(card, name, chip.ref(chip.channels), "ERANGE")
        refused(card, name, str(chip.channels), "ERANGE")


@pytest.mark.parametrize("kind", NO_SLICE)
def test_what_is_no_time_slice_is_invalid(card: Card, kind: str) -> None:
    """EINVAL: a number of microseconds stands behind the id, after one blank, in decimal, and nothing behind it."""
    refused_text(card, "tsg_timeslice", card.chip.ref(3) + NO_SLICE[kind], "EINVAL")


@pytest.mark.parametrize("text", ["0", "8556381", "4294967296", "18446744073709551616"])
def test_time_slices_that_the_entry_cannot_hold_are_out_of_range(card: Card, text: str) -> None:
    """ERANGE: none, and more than 255 << 15 units of 1.024 us, which is 8556380.16 us."""
    refused_text(card, "tsg_timeslice", f"{card.chip.ref(3)} {text}", "ERANGE")


@pytest.mark.parametrize("name", FILES)
def test_an_id_that_is_not_there_now(card: Card, name: str) -> None:
    """ENOENT: no such TSG or runlist, and a channel that no driver has bound. A bare channel id that no runlist holds,
    where ids count per runlist, is EINVAL: the form RUNLIST:ID is wanted."""
    chip = card.chip
    if not supported(chip, name):
        pytest.skip("not on this generation")
    if name in RUNLIST_FILES:
        refused(card, name, str(chip.absent_runlist), "ENOENT")
    elif name in TSG_FILES:
        refused(card, name, chip.ref(100), "ENOENT")
    elif chip.per_runlist:
        refused(card, name, "100", "EINVAL")
    else:
        refused(card, name, "100", "ENOENT")
    if chip.per_runlist and name not in RUNLIST_FILES:
        refused(card, name, chip.ref(8, chip.absent_runlist), "ENOENT")


@pytest.mark.parametrize("name", CHANNEL_FILES + TSG_FILES)
def test_an_ambiguous_id_is_invalid_and_the_log_names_the_form(card: Card, name: str) -> None:
    """EINVAL where two runlists hold the bare id, with a line in the kernel log; on chips with ids of the whole GPU the
    form RUNLIST:ID is the mistake."""
    chip = card.chip
    if not supported(chip, name):
        pytest.skip("not on this generation")
    number = 8 if name in CHANNEL_FILES else 3
    refused(card, name, str(number) if chip.per_runlist else f"0:{number}", "EINVAL")
    if chip.per_runlist:
        assert "RUNLIST:ID" in card.guest.check("dmesg")


@pytest.mark.parametrize("name", FILES)
def test_what_the_generation_lacks_is_not_supported(card: Card, name: str) -> None:
    """EOPNOTSUPP: preempting a runlist before Volta."""
    if supported(card.chip, name):
        pytest.skip("this generation has it")
    refused(card, name, good(card.chip, name), "EOPNOTSUPP")


@pytest.mark.parametrize("name", FILES)
def test_no_privilege_no_write(card: Card, name: str) -> None:
    """EPERM for root without CAP_SYS_ADMIN; another user cannot even open the file (mode 0200)."""
    refused(card, name, good(card.chip, name), "EPERM", "-C")
    assert card.write(name, good(card.chip, name), "-u 1000") == "open EACCES"


@pytest.mark.parametrize("name", FILES)
def test_a_gpu_that_has_gone_is_no_device(fresh: Card, name: str) -> None:
    """ENODEV when every read answers all ones, and not one write to it."""
    if not supported(fresh.chip, name):
        pytest.skip("not on this generation")
    fresh.emu.cmd({"cmd": "fault", "kind": "all-ones"})
    refused(fresh, name, good(fresh.chip, name), "ENODEV")


@pytest.fixture(scope="module")
def without_control(four: Guest) -> Iterator[Guest]:
    """The guest with the module loaded with control=0."""
    four.unload()
    four.load("gpulens", "control=0")
    yield four
    four.unload()
    four.load("gpulens", "control=1")


@pytest.mark.parametrize("name", FILES)
def test_control_0_refuses_every_write(without_control: Guest, name: str) -> None:
    """EACCES for everybody, whatever is written, when the module was loaded with control=0."""
    for index, chip in enumerate(CHIPS):
        refused(Card(without_control, chip, index), name, good(chip, name), "EACCES")
