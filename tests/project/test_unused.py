"""Nothing in the package is defined and used by nobody."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import ROOT

pytestmark = pytest.mark.no_cover

READERS = ("nginxopt", "rules", "docs", "release", "benchmarks", "fixtures")
CALLED_BY_OTHERS = {
    "drop_newline_twins",  # `Readings` is read by the native core
    "ignore_case",
    "run_stdio_async",  # mcp
    "setup",  # a plugin of Dask
    "shell_complete",  # click
}


def _defined(tree: ast.Module) -> Iterator[str]:
    """The names that a module and its classes define; what a decorator registers has its user there."""
    blocks: list[ast.Module | ast.ClassDef] = [tree]
    blocks += [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    for block in blocks:
        for node in block.body:
            match node:
                case ast.FunctionDef(name=name, decorator_list=decorators) if all(
                    isinstance(each, ast.Name) and each.id in ("property", "cached_property") for each in decorators
                ):
                    yield name
                case ast.ClassDef(name=name, decorator_list=[]):
                    yield name
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                    yield name


def _used(tree: ast.Module) -> Iterator[str]:
    """The names that a module reads, imports, passes or has as text, as lazy imports do."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                yield name
            case ast.keyword(arg=str(name)):
                yield name
            case ast.alias(name=name):
                yield name.rpartition(".")[2]


def test_everything_is_used() -> None:
    """Each name that the package defines is read somewhere outside of the tests."""
    files = [path for folder in READERS for path in (ROOT / folder).rglob("*.py*") if path.suffix in (".py", ".pyi")]
    trees: dict[Path, ast.Module] = {path: ast.parse(path.read_text()) for path in files}
    used = {name for tree in trees.values() for name in _used(tree)} | CALLED_BY_OTHERS
    unused = {
        f"{path.relative_to(ROOT)}: {name}"
        for path, tree in trees.items()
        if path.is_relative_to(ROOT / "nginxopt") and path.suffix == ".py"
        for name in _defined(tree)
        if name not in used and not name.startswith("__")
    }
    assert unused == set()
