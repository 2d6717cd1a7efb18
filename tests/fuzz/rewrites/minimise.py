"""A failing case made small: requests, directives and options are taken out while it fails in the same way."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from tests.fuzz.minimise import SIZES, Reduction, fewer, in_turn, minimise, without_nodes
from tests.fuzz.nodes import Node, render
from tests.fuzz.rewrites.check import Damage, Failure, check
from tests.fuzz.rewrites.generate import Case
from tests.fuzz.rewrites.requests import Ask
from tests.fuzz.rewrites.sides import Bench


def minimised(
    bench: Bench, case: Case, failure: Failure, attempts: int = 160, damage: Damage | None = None
) -> tuple[Case, Failure] | None:
    """Return a small case that fails as `case` does and its failure; None if it does not fail again."""

    def fails(smaller: Case) -> Failure | None:
        again = check(bench, smaller, damage, repair=False).failure
        return again if again is not None and again.kind == failure.kind else None

    chosen: Sequence[Sequence[Ask]] = ([failure.ask],) if failure.ask is not None else ()
    if not failure.kind.startswith(("answer", "access", "upstream", "errors")):
        chosen = (case.asks[:1],)
    for asks in (*chosen, case.asks):
        small = replace(case, tree=copy.deepcopy(case.tree), asks=asks)
        if failing := fails(small):
            return minimise(small, failing, _REDUCTIONS, fails, attempts)
    return None


def _without_nodes(case: Case, number: int, size: int) -> Case | None:
    tree = without_nodes(case.tree, number, size, keep=_needed)
    return None if tree is None else replace(case, tree=tree)


def _options(case: Case) -> Iterator[Case]:
    return (replace(case, command=replace(case.command, options=options)) for options in fewer(case.command.options))


def _needed(node: Node) -> bool:
    return node.head in (b"http", b"events", b"user root") or node.head.startswith(b"error_log")


_REDUCTIONS: Sequence[Reduction[Case]] = (*(partial(_without_nodes, size=size) for size in SIZES), in_turn(_options))


def reproduction(case: Case, failure: Failure) -> str:
    """All that is needed to see the failure: the files, the command and the request."""
    rendered = render("nginx.conf", case.tree, case.newline)
    parts = [f"{case.name}: {failure.kind}", failure.text[:3000]]
    command = " ".join(("nginxopt rewrite-to-map", *case.command.targets, *case.command.options))
    parts.append(
        f"command: {command} ({case.command.kind}, {case.command.mode}{', stdin' if case.command.stdin else ''})"
    )
    if failure.ask is not None:
        parts.append(f"request: {failure.ask.data[:3000]!r}")
    for path, text in rendered.files.items():
        link = f" (a link to {case.links[path]})" if path in case.links else ""
        mode = f" mode {case.modes[path]:o}" if path in case.modes else ""
        parts.append(f"--- {path}{link}{mode}\n{text.decode(errors='backslashreplace')}")
    return "\n".join(parts)
