"""A failing case made small: requests, directives and options are taken out while it fails in the same way."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace

from tests.rewrite_fuzz.check import CPU_SECONDS, Damage, Failure, check
from tests.rewrite_fuzz.generate import Case
from tests.rewrite_fuzz.nodes import Node, render, walk
from tests.rewrite_fuzz.requests import Ask
from tests.rewrite_fuzz.sides import Bench


def minimise(
    bench: Bench, case: Case, failure: Failure, attempts: int = 160, damage: Damage | None = None
) -> tuple[Case, Failure] | None:
    """Return a small case that fails as `case` does and its failure; None if it does not fail again."""
    search = _Search(bench, failure.kind, attempts, damage)
    chosen: Sequence[Sequence[Ask]] = ([failure.ask],) if failure.ask is not None else ()
    if not failure.kind.startswith(("answer", "access", "upstream", "errors")):
        chosen = (case.asks[:1],)
    for asks in (*chosen, case.asks):
        small = replace(case, tree=copy.deepcopy(case.tree), asks=asks)
        if failing := search.fails(small):
            return search.reduced(small, failing)
    return None


class _Search:
    def __init__(self, bench: Bench, kind: str, attempts: int, damage: Damage | None) -> None:
        self._bench, self._kind, self._left, self._damage = bench, kind, attempts, damage

    def fails(self, case: Case) -> Failure | None:
        if self._left <= 0:
            return None
        self._left -= 1
        failure = check(self._bench, case, self._damage, repair=False).failure
        return failure if failure is not None and failure.kind == self._kind else None

    def reduced(self, case: Case, failure: Failure) -> tuple[Case, Failure]:
        for part in (40, 12, 4, 2, 1):
            case, failure = self._without_directives(case, failure, part)
        for index in range(len(case.command.options)):
            fewer = case.command.options[:index] + case.command.options[index + 1 :]
            smaller = replace(case, command=replace(case.command, options=fewer))
            if failing := self.fails(smaller):
                return self.reduced(smaller, failing) if len(fewer) < len(case.command.options) else (smaller, failing)
        return case, failure

    def _without_directives(self, case: Case, failure: Failure, part: int) -> tuple[Case, Failure]:
        """Take `part` neighbours out at a time, from the end to the start."""
        index = len(list(walk(case.tree))) - part
        while index > -part:
            tree = copy.deepcopy(case.tree)
            places = list(walk(tree))
            for nodes, node in places[max(index, 0) : max(index, 0) + part]:
                if not _needed(node) and node in nodes:
                    nodes.remove(node)
            if len(list(walk(tree))) < len(places):
                smaller = replace(case, tree=tree)
                if failing := self.fails(smaller):
                    case, failure = smaller, failing
            index -= part
        return case, failure


def _needed(node: Node) -> bool:
    return node.head in (b"http", b"events", b"user root") or node.head.startswith(b"error_log")


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


__all__ = ["CPU_SECONDS", "minimise", "reproduction"]
