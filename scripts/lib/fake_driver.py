# SPDX-License-Identifier: GPL-2.0
"""A fake of NVIDIA's resource manager in a guest, which names the processes of the emulated GPUs' scenarios:
tests/support/rm/fake_rm.cc with a recording made here, and a program in the guest for each process of a scenario. Such
a program sleeps. It reports the ids of its TSGs and channels as programs do that gpulens run started, so that gpulens
joins the module's TSGs with processes. What else the fake answers is an H200's."""

import json
import pathlib
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from . import initramfs, paths
from .guest import Gpu, Guest, pci_device

RECORDING = paths.ROOT / "tests" / "support" / "rm" / "h200-580.json"
FOLDER = "/tmp/driver"  # in the guest: the recording and the programs
START = "/bin/fake-driver"
ENVIRONMENT = "/etc/fake-driver.env"
# NV_PTOP_DEVICE_INFO_TYPE_ENUM (GRAPHICS, LCE, NVDEC, NVENC, NVJPG, OFA), NV2080_ENGINE_TYPE of its first instance, and
# how many have consecutive numbers (cl2080_notification.h of driver 580: GR0, COPY0, NVDEC0, NVENC0, NVJPEG0, OFA0)
ENGINES = ((0, 0x01, 8), (19, 0x09, 10), (16, 0x13, 8), (14, 0x1b, 3), (21, 0x2b, 8), (22, 0x33, 1))
MAX_GPUS = 10  # /dev/nvidia0 to 9


def find_library() -> pathlib.Path:
    """The fake, for LD_PRELOAD."""
    path = paths.BUILD / "bin" / "fake_rm.so"
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there; run make tool-parts")
    return path


def _read_number(value: int | str) -> int:
    """A number of a scenario, which may be text such as "0x10"."""
    return int(value, 0) if isinstance(value, str) else value


def _runlist_of(profile: Mapping[str, Any], tsg: Mapping[str, Any]) -> int | None:
    """The runlist that a scenario puts a TSG on; None: the chip lacks its engine."""
    if "runlist" in tsg:
        return _read_number(tsg["runlist"])
    return next((engine.get("runlist") for engine in profile["engines"]["list"] if engine["name"] == tsg["engine"]),
                None)


def _engine_of(profile: Mapping[str, Any], runlist: int | None) -> int | None:
    """NV2080_ENGINE_TYPE of an engine of the runlist, graphics before copy engines; None: it is unknown here."""
    if runlist is None:
        return None
    for kind, first, most in ENGINES:
        for engine in profile["engines"]["list"]:
            if (engine.get("runlist"), engine["type"]) == (runlist, kind) and engine["instance"] < most:
                return first + int(engine["instance"])
    return None


def _load_json(name: str | None, folder: pathlib.Path) -> dict[str, Any]:
    """A profile or scenario by its name or path."""
    if name is None:
        return {}
    path = pathlib.Path(name) if "/" in name or name.endswith(".json") else folder / f"{name}.json"
    return dict(json.loads(path.read_text(encoding="utf-8")))


def _write_claims(profile: Mapping[str, Any], device: int, process: Mapping[str, Any]) -> str:
    """The lines of one process, as libgpulens-run writes them (docs/rm.md), with @PID@ for its pid."""
    lines = []
    for tsg in process.get("tsgs", []):
        engine = _engine_of(profile, _runlist_of(profile, tsg))
        if engine is not None and not tsg.get("bare"):
            lines.append(json.dumps({"pid": "@PID@", "device": device, "tsg": _read_number(tsg["id"]), "engine": engine,
                                     "timeslice_us": None, "preemption": None,
                                     "channels": [_read_number(channel["id"]) for channel in tsg["channels"]]}))
    return "".join(f"{line}\n" for line in lines).replace('"@PID@"', "@PID@")


def _add_programs(index: int, gpu: Gpu, start: list[str], found: dict[str, tuple[bytes, int]]) -> dict[str, Any]:
    """Adds the programs of a GPU's processes to the lines of START and to the files. Returns what the recording has of
    this GPU; START replaces the marks for pids."""
    profile, scenario = _load_json(gpu.profile, paths.PROFILES), _load_json(gpu.scenario, paths.SCENARIOS)
    processes = [process for process in scenario.get("processes", []) if process.get("name")]
    marks = []
    for number, process in enumerate(processes):
        mark, place = f"@PID-{index}-{number}@", f"{FOLDER}/gpu{index}-{number}"
        program = shlex.quote(f"{place}/{re.sub(r'[^-a-zA-Z0-9_.]', '_', process['name'])[:15]}")
        found[f"/etc/fake-driver-{index}-{number}"] = (_write_claims(profile, index, process).encode(), 0o644)
        start += [f"mkdir {place}", f"ln -s /bin/busybox {program}",
                  f"GPULENS_RUN_FILE={place}/tsgs sh -c 'exec -a sleep \"$0\" 1000000' {program} "
                  "</dev/null >/dev/null 2>&1 &",
                  f"sed \"s/@PID@/$!/\" /etc/fake-driver-{index}-{number} >{place}/tsgs",
                  f"sed -i \"s/\\\"{mark}\\\"/$!/\" {FOLDER}/recording.json"]
        marks.append(mark)
    return {"bus": 0, "slot": pci_device(gpu, index), "pids": marks,
            "channels": sorted({_read_number(channel["id"]) for process in processes for tsg in process.get("tsgs", [])
                                for channel in tsg["channels"]})}


def make_files(gpus: Sequence[Gpu]) -> dict[str, tuple[bytes, int]]:
    """What the guest needs: path -> content and mode. START starts the programs; ENVIRONMENT has the variables
    with which gpulens uses the fake."""
    facts = json.loads(RECORDING.read_text(encoding="utf-8"))
    found: dict[str, tuple[bytes, int]] = {}
    start = ["#!/bin/sh", "# Starts a program for each process of the scenarios.", "set -e", f"rm -rf {FOLDER}",
             f"mkdir -p {FOLDER}", f"cp /etc/fake-driver.json {FOLDER}/recording.json"]
    facts["gpus"] = [{**facts["gpus"][0], **_add_programs(index, gpu, start, found)}
                     for index, gpu in enumerate(gpus[:MAX_GPUS])]
    environment = {"LD_PRELOAD": f"/lib/{find_library().name}", "GPULENS_FAKE_RM": f"{FOLDER}/recording.json",
                   "GPULENS_FAKE_RM_GPU": "".join(str(index) for index in range(len(facts["gpus"])))}
    found["/etc/fake-driver.json"] = (json.dumps(facts).encode(), 0o644)
    found[START] = ("\n".join(start).encode() + b"\n", 0o755)
    found[ENVIRONMENT] = ("".join(f"export {name}={value}\n" for name, value in environment.items()).encode(), 0o644)
    found[f"/lib/{find_library().name}"] = (find_library().read_bytes(), 0o755)
    for place, path in initramfs.find_libraries(find_library()).items():
        found[f"/{place}"] = (path.read_bytes(), 0o755)
    return found


def make_archive(gpus: Sequence[Gpu]) -> bytes:
    """These files as an archive, which the kernel unpacks over the guest's own."""
    cpio = initramfs.Cpio()
    for name, (content, mode) in make_files(gpus).items():
        cpio.file(name.lstrip("/"), content, mode)
    return cpio.finish()


def install_files(guest: Guest, gpus: Sequence[Gpu]) -> str:
    """Stores the files in a running guest and starts the programs. Returns the words to write before a command that
    shall use the fake."""
    for name, (content, mode) in make_files(gpus).items():
        if not (name.startswith("/lib") and guest.run(f"test -e {shlex.quote(name)}")[0] == 0):
            guest.push(content, name, mode)
    guest.check(START)
    return f". {ENVIRONMENT}; "
