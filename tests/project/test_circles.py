"""No two files need each other, and no two classes have one name: whoever reads a file can read those it uses first."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

pytestmark = pytest.mark.no_cover  # reads the code, and runs none of it

ROOT = Path(__file__).parents[2]

Name = tuple[str, ...]
Uses = Mapping[Path, set[Path]]
"""The files that each file uses."""


def circles(uses: Uses) -> list[list[Path]]:
    """Groups of files that all need each other, each sorted; the largest first."""
    reached = {file: _reached(file, uses) for file in uses}
    groups = {tuple(sorted(other for other in reached[file] if file in reached[other])) for file in uses}
    return sorted((list(group) for group in groups if group), key=lambda group: (-len(group), group))


def _reached(start: Path, uses: Uses) -> set[Path]:
    """All files that a file uses, and those that these use."""
    found: set[Path] = set()
    rest = [start]
    while rest:
        new = uses.get(rest.pop(), set()) - found
        found |= new
        rest.extend(new)
    return found


def told(uses: Uses) -> str:
    """The circles, and which of their files uses which, for the message of a test."""
    lines = []
    for group in circles(uses):
        lines.append(f"{len(group)} files need each other:")
        lines += [f"  {file} uses {', '.join(sorted(map(str, uses[file] & set(group))))}" for file in group]
    return "\n".join(lines)


# The package: files by the imports that run, wherever they stand.


class PythonFile:
    """A module, with what it imports as it runs and what it exports."""

    def __init__(self, path: Path) -> None:
        self.path = path
        imports = [*_imports(ast.parse(path.read_text()))]
        self.imports = [node for node, is_executed in imports if is_executed]
        # A package whose exports are lazy imports them for the type checker, so these count here.
        all_from = [node for node, _ in imports if isinstance(node, ast.ImportFrom)]
        names = {
            alias.asname or alias.name: (node.module or "", alias.name) for node in all_from for alias in node.names
        }
        self.exports = names if path.name == "__init__.py" else {}


def _imports(tree: ast.AST) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """The imports of a module, each with whether it runs, at import or in a call: all do but those for types."""
    rest: list[tuple[ast.AST, bool]] = [(tree, True)]
    while rest:
        node, is_executed = rest.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, is_executed
        is_for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for part in ("body", "orelse", "handlers", "finalbody", "cases"):
            is_part_executed = is_executed and not (is_for_types and part == "body")
            inner = getattr(node, part, [])
            rest += [(child, is_part_executed) for child in inner] if isinstance(inner, list) else []


def python_uses(package: Path) -> dict[Path, set[Path]]:
    """The files that each file of a package imports names from: those that define the names."""
    files = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = PythonFile(path)
    uses: dict[Path, set[Path]] = {}
    for file in files.values():
        found: set[Path | None] = set()
        for node in file.imports:
            if isinstance(node, ast.ImportFrom):
                found |= {_defining(files, node.module or "", alias.name) for alias in node.names}
            else:
                found |= {files[alias.name].path for alias in node.names if alias.name in files}
        uses[file.path] = {path for path in found if path} - {file.path}
    return uses


def _defining(files: Mapping[str, PythonFile], module: str, name: str) -> Path | None:
    """The file that defines what is imported from a module; nothing for other packages."""
    if f"{module}.{name}" in files:
        return files[f"{module}.{name}"].path
    if module not in files:
        return None
    source = files[module].exports.get(name)
    return _defining(files, *source) if source and source[0] in files else files[module].path


# The crate: files by the paths in their code, each followed through re-exports to the file that defines the item.

_TOKEN = re.compile(
    r"""
    //[^\n]*                                    # a comment
    | /\*.*?\*/
    | b?r(?P<hashes>\#*)".*?"(?P=hashes)        # a raw string
    | [bc]?"(?:\\.|[^"\\])*"                    # a string
    | b?'(?:\\(?:x..|u\{.*?\}|.)|[^'\\])'       # a character, and no lifetime
    """,
    re.VERBOSE | re.DOTALL,
)
_TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))? )?(mod|use|fn|impl|struct)\b[^;{]*")
_USE = re.compile(r"\b(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);")
_ITEM = re.compile(r"\b(?:fn|struct|enum|trait|type|const|static|union|macro_rules!)\s+(\w+)")
_PATH = re.compile(r"(?<![\w:.$])(\w+(?:\s*::\s*\w+)+)")


class RustFile:
    """A module of the crate in a file of its own: what it defines, what it binds by `use`, and the paths in its code.

    Code for tests is left out: a test may look at anything.
    """

    def __init__(self, path: Path, crate: Path) -> None:
        self.path = path
        parts = path.relative_to(crate).with_suffix("").parts
        self.module: Name = parts[:-1] if parts[-1] in ("mod", "lib") else parts
        code = _without_tests(_TOKEN.sub(" ", path.read_text()))
        self.bound = dict(_bound(code))
        self.items = set(_ITEM.findall(code))
        self.paths = {tuple(re.split(r"\s*::\s*", path)) for path in _PATH.findall(_USE.sub(" ", code))}

    def absolute(self, path: Name, modules: Mapping[Name, RustFile]) -> Name | None:
        """A path of this file from the root of the crate; nothing if it leads to another crate or into an item."""
        if path[0] == "crate":
            return path[1:]
        if path[0] == "self":
            return self.module + path[1:]
        if path[0] == "super":
            return self.module[:-1] + path[1:]
        if (*self.module, path[0]) in modules:
            return self.module + path
        bound = self.bound.get(path[0])
        return self.absolute(bound + path[1:], modules) if bound and bound[0] != path[0] else None


def _without_tests(code: str) -> str:
    """The code without the items that are compiled for tests only."""
    while match := _TESTS.search(code):
        end = match.end()
        if code[end] == "{":
            end = _closing(code, end)
        code = code[: match.start()] + code[end + 1 :]
    return code


def _closing(code: str, start: int) -> int:
    """Where the brace that opens at `start` is closed."""
    depth = 0
    for brace in re.compile("[{}]").finditer(code, start):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return brace.start()
    raise AssertionError("a brace is never closed")


def _bound(code: str) -> Iterator[tuple[str, Name]]:
    """The names that the `use` declarations bind, each with its path; the name of a glob is its path."""
    for _, tree in _USE.findall(code):
        for path in _leaves(re.sub(r"\s+as\s+", "@", re.sub(r"\s+", " ", tree)).replace(" ", "")):
            *start, last = path.split("::")
            last, _, alias = last.partition("@")
            whole = tuple(start) if last == "self" else (*start, last)
            yield (path if last == "*" else alias or whole[-1]), whole


def _leaves(tree: str) -> Iterator[str]:
    """The paths of a tree such as `a::{b, c::{self, D}}`."""
    opened = tree.find("{")
    if opened < 0:
        yield tree
        return
    depth, start = 0, opened + 1
    for at in range(opened, len(tree)):
        depth += {"{": 1, "}": -1}.get(tree[at], 0)
        if (tree[at] == "," and depth == 1) or not depth:
            if tree[start:at]:
                yield from (tree[:opened] + leaf for leaf in _leaves(tree[start:at]))
            start = at + 1


def rust_uses(crate: Path) -> dict[Path, set[Path]]:
    """The files whose items each file of a crate names."""
    files = {file.module: file for file in (RustFile(path, crate) for path in sorted(crate.rglob("*.rs")))}
    uses = {}
    for file in files.values():
        paths = [file.absolute(path, files) for path in {*file.bound.values(), *file.paths}]
        uses[file.path] = {owner for path in paths if path and (owner := _owner(files, path))} - {file.path}
    return uses


def _owner(files: Mapping[Name, RustFile], path: Name, seen: frozenset[Name] = frozenset()) -> Path | None:
    """The file that defines what a path from the root leads to; nothing for a module itself."""
    length = next(length for length in range(len(path), -1, -1) if path[:length] in files)
    file, rest = files[path[:length]], path[length:]
    if not rest and path and path[-1] in (around := files[path[:-1]]).items | set(around.bound):
        file, rest = around, path[-1:]  # a function with the name of a module
    if not rest or path in seen:
        return None
    if rest[0] in file.items or rest[0] not in file.bound:
        return file.path
    target = file.absolute(file.bound[rest[0]], files)
    return _owner(files, target, seen | {path}) if target else None


def test_no_files_of_the_package_need_each_other() -> None:
    """Imports that run, at the top of a file or in a function, go round in no circle."""
    uses = python_uses(ROOT / "nginxopt")
    assert sum(map(len, uses.values())) > 1000  # the reading finds imports
    assert not circles(uses), told(uses)


def test_no_files_of_the_crate_need_each_other() -> None:
    """Paths to items of other files go round in no circle."""
    uses = rust_uses(ROOT / "rust" / "src")
    assert sum(map(len, uses.values())) > 1000  # the reading finds paths
    assert not circles(uses), told(uses)


PYTHON = {
    "p/__init__.py": "if TYPE_CHECKING:\n    from p.one import One\n",
    "p/one.py": "def call():\n    from p import two\n",
    "p/two.py": "from p import One\n",
    "p/three.py": "import os\nimport p.two\nif TYPE_CHECKING:\n    from p.four import Four\n",
    "p/four.py": "from p.three import Three\nfrom p.five import Five\n",
    "p/five.py": "if TYPE_CHECKING:\n    pass\nelse:\n    from p.six import Six\n",
    "p/six.py": "import p.five\n",
}

RUST = {
    "lib.rs": "mod one; pub mod deep; mod four; mod five;",
    "one.rs": "use crate::deep::{self, three}; fn f() { deep::made(); }",
    "deep/mod.rs": "mod two; pub mod three; pub use two::{made, Made as Other};",
    "deep/two.rs": "pub fn made() { crate::one::f() } pub struct Made;",
    "deep/three.rs": 'use super::Other; // super::super::four::Four\nconst TEXT: &str = "crate::four::Four";',
    "four.rs": "struct Four; fn f() -> crate::deep::Other {} #[cfg(test)] mod tests { use crate::five::five; }",
    "five.rs": "pub fn five() { crate::four::Four } use std::fmt::{self, Display}; impl Display for fmt::X {}",
}


def _written(files: Mapping[str, str], folder: Path) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_circles_of_imports_are_found(tmp_path: Path) -> None:
    """Imports in functions count, and those of names count for the file that defines them; those for types do not."""
    package = _written(PYTHON, tmp_path) / "p"
    assert circles(python_uses(package)) == [
        [package / "five.py", package / "six.py"],
        [package / "one.py", package / "two.py"],
    ]


def test_circles_of_paths_are_found(tmp_path: Path) -> None:
    """Paths count for the file that defines the item; those in comments, strings and tests do not."""
    crate = _written(RUST, tmp_path)
    uses = rust_uses(crate)
    assert circles(uses) == [[crate / "deep" / "two.rs", crate / "one.rs"]]
    assert uses[crate / "deep" / "three.rs"] == uses[crate / "four.rs"] == {crate / "deep" / "two.rs"}
    assert uses[crate / "five.rs"] == {crate / "four.rs"}


def test_a_name_of_a_class_means_one_thing() -> None:
    """No two modules of the package and its rules have a public class of the same name."""
    owners: dict[str, list[str]] = {}
    for folder in ("nginxopt", "rules"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    owners.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in owners.items() if len(paths) > 1} == {}
