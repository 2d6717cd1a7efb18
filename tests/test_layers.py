"""Imports point one way: from the command line to the bytes, and the proof knows nothing of the planner."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "nginxopt"
CRATE = ROOT / "rust" / "src"

# A module may import those of the rows above it. The two packages that gather names stand just before the command line.
ROWS: tuple[tuple[str, ...], ...] = (
    ("source", "includes"),
    ("errors", "edit"),
    ("interrupts", "attributes", "scratch", "targets"),
    ("version", "tokens", "diff", "filesystem", "copies", "dump", "http", "suggest", "patterns", "values", "process"),
    ("premises",),
    ("probe",),
    ("diagnostic", "tree", "paths", "steps"),
    ("context", "reader", "templating", "comments", "files"),
    ("config",),
    ("inputs", "inplace", "layout", "defaults", "toml", "directives", "surroundings"),
    ("inherit",),
    ("upstreams", "locations", "maphash", "listens", "host"),
    ("nginx", "rewrite.options", "rewrite.uris"),
    ("rewrite.captures", "rewrite.requests", "rewrite.sizes", "rewrite.names"),
    ("rewrite.program",),
    ("rewrite.planning", "rewrite.mapfile", "rewrite.nginx", "rewrite.follow"),
    ("rewrite.premises",),
    ("rewrite.emission", "rewrite.oddities"),
    ("rewrite.proof", "rewrite.output", "rewrite.questions"),
    ("rewrite.summary", "rewrite.report"),
    ("", "rewrite"),
    ("model",),
    ("variables", "zones"),
    ("headers", "pools", "tls", "static", "framing", "capacity"),
    ("sharing",),
    ("pooling",),
    ("rule",),
    ("catalogue", "lint", "settings"),
    ("fix", "target", "trial", "selection"),
    ("report.place", "report.pen"),
    ("report.fingerprint", "report.model"),
    ("report.wording", "report.xml"),
    ("report.checkstyle", "report.github", "report.gitlab", "report.json", "report.junit", "report.sarif"),
    ("report.text", "report.pages", "suppress", "baseline"),
    ("check",),
    ("report",),
    ("bench", "bench.scenario", "bench.scenarios", "bench.runner", "bench.load", "bench.provenance", "bench.callgrind"),
    ("bench.site", "bench.result", "bench.nodes", "bench.rules", "bench.private", "bench.temporary"),
    ("bench.stage",),
    ("bench.measure", "bench.containers"),
    ("bench.gate", "bench.probe", "bench.table", "bench.load.vegeta", "bench.load.wrk", "bench.runner.engine"),
    ("bench.runner.local",),
    ("bench.rounds", "bench.compare", "bench.runner.compose", "bench.emit"),
    ("bench.wording", "bench.saved", "bench.vega"),
    ("bench.charts",),
    ("bench.html",),
    ("bench.benchmark",),
    tuple(f"bench.scenarios.{name}" for name in ("balance", "cache", "hop", "keepalive", "rewrites", "rush")),
    ("bench.catalogue",),
    ("cli.stdout", "cli.bench_site", "rewrite.rereading"),
    ("cli.bench",),
    ("cli.rewrite_to_map", "cli.lint", "cli.explain", "cli.rules", "cli.probe"),
    ("cli",),
    ("__main__",),
)
ROW = {module: row for row, modules in enumerate(ROWS) for module in modules}

# What each module may ask of the native core: the proof no plan, and the planner no proof.
NATIVE = {
    "tokens": {"Events", "LexError"},
    "locations": {"Patterns"},
    "maphash": {"map_verdict"},
    "rewrite.follow": {"Script", "path_of"},
    "rewrite.oddities": {"RefusedError", "never", "odd_rewrites"},
    "rewrite.planning": {"PatternError", "Program", "RefusedError", "Run", "compile_rewrites", "reasons"},
    "rewrite.emission": {"Block", "Tier"},
    "rewrite.sizes": {"Run", "map_sizes", "variable_sizes"},
    "rewrite.proof": {"Refuted", "prove_rewrites"},
}

# What each module of the crate may use of the others.
CRATE_USES: dict[str, set[str]] = {
    "lexer": set(),
    "hash": set(),
    "syntax": set(),
    "pcre": set(),
    "parallel": set(),
    "variables": set(),
    "first_match": {"syntax", "pcre", "parallel"},
    "language": {"syntax", "pcre", "first_match"},
    "rewrite": {"lexer", "hash", "syntax", "pcre", "parallel", "variables", "first_match", "language"},
    "prove": {"lexer", "hash", "syntax", "pcre", "parallel", "variables"},
    "border": {"lexer", "hash", "syntax", "pcre", "variables", "first_match", "rewrite", "prove"},
    "lib": {"border"},
}


def modules() -> dict[str, Path]:
    """The modules of the package, without its name: `rewrite.planning`; the package itself is the empty name."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def names(path: Path) -> Iterator[tuple[str, str]]:
    """What a file imports of nginxopt, anywhere in it: the module, and the name taken from it (or nothing)."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((_inner(alias.name), "") for alias in node.names if _is_ours(alias.name))
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import"
            if _is_ours(node.module or ""):
                yield from ((_inner(node.module or ""), alias.name) for alias in node.names)


def _is_ours(module: str) -> bool:
    return module.split(".")[0] == "nginxopt"


def _inner(module: str) -> str:
    return module.removeprefix("nginxopt").removeprefix(".")


def imported(path: Path) -> Iterator[str]:
    """The modules that a file imports; the version may be known to all."""
    for module, name in names(path):
        inner = f"{module}.{name}".strip(".")
        if inner in MODULES:
            yield inner
        elif inner != "__version__" and inner.split(".")[0] != "_native":
            yield module


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_point_one_way(module: str) -> None:
    """A module has its row, and imports from the rows above it only; what it gathers for others is its own."""
    assert module in ROW, "give the module a row"
    upward = {name for name in imported(MODULES[module]) if ROW[name] >= ROW[module]}
    assert upward == set()


def test_every_row_is_of_modules() -> None:
    """No row names a module that is gone."""
    assert set(ROW) == set(MODULES)


@pytest.mark.parametrize("path", sorted((ROOT / "rules").glob("*.py")), ids=lambda path: str(path.stem))
def test_rules_know_nothing_of_who_asks_them(path: Path) -> None:
    """A rule imports what is above the catalogue, and no other rule."""
    assert {name for name in imported(path) if name not in ROW or ROW[name] > ROW["rule"]} == set()


@pytest.mark.parametrize("module", sorted(MODULES))
def test_the_native_core_is_asked_by_its_owners(module: str) -> None:
    """Only these modules use the native core, each what is its own."""
    text = MODULES[module].read_text()
    used = set(re.findall(r"\b_native\.(\w+)", text))
    used |= {name for source, name in names(MODULES[module]) if source == "_native"}
    assert used <= NATIVE.get(module, set())


def rust_files(module: str) -> list[Path]:
    """The files of a module of the crate."""
    return sorted(path for path in [CRATE / f"{module}.rs", *(CRATE / module).rglob("*.rs")] if path.exists())


@pytest.mark.parametrize("module", sorted(CRATE_USES))
def test_the_crate_points_one_way(module: str) -> None:
    """A module of the crate uses those it may: the proof nothing of the compiler, nor the other way round."""
    used = set()
    for path in rust_files(module):
        code = re.sub(r"//.*", "", path.read_text())
        assert "super::super" not in code, path
        used |= set(re.findall(r"\bcrate::(\w+)", code)) - {module}
    assert rust_files(module)
    assert used <= CRATE_USES[module]


def test_every_module_of_the_crate_has_its_uses() -> None:
    """No module of the crate is left out."""
    found = {path.stem for path in CRATE.glob("*.rs")} | {path.name for path in CRATE.iterdir() if path.is_dir()}
    assert found == set(CRATE_USES)
