# SPDX-License-Identifier: GPL-2.0
"""scripts/check-layers and scripts/check-symbols find each use of a room that scripts/lib/rooms.py does not allow, and
files of scripts/ that are neither a command nor shared."""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEAD = "// SPDX-License-Identifier: GPL-2.0\n// A source.\n"


@pytest.fixture(name="tree")
def fixture_tree(tmp_path: pathlib.Path) -> pathlib.Path:
    """A project of two files, the upper of which uses the lower, and the scripts."""
    for folder in ("scripts/lib", "tools/lib/base", "tools/gpulens/out"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("check-layers", "check-symbols", "lib/names.py", "lib/rooms.py"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts" / name)
    (tmp_path / "Kbuild").write_text("# SPDX-License-Identifier: GPL-2.0\n# None.\n", encoding="ascii")
    (tmp_path / "tools/lib/base/low.hpp").write_text(HEAD + "int low();\n", encoding="ascii")
    (tmp_path / "tools/gpulens/out/high.hpp").write_text(HEAD + "int high();\n", encoding="ascii")
    return tmp_path


def run_check(tree: pathlib.Path, script: str, *words: str) -> "tuple[int, str]":
    """Exit status and output of a script."""
    done = subprocess.run([str(tree / "scripts" / script), *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_includes_go_down(tree: pathlib.Path) -> None:
    """The upper room may include the lower room's header. Seen failing with the two exchanged in rooms.py."""
    (tree / "tools/gpulens/out/a.cc").write_text(HEAD + '#include "lib/base/low.hpp"\n', encoding="ascii")
    assert run_check(tree, "check-layers")[0] == 0
    (tree / "tools/lib/base/a.cc").write_text(HEAD + '#include "gpulens/out/high.hpp"\n', encoding="ascii")
    status, text = run_check(tree, "check-layers")
    assert status == 1 and text.splitlines()[0] == (
        "tools/lib/base/a.cc:3: tools/lib/base includes tools/gpulens/out/high.hpp, which it may not use")


def test_rooms_that_use_each_other_are_found(tree: pathlib.Path) -> None:
    """Also through a third room."""
    rooms = tree / "scripts/lib/rooms.py"
    rooms.write_text(rooms.read_text(encoding="ascii").replace(
        '"tools/lib/base": CORE,', '"tools/lib/base": CORE + ("tools/gpulens/out",),'), encoding="ascii")
    status, text = run_check(tree, "check-layers")
    assert status == 1 and "tools/gpulens/out and tools/lib/base use each other\n" in text


def test_functions_of_one_word_are_found(tree: pathlib.Path) -> None:
    """In C by static, in C++ in an anonymous namespace, in Python in a module. Methods, tests, fixtures and functions
    for other files are not counted. Seen failing without the check in check-layers, and with methods of Python
    counted."""
    (tree / "tools/gpulens/out/a.cc").write_text(HEAD + (
        "namespace {\n\nstruct Shape {\n\tvoid draw() {}\n};\n\nint draw()\n{\n\treturn 1;\n}\n\n"
        "int draw_shape()\n{\n\treturn draw();\n}\n\n} // namespace\n\n"
        "int show()\n{\n\treturn draw_shape();\n}\n"), encoding="ascii")
    (tree / "tools/gpulens/out/a.c").write_text(HEAD + "static int later(void)\n{\n}\n", encoding="ascii")
    (tree / "scripts/lib/shapes.py").write_text(
        "# SPDX-License-Identifier: GPL-2.0\n# Shapes.\n\nclass Shape:\n    def draw(self):\n        pass\n\n\n"
        "def draw():\n    pass\n\n\ndef main():\n    pass\n", encoding="ascii")
    status, text = run_check(tree, "check-layers")
    told = "() is one word; a function is named by a verb and a noun"
    assert status == 1 and text.splitlines()[:-1] == [
        f"scripts/lib/shapes.py:9: draw{told}", f"tools/gpulens/out/a.c:3: later{told}",
        f"tools/gpulens/out/a.cc:9: draw{told}"]


def test_symbols_go_down(tree: pathlib.Path) -> None:
    """A function that is declared by hand counts as a use of its room. Seen failing without rooms.py."""
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
        status, text = run_check(tree, "check-symbols")
        assert (status, text) == ((1, (
            "tools/lib/base/up.cc: uses high() of tools/gpulens/out/high.cc, and tools/lib/base may not use "
            "tools/gpulens/out\n3 objects of tools, 0 of the module, 1 findings\n")) if upward else (
                0, "2 objects of tools, 0 of the module, 0 findings\n"))


def build_module(tree: pathlib.Path, sources: "dict[str, str]") -> None:
    """Writes sources and compiles them to the place where make module leaves objects."""
    (tree / "build/cmake").mkdir(parents=True, exist_ok=True)
    for name, text in sources.items():
        for top in (tree, tree / "build/module/6.1.0"):
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            (top / name).write_text(HEAD + text, encoding="ascii")
        place = tree / "build/module/6.1.0" / name
        subprocess.run(["gcc", "-c", "-o", str(place.with_suffix(".o")), str(place)], check=True)


def test_circles_between_files_of_the_module_are_found(tree: pathlib.Path) -> None:
    """Findings are: files of the module that use each other through a third one, a use of procfs/ by the core, and a
    source that differs from the built one. A chip's row that uses the core is allowed. Seen failing without each of the
    three checks."""
    build_module(tree, {"src/gpu.c": "int lens_mmu(void);\nint lens_gpu(void) { return lens_mmu(); }\n",
                        "src/mmu.c": "int lens_mmu(void) { return 1; }\n",
                        "src/chip/ad10x.c": "int lens_mmu(void);\nint (*lens_row)(void) = lens_mmu;\n",
                        "procfs/text.c": "int lens_text(void) { return 1; }\n"})
    assert run_check(tree, "check-symbols") == (0, "0 objects of tools, 4 of the module, 0 findings\n")
    build_module(tree, {"src/mmu.c": "extern int (*lens_row)(void);\nint lens_mmu(void) { return lens_row(); }\n",
                        "src/chip/ad10x.c": "int lens_gpu(void);\nint (*lens_row)(void) = lens_gpu;\n",
                        "src/bar.c": "int lens_text(void);\nint lens_bar(void) { return lens_text(); }\n"})
    (tree / "procfs/text.c").write_text(HEAD + "int lens_text(void) { return 2; }\n", encoding="ascii")
    status, text = run_check(tree, "check-symbols")
    assert status == 1 and text.replace(str(tree), "") == (
        "procfs/text.c: differs from what was built in /build/module/6.1.0: run make module\n"
        "src/bar.c: uses lens_text of procfs/text.c, and src may not use procfs\n"
        "src/chip/ad10x.c: a circle: src/chip/ad10x.c uses lens_gpu of src/gpu.c, src/gpu.c uses lens_mmu of "
        "src/mmu.c, src/mmu.c uses lens_row of src/chip/ad10x.c\n"
        "0 objects of tools, 5 of the module, 3 findings\n")


def test_commands_have_no_suffix_and_what_they_share_has_one(tree: pathlib.Path) -> None:
    """A .py file that is executable or begins with #!, and one outside of scripts/lib, are findings; commands in Python
    and in shell are not. Seen failing without the rule, and with one that checks neither mode nor place."""
    for name in ("python3", "sh"):
        (tree / "scripts" / name).write_text(f"#!/usr/bin/env {name}\n# SPDX-License-Identifier: GPL-2.0\n# It.\n",
                                             encoding="ascii")
    assert run_check(tree, "check-layers")[0] == 0
    head = "# SPDX-License-Identifier: GPL-2.0\n# It.\n"
    for name, text in (("one.sh", head), ("lib/two.py", "#!/usr/bin/env python3\n" + head), ("lib/three.py", head)):
        (tree / "scripts" / name).write_text(text, encoding="ascii")
    (tree / "scripts/lib/three.py").chmod(0o755)
    assert run_check(tree, "check-layers")[1].splitlines()[:-1] == [
        "scripts/one.sh:1: is shared and not in scripts/lib",
        "scripts/lib/three.py:1: has a suffix and is a command",
        "scripts/lib/two.py:1: has a suffix and is a command"]
