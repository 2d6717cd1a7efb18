"""What of a state anything reads: a variable that is only set makes no difference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nginxopt.request.verify.side import Side
from nginxopt.request.verify.symbols import variables


@dataclass(frozen=True, slots=True)
class Live:
    """What is read somewhere on either side.

    Attributes:
        names: The variables.
        everything: Whether something that is not understood may read any variable.
        captures: Whether `$1` and the like are read where what an earlier pattern matched may still stand in them.
    """

    names: frozenset[str]
    everything: bool
    captures: bool

    def reads(self, name: str) -> bool:
        """Return whether a variable is read."""
        return self.everything or name in self.names

    @classmethod
    def of(cls, *sides: Side) -> Live:
        """Return what is read in these sides."""
        words = {word for side in sides for word in _words(side)}
        rewrites = {word for side in sides for word in _replacements(side)}
        names = set().union(*(variables(word.encode("latin-1")) for word in words | rewrites if "$" in word))
        digits = set().union(*(variables(word.encode("latin-1")) for word in words if "$" in word))
        everything = any(level["opaque"] or level["filters"] for side in sides for level in side.form["levels"])
        everything = everything or any(side.has_opaque for side in sides)
        return cls(frozenset(names), everything, everything or any(name.isdigit() for name in digits))


def _words(side: Side) -> Iterator[str]:
    """Yield the words of settings, maps and statements, but for the targets of rewrites and the names that are set."""
    for directive in side.form["directives"]:
        yield from directive["args"]
    for form in side.definitions.values():
        if form["kind"] != "opaque":
            yield form["source"] or ""
            for row in form["rows"]:
                yield from row["args"]
    for number in range(len(side.form["levels"])):
        for words in side.others(number).values():
            yield from (word for directive in words for word in directive)
        for statement in side.script(number):
            match statement["kind"]:
                case "set":
                    yield statement["value"]
                case "if":
                    yield from statement["condition"]
                case "return":
                    yield from statement["args"]


def _replacements(side: Side) -> Iterator[str]:
    for number in range(len(side.form["levels"])):
        for statement in side.script(number):
            if statement["kind"] == "rewrite":
                yield statement["replacement"]
