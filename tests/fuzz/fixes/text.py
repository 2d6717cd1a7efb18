"""Directives as the generator makes them, written in one of many layouts."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Node:
    """A directive: its words as they are meant, and the directives inside, None for a simple one.

    `raw` is what stands between the braces as it is, such as Lua.
    """

    words: tuple[str, ...]
    inner: list[Node] | None = None
    raw: str | None = None

    @property
    def name(self) -> str:
        """The first word."""
        return self.words[0]


def d(*words: object) -> Node:
    """Return a simple directive."""
    return Node(tuple(map(str, words)))


def b(*words: object, inner: Sequence[Node] = (), raw: str | None = None) -> Node:
    """Return a block."""
    return Node(tuple(map(str, words)), list(inner), raw)


@dataclass(slots=True)
class Layout:
    """How a file is written: `dense` without line ends, `odd` with words quoted and comments where they may be."""

    rng: random.Random
    dense: bool = False
    odd: bool = False
    comments: list[str] = field(default_factory=lambda: ["# a comment", "# proxy_pass http://old;", "#"])

    @classmethod
    def drawn(cls, rng: random.Random) -> Layout:
        """Return a layout at random; most are plain."""
        return cls(rng, dense=rng.random() < 0.1, odd=rng.random() < 0.25)

    def written(self, nodes: Sequence[Node], depth: int = 0) -> str:
        """Return the text of directives."""
        return "".join(self._one(node, depth) for node in nodes)

    def _one(self, node: Node, depth: int) -> str:
        indent = "" if self.dense else "    " * depth
        blank = " " if self.dense else self._blank()
        words = blank.join([node.name or "''", *(self._word(node, word) for word in node.words[1:])])
        end = " " if self.dense else self._line_end()
        if node.inner is None:
            return f"{indent}{words};{end}"
        if node.raw is not None:
            return f"{indent}{words} {{{node.raw}}}{end}"
        return f"{indent}{words} {{{end}{self.written(node.inner, depth + 1)}{indent}}}{end}"

    def _blank(self) -> str:
        return self.rng.choice(["  ", "\t", " "]) if self.odd else " "

    def _line_end(self) -> str:
        if self.odd and self.rng.random() < 0.1:
            return f" {self.rng.choice(self.comments)}\n"
        return "\n\n" if self.odd and self.rng.random() < 0.1 else "\n"

    def _word(self, node: Node, word: str) -> str:
        if node.name == "if":
            return word
        needs = not word or re.search(r"[\s;{}#\"'\\]", word.replace("${", "")) is not None or word.startswith("{")
        if needs or (self.odd and self.rng.random() < 0.15 and node.name not in _BARE):
            quote = "'" if '"' in word or (self.rng.random() < 0.5 and "'" not in word) else '"'
            return f"{quote}{word}{quote}"
        return word


_BARE = ("if", "load_module", "include")
