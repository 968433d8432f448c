# SPDX-License-Identifier: GPL-2.0
"""gpulens first-card on folders in place of /sys and /proc, with programs in place of insmod and rmmod, the image of
the emulated H200, and the answers of a real one's driver. With the module and a kernel: tests/vm/test_first_card.py."""

import json
import os
import pathlib
import re
import signal
import subprocess

import pytest
from support.fakeproc import ORDINARY, snapshot
from support.fakerm import FACTS as FACTS_OF_DRIVER
from support.fakerm import fake_rm, recording_with
from support.program import ROOT, TOOL, gpulens, image

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="takes root, to mount folders over /sys")

PLACE = "0000:01:00.0"
SECURE_BOOT = "firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
ENTER = ('mount --bind "$0/sys" /sys && mount --bind "$0/kmsg" /dev/kmsg && cd "$0/out" && '
         'PATH="$0/bin:$PATH" exec "$@"')
INSMOD = """#!/bin/sh
echo "insmod $*" >>FOLDER/log
mkdir -p /sys/module/gpulens/parameters
echo "${2#vram=}" >/sys/module/gpulens/parameters/vram
echo N >/sys/module/gpulens/parameters/control
cp -a FOLDER/gpu0 FOLDER/proc/
echo '6,1,1,-;gpulens: 0000:01:00.0: GH100 is /proc/gpu0' >>FOLDER/kmsg
"""
RMMOD = """#!/bin/sh
echo "rmmod $*" >>FOLDER/log
rm -r /sys/module/gpulens FOLDER/proc/gpu0
"""
# Not of a table: what no source of this machine could be compared with.
NEVER = {"BOOT_0": "driver: not reported"}
FACTS = ("chip", "BOOT_0", "memory size", "engines", "runlists", "engine ids", "fault ids", "GPCs", "TPCs of GPCs",
         "copy engines", "PCI ids")


class Machine:
    """The folders, and the command in them."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        for name in ("sys/module", "sys/kernel/security", "out", "bin", "gpu0", "proc", "sys/bus/platform/devices",
                     f"sys/bus/pci/devices/{PLACE}/power", f"proc/driver/nvidia/gpus/{PLACE}",
                     "sys/bus/pci/drivers/nvidia", "sys/firmware/efi/efivars"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        self.card = folder / f"sys/bus/pci/devices/{PLACE}"
        self.card.joinpath("driver").symlink_to("../../drivers/nvidia")
        for name, text in (("vendor", "0x10de"), ("device", "0x2335"), ("class", "0x030200"),
                           ("power/runtime_status", "active"), ("resource1", "")):
            (self.card / name).write_text(text + "\n")
        os.truncate(self.card / "resource1", 256 << 20)
        (folder / "sys/kernel/security/lockdown").write_text("[none] integrity confidentiality\n")
        (folder / SECURE_BOOT.replace("firmware", "sys/firmware")).write_bytes(b"\6\0\0\0\1")
        # Formats: nv-procfs.c of open-gpu-kernel-modules 595.45.04; the builder's name is that of a machine.
        (folder / "proc/driver/nvidia/version").write_text(
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (jane@secrethost)\n")
        (folder / f"proc/driver/nvidia/gpus/{PLACE}/information").write_text(
            "Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-01234567-89ab\nGPU Firmware: \t 580.159.04\n")
        (folder / "kmsg").write_text("6,0,0,-;Linux version 6.1.0\n")
        (folder / "gpulens.ko").write_text("")
        for name, text in (("insmod", INSMOD), ("rmmod", RMMOD)):
            self.script(name, text)
        (folder / "gpu0/image").write_text(image("gh100").read_text().replace(f"pci {PLACE}",
                                                                              f"pci {PLACE} 0x10de:0x2335"))
        (folder / "gpu0/chip").write_text(f"Chip:   GH100\nDevice: {PLACE}\n")
        (folder / "gpu0/snapshot").write_bytes(snapshot({}))
        (folder / "gpu0/stats").write_text("window_stops 7\nwindow_stopped_ns 90000\nwindow_longest_stop_ns 35000\n")

    def script(self, name: str, text: str) -> None:
        """A program of the machine."""
        path = self.folder / "bin" / name
        path.write_text(text.replace("FOLDER", str(self.folder)))
        path.chmod(0o755)

    def words(self, *words: str) -> "list[str]":
        """The command line."""
        return ["unshare", "--mount", "sh", "-c", ENTER, str(self.folder), str(TOOL), "--proc",
                str(self.folder / "proc"), "first-card", "--module", str(self.folder / "gpulens.ko"), *words]

    def run(self, *words: str, stdin: str = "", driver: bool = True, **rm: str) -> "subprocess.CompletedProcess[str]":
        """The command, with the driver's answers if there is one. rm: as fake_rm() takes them."""
        return subprocess.run(self.words(*words), input=stdin, capture_output=True, text=True, check=False, timeout=120,
                              env={**os.environ, **(fake_rm(**rm) if driver else {}), "LC_ALL": "C.UTF-8"})

    def hold_up(self) -> pathlib.Path:
        """Makes the command wait while it reads the image, for what is written to this FIFO."""
        path = self.folder / "gpu0/image"
        path.unlink()
        os.mkfifo(path)
        self.script("insmod", INSMOD.replace("cp -a FOLDER/gpu0 FOLDER/proc/", "ln -s ../gpu0 FOLDER/proc/"))
        self.script("rmmod", RMMOD.replace("rm -r", "rm -rf"))
        return path

    def start(self) -> "subprocess.Popen[str]":
        """Starts the command."""
        return subprocess.Popen(self.words("--yes"), env={**os.environ, **fake_rm()}, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)

    def log(self) -> "list[str]":
        """The programs that were run."""
        path = self.folder / "log"
        return path.read_text().splitlines() if path.exists() else []

    def loads(self, *vrams: str) -> "list[str]":
        """What log() has after these loads, each with its end."""
        return [line for vram in vrams for line in (
            f"insmod {self.folder}/gpulens.ko vram={vram} control=0", "rmmod gpulens")]

    def files(self) -> "list[str]":
        """What the command has left."""
        return sorted(os.listdir(self.folder / "out"))


@pytest.fixture(name="machine")
def fixture_machine(tmp_path: pathlib.Path) -> Machine:
    """A machine with an H200."""
    return Machine(tmp_path)


def facts_of(text: str) -> "dict[str, tuple[str, str]]":
    """By fact: the result and the value, of a report."""
    found = re.findall(r"^(?:# )?(\S+(?: \S+)*) {2,}(equal|different|not comparable) +(.+)$", text, re.M)
    return {fact: (result, value) for fact, result, value in found}


def find_differences(text: str) -> "dict[str, str]":
    """The values of the facts that differ."""
    return {fact: value for fact, (result, value) in facts_of(text).items() if result == "different"}


def test_an_h200_and_its_driver_agree(machine: Machine) -> None:
    """Every fact that both know is equal. The module was loaded and unloaded once, and one file is left."""
    done = machine.run("--yes")
    facts = facts_of(done.stdout)
    assert (done.returncode, done.stderr) == (0, "kernel: gpulens: 0000:01:00.0: GH100 is /proc/gpu0\n")
    assert set(facts) == set(FACTS)
    assert {fact: value for fact, (result, value) in facts.items() if result == "not comparable"} == NEVER
    assert not find_differences(done.stdout)
    assert facts["chip"][1] == "GH100" and facts["memory size"][1] == "147221504 KiB"
    assert facts["GPCs"][1] == "8" and facts["TPCs of GPCs"][1] == "8 8 8 8 8 8 9 9"
    assert re.search(rf"^ +0  {PLACE}  0x10de:0x2335  nvidia  580.159.04  580.159.04 +on$", done.stdout, re.M)
    assert "; lockdown: none; Secure Boot: on\n" in done.stdout
    assert "Longest stop of all processors: 35.000 us, of 7 stops\n" in done.stdout
    assert "New kernel messages: 1 of gpulens, 0 of the driver, 0 warnings\n" in done.stdout
    assert machine.log() == machine.loads("off")
    assert machine.files() == ["gpulens-first-card-GH100.image"]


def test_the_file_is_an_image_with_the_report(machine: Machine) -> None:
    """gpulens -i shows the GPU as from the module's image, but for the place on the bus; the report stands in it, and
    nothing that tells the machine: no name, no UUID, no place, no path. Seen failing with the module's file named."""
    recorded = gpulens("-i", str(machine.folder / "gpu0/image"), "--json").stdout
    machine.run("--yes", "-o", "card.image")
    path = machine.folder / "out/card.image"
    text = path.read_text()
    assert gpulens("-i", str(path), "--json").stdout.replace(str(path), str(machine.folder / "gpu0/image")).replace(
        "0000:00:00.0", PLACE) == recorded
    assert set(facts_of(text)) == set(FACTS)
    assert text.startswith("gpulens-image 1\n# In this file: ") and "pci 0000:00:00.0 0x10de:0x2335\n" in text
    for told in (PLACE, "secrethost", "jane", "GPU-0123", str(machine.folder), os.uname().nodename):
        assert told not in text, told


PLANTED: "dict[str, tuple[str, object, str]]" = {
    "chip": ("common/arch/architecture", "0x190", "gpulens: GH100; driver: chip 0x190"),
    "memory size": ("gpus/0/fb_total_ram_kib", 147221503, "gpulens: 147221504 KiB; driver: 147221503 KiB"),
    "engines": ("common/engines", FACTS_OF_DRIVER["common"]["engines"][:-1],
                "gpulens: OFA0 present; driver: OFA0 absent"),
    "runlists": ("common/engines/3/runlist_id", 2, "gpulens: LCE2 0x1; driver: LCE2 0x2"),
    "engine ids": ("common/engines/3/hw_engine_id_fifo_tag", 4, "gpulens: LCE2 0x3; driver: LCE2 0x4"),
    "fault ids": ("common/engines/3/mmu_fault_id", "0x2c", "gpulens: LCE2 0x2d; driver: LCE2 0x2c"),
    "TPCs of GPCs": ("gpus/0/tpc_mask_by_physical_gpc", ["0x1ff", "0x1f3", *["0x1bf"] * 3, "0x1ff", *["0x1bf"] * 2],
                     "gpulens: 8 8 8 8 8 8 9 9; driver: 7 8 8 8 8 8 9 9"),
    "copy engines": ("common/copy_engines/4/pce_mask", "0x7ff",
                     "gpulens: LCE4 PCE 0 1 2 3 4 5 6 7 8 9 10 11; driver: LCE4 PCE 0 1 2 3 4 5 6 7 8 9 10"),
}


@pytest.mark.parametrize("fact", PLANTED)
def test_one_planted_difference_is_found_and_no_other(machine: Machine, fact: str) -> None:
    """One value of the driver's is another one: that fact differs, with both values, and no other; status 1. Seen
    failing with a comparison that is always equal."""
    path, value, expected = PLANTED[fact]
    done = machine.run("--yes", RECORDING=recording_with(machine.folder, (path, value)))
    assert find_differences(done.stdout) == {fact: expected}
    assert done.returncode == 1 and machine.log() == machine.loads("off")


def test_a_gpc_that_the_driver_lacks_is_found(machine: Machine) -> None:
    """Physical GPC 2 is disabled by the driver's mask: the number of GPCs, and their TPCs."""
    done = machine.run("--yes", RECORDING=recording_with(
        machine.folder, ("gpus/0/gpc_mask", "0xfb"), ("gpus/0/logical_to_physical_gpc", [0, 1, 3, 4, 6, 7])))
    assert find_differences(done.stdout) == {
        "GPCs": "gpulens: 8; driver: 7", "TPCs of GPCs": "gpulens: 8 8 8 8 8 8 9 9; driver: 8 8 8 8 8 9 9"}


def test_other_pci_ids_are_found(machine: Machine) -> None:
    """The module's number belongs to another card than sysfs says."""
    (machine.card / "device").write_text("0x2330\n")
    assert find_differences(machine.run("--yes").stdout) == {"PCI ids": "gpulens: 0x10de:0x2335; sysfs: 0x10de:0x2330"}


def test_channels_are_compared_after_a_second_load(machine: Machine) -> None:
    """--runlists: the module is loaded again with vram=on. All channels of demo-gh100.json are among the driver's, and
    each has a page directory; one that the driver lacks is found. The file has words of memory."""
    scenario = json.loads((ROOT / "emulator/scenarios/demo-gh100.json").read_text())
    channels = sorted({channel["id"] for process in scenario["processes"] for tsg in process["tsgs"]
                       for channel in tsg["channels"]})
    same = machine.run("--yes", "--runlists", RECORDING=recording_with(machine.folder, ("gpus/0/channels", channels)))
    facts = facts_of(same.stdout)
    assert (facts["channels of runlists"], facts["instance blocks"]) == (("equal", "19"), ("equal", "19"))
    assert same.returncode == 0 and machine.log() == machine.loads("off", "on")
    assert "\nv 0x" in (machine.folder / "out/gpulens-first-card-GH100.image").read_text()
    other = machine.run("--yes", "--runlists", RECORDING=recording_with(machine.folder, (
        "gpus/0/channels", [channel for channel in channels if channel != 11])))
    assert find_differences(other.stdout) == {
        "channels of runlists": "gpulens: channel 0:11 on the runlist; driver: channel 0:11 not allocated"}


def test_an_instance_block_without_a_page_directory_is_found(machine: Machine) -> None:
    """Words 128 and 129 of the instance block of channel 0:11 are zero (dev_ram.ref.txt, NV_RAMIN_PAGE_DIR_BASE)."""
    path = machine.folder / "gpu0/image"
    text = path.read_text()
    inst = int(re.search(r"Channel Info 11 (?:.*\n)+?.*Inst: (0x\w+)\|", gpulens(
        "-i", str(path), "proc", "runlist0").stdout).group(1), 16)
    path.write_text(text + f"v {inst + 512:#x} 00000000 00000000\n")
    done = machine.run("--yes", "--runlists", RECORDING=recording_with(machine.folder, ("gpus/0/channels", list(range(
        2048)))))
    assert find_differences(done.stdout) == {
        "instance blocks": "gpulens: channel 0:11 no page directory; expected: channel 0:11 a page directory"}


def test_failed_reads_and_messages_of_the_driver_are_counted(machine: Machine) -> None:
    """A register that reads 0xbadf1100, and a message of NVRM while the module was loaded, whose text is printed and
    not kept; status 1."""
    with (machine.folder / "gpu0/image").open("a") as file:
        file.write("r 0x00700100 0xbadf1100\n")
    machine.script("insmod", INSMOD +
                   "echo '4,2,2,-;NVRM: Xid (PCI:0000:01:00): 31, pid=7, name=secret' >>FOLDER/kmsg\n")
    done = machine.run("--yes")
    assert "PRI errors: 1 of 482 registers: 0x700100\n" in done.stdout
    assert "New kernel messages: 1 of gpulens, 1 of the driver, 0 warnings\n" in done.stdout
    assert "kernel: NVRM: Xid (PCI:0000:01:00): 31, pid=7, name=secret\n" in done.stderr and done.returncode == 1
    assert "secret" not in (machine.folder / "out/gpulens-first-card-GH100.image").read_text()


def test_nouveau_is_asked_by_its_messages(machine: Machine) -> None:
    """BOOT_0, name and memory of the last start of nouveau in the kernel log."""
    driver = machine.card / "driver"
    driver.unlink()
    driver.symlink_to("../../drivers/nouveau")
    (machine.folder / "kmsg").write_text("".join(f"6,1,1,-;nouveau {PLACE}: {text}\n" for text in (
        "NVIDIA GA102 (172000a1)", "fb: 1024 MiB GDDR5", "NVIDIA GH100 (180000a1)", "fb: 143771 MiB HBM3")))
    done = machine.run("--yes")
    facts = facts_of(done.stdout)
    assert {fact: found for fact, found in facts.items() if found[0] != "not comparable"} == {
        "chip": ("equal", "GH100"), "BOOT_0": ("equal", "0x180000a1"), "memory size": ("equal", "147221504 KiB"),
        "PCI ids": ("equal", "0x10de:0x2335")}
    assert done.returncode == 0


def test_without_a_driver_the_kernel_is_asked(machine: Machine) -> None:
    """No driver is bound: only PCI ids can be compared, and the size of BAR1 is no size of memory."""
    (machine.card / "driver").unlink()
    done = machine.run("--yes", driver=False)
    facts = facts_of(done.stdout)
    assert {fact for fact, (result, _) in facts.items() if result != "not comparable"} == {"PCI ids"}
    assert facts["memory size"][1] == "no driver is bound; BAR1 has 256.0 MiB, which is a window of any size"
    assert "as far as the firmware of the card sets it up: no driver is bound" in done.stdout and done.returncode == 0


def test_under_lockdown_the_file_has_the_report_only(machine: Machine) -> None:
    """The image cannot be read: what the snapshot has is compared, and the file says why it has no words."""
    (machine.folder / "sys/kernel/security/lockdown").write_text("none [integrity] confidentiality\n")
    (machine.folder / "gpu0/image").unlink()
    (machine.folder / "gpu0/snapshot").write_bytes(snapshot({}, "AD102"))
    done = machine.run("--yes")
    assert "raw words: no, the kernel is locked down" in done.stdout
    assert find_differences(done.stdout)["chip"] == "gpulens: AD102; driver: GH100"
    text = (machine.folder / "out/gpulens-first-card-AD102.image").read_text()
    assert "# No raw words: " in text and text.endswith("\nchip boot0=0x00000000\n")


@pytest.mark.parametrize("answer, loads", [("y\n", True), ("n\n", False), ("", False)])
def test_it_asks_first(machine: Machine, answer: str, loads: bool) -> None:
    """Without --yes nothing is loaded before the answer; no answer is no."""
    done = machine.run(stdin=answer)
    assert f"This runs insmod {machine.folder}/gpulens.ko vram=off control=0, reads, and unloads" in done.stdout
    assert machine.log() == (machine.loads("off") if loads else []) and bool(machine.files()) == loads
    assert done.returncode == (0 if loads else 4)
    assert loads or done.stderr == "gpulens: nothing was loaded (--yes answers)\n"


def test_a_module_that_is_loaded_stays(machine: Machine) -> None:
    """It refuses, and unloads nothing."""
    (machine.folder / "sys/module/gpulens").mkdir()
    done = machine.run("--yes")
    assert "the module is loaded already" in done.stderr and done.returncode == 4 and not machine.log()


def test_what_cannot_go_on_says_why(machine: Machine) -> None:
    """insmod fails; modprobe.d overrides a parameter; the module shows no GPU; -g is beyond. The module is unloaded
    where it was loaded, and no file is left."""
    machine.script("insmod", "#!/bin/sh\nexit 3\n")
    done = machine.run("--yes")
    assert (done.returncode, machine.log()) == (4, [])
    assert done.stderr.endswith("vram=off control=0: it ended with status 3\n")
    machine.script("insmod", INSMOD.replace('echo "${2#vram=}"', "echo on"))
    done = machine.run("--yes")
    assert "gpulens: the module was loaded with vram=on, not off: see /etc/modprobe.d\n" in done.stderr
    assert machine.log() == machine.loads("off")
    machine.script("insmod", INSMOD.replace("cp -a FOLDER/gpu0 FOLDER/proc/", "mkdir FOLDER/proc/gpu0"))
    assert machine.run("--yes").stderr.endswith(f"the module does not show the GPU {PLACE}; the kernel log says why\n")
    assert "use -g X, with X from 0 to 0\n" in machine.run("--yes", "-g", "1").stderr
    assert machine.log() == machine.loads("off", "off") and not machine.files()


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"])
def test_a_signal_unloads_the_module(machine: Machine, name: str) -> None:
    """While the image is read, which the test holds up: the module is unloaded, and no file is left. Seen failing for
    SIGKILL with the module unloaded by the command itself."""
    path = machine.hold_up()
    with machine.start() as program:
        with path.open("wb"):  # opened by both
            program.send_signal(getattr(signal, name))
        text = program.communicate(timeout=60)[0]  # the keeper has it open, too
    assert machine.log() == machine.loads("off") and not machine.files()
    assert program.returncode == (-9 if name == "SIGKILL" else 4)
    assert name == "SIGKILL" or "stopped by a signal; the module is unloaded, nothing was written" in text


def test_a_kill_while_it_loads_unloads_the_module(machine: Machine) -> None:
    """insmod has not ended yet when the command is killed: it ends, and the module is unloaded. Seen failing with a
    keeper that does not unload."""
    gate = machine.folder / "gate"
    os.mkfifo(gate)
    machine.script("insmod", INSMOD.replace("mkdir", "cat FOLDER/gate; mkdir", 1))
    with machine.start() as program:
        with gate.open("wb"):
            program.kill()
            program.wait()
        program.communicate(timeout=60)
    assert machine.log() == machine.loads("off") and not machine.files()


def test_the_command_unloads_the_module_itself_if_its_keeper_was_killed(machine: Machine) -> None:
    """The process that was to unload the module is killed while the image is read. Seen failing without unload()'s
    second way."""
    text = (machine.folder / "gpu0/image").read_bytes()
    path = machine.hold_up()
    with machine.start() as program:
        with path.open("wb") as image_file:
            keeper = pathlib.Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text("ascii").split()
            os.kill(int(keeper[0]), signal.SIGKILL)
            image_file.write(text)
        program.communicate(timeout=60)
    assert (program.returncode, len(keeper), machine.log()) == (0, 1, machine.loads("off"))


def test_an_ordinary_user_gets_the_table(machine: Machine) -> None:
    """Without root it shows what is there, and says what is missing."""
    machine.folder.chmod(0o755)
    words = machine.words("--yes")
    place = words.index(str(TOOL))
    done = subprocess.run([*words[:place], *ORDINARY, "--reuid=65534", *words[place:]], capture_output=True, text=True,
                          check=False, env={**os.environ, "LC_ALL": "C.UTF-8"})
    assert f"  0  {PLACE}  0x10de:0x2335  nvidia" in done.stdout and not machine.log()
    assert (done.returncode, done.stderr) == (4, "gpulens: loading a module takes root: sudo gpulens first-card\n")
