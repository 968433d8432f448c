# SPDX-License-Identifier: GPL-2.0
"""Every control file with every kind of input that it must refuse: the errno of docs/proc.md's table, and the GPU's
access log has no write except to the PRAMIN window, which a lookup in a runlist moves and restores."""

import contextlib
import shlex
from collections.abc import Iterator, Mapping

import pytest

from lib.guest import Guest
from support.vm.cards import Card
from support.vm.chips import CHIPS, Chip, chips_for

CHANNEL_FILES = ("disable_channel", "enable_channel", "hold_channel", "wfi_preempt_channel", "cta_preempt_channel",
                 "cil_preempt_channel")
TSG_FILES = ("preempt_tsg", "switch_to_tsg", "tsg_timeslice")
RUNLIST_FILES = ("preempt_runlist", "resubmit_runlist")
FILES = CHANNEL_FILES + TSG_FILES + RUNLIST_FILES

SYNTAX = {
    "empty": "", "newline": "\\n", "text": "abc", "blank_before": " 8", "trailing_letter": "8x",
    "trailing_word": "8 9 9", "two_newlines": "8\\n\\n",
    "negative": "-1", "plus": "+8", "bare_0x": "0x", "bad_octal": "08", "nul": "8\\0",
    "two_colons": "0:0:8", "no_runlist": ":8", "no_id": "0:", "fraction": "1.5",
}


# after the id in tsg_timeslice
NO_SLICE = {
    "none": "", "blank": " ", "two_blanks": "  1000", "tab": "\\t1000", "blank_behind": " 1000 ", "fraction": " 1.5",
    "trailing_letter": " 1000us", "trailing_word": " 1000 5", "two_newlines": " 1000\\n\\n", "negative": " -1",
    "plus": " +1000", "hex": " 0x3e8", "nul": " 1000\\0", "runlist": " 0:1000",
}


def make_good_id(chip: Chip, name: str) -> str:
    """The id that this file would accept."""
    if name in RUNLIST_FILES:
        return "0"
    return chip.ref(8 if name in CHANNEL_FILES else 3)


def is_supported(chip: Chip, name: str) -> bool:
    """Whether this generation has it at all."""
    return chip.preempts_runlists or name != "preempt_runlist"


def expect_refusal(card: Card, name: str, text: str, errno: str, who: str = "") -> None:
    """The id is refused with that errno, together with a valid time slice where the file takes one."""
    refused_text(card, name, f"{text} 1000" if name == "tsg_timeslice" else text, errno, who)


@contextlib.contextmanager
def nothing_written(card: Card) -> Iterator[None]:
    """The GPU sees no write meanwhile except to the PRAMIN window."""
    card.emu.cmd({"cmd": "log", "on": True})
    yield
    accesses = card.emu.cmd({"cmd": "log-read"})["accesses"]
    card.emu.cmd({"cmd": "log", "on": False})
    assert not [access for access in accesses
                if access["op"] == "w" and (access["bar"], access["off"]) != (0, card.chip.window)]


def refused_text(card: Card, name: str, text: str, errno: str, who: str = "") -> None:
    """The write is refused with that errno, at the write, and nothing was written to the GPU."""
    with nothing_written(card):
        assert card.write(name, text, who) == f"write {errno}"


def all_refused(card: Card, name: str, texts: Mapping[str, str], errno: str) -> None:
    """Each of these writes is refused with that errno; one command in the guest for all, since commands take most
    time."""
    with nothing_written(card):
        answers = card.guest.check("".join(f"tryop write {card.path(name)} {shlex.quote(text)}\n"
                                           for text in texts.values()) + "true")
    assert dict(zip(texts, answers.splitlines())) == dict.fromkeys(texts, f"write {errno}")


@pytest.fixture(params=chips_for("pair"), ids=[chip.name for chip in chips_for("pair")])
def card_of_form(request: pytest.FixtureRequest, four: Guest) -> Card:
    """A GPU for each form of ids, the only property of a chip that the parser uses. tests/unit/parse_test.cc tests
    it."""
    return Card(four, request.param, CHIPS.index(request.param))


@pytest.mark.parametrize("name", FILES)
def test_malformed_ids_are_invalid(card_of_form: Card, name: str) -> None:
    """EINVAL: not a number, trailing text, empty."""
    slices = " 1000" if name == "tsg_timeslice" else ""
    all_refused(card_of_form, name, {kind: text + slices for kind, text in SYNTAX.items()}, "EINVAL")


@pytest.mark.parametrize("name", FILES)
def test_a_very_long_write_is_invalid(card: Card, name: str) -> None:
    """EINVAL: 100,000 digits."""
    answer = card.guest.run(f"tryop writelen {card.path(name)} 100000")[1].strip()
    assert answer == "write EINVAL"


@pytest.mark.parametrize("name", FILES)
def test_numbers_of_33_bits_and_more_are_out_of_range(card_of_form: Card, name: str) -> None:
    """ERANGE: 2^32, 2^64; never the number without its upper bits."""
    slices = " 1000" if name == "tsg_timeslice" else ""
    texts = ("4294967296", "18446744073709551616", "0x100000000")
    all_refused(card_of_form, name, {text: text + slices for text in texts}, "ERANGE")


@pytest.mark.parametrize("name", FILES)
def test_an_id_beyond_the_chip_is_out_of_range(card: Card, name: str) -> None:
    """ERANGE: the first id beyond the chip's channels: 4096 on GP106 and TU102, 2048 on AD102 and GH100."""
    chip = card.chip
    if not is_supported(chip, name):
        pytest.skip("not on this generation")
    if name in RUNLIST_FILES:
        expect_refusal(card, name, "4096", "ERANGE")
    else:
        expect_refusal(card, name, chip.ref(chip.channels), "ERANGE")
        expect_refusal(card, name, str(chip.channels), "ERANGE")


def test_malformed_time_slices_are_invalid(card_of_form: Card) -> None:
    """EINVAL: the id is followed by one blank and a decimal number of microseconds, and nothing else."""
    texts = {kind: card_of_form.chip.ref(3) + text for kind, text in NO_SLICE.items()}
    all_refused(card_of_form, "tsg_timeslice", texts, "EINVAL")


def test_time_slices_that_the_entry_cannot_hold_are_out_of_range(card: Card) -> None:
    """ERANGE: none, and more than 255 << 15 units of 1.024 us, which is 8556380.16 us."""
    texts = ("0", "8556381", "4294967296", "18446744073709551616")
    all_refused(card, "tsg_timeslice", {text: f"{card.chip.ref(3)} {text}" for text in texts}, "ERANGE")


@pytest.mark.parametrize("name", FILES)
def test_ids_that_do_not_exist_now(card: Card, name: str) -> None:
    """ENOENT: no such TSG or runlist, or a channel that is not bound. Where ids count per runlist, a bare channel id
    that is on no runlist is EINVAL: the form RUNLIST:ID is required."""
    chip = card.chip
    if not is_supported(chip, name):
        pytest.skip("not on this generation")
    if name in RUNLIST_FILES:
        expect_refusal(card, name, str(chip.absent_runlist), "ENOENT")
    elif name in TSG_FILES:
        expect_refusal(card, name, chip.ref(100), "ENOENT")
    elif chip.per_runlist:
        expect_refusal(card, name, "100", "EINVAL")
    else:
        expect_refusal(card, name, "100", "ENOENT")
    if chip.per_runlist and name not in RUNLIST_FILES:
        expect_refusal(card, name, chip.ref(8, chip.absent_runlist), "ENOENT")


@pytest.mark.parametrize("name", CHANNEL_FILES + TSG_FILES)
def test_an_ambiguous_id_is_invalid_and_the_log_names_the_form(card: Card, name: str) -> None:
    """EINVAL where the bare id is on two runlists, with a line in the kernel log; on chips whose ids count for the
    whole GPU, RUNLIST:ID is EINVAL."""
    chip = card.chip
    if not is_supported(chip, name):
        pytest.skip("not on this generation")
    number = 8 if name in CHANNEL_FILES else 3
    expect_refusal(card, name, str(number) if chip.per_runlist else f"0:{number}", "EINVAL")
    if chip.per_runlist:
        assert "RUNLIST:ID" in card.guest.check("dmesg")


@pytest.mark.parametrize("name", FILES)
def test_what_the_generation_lacks_is_not_supported(card: Card, name: str) -> None:
    """EOPNOTSUPP: preempting a runlist before Volta."""
    if is_supported(card.chip, name):
        pytest.skip("this generation has it")
    expect_refusal(card, name, make_good_id(card.chip, name), "EOPNOTSUPP")


@pytest.mark.parametrize("name", FILES)
def test_writes_need_cap_sys_admin(card: Card, name: str) -> None:
    """EPERM for root without CAP_SYS_ADMIN; another user cannot open the file (mode 0200)."""
    expect_refusal(card, name, make_good_id(card.chip, name), "EPERM", "-C")
    assert card.write(name, make_good_id(card.chip, name), "-u 1000") == "open EACCES"


@pytest.mark.parametrize("name", FILES)
def test_writes_to_a_gpu_off_the_bus_give_enodev(fresh: Card, name: str) -> None:
    """ENODEV when every register reads as all ones, and the GPU sees no write."""
    if not is_supported(fresh.chip, name):
        pytest.skip("not on this generation")
    fresh.emu.cmd({"cmd": "fault", "kind": "all-ones"})
    expect_refusal(fresh, name, make_good_id(fresh.chip, name), "ENODEV")


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
    """EACCES for every user and text when the module was loaded with control=0."""
    for index, chip in enumerate(CHIPS):
        expect_refusal(Card(without_control, chip, index), name, make_good_id(chip, name), "EACCES")
