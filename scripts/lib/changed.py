# SPDX-License-Identifier: GPL-2.0
"""Selects the files that a check must process: those without a clean result for their present content.

A file's state is a hash of its content, of the project's files that it includes, imports or sources, directly or not,
and of the check's rules, which are read from standard input. Files are matched by name alone, so that a file may depend
on too much, never on too little. STORE/HASH exists for each state that was found clean.

Usage: changed.py pick STORE [--whole] FILE... <RULES    prints the selected files; --whole: all of them, or none
       changed.py keep STORE                             those picked last were found clean
pick writes "CHANGED TOTAL" to STORE/count. keep passes over a file that changed since it was picked.
"""
import ast
import hashlib
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
C_LIKE = (".c", ".h", ".cc", ".hpp", ".inc")


def read_bytes(path):
    """The bytes of a file."""
    with open(path, "rb") as file:
        return file.read()


def names_read_by(path, content):
    """Names, without folders, of the files that this file may read."""
    if path.endswith(C_LIKE):
        found = re.findall(rb"(?m)^\s*#\s*include\s*[<\"]([^>\"]+)[>\"]", content)
        return {os.path.basename(name.decode()) for name in found}
    if path.endswith(".py") or re.match(rb"#!.*python", content):
        names = set()
        try:
            tree = ast.parse(content)
        except SyntaxError:  # the check itself reports it
            return names
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names.update(part for alias in node.names for part in alias.name.split("."))
            elif isinstance(node, ast.ImportFrom):
                names.update((node.module or "").split("."), (alias.name for alias in node.names))
        return {name + ".py" for name in names} | {"__init__.py"}
    found = re.findall(rb"(?m)^\s*(?:\.|source)\s+\"?(\S+?)\"?\s*$|shellcheck source=(\S+)", content)
    return {os.path.basename(name.decode()) for pair in found for name in pair if name}


class Files:
    """The project's files, by name."""

    def __init__(self):
        self.by_name = {}
        self.read_by = {}
        self.digests = {}
        for folder, folders, names in os.walk(ROOT):
            folders[:] = [name for name in folders if name not in ("build", ".git", "__pycache__")]
            for name in names:
                self.by_name.setdefault(name, []).append(os.path.relpath(os.path.join(folder, name), ROOT))

    def direct(self, path):
        """The project's files that one may read."""
        if path not in self.read_by:
            names = names_read_by(path, read_bytes(path))
            self.read_by[path] = [other for name in sorted(names) for other in self.by_name.get(name, [])]
        return self.read_by[path]

    def digest(self, path):
        """The hash of one file's content."""
        if path not in self.digests:
            self.digests[path] = hashlib.sha256(read_bytes(path)).digest()
        return self.digests[path]

    def state(self, path, rules):
        """The hash of a file with all that it may read."""
        seen, todo = {path}, [path]
        while todo:
            for other in self.direct(todo.pop()):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        digest = hashlib.sha256(hashlib.sha256(rules).digest() + path.encode())
        for name in sorted(seen):
            digest.update(name.encode() + b"\0" + self.digest(name))
        return digest.hexdigest()


def pick_files(store, paths, whole):
    """Prints the selected files and stores their state."""
    rules = sys.stdin.buffer.read()
    files = Files()
    states = {path: files.state(path, rules) for path in paths}
    if whole:
        together = hashlib.sha256("\n".join(sorted(states.values())).encode()).hexdigest()
        states = dict.fromkeys(paths, together)
    picked = [path for path in paths if not os.path.exists(os.path.join(store, states[path]))]
    with open(os.path.join(store, "rules"), "wb") as file:
        file.write(rules)
    with open(os.path.join(store, "states"), "w", encoding="ascii") as file:
        file.writelines(f"{path} {files.state(path, rules)} {states[path]}\n" for path in picked)
    with open(os.path.join(store, "count"), "w", encoding="ascii") as file:
        file.write(f"{len(picked)} {len(paths)}\n")
    print("\n".join(picked))


def keep_clean(store):
    """Records that the selected files are clean, if they have not changed since."""
    rules = read_bytes(os.path.join(store, "rules"))
    files = Files()
    good = {}
    for line in read_bytes(os.path.join(store, "states")).decode().splitlines():
        path, alone, state = line.split(" ")
        good[state] = good.get(state, True) and os.path.exists(path) and files.state(path, rules) == alone
    for state, unchanged in good.items():
        if unchanged:
            with open(os.path.join(store, state), "w", encoding="ascii"):
                pass


def main():
    """Executes the command line that the head of this file describes."""
    arguments = sys.argv[1:]
    if len(arguments) == 2 and arguments[0] == "keep":
        keep_clean(arguments[1])
        return 0
    if len(arguments) < 2 or arguments[0] != "pick":
        print(__doc__, file=sys.stderr)
        return 2
    whole = "--whole" in arguments
    paths = [path for path in arguments[2:] if path != "--whole"]
    if not paths:
        print("changed.py: no file to check", file=sys.stderr)
        return 1
    os.makedirs(arguments[1], exist_ok=True)
    pick_files(arguments[1], paths, whole)
    return 0


if __name__ == "__main__":
    sys.exit(main())
