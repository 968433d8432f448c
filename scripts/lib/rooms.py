# SPDX-License-Identifier: GPL-2.0
"""The rooms of the tree and which of them each may use: by #include (scripts/check-layers) and, in user space, by the
symbols of its objects (scripts/check-symbols). A room is a folder with what lies in it directly, or a single file;
a folder that is no room belongs to the room above it."""

CORE = ("include/gpulens", "include/hw", "include/uapi")
LIB = ("tools/lib/base", "tools/lib/amd", "tools/lib/model", "tools/lib/timeline", "tools/lib/tpc", "tools/lib/rm",
       "tools/lib/launch", "tools/lib/turns", "tools/lib/schedule", "tools/lib/schedule/live",
       "tools/lib/source", "tools/lib/source/driver", "tools/lib/source/image",
       "tools/lib/source/module", "tools/lib/source/joined", "tools/lib/source/snapshot", "tools/lib/source/table")
COMMANDS = ("tools/gpulens/out", "tools/gpulens/limit", "tools/gpulens/plan", "tools/gpulens/blocks",
            "tools/gpulens/cmd", "tools/gpulens/top", "tools/gpulens/export", "tools/gpulens/measure")

# Room: the rooms that it may use. No two rooms use each other, neither directly nor through other rooms.
USES = {
    "include/hw": (),
    "include/uapi": (),
    "include/gpulens": (),
    # The module. src/core.h, the core's private header, belongs to src/chip, the lower room.
    "src/chip": CORE,
    "src": CORE + ("src/chip",),
    "src/linux/compat": (),
    "src/linux": CORE + ("src", "src/linux/compat"),
    "procfs": CORE + ("src", "src/linux", "src/linux/compat"),
    # The module's start and end, which no other file uses.
    "src/linux/main.c": ("src/linux", "procfs"),
    # The emulated GPU is judged against the module, so that it shares no code with it: not even the register headers.
    "emulator/model": (),
    "emulator/driver": ("emulator/model",),
    "emulator/control": ("emulator/model", "emulator/driver"),
    "emulator/server": ("emulator/model", "emulator/control"),
    # User space. procfs: the module's formatters, which also print the files of images.
    "tools/lib/base": CORE,
    "tools/lib/launch": CORE + ("tools/lib/base",),
    "tools/lib/model": CORE + ("src", "src/chip", "procfs", "tools/lib/base"),
    # The files of the kernel's driver for AMD's GPUs.
    "tools/lib/amd": CORE + ("tools/lib/base",),
    "tools/lib/tpc": CORE + ("tools/lib/base", "tools/lib/model"),
    # The file by which processes take turns on partitions.
    "tools/lib/turns": CORE + ("tools/lib/base", "tools/lib/model", "tools/lib/tpc"),
    # Policies of gpulens schedule, simulated and live, and holds that outlive nobody.
    "tools/lib/schedule": CORE + ("tools/lib/base",),
    "tools/lib/schedule/live": CORE + ("procfs", "tools/lib/base", "tools/lib/launch", "tools/lib/model",
                                       "tools/lib/rm", "tools/lib/schedule",
                                       "tools/lib/source/module"),
    "tools/lib/rm": CORE + ("src", "tools/lib/base", "tools/lib/launch", "tools/lib/model"),
    "tools/lib/source/snapshot": CORE + ("src", "tools/lib/base", "tools/lib/model"),
    "tools/lib/timeline": CORE + ("tools/lib/base", "tools/lib/model", "tools/lib/source/snapshot"),
    # The interface of sources; each implements it in a folder of its own, which the table names.
    "tools/lib/source": CORE + ("tools/lib/base", "tools/lib/model"),
    "tools/lib/source/image": CORE + ("src", "src/chip", "procfs", "tools/lib/base", "tools/lib/model",
                                      "tools/lib/source", "tools/lib/source/snapshot"),
    "tools/lib/source/module": CORE + ("tools/lib/base", "tools/lib/model", "tools/lib/source",
                                       "tools/lib/source/image"),
    "tools/lib/source/driver": CORE + ("src", "tools/lib/base", "tools/lib/model", "tools/lib/rm", "tools/lib/source"),
    # The module's GPUs with the driver's processes.
    "tools/lib/source/joined": CORE + ("tools/lib/base", "tools/lib/model", "tools/lib/rm", "tools/lib/source",
                                       "tools/lib/source/snapshot"),
    "tools/lib/source/table": CORE + ("tools/lib/base", "tools/lib/model", "tools/lib/rm", "tools/lib/source",
                                      "tools/lib/source/driver", "tools/lib/source/image", "tools/lib/source/joined",
                                      "tools/lib/source/module"),
    "tools/partition": CORE + LIB,
    # Libraries that are preloaded into programs of users; they use as little as possible.
    "tools/preload": CORE + ("tools/lib/launch", "tools/lib/rm"),
    # Code for GPUs, and the part of CUDA's runtime that starts it.
    "tools/device": LIB + ("tools/partition",),
    "tools/probe": ("tools/device", "tools/lib/launch", "tools/lib/schedule", "tools/partition"),
    "tools/gpulens/out": CORE + LIB + ("src", "procfs"),
    "tools/gpulens/plan": CORE + LIB + ("tools/gpulens/out",),
    "tools/gpulens/blocks": CORE + LIB + ("tools/gpulens/out",),
    # How programs are kept within limits: verified masks, MPS, a guard.
    "tools/gpulens/limit": CORE + LIB + ("tools/partition", "tools/gpulens/out"),
    "tools/gpulens/cmd": CORE + LIB + ("src", "procfs", "tools/gpulens/out", "tools/gpulens/limit"),
    "tools/gpulens/top": CORE + LIB + ("tools/gpulens/out", "tools/gpulens/cmd"),
    "tools/gpulens/export": CORE + LIB + ("tools/gpulens/out", "tools/gpulens/cmd"),
    # Programs, probes and neighbours under limits, and what they measure.
    "tools/gpulens/measure": CORE + LIB + ("tools/partition", "tools/gpulens/out", "tools/gpulens/blocks",
                                           "tools/gpulens/plan", "tools/gpulens/limit", "tools/gpulens/cmd"),
    "tools/gpulens/cli": CORE + LIB + COMMANDS,
    "tools/gpulens": CORE + LIB + COMMANDS + ("tools/gpulens/cli",),
    # The experiments of RTAS'23, RTAS'24 and two theses: a program of its own, which gpulens knows by name only.
    "tools/lab": CORE + LIB + COMMANDS + ("tools/device", "tools/partition", "tools/gpulens/cli"),
    # Manual pages and completions.
    "tools/docs": CORE + LIB + COMMANDS + ("tools/gpulens/cli", "tools/lab"),
}


def room_of(path):
    """The room of a file, relative to the root; None: in none."""
    if path == "src/core.h":
        return "src/chip"
    if path in USES:
        return path
    while "/" in path:
        path = path.rsplit("/", 1)[0]
        if path in USES:
            return path
    return None


def find_circles():
    """Rooms that use one another, each as a list of them."""
    reached = {room: set(used) for room, used in USES.items()}
    for middle in USES:
        for room, used in reached.items():
            if middle in used:
                used |= reached[middle]
    return [[room, other] for room in USES for other in USES if room < other and other in reached[room]
            and room in reached[other]]
