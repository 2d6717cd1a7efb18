"""Imports have one direction, from the command line to bytes; the proof uses nothing of the planner."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from tests.support import PATIENCE

pytestmark = pytest.mark.no_cover  # reads the code, and runs none of it

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "nginxopt"
CRATE = ROOT / "rust" / "src"

# What each module may ask of the native core: the proof no plan, and the planner no proof.
NATIVE = {
    "bench.cases": {"Patterns"},
    "config.tree": {"Events", "LexError"},
    "faults": {"PanicException", "panic_place"},
    "cli": {"end_lacking", "release_memory"},
    "budget": {"interrupt", "release_memory", "reserve_memory"},
    "system.interrupts": {"count_orderly", "watch_signals"},
    "semantics.maphash": {"MapVerdict", "map_verdict"},
    "semantics.refusals.setters": {"pattern_error"},
    "semantics.site.levels": {"request_settings", "statement_spans"},
    "semantics.subjects": {"Patterns", "captures", "common_subject", "gives_up", "pattern_facts"},
    "profile.reading": {"LogDigest"},
    "request.access_logs": {"LineFormat", "LogRequests"},
    "request.batch": {"AnsweredForm", "RequestTally"},
    "request.client": {"Patterns"},
    "request.table": {"plain_rows"},
    "verify.hosts": {"common_subject"},
    "verify.plain_keys": {"Patterns"},
    "verify.path_condition": {"common_subject"},
    "verify.patterns": {"Patterns", "pattern_facts"},
    "verify.side": {"request_settings"},
    "verify.symbols": {"captures"},
    "request.model": {"RequestModel", "SiteRefusedError"},
    "request.referers": {"captures", "gives_up"},
    "rewrite.suspicious": {"Never", "RefusedError", "never", "suspicious_rewrites", "without_captures"},
    "rewrite.surroundings": {"Entering"},
    "rewrite.kinds.kind": {"CompiledRun", "pattern_error"},
    "rewrite.kinds.rules.planning": {
        "Compilation",
        "CompiledRun",
        "PatternError",
        "RefusedError",
        "compile_rewrites",
        "maps_text",
        "reasons",
    },
    "rewrite.mapfile": {"CompiledRun", "map_sizes", "variable_sizes"},
    "rewrite.tables.emission": {"variable_sizes"},
    "rewrite.tables.meaning": {"Patterns"},
    "rewrite.tables.patterns": {"Patterns", "captures"},
    "rewrite.tables.simulation": {"Patterns", "captures"},
    "rewrite.kinds.rules.proof": {"Refuted", "prove_rewrites", "TooMuchWork"},
    "rewrite.kinds.chains.planning": {
        "CompiledMap",
        "Patterns",
        "RefusedRow",
        "StayingMap",
        "compile_map",
        "pattern_facts",
    },
    "rewrite.kinds.chains.proof": {"Patterns", "pattern_facts", "prove_map"},
    "rewrite.kinds.locations.planning": {"Patterns", "exact_union", "pattern_facts"},
    "rewrite.kinds.locations.proof": {"UnionFault", "not_the_union"},
    "rewrite.evaluations": {"map_evaluations"},
    "rewrite.kinds.maps.reading": {"map_blocks", "map_spans"},
    "rewrite.kinds.maps.planning": {"pattern_facts", "CompiledMap", "RefusedRow", "compile_map", "map_reasons"},
    "rewrite.kinds.maps.proof": {"pattern_facts", "prove_map", "TooMuchWork"},
}

# What each module of the crate may use of the others.
CRATE_USES: dict[str, set[str]] = {
    "bytes": set(),
    "work": {"parallel"},  # in its tests, as both share a count
    "lexer": {"bytes"},
    "map_block": {"lexer"},
    "quote": {"lexer"},
    "hash": {"work"},
    "collisions": {"hash"},
    "syntax": {"bytes", "work"},
    "unnamed": {"syntax"},
    "pcre": {"work"},
    "compile_error": {"syntax", "pcre"},
    "parallel": {"work"},
    "phase": set(),
    "plain_rows": set(),
    "facts": set(),
    "pattern_text": {"quote"},
    "variables": set(),
    "map_machine": {"map_block", "pcre"},
    "first_match": {"syntax", "pcre", "parallel", "pattern_text"},
    "language": {"syntax", "pcre", "first_match", "work"},
    "rewrite": {
        *("lexer", "quote", "hash", "syntax", "pcre", "parallel", "variables", "first_match", "language"),
        *("map_block", "maps", "pattern_text", "phase", "collisions", "compile_error", "work", "unnamed"),
    },
    "prove": {
        *("lexer", "quote", "hash", "syntax", "pcre", "parallel", "variables", "first_match"),
        *("map_block", "phase", "prove_map", "facts", "unnamed"),
    },
    "maps": {
        *("map_block", "map_machine", "quote", "syntax", "pcre", "parallel", "variables", "first_match", "language"),
        *("pattern_text", "collisions", "compile_error", "work"),
    },
    "request": {"facts", "lexer", "syntax", "pcre", "parallel", "variables", "first_match", "work"},
    "logs": {"first_match", "parallel", "request"},
    "prove_map": {"map_block", "syntax", "pcre", "parallel", "variables", "first_match", "language", "work"},
    "border": {
        *("lexer", "map_block", "quote", "hash", "syntax", "pcre", "variables", "first_match", "language"),
        *("phase", "rewrite", "maps", "prove", "prove_map", "request", "compile_error", "work", "logs"),
        "plain_rows",
    },
    "lib": {"border"},
}


def modules() -> dict[str, Path]:
    """The modules of the package, without its name: `rewrite.planning`; the package itself is the empty name."""
    paths = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return paths


MODULES = modules()


@cache
def imports(path: Path) -> list[ast.Import | ast.ImportFrom]:
    """The imports of a file, anywhere in it."""
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)]


def names(path: Path) -> Iterator[tuple[str, str]]:
    """What a file imports of nginxopt, anywhere in it: the module, and the name taken from it (or nothing)."""
    for node in imports(path):
        if isinstance(node, ast.Import):
            yield from ((_inner(alias.name), "") for alias in node.names if _is_ours(alias.name))
        else:
            assert not node.level, f"{path}: a relative import"
            if _is_ours(node.module or ""):
                yield from ((_inner(node.module or ""), alias.name) for alias in node.names)


def imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    """The modules of an import."""
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]


def _is_ours(module: str) -> bool:
    return module.split(".")[0] == "nginxopt"


def _inner(module: str) -> str:
    return module.removeprefix("nginxopt").removeprefix(".")


def test_the_contracts_hold() -> None:
    """The packages import each other as pyproject.toml says."""
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


OF_RULES = ("config", "facts", "lint", "lint.hosted", "lint.queries", "semantics", "text")


def test_a_rule_imports_what_packages_export() -> None:
    """A rule imports names from packages, each on their list, and reaches into none of their modules."""
    exported = {package: import_module(f"nginxopt.{package}").__all__ for package in OF_RULES}
    wrong = [
        f"{path.name} imports {name} from nginxopt.{package}"
        for path in sorted((ROOT / "rules").glob("*.py"))
        for package, name in names(path)
        if name not in exported.get(package, ())
    ]
    assert wrong == []


EFFECTS = {"subprocess", "socket", "ssl", "signal", "shutil", "tempfile", "fcntl", "ctypes"}
"""Modules of the standard library for processes, sockets and temporary files."""

MAY_HAVE_EFFECTS = (
    *("system", "cli"),
    *("bench.runner", "bench.temporary", "bench.load_workers.worker"),
)
"""The packages and modules that use them; of `bench`, those that run programs."""


def test_effects_are_in_their_packages() -> None:
    """Only `system`, `cli` and the parts of `bench` that run programs use processes, sockets and temporary files."""
    wrong = [
        f"{module} imports {name}"
        for module, path in sorted(MODULES.items())
        if not f"{module}.".startswith(tuple(f"{owner}." for owner in MAY_HAVE_EFFECTS))
        for node in imports(path)
        for name in imported(node)
        if name.split(".")[0] in EFFECTS
    ]
    assert wrong == []


def test_every_package_is_named() -> None:
    """Each package of the tree is one that is installed, and the top has only what all of them use."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = {".".join(path.parent.relative_to(ROOT).parts) for path in PACKAGE.rglob("__init__.py")}
    assert set(project["tool"]["setuptools"]["packages"]) == {*packages, "nginxopt.rules"}
    assert {path.stem for path in PACKAGE.glob("*.py")} == {
        "__init__",
        "__main__",
        "budget",
        "errors",
        "faults",
        "lazy",
        "records",
        "version",
    }


def test_the_native_core_is_asked_by_its_owners() -> None:
    """Only these modules use the native core, each what is its own."""
    wrong = []
    for module, path in sorted(MODULES.items()):
        used = set(re.findall(r"\b_native\.(\w+)", path.read_text()))
        used |= {name for source, name in names(path) if source == "_native"}
        wrong += [f"{module} uses {name}" for name in sorted(used - NATIVE.get(module, set()))]
    assert wrong == []


def rust_files(module: str) -> list[Path]:
    """The files of a module of the crate."""
    return sorted(path for path in [CRATE / f"{module}.rs", *(CRATE / module).rglob("*.rs")] if path.exists())


def test_the_crate_points_one_way() -> None:
    """A module of the crate uses those it may: the proof nothing of the compiler, nor the other way round."""
    wrong = []
    for module, may_use in CRATE_USES.items():
        for path in rust_files(module):
            code = re.sub(r"//.*", "", path.read_text())
            used = {*re.findall(r"\bcrate::(\w+)", code), *re.findall("super::super", code)} - {module} - may_use
            wrong += [f"{path.relative_to(CRATE)} uses {name}" for name in sorted(used)]
    assert wrong == []


def test_every_module_of_the_crate_has_its_uses() -> None:
    """No module of the crate is left out."""
    modules_ = {path.stem for path in CRATE.glob("*.rs")} | {path.name for path in CRATE.iterdir() if path.is_dir()}
    assert modules_ == set(CRATE_USES)
