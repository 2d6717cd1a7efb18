"""Variables that a configuration defines outside of scripts: maps, `geo` and the like."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import cache

from nginxopt.request.verify.keys import Keys
from nginxopt.request.verify.patterns import group_names
from nginxopt.request.verify.side import Definition, Side
from nginxopt.request.verify.symbols import variables


class Definitions:
    """The variables that a side defines. `keys` numbers equal definitions alike, whatever they are called."""

    def __init__(self, side: Side, keys: Keys) -> None:
        self._side = side
        self._keys = keys
        self._numbers: dict[str, Hashable] = {}
        self._bases: dict[str, tuple[str, ...]] = {}

    def form(self, name: str) -> Definition:
        """Return what the configuration says."""
        return self._side.definitions[name]

    def defines(self, name: str) -> bool:
        """Return whether the configuration defines a variable."""
        return name in self._side.definitions

    def number(self, name: str) -> Hashable:
        """Return a number that is equal for variables that are defined alike."""
        if name not in self._numbers:
            self._numbers[name] = ("itself", name)  # a map that is looked up through itself
            inner = tuple((used, self.number(used)) for used in sorted(filter(self.defines, self.used(name))))
            self._numbers[name] = self._keys.number((*_content(self.form(name)), inner))
        return self._numbers[name]

    def used(self, name: str) -> set[str]:
        """Return the variables that a definition reads, without those that a pattern of it has just set."""
        return self.sources(name) | self._in_values(name)

    def sources(self, name: str) -> set[str]:
        """Return the variables that are read in every look-up."""
        form = self.form(name)
        if form["kind"] == "opaque":
            return set()
        return variables((form["source"] if form["source"] is not None else "$remote_addr").encode("latin-1"))

    def _in_values(self, name: str) -> set[str]:
        return set().union(*(_read(key, value) for key, value in self._rows(name)))

    def _rows(self, name: str) -> Iterator[tuple[str, str]]:
        form = self.form(name)
        for row in form["rows"] if form["kind"] != "opaque" else ():
            if len(row["args"]) == 2:
                yield row["args"][0], row["args"][1]

    def inner(self, name: str) -> tuple[str, ...]:
        """Return the defined variables that a look-up may read, directly or not, without itself."""
        known = {name: None}
        waiting = [name]
        while waiting:
            for used in sorted(filter(self.defines, self.used(waiting.pop()) - known.keys())):
                known[used] = None
                waiting.append(used)
        del known[name]
        return tuple(sorted(known))

    def bases(self, name: str) -> tuple[str, ...]:
        """Return the variables, and numbers of captures, that a value depends on in the end, in their order."""
        if name not in self._bases:
            used = set().union(*(self.used(each) for each in (name, *self.inner(name))))
            self._bases[name] = tuple(sorted(each for each in used if not self.defines(each)))
        return self._bases[name]

    def is_kept(self, name: str) -> bool:
        """Return whether nginx looks a variable up once for a request."""
        form = self.form(name)
        return form["kind"] != "opaque" and not any(row["args"][:1] == ["volatile"] for row in form["rows"])

    def matches(self, name: str) -> bool:
        """Return whether a look-up may set captures."""
        return any(self._tries(each) for each in (name, *self.inner(name)))

    def _tries(self, name: str) -> bool:
        return self.form(name)["kind"] == "map" and any(key.startswith("~") for key, _ in self._rows(name))

    def groups(self, name: str) -> tuple[str, ...]:
        """Return the variables that the patterns of a look-up may set."""
        names = (key for each in (name, *self.inner(name)) if self._tries(each) for key, _ in self._rows(each))
        return tuple(dict.fromkeys(group for key in names for group in groups_of(key)))


def groups_of(key: str) -> tuple[str, ...]:
    """Return the variables that the pattern of a row sets; none for a plain key."""
    return group_names(key.encode("latin-1")) if key.startswith("~") else ()


@cache
def _read(key: str, value: str) -> frozenset[str]:
    """Return the variables that the value of a row reads from outside."""
    if "$" not in value:
        return frozenset()
    read = variables(value.encode("latin-1")) - set(groups_of(key))
    return frozenset(name for name in read if not (name.isdigit() and key.startswith("~")))


def _content(form: Definition) -> tuple[Hashable, ...]:
    """Return what a definition says, without the name of the variable that it defines."""
    if form["kind"] == "opaque":
        return "opaque", form["variable"], form["reason"]
    return form["kind"], form["source"], tuple(tuple(row["args"]) for row in form["rows"])
