"""Which servers, locations and rules of a site take part in answering requests, and how often."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from nginxopt.semantics.site.form import LevelForm, Node, SiteForm

Part = Literal["server", "location", "rule"]

PARTS: tuple[Part, ...] = ("server", "location", "rule")

_RULES = ("rewrite", "rewrites", "return", "if")
"""The statements that are rules: those that choose among requests, or answer."""


@dataclass(frozen=True, slots=True)
class Use:
    """A directive, and the number of requests that it took part in."""

    node: Node
    part: Part
    requests: int


@dataclass(frozen=True, slots=True)
class Usage:
    """The servers, locations and rules of a site, in the order of reading."""

    uses: tuple[Use, ...]

    def of(self, part: Part) -> tuple[Use, ...]:
        """Return those of a part, in the order of reading."""
        return tuple(use for use in self.uses if use.part == part)

    def by_use(self, part: Part) -> list[Use]:
        """Return those of a part that took part, the most used first."""
        return sorted((use for use in self.of(part) if use.requests), key=lambda use: -use.requests)

    def unused(self, part: Part) -> list[Use]:
        """Return those of a part that took part in nothing, in the order of reading."""
        return [use for use in self.of(part) if not use.requests]


def usage(site: SiteForm, requests: Mapping[Node, int]) -> Usage:
    """Return the use of a site; `requests` are the numbers of requests by the directives that took part in them."""
    nodes: dict[Node, Part] = {server["node"]: "server" for server in site["servers"]}
    for level in site["levels"]:
        if level["kind"] == "location":
            nodes[level["node"]] = "location"
        nodes |= dict.fromkeys(_rules(level), "rule")
    return Usage(tuple(Use(node, part, requests.get(node, 0)) for node, part in sorted(nodes.items())))


def _rules(level: LevelForm) -> Iterator[Node]:
    for statement in level["script"]:
        if statement["kind"] == "rewrites":
            yield from range(statement["node"], statement["node"] + statement["count"])
        elif statement["kind"] in _RULES:
            yield statement["node"]
