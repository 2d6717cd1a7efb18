"""What the parts of a generated site share."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Literal

from tests.fuzz.nodes import Node

PORTS = 2
"""How many ports a site listens at."""

Level = Literal["server", "location", "named", "if", "server if", "limit_except"]


@dataclass(slots=True)
class Scope:
    """What was made so far: where the next directive stands, hosts and URIs to ask for, levels that have a log.

    `is_regex` and `is_named` say what location one is in; a proxy may have no URI there.
    """

    draw: random.Random
    number: int
    version: tuple[int, ...]
    level: Level = "server"
    is_regex: bool = False
    hosts: set[str] = field(default_factory=lambda: {"a.test", "zz"})
    uris: list[str] = field(default_factory=list)
    named: set[str] = field(default_factory=set)
    defaults: set[int] = field(default_factory=set)
    ports: set[int] = field(default_factory=set)
    levels: int = 0

    def own(self, text: str) -> str:
        """Return a text with the name of a capture of this site."""
        return text.replace("NAME", f"n{self.number}")

    def variables(self) -> list[str]:
        """The variables of this site."""
        own = [f"${name}{self.number}" for name in ("map", "names", "geo", "split", "n")]
        return [*own, *(f"$v{number}" for number in range(4))]

    def log(self) -> Node:
        """Return the log of a level of its own, which tells that its settings are in force."""
        self.levels += 1
        return Node(b"access_log logs/a.log l%d" % self.levels)
