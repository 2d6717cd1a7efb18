"""Variables that a configuration defines outside of scripts: maps, `geo` and the like."""

from __future__ import annotations

from collections.abc import Hashable

from nginxopt.request.verify.keys import Keys
from nginxopt.request.verify.side import Definition, Side
from nginxopt.request.verify.symbols import variables


class Definitions:
    """The variables that a side defines. `keys` numbers equal definitions alike, whatever they are called."""

    def __init__(self, side: Side, keys: Keys) -> None:
        self._side = side
        self._keys = keys
        self._numbers: dict[str, Hashable] = {}

    def number(self, name: str) -> Hashable:
        """Return a number that is equal for variables that are defined alike."""
        if name not in self._numbers:
            self._numbers[name] = ("itself", name)  # a map that is looked up through itself
            form = self._side.definitions[name]
            inner = tuple((used, self.number(used)) for used in sorted(self.used(name) & self._side.definitions.keys()))
            self._numbers[name] = self._keys.number((*_content(form), inner))
        return self._numbers[name]

    def used(self, name: str) -> set[str]:
        """Return the variables that a definition reads."""
        form = self._side.definitions[name]
        if form["kind"] == "opaque":
            return set()
        source = form["source"] if form["source"] is not None else "$remote_addr"
        values = (row["args"][1] for row in form["rows"] if len(row["args"]) == 2)
        return set().union(*(variables(text.encode("latin-1")) for text in (source, *values)))

    def is_kept(self, name: str) -> bool:
        """Return whether nginx looks a variable up once for a request."""
        form = self._side.definitions[name]
        return form["kind"] != "opaque" and not any(row["args"][:1] == ["volatile"] for row in form["rows"])

    def matches(self, name: str) -> bool:
        """Return whether a look-up may set captures."""
        form = self._side.definitions[name]
        return form["kind"] == "map" and any(row["args"] and row["args"][0].startswith("~") for row in form["rows"])


def _content(form: Definition) -> tuple[Hashable, ...]:
    """Return what a definition says, without the name of the variable that it defines."""
    if form["kind"] == "opaque":
        return "opaque", form["variable"], form["reason"]
    return form["kind"], form["source"], tuple(tuple(row["args"]) for row in form["rows"])
