"""Requests that are likely to show a difference: those for a rule, row or location that only one side has."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from nginxopt.verify.candidate import Candidate, with_value
from nginxopt.verify.path_condition import example
from nginxopt.verify.side import VerifiedSide
from nginxopt.verify.symbols import URI, Variable, pieces

MOST = 500
"""The maximum number of requests."""

_Thing = tuple[str, ...]


def probes(old: VerifiedSide, new: VerifiedSide) -> Iterator[Candidate]:
    """Yield requests for what only one side has, without a host."""
    mine, theirs = set(_things(old)), set(_things(new))
    only = [thing for thing in (*_things(old), *_things(new)) if (thing in mine) != (thing in theirs)]
    return islice((probe for thing in dict.fromkeys(only) for probe in _of(thing)), MOST)


def of_locations(old: VerifiedSide, new: VerifiedSide) -> Iterator[Candidate]:
    """Yield a request for `/`, and one for each location of a side, without a host."""
    yield Candidate()
    things = (thing for side in (old, new) for thing in _things(side) if thing[0] == "location")
    for thing in islice(dict.fromkeys(things), MOST):
        yield from islice(_of(thing), 1)


def _things(side: VerifiedSide) -> Iterator[_Thing]:
    """Yield the locations, rules and rows of a side."""
    for number, level in enumerate(side.form["levels"]):
        if level["kind"] == "location":
            name = side.location_name(number)
            yield "location", name.modifier, name.text.decode("latin-1")
        for statement in side.script(number):
            if statement["kind"] == "rewrite":
                yield "pattern", statement["pattern"]
            elif statement["kind"] == "if":
                yield "condition", *statement["condition"]
    for variable, form in side.definitions.items():
        if form["kind"] == "map":
            for row in form["rows"]:
                yield "row", variable, form["source"], *row["args"]


def _of(thing: _Thing) -> Iterator[Candidate]:
    """Yield requests for one of them."""
    match thing:
        case ("location", "~", pattern):
            yield from _matching(URI, pattern)
        case ("location", _, path) if path.startswith("/"):
            for end in ("", "x", "/x.html", "index.php"):
                yield Candidate(path=(path + end).encode("latin-1"))
            yield Candidate(path=path.rstrip("/").encode("latin-1") or b"/")
        case ("pattern", pattern):
            yield from _matching(URI, pattern)
        case ("condition", subject, "~" | "~*" | "!~" | "!~*" as test, pattern):
            yield from _valued(subject, ("(?i)" if test.endswith("*") else "") + pattern)
        case ("condition", subject, "=" | "!=", value):
            yield from _with(subject, value.encode("latin-1"))
        case ("row", _, source, key, _):
            if key.startswith("~"):
                yield from _valued(source, ("(?i)" + key[2:]) if key.startswith("~*") else key[1:])
            else:
                yield from _with(source, key.removeprefix("\\").encode("latin-1"))


def _valued(subject: str, pattern: str) -> Iterator[Candidate]:
    names = pieces(subject.encode("latin-1"))
    if len(names) == 1 and isinstance(names[0], str):
        yield from _matching(names[0], pattern)


def _matching(name: str, pattern: str) -> Iterator[Candidate]:
    value = example((pattern.encode("latin-1"),), (), Variable(URI if name == "request_uri" else name))
    if value is not None:
        yield from _with(f"${name}", value)


def _with(subject: str, value: bytes) -> Iterator[Candidate]:
    names = pieces(subject.encode("latin-1"))
    if len(names) == 1 and isinstance(names[0], str):
        yield with_value(Candidate(), names[0], value)
