# SPDX-License-Identifier: GPL-2.0
"""Words that real GPUs answered, as public records have them, in images of our own: what is not named is made up, so
that the device table can be read. emulator/README.md says what was compared with whole cards.

| GPU | source | how the right value is known |
| --- | --- | --- |
| GA100 (a CMP card, unlocked) | its report of fuses with MIG off and on | CUDA counted 74 SMs, and 56 with MIG |
| GK107 | register log in pmes/UnaOS | rnndb, open headers: base 27:0, target 29:28, length 11:0, pending 20 |
"""

import json
import pathlib
import typing

from support.program import gpulens

# PTOP: 8 GPCs of at most 8 TPCs; a row of the device table: GR0 of the runlist at 0xc00000
GA100 = {0x0: 0x170000a1, 0x22430: 8, 0x22434: 8, 0x22444: 0, 0x224fc: 0x00330002, 0x22800: 0x80000040,
         0x22804: 0xc040000c, 0x22808: 0x00c00000, 0x820c1c: 0x23}
# NV_FUSE_STATUS_OPT_TPC_GPC(i): set bits are TPCs that are off. GPCs 0, 1 and 5 are off as a whole.
MIG_OFF = (0xff, 0xff, 0x1, 0x0, 0x0, 0xff, 0x1, 0x1)
MIG_ON = (0xff, 0xff, 0x3, 0x3, 0x3, 0xff, 0x7, 0x7)
GK107 = {0x0: 0x0e7150a2, 0x22430: 1, 0x22434: 1, 0x22700: 0x8006183e, 0x22704: 0x3,
         0x2280: 0x00002013, 0x2284: 0x00100003, 0x2390: 0xffff}


def read_words(folder: pathlib.Path, words: typing.Dict[int, int], command: str) -> typing.Any:
    """What the command says of an image with these registers."""
    file = folder / "gpu.image"
    file.write_text("gpulens-image 1\n" + "".join(f"r {at:#x} {word:#x}\n" for at, word in words.items()))
    done = gpulens("-i", str(file), command, "--json")
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)["gpus"][0]


def test_fuses_of_a_ga100_with_and_without_mig(tmp_path: pathlib.Path) -> None:
    """37 TPCs of two SMs without MIG, 28 with it."""
    for fuses, tpcs in ((MIG_OFF, [7, 8, 8, 7, 7]), (MIG_ON, [6, 6, 6, 5, 5])):
        words = {**GA100, **{0x820c38 + 4 * i: fuse for i, fuse in enumerate(fuses)}}
        gpcs = read_words(tmp_path, words, "gpcs")["gpcs"]
        assert gpcs["gpc_mask"] == "0x23"
        assert [(gpc["gpc"], gpc["tpcs"]) for gpc in gpcs["gpcs"]] == list(zip((2, 3, 4, 6, 7), tpcs))


def test_a_runlist_of_a_gk107_that_was_just_submitted(tmp_path: pathlib.Path) -> None:
    """Its entries were not recorded, its registers were. Seen failing with the length taken from 2270."""
    runlist = read_words(tmp_path, GK107, "runlists")["runlists"][0]
    assert (runlist["base"], runlist["target"], runlist["length"], runlist["pending"]) == ("0x2013000", "vid", 3, True)
