# SPDX-License-Identifier: GPL-2.0
"""Functions whose name is one word alone: a function is named by a verb and a noun. Counted are functions outside of
classes, in C and C++ those that only their file can use, in Python those of a module; the class of a method, and the
namespace of a function for others, give the noun.

Not counted: main, tests, fixtures and hooks of pytest, and names that a library, an interface or NVIDIA prescribes."""

import ast
import re

FOLDERS = ("src/", "procfs/", "tools/", "emulator/", "tests/", "scripts/")
# Not renamed yet; tests/support/kmod/ is a part of the module's build.
LEFT_OUT = ("tests/support/kmod/", "tools/lib/launch/", "tools/preload/", "tools/partition/")
LEFT_NAMES = {
    "emulator/model/traits.cc": ("derive",),
    "scripts/lib/paths.py": ("tool", "module"),
    "tests/cli/test_run_plan.py": ("gpulens", "written", "refusal", "changed"),
    "tests/support/exporter.py": ("listening", "recording", "get"),
    "tests/support/fakeproc.py": ("snapshot",),
    "tests/support/fleet.py": ("fleet",),
    "tests/support/program.py": ("gpulens", "image"),
    "tests/support/vm/cards.py": ("scenario", "healthy"),
    "tests/support/vm/formats.py": ("shape",),
}
PRESCRIBED = {"main", "PrintTo", "operator", "malloc"}
# A definition at the left margin: its type, its name, its parameters, a brace.
DEFINITION = re.compile(r"^(?:template[^\n]*\n?)?([A-Za-z_][\w:<>,*&\[\] \t]*[ \t*&])(\w+)\([^;{}]*\)\s*"
                        r"(?:const|noexcept|override|\s)*\{", re.M)
NOT_A_TYPE = re.compile(r"(?:else|return|new|extern|function|TEST\w*)\b")
ANONYMOUS = re.compile(r"^(namespace \{|\} // namespace)$", re.M)


def find_anonymous(text):
    """The begin and end of each anonymous namespace."""
    begin = None
    for match in ANONYMOUS.finditer(text):
        if match[1] == "namespace {":
            begin = match.end()
        elif begin is not None:
            yield begin, match.start()
            begin = None


def find_local_functions(text):
    """(line, name) of the functions of a C or C++ file that only it can use."""
    anonymous = list(find_anonymous(text))
    for match in DEFINITION.finditer(text):
        local = re.search(r"\bstatic\b", match[1]) or any(a <= match.start() < b for a, b in anonymous)
        if local and not NOT_A_TYPE.match(match[1]):
            yield text.count("\n", 0, match.start(2)) + 1, match[2]


def find_module_functions(text):
    """(line, name) of the functions of a Python file outside of classes and functions, without tests and fixtures."""
    for node in ast.parse(text).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith("test"):
            if not any("fixture" in ast.dump(decorator) for decorator in node.decorator_list):
                yield node.lineno, node.name


def find_one_word(path, text):
    """(line, name) of each function of the file, relative to the root, whose name is one word."""
    if not path.startswith(FOLDERS) or path.startswith(LEFT_OUT):
        return
    if path.endswith((".c", ".h", ".cc", ".hpp")):
        found = find_local_functions(text)
    elif path.endswith(".py") or re.match(r"#!.*\bpython3\n", text):
        found = find_module_functions(text)
    else:
        return
    known = PRESCRIBED.union(LEFT_NAMES.get(path, ()))
    for line, name in found:
        if re.fullmatch(r"_*[A-Za-z]+[0-9]?_*", name) and name not in known:
            yield line, name
