# SPDX-License-Identifier: GPL-2.0
"""The contents of the files that are only read, for each chip, against literal values (chips.py names their
sources)."""

import json
import pathlib
import re
import struct

import pytest

from lib import paths
from lib.guest import Guest, pci_address
from support.vm.cards import Card, run_tool
from support.vm.chips import CHIPS, GH100, GH100_IDS
from support.vm.formats import CONTROL_FILE, is_unread, parse_list, parse_runlist, read_enabled, shape


def device_rows(card: Card) -> list[tuple[str, list[str]]]:
    """device_info as (name, the nine columns after it)."""
    rows = []
    for line in card.read("device_info").splitlines()[1:]:
        words = line.split()
        rows.append((" ".join(words[:-9]), words[-9:]))
    return rows


def test_chip_names_chip_address_and_boot_register(card: Card) -> None:
    """chip gives the chip's name, PCI address and BOOT_0."""
    text = card.read("chip")
    assert re.search(rf"\b{card.chip.name}\b", text)
    assert f"{card.chip.boot0:#010x}" in text
    assert pci_address(card.index) in text


def test_device_info_has_exactly_the_engines_of_the_published_table(card: Card) -> None:
    """device_info names every engine with its runlist, and no other.
    Source: RTAS'24 Tables II and IV; resource manager of an H200."""
    found = [(name, None if cols[2] == "-" else int(cols[2])) for name, cols in device_rows(card)]
    assert sorted(found, key=str) == sorted(card.chip.engines, key=str)


def test_gh100_ids_and_runlist_bases_are_the_resource_managers(four: Guest) -> None:
    """GH100's engine ids, fault ids and runlist register bases are those that an H200's resource manager reports."""
    card = Card(four, GH100, CHIPS.index(GH100))
    found = {name: (int(cols[3]), int(cols[6]), int(cols[8], 16))
             for name, cols in device_rows(card) if name in GH100_IDS}
    assert found == GH100_IDS


def test_runlist_files_are_those_with_an_engine(card: Card) -> None:
    """There is a runlistY for each runlist that an engine has and none for the absent one."""
    listing = card.guest.check(f"ls /proc/gpu{card.index}").split()
    found = {int(name[7:]) for name in listing if re.fullmatch(r"runlist\d+", name)}
    assert found == {runlist for _, runlist in card.chip.engines if runlist is not None}
    assert card.chip.absent_runlist not in found


def test_runlist0_shows_tsgs_channels_and_time_slices(fresh: Card) -> None:
    """runlist0 lists the TSGs and channels of the scenario. Time slice: (TIMEOUT << SCALE) * 1024 ns, open-gpu-doc
    dev_ram."""
    tsgs = {tsg.id: tsg for tsg in parse_runlist(fresh.read("runlist0"))}
    assert {number: [channel.id for channel in tsg.channels] for number, tsg in tsgs.items()} == {
        3: [8, 9], 5: [16], 9: [24, 25]}
    assert [tsgs[3].number(label) for label in ("Scale", "Timeout", "Length")] == [3, 128, 2]
    assert [tsgs[5].number(label) for label in ("Scale", "Timeout", "Length")] == [4, 200, 1]
    assert tsgs[3].fields["Slice"].split("us")[0].strip() == "1048.576"
    assert tsgs[5].fields["Slice"].split("us")[0].strip() == "3276.800"
    assert tsgs[9].fields["Slice"].split("us")[0].strip() == "1.024"  # a time-out of 0 counts as one unit


def test_runlist1_shows_the_longest_time_slice_and_its_own_ids(fresh: Card) -> None:
    """runlist1 shows its TSGs; 255 << 15 is the longest slice. Where ids count per runlist, TSG 3 is there again."""
    tsgs = {tsg.id: tsg for tsg in parse_runlist(fresh.read("runlist1"))}
    expected = {7: [20], 11: [21]} | ({3: [8]} if fresh.chip.per_runlist else {})
    assert {number: [channel.id for channel in tsg.channels] for number, tsg in tsgs.items()} == expected
    assert tsgs[11].fields["Slice"].split("us")[0].strip() == "8556380.160"
    assert tsgs[7].fields["Slice"].split("us")[0].strip() == "262.144"


def test_other_runlists_are_empty(fresh: Card) -> None:
    """A runlist without work shows no TSG and no channel."""
    last = max(runlist for _, runlist in fresh.chip.engines if runlist is not None)
    assert shape(fresh.read(f"runlist{last}")) == []


def test_runlist0_keeps_the_labels_of_the_published_listing(fresh: Card) -> None:
    """Labels and boxes are those of RTAS'24 Listing 1, in its order."""
    text = fresh.read("runlist0")
    labels = ["Enabled", "Next", "Force CTX Reload", "Enable set", "Enable clear", "PBDMA Faulted", "ENG Faulted",
              "Status", "Busy"]
    for tsg in parse_runlist(text):
        assert list(tsg.fields)[:3] == ["Scale", "Timeout", "Length"]
        for channel in tsg.channels:
            assert [label for label in channel.fields if label in labels] == labels
    assert "+---- TSG Entry 3" in text
    assert "+- Channel Info 8 " in text


def test_channel_state_is_shown(fresh: Card) -> None:
    """A disabled channel reads as disabled, an idle one as not busy, a working one as enabled and busy."""
    channels = {channel.id: channel for tsg in parse_runlist(fresh.read("runlist0")) for channel in tsg.channels}
    assert {number: channel.number("Enabled") for number, channel in channels.items()} == {
        8: 1, 9: 1, 16: 1, 24: 1, 25: 0}
    assert channels[24].number("Busy") == 0
    assert channels[16].number("Busy") == 1


def test_channel_ram_bits_are_shown_from_ampere_on(fresh: Card) -> None:
    """Chips with per-runlist channel RAM show its additional bits, the others do not."""
    channel = parse_runlist(fresh.read("runlist0"))[0].channels[0]
    extra = {"On PBDMA", "On ENG", "Pending", "PBDMA Busy", "ENG Busy", "Acquire Fail"}
    assert extra & set(channel.fields) == (extra if fresh.chip.per_runlist else set())


def test_instance_blocks_are_where_the_driver_put_them(fresh: Card) -> None:
    """The instance block addresses shown to root are those of the emulated driver."""
    state = fresh.emu.cmd({"cmd": "state"})["channels"]
    expected = {channel["id"]: channel["inst"] for channel in state if channel["runlist"] == 0}
    found = {channel.id: int(channel.fields["Inst"], 16)
             for tsg in parse_runlist(fresh.read("runlist0")) for channel in tsg.channels}
    assert found == expected
    assert all(found.values())


def test_a_runlist_begins_with_where_its_list_lies(fresh: Card) -> None:
    """Base, target, entries and pending bit are those that the emulated driver submitted."""
    for runlist in fresh.emu.cmd({"cmd": "state"})["runlists"]:
        text = fresh.read(f"runlist{runlist['id']}")
        assert parse_list(text) == (runlist["base"], "vid", runlist["length"], runlist["pending"])
        assert runlist["length"] == sum(1 + len(tsg.channels) for tsg in parse_runlist(text))


def test_a_list_in_protected_memory_is_shown_by_its_registers(fresh: Card, tmp_path: pathlib.Path) -> None:
    """Memory that the CPU may not access answers with codes of failed reads: the file shows the location of the list
    and that its entries are not readable; the tool's JSON has base, target and length. Other runlists can be read."""
    state = {runlist["id"]: runlist["base"] for runlist in fresh.emu.cmd({"cmd": "state"})["runlists"]}
    whole = parse_list(fresh.read("runlist0"))
    fresh.emu.cmd({"cmd": "fault", "kind": "protected", "addr": state[0], "bytes": 4096})
    try:
        text = fresh.read("runlist0")
        assert parse_list(text) == whole and whole.entries > 0 and is_unread(text)
        assert shape(fresh.read("runlist1"))
        (tmp_path / "snapshot").write_bytes(fresh.read("snapshot").encode(errors="surrogateescape"))
        shown = run_tool(tmp_path / "snapshot", "runlists", "0", "--json")
        runlist = json.loads(shown.stdout)["gpus"][0]["runlists"][0]
        assert [runlist[key] for key in ("error", "base", "target", "length", "pending", "tsgs")] == [
            "EIO", hex(whole.base), "vid", whole.entries, False, []]
    finally:
        fresh.emu.cmd({"cmd": "fault", "kind": "none"})


def test_runlists_are_closed_to_a_user_without_privilege(fresh: Card) -> None:
    """EACCES for another user; more in test_privilege.py."""
    assert fresh.guest.run(f"su user -c 'tryop read {fresh.path('runlist0')}'")[1].strip() == "open EACCES"


def test_unit_counts_and_masks(card: Card) -> None:
    """num_gpcs, num_tpc_per_gpc, num_ces, gpc_mask and gpcX_tpc_mask; a set bit of a mask is a disabled unit."""
    chip = card.chip
    assert card.read("num_gpcs").strip() == f"{chip.gpcs:#x}"
    assert card.read("num_tpc_per_gpc").strip() == f"{chip.tpcs_per_gpc:#x}"
    assert card.read("num_ces").strip() == f"{chip.ces:#x}"
    assert card.number("gpc_mask") == 0
    assert tuple(card.number(f"gpc{gpc}_tpc_mask") for gpc in range(chip.gpcs)) == chip.tpc_masks


def test_tpc_map_numbers_the_enabled_tpcs_without_holes(card: Card) -> None:
    """tpc_map gives each GPC as many logical TPC numbers as it has enabled TPCs, none twice."""
    chip = card.chip
    lines = [line for line in card.read("tpc_map").splitlines() if not line.startswith("!")]
    masks = {}
    for line in lines:
        found = re.fullmatch(r"gpc (\d+): (0x[0-9a-f]+)", line)
        assert found, line
        masks[int(found[1])] = int(found[2], 16)
    assert len({len(line.split()[-1]) for line in lines}) == 1
    counts = {gpc: chip.tpcs_per_gpc - bin(mask).count("1") for gpc, mask in enumerate(chip.tpc_masks)}
    assert {gpc: bin(mask).count("1") for gpc, mask in masks.items()} == counts
    together = sum(masks.values())
    assert together == (1 << sum(counts.values())) - 1


def test_copy_engine_wiring(card: Card) -> None:
    """pce_map, lce_for_pceY and shared_lce_for_grceY."""
    chip = card.chip
    assert card.number("pce_map") == chip.pce_map
    assert tuple(card.number(f"lce_for_pce{pce}") for pce in range(len(chip.lce_for_pce))) == chip.lce_for_pce
    assert tuple(card.number(f"shared_lce_for_grce{grce}") for grce in range(2)) == chip.shared_lce


def test_copy_topology_agrees_with_the_wiring(card: Card) -> None:
    """copy_topology has a line for each LCE and GRCE that names every PCE serving it."""
    chip = card.chip
    lines = card.read("copy_topology").splitlines()
    assert len(lines) == sum("LCE" in name for name, _ in chip.engines)
    for pce, lce in enumerate(chip.lce_for_pce):
        serving = [line for line in lines if re.match(rf"G?L?R?CE0*{lce} -> ", line)]
        if lce != 0xF:
            assert len(serving) == 1 and f"PCE{pce:02d}" in serving[0].split(" -> ")[1]
    for grce, lce in enumerate(chip.shared_lce):
        if lce != 0xF and grce not in chip.lce_for_pce:
            owner = f"GRCE{lce}" if lce < 2 else f"LCE{lce:02d}"  # LCE0 and LCE1 are the GRCEs
            assert any(line.startswith(f"GRCE{grce} -> {owner} (PCE") for line in lines)


# What a driver writes later (off, value), and then: LCE of PCE 2, LCE that GRCE 0 shares, and copy_topology.
# Packed on GP106 (4 bits a PCE, 7 none; a byte a GRCE, bit 3 shared): RTAS'24's nvdebug. TU102: open-gpu-doc
# turing/tu104/dev_ce.ref.txt NV_CE_PCE2LCE_CONFIG(i) 0x104040, NV_CE_GRCE_CONFIG(i) 0x104034, both RW-4A, SHARED 30:30;
# AD102, GH100: the same of ampere/ga102/dev_ce.ref.txt, 0x104100 and 0x1041c0.
REWIRED = {
    "GP106": ([(0x10402C, 0x77773317), (0x104034, 0x0B)], 3, 3,
              ["GRCE0 -> LCE03 (PCE02 PCE03)", "GRCE1 -> PCE01", "LCE02 -> none", "LCE03 -> PCE02 PCE03"]),
    "TU102": ([(0x104048, 4), (0x104034, 0x40000004)], 4, 4,
              ["GRCE0 -> LCE04 (PCE01 PCE02)", "GRCE1 -> PCE00", "LCE02 -> none", "LCE03 -> PCE03",
               "LCE04 -> PCE01 PCE02"]),
    "AD102": ([(0x104108, 4), (0x1041C0, 0x40000004)], 4, 4,
              ["GRCE0 -> LCE04 (PCE02 PCE04)", "GRCE1 -> LCE02 ()", "LCE02 -> none", "LCE03 -> PCE03",
               "LCE04 -> PCE02 PCE04"]),
    "GH100": ([(0x104108, 2), (0x1041C0, 0x40000004)], 2, 4,
              ["GRCE0 -> LCE04 (PCE00 PCE01 PCE03 PCE04 PCE05 PCE06 PCE07 PCE08 PCE09 PCE10 PCE11)",
               "GRCE1 -> LCE03 (PCE13 PCE15)", "LCE02 -> PCE02 PCE12 PCE14"]),
}


def copy_records(card: Card) -> tuple[dict[int, int], dict[int, int]]:
    """PCE -> LCE and GRCE -> shared LCE of a snapshot (include/uapi/gpulens.h: records 7 and 8, u16 type, id, lce)."""
    data = card.read("snapshot").encode(errors="surrogateescape")
    rows = [struct.unpack_from("<HHh", data, at) for at in range(64, len(data), 64)]
    return ({number: lce for kind, number, lce in rows if kind == 7},
            {number: lce for kind, number, lce in rows if kind == 8})


def test_copy_engine_maps_are_current(card: Card) -> None:
    """A map that a driver changes after the module was loaded is shown in every file; the number of engines, and so the
    list of files, stays. Seen failing with the map read at load only."""
    writes, lce, shared, lines = REWIRED[card.chip.name]
    before = {off: card.emu.cmd({"cmd": "reg-peek", "off": off})["value"] for off, _ in writes}
    listing = card.guest.check(f"ls {card.path('')}")
    assert card.number("lce_for_pce2") != lce or card.number("shared_lce_for_grce0") != shared
    try:
        for off, value in writes:
            card.emu.cmd({"cmd": "reg-poke", "off": off, "value": value})
        assert (card.number("lce_for_pce2"), card.number("shared_lce_for_grce0")) == (lce, shared)
        assert card.read("copy_topology").splitlines()[:len(lines)] == lines
        pces, grces = copy_records(card)
        assert (pces[2], grces[0]) == (lce, shared)
        image = card.read("image")
        assert all(f"r 0x{off:08x} 0x{value:08x}\n" in image for off, value in writes)
        assert card.guest.check(f"ls {card.path('')}") == listing
    finally:
        for off, value in before.items():
            card.emu.cmd({"cmd": "reg-poke", "off": off, "value": value})
    assert card.number("shared_lce_for_grce0") == card.chip.shared_lce[0]


def test_an_unreadable_copy_engine_map_is_an_error_while_it_lasts(card: Card) -> None:
    """A register of the map that answers with an error code: EIO for files that need it, a note in chip and snapshot
    (5: EIO); GPCs and runlists can be read. Afterwards the map is shown again."""
    off = {"GP106": 0x104034, "TU102": 0x104034, "AD102": 0x1041C0, "GH100": 0x1041C0}[card.chip.name]
    card.emu.cmd({"cmd": "fault", "kind": "bad-read", "off": off})
    try:
        for name in ("copy_topology", "lce_for_pce2", "shared_lce_for_grce0", "pce_map"):
            assert card.guest.run(f"tryop read {card.path(name)}")[1].strip() == "read EIO", name
        assert "\nNot readable: copy engine maps\n" in card.read("chip")
        data = card.read("snapshot").encode(errors="surrogateescape")
        # struct gpulens_chip, the first record: engines_error 60, gpcs_error 61, copy_error 62
        assert data[64 + 60:64 + 63] == bytes([0, 0, 5])
        assert copy_records(card) == ({}, {})
        assert card.read("runlist0") and card.read("tpc_map")
    finally:
        card.emu.cmd({"cmd": "fault", "kind": "none"})
    assert card.number("shared_lce_for_grce0") == card.chip.shared_lce[0]
    assert "Not readable" not in card.read("chip")


def test_local_memory_is_the_boards(card: Card) -> None:
    """local_memory is the number of bytes of GPU memory."""
    assert card.number("local_memory") == card.chip.memory


def test_the_hardwares_table_of_tpcs(card: Card) -> None:
    """Its first word, and the order of tpc_map: GPC by GPC up to Turing, by turns over the GPCs later. As many words as
    the sources in include/hw/gr.h say. Seen failing with an emulator that counts GPC by GPC on all chips."""
    by_turns = card.chip.name in ("AD102", "GH100")
    words = [name for name in card.guest.check(f"ls /proc/gpu{card.index}").split() if name.startswith("CWD_")]
    assert len(words) == 2 * (24 if by_turns else 16)
    word = card.guest.check(f"for i in $(seq 50); do cat {card.path('CWD_GPC_TPC_ID0')} || break; done | uniq")
    assert int(word, 16) == (0x30201000 if by_turns else 0x03020100)
    lines = card.read("tpc_map").splitlines()
    assert lines[0] == "! from the hardware (CWD_GPC_TPC_ID): in the order of %smid; GPCs as the driver numbers them"
    assert int(lines[1].split()[-1], 16) & 7 == (1 if by_turns else 7)


@pytest.mark.parametrize("name", ["chip", "device_info", "runlist0", "tpc_map", "copy_topology", "num_gpcs"])
def test_a_file_is_the_same_whatever_the_read_size(four: Guest, name: str) -> None:
    """A file is collected once, at its first read, and served from that: reading byte by byte gives a whole text.
    Channel state may change between two openings, so runlist0 is compared by what is on it."""
    for index in range(len(CHIPS)):
        path = f"/proc/gpu{index}/{name}"
        whole, single = four.read(path), four.check(f"dd if={path} bs=1 2>/dev/null", timeout=60)
        if name == "runlist0":
            assert shape(single) == shape(whole)
            assert [line.split(":")[0] for line in single.splitlines() if ":" in line] == [
                line.split(":")[0] for line in whole.splitlines() if ":" in line]
        else:
            assert single == whole


def test_small_reads_cost_no_more_accesses(fresh: Card) -> None:
    """Reading runlist0 in pieces of 16 bytes reaches the GPU about as often as reading it at once: a stop that the
    clock ends early begins again with a few accesses more, and a text collected at every piece would cost many times
    that."""
    def count_block_accesses(block: int) -> int:
        fresh.emu.cmd({"cmd": "reset-counts"})
        fresh.guest.check(f"dd if={fresh.path('runlist0')} bs={block} of=/dev/null 2>/dev/null", timeout=60)
        counts = fresh.emu.cmd({"cmd": "counts"})
        return sum(counts["reads"].values()) + sum(counts["writes"].values())
    whole = count_block_accesses(65536)
    assert whole > 0 and abs(count_block_accesses(16) - whole) < whole // 2


def test_seeking_back_collects_afresh(fresh: Card) -> None:
    """After a seek to 0 in one opening, a changed GPU shows: a channel disabled in between reads as disabled."""
    text = fresh.guest.check(
        f"exec 3<{fresh.path('runlist0')}; cat <&3; echo ======; "
        f"echo {fresh.chip.ref(8)} >{fresh.path('disable_channel')}; seek0 3 cat")
    before, after = text.split("======\n")
    assert read_enabled(before)[8] and not read_enabled(after)[8]


def test_eight_readers_at_once_each_get_a_whole_text(four: Guest) -> None:
    """Two readers never share state: eight at once, on every GPU, each end with a complete list."""
    script = """for reader in 1 2 3 4 5 6 7 8; do
        (for gpu in 0 1 2 3; do cat /proc/gpu$gpu/runlist0 >/tmp/many.$reader.$gpu || echo failed; done) &
    done; wait; cat /tmp/many.*.* | grep -c 'TSG Entry'; cat /tmp/many.*.* | grep -c 'Channel Info'; rm /tmp/many.*"""
    assert four.check(script, timeout=120).split() == [str(8 * 4 * 3), str(8 * 4 * 5)]


def test_reading_writes_no_register_but_the_window(fresh: Card) -> None:
    """Reading a runlist changes nothing in the GPU: the only writes are to the PRAMIN window's register, and the last
    puts back what was there."""
    before = fresh.emu.cmd({"cmd": "reg-peek", "off": fresh.chip.window})["value"]
    fresh.emu.cmd({"cmd": "log", "on": True})
    fresh.read("runlist0")
    accesses = fresh.emu.cmd({"cmd": "log-read"})["accesses"]
    fresh.emu.cmd({"cmd": "log", "on": False})
    writes = [(one["bar"], one["off"]) for one in accesses if one["op"] == "w"]
    assert set(writes) <= {(0, fresh.chip.window)}
    assert fresh.emu.cmd({"cmd": "reg-peek", "off": fresh.chip.window})["value"] == before
    assert not [one for one in accesses if one["op"] == "r" and one["size"] == 8
                and not 0x700000 <= one["off"] < 0x800000], "64-bit access to registers"


def test_a_gpu_that_answers_all_ones_is_gone(fresh: Card) -> None:
    """When every read answers all ones, files that need the GPU end with ENODEV, and nothing hangs."""
    fresh.emu.cmd({"cmd": "fault", "kind": "all-ones"})
    assert fresh.guest.run(f"tryop read {fresh.path('runlist0')}")[1].split()[-1] == "ENODEV"


def test_a_bad_read_code_is_an_io_error(fresh: Card) -> None:
    """A register that answers 0xbadf.... makes the file end with EIO."""
    registers = {"GP106": 0x2280, "TU102": 0x2B00, "AD102": 0xC00080, "GH100": 0xC00080}
    fresh.emu.cmd({"cmd": "fault", "kind": "bad-read", "off": registers[fresh.chip.name], "value": 0xBADF5040})
    assert fresh.guest.run(f"tryop read {fresh.path('runlist0')}")[1].split()[-1] == "EIO"


@pytest.mark.parametrize("state", ("on", "off"))
def test_the_context_switch_timeout(fresh: Card, state: str) -> None:
    """What a driver wrote: 3.1 s (linux-nvgpu on GV11B and GA10B). At 0x2a0c, from Ampere on at 0x220 of the registers
    of the engine's runlist."""
    if fresh.chip.name.startswith("GB"):
        assert fresh.guest.run(f"tryop read {fresh.path('ctxsw_timeout')}")[1].split()[-1] == "EOPNOTSUPP"
        return
    base = next(row[1][-1] for row in device_rows(fresh) if row[0] == "Graphics/Compute 0")
    off = 0x2A0C if base == "-" else int(base, 16) + 0x220
    fresh.emu.cmd({"cmd": "reg-poke", "off": off, "value": (state == "on") << 31 | 3_100_000})
    assert f"Graphics/Compute 0: {state}, 3100000 us\n" in fresh.read("ctxsw_timeout")


def test_every_file_is_described(card: Card) -> None:
    """docs/abi/procfs-gpulens has each file of each chip once, with its mode. Seen failing with a file left out."""
    described = {}
    for entry in (paths.ROOT / "docs/abi/procfs-gpulens").read_text(encoding="ascii").split("\n\n"):
        mode = re.search(r"\(0(\d{3})\)", entry)
        assert mode, entry
        for what in re.findall(r"^What:\t\t/proc/gpuX/(\S+)$", entry, re.MULTILINE):
            described[re.compile(re.sub("[XYn]$|X(?=_)", r"\\d+", what))] = mode[1]
    for line in card.guest.check(f"cd /proc/gpu{card.index} && stat -c '%n %a' *").splitlines():
        name, mode = line.split()
        assert [found for what, found in described.items() if what.fullmatch(name)] == [mode], name


def test_modes_of_the_files(card: Card) -> None:
    """Files that control are 0200, samples may be asked for what is wanted, what shows runlists is root's, topology is
    for everybody."""
    listing = card.guest.check(f"cd /proc/gpu{card.index} && for f in *; do stat -c '%n %a' $f; done").splitlines()
    modes = dict(line.split() for line in listing)
    control = {name for name in modes if CONTROL_FILE.search(name)}
    observe = {name for name in modes if re.match(r"runlist\d", name)} | {"bars", "ctxsw_timeout", "image"}
    assert {"disable_channel", "enable_channel", "hold_channel", "preempt_tsg", "switch_to_tsg", "preempt_runlist",
            "resubmit_runlist", "wfi_preempt_channel", "cta_preempt_channel", "cil_preempt_channel",
            "tsg_timeslice"} == control
    assert {modes[name] for name in control} == {"200"}
    assert {modes[name] for name in observe} == {"400"}
    assert modes["samples"] == "600"
    assert {modes[name] for name in set(modes) - control - observe - {"samples"}} == {"444"}


def test_snapshot_begins_with_its_header(card: Card) -> None:
    """The binary snapshot is there, not empty, and small reads give the same length."""
    path = card.path("snapshot")
    whole = int(card.guest.check(f"cat {path} | wc -c"))
    assert whole > 64
    assert int(card.guest.check(f"dd if={path} bs=37 2>/dev/null | wc -c", timeout=60)) == whole
