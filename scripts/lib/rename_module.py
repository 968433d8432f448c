# SPDX-License-Identifier: GPL-2.0
"""Copies a built kernel module under another name of as many letters, so that nothing moves. The name is in .modinfo,
as "name=NAME", and in struct module, which is section .gnu.linkonce.this_module; elsewhere the word is left alone.
Usage: rename_module.py MODULE.ko NEW.ko"""

import pathlib
import subprocess
import sys


def section_range(module: pathlib.Path, section: str) -> slice:
    """The position of a section in the file, by objdump -h: index, name, size, two addresses, offset, alignment."""
    for line in subprocess.run(["objdump", "-h", str(module)], check=True, capture_output=True,
                               text=True).stdout.splitlines():
        words = line.split()
        if len(words) == 7 and words[1] == section:
            return slice(int(words[5], 16), int(words[5], 16) + int(words[2], 16))
    raise ValueError(f"{module} has no section {section}")


def main(source: pathlib.Path, target: pathlib.Path) -> None:
    """Replaces the name in both sections, where it must stand once."""
    old, new = source.stem.encode(), target.stem.encode()
    if len(old) != len(new):
        raise ValueError(f"{target.stem} has not as many letters as {source.stem}")
    data = source.read_bytes()
    for section, before in ((".modinfo", b"name="), (".gnu.linkonce.this_module", b"\0")):
        place = section_range(source, section)
        content = data[place]
        if content.count(before + old + b"\0") != 1:
            raise ValueError(f"{source}: the name is not in {section} once")
        data = data[:place.start] + content.replace(before + old + b"\0", before + new + b"\0") + data[place.stop:]
    target.write_bytes(data)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
