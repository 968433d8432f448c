# SPDX-License-Identifier: GPL-2.0
"""scripts/check-layers and scripts/check-symbols find a use of a room that scripts/lib/rooms.py does not allow, and
what lies in scripts/ and is neither a command nor shared."""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEAD = "// SPDX-License-Identifier: GPL-2.0\n// A source.\n"


@pytest.fixture(name="tree")
def fixture_tree(tmp_path: pathlib.Path) -> pathlib.Path:
    """A project of two files, the upper one of which uses the lower one, and the scripts."""
    for folder in ("scripts/lib", "tools/lib/base", "tools/gpulens/out"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("check-layers", "check-symbols", "lib/rooms.py"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts" / name)
    (tmp_path / "Kbuild").write_text("# SPDX-License-Identifier: GPL-2.0\n# None.\n", encoding="ascii")
    (tmp_path / "tools/lib/base/low.hpp").write_text(HEAD + "int low();\n", encoding="ascii")
    (tmp_path / "tools/gpulens/out/high.hpp").write_text(HEAD + "int high();\n", encoding="ascii")
    return tmp_path


def check(tree: pathlib.Path, script: str, *words: str) -> "tuple[int, str]":
    """How it ends and what it says."""
    done = subprocess.run([str(tree / "scripts" / script), *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_includes_go_down(tree: pathlib.Path) -> None:
    """The upper room may include the lower one's header. Seen failing with the arrow turned round in rooms.py."""
    (tree / "tools/gpulens/out/a.cc").write_text(HEAD + '#include "lib/base/low.hpp"\n', encoding="ascii")
    assert check(tree, "check-layers")[0] == 0
    (tree / "tools/lib/base/a.cc").write_text(HEAD + '#include "gpulens/out/high.hpp"\n', encoding="ascii")
    status, text = check(tree, "check-layers")
    assert status == 1 and text.splitlines()[0] == (
        "tools/lib/base/a.cc:3: tools/lib/base includes tools/gpulens/out/high.hpp, which it may not use")


def test_rooms_that_use_each_other_are_found(tree: pathlib.Path) -> None:
    """Also by way of a third one."""
    rooms = tree / "scripts/lib/rooms.py"
    rooms.write_text(rooms.read_text(encoding="ascii").replace(
        '"tools/lib/base": CORE,', '"tools/lib/base": CORE + ("tools/gpulens/out",),'), encoding="ascii")
    status, text = check(tree, "check-layers")
    assert status == 1 and "tools/gpulens/out and tools/lib/base use each other\n" in text


def test_symbols_go_down(tree: pathlib.Path) -> None:
    """A function that is declared by hand is a use of its room, too. Seen failing with rooms.py left out."""
    sources = {"tools/lib/base/low.cc": "int low() { return 1; }\n",
               "tools/gpulens/out/high.cc": "int low();\nint high() { return low(); }\n"}
    for upward in (False, True):
        if upward:
            sources["tools/lib/base/up.cc"] = "int high();\nint up() { return high(); }\n"
        for name, text in sources.items():
            (tree / name).write_text(HEAD + text, encoding="ascii")
            folder, file = name.rsplit("/", 1)
            place = tree / "build/cmake" / folder / "CMakeFiles/all.dir" / f"{file}.o"
            place.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["g++", "-c", "-o", str(place), str(tree / name)], check=True)
        status, text = check(tree, "check-symbols")
        assert (status, text) == ((1, (
            "tools/lib/base/up.cc: uses high() of tools/gpulens/out/high.cc, and tools/lib/base may not use "
            "tools/gpulens/out\n3 objects of tools, 0 of the module, 1 findings\n")) if upward else (
                0, "2 objects of tools, 0 of the module, 0 findings\n"))


def build_module(tree: pathlib.Path, sources: "dict[str, str]") -> None:
    """Objects where make module leaves them, beside copies of their sources."""
    (tree / "build/cmake").mkdir(parents=True, exist_ok=True)
    for name, text in sources.items():
        for top in (tree, tree / "build/module/6.1.0"):
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            (top / name).write_text(HEAD + text, encoding="ascii")
        place = tree / "build/module/6.1.0" / name
        subprocess.run(["gcc", "-c", "-o", str(place.with_suffix(".o")), str(place)], check=True)


def test_files_of_the_module_are_no_circle(tree: pathlib.Path) -> None:
    """Files of the module that use each other by way of a third one, a use of procfs/ by the core, and a source that is
    not the one that was built, are findings; a chip's row that uses the core is none. Seen failing with each of the
    three checks left out."""
    build_module(tree, {"src/gpu.c": "int lens_mmu(void);\nint lens_gpu(void) { return lens_mmu(); }\n",
                        "src/mmu.c": "int lens_mmu(void) { return 1; }\n",
                        "src/chip/ad10x.c": "int lens_mmu(void);\nint (*lens_row)(void) = lens_mmu;\n",
                        "procfs/text.c": "int lens_text(void) { return 1; }\n"})
    assert check(tree, "check-symbols") == (0, "0 objects of tools, 4 of the module, 0 findings\n")
    build_module(tree, {"src/mmu.c": "extern int (*lens_row)(void);\nint lens_mmu(void) { return lens_row(); }\n",
                        "src/chip/ad10x.c": "int lens_gpu(void);\nint (*lens_row)(void) = lens_gpu;\n",
                        "src/bar.c": "int lens_text(void);\nint lens_bar(void) { return lens_text(); }\n"})
    (tree / "procfs/text.c").write_text(HEAD + "int lens_text(void) { return 2; }\n", encoding="ascii")
    status, text = check(tree, "check-symbols")
    assert status == 1 and text.replace(str(tree), "") == (
        "procfs/text.c: differs from what was built in /build/module/6.1.0: run make module\n"
        "src/bar.c: uses lens_text of procfs/text.c, and src may not use procfs\n"
        "src/chip/ad10x.c: a circle: src/chip/ad10x.c uses lens_gpu of src/gpu.c, src/gpu.c uses lens_mmu of "
        "src/mmu.c, src/mmu.c uses lens_row of src/chip/ad10x.c\n"
        "0 objects of tools, 5 of the module, 3 findings\n")


def test_commands_have_no_suffix_and_what_they_share_has_one(tree: pathlib.Path) -> None:
    """A .py that is executable or begins with #!, and one outside of scripts/lib, are findings; commands in Python and
    in shell are none. Seen failing without the rule, and with one that looks at neither the mode nor the place."""
    for name in ("python3", "sh"):
        (tree / "scripts" / name).write_text(f"#!/usr/bin/env {name}\n# SPDX-License-Identifier: GPL-2.0\n# It.\n",
                                             encoding="ascii")
    assert check(tree, "check-layers")[0] == 0
    head = "# SPDX-License-Identifier: GPL-2.0\n# It.\n"
    for name, text in (("one.sh", head), ("lib/two.py", "#!/usr/bin/env python3\n" + head), ("lib/three.py", head)):
        (tree / "scripts" / name).write_text(text, encoding="ascii")
    (tree / "scripts/lib/three.py").chmod(0o755)
    assert check(tree, "check-layers")[1].splitlines()[:-1] == [
        "scripts/one.sh:1: is shared and not in scripts/lib",
        "scripts/lib/three.py:1: has a suffix and is a command",
        "scripts/lib/two.py:1: has a suffix and is a command"]
