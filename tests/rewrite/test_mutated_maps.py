"""The proof refutes emitted maps and rules with one damaged row, under each declared reading."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import product
from random import Random

from nginxopt import load_text
from nginxopt.rewrite import Emission, Options, Readings, emit, plan, prove
from tests.rows import every_row

NAMES = [field.name for field in fields(Readings)]
EVERY = [Readings(**dict(zip(NAMES, chosen, strict=True))) for chosen in product([False, True], repeat=len(NAMES))]
RULES = [
    rule.format(number)
    for number in range(30)
    for rule in (
        "rewrite ^/old{0}$ /new/{0} permanent;",
        "rewrite ^/Page{0}.html$ /page/{0} permanent;",
        "rewrite ^/open{0} /closed/{0} redirect;",
        "rewrite ^/dir{0}/(.*)$ /to/{0}/$1 permanent;",
    )
]
MAP = "map $request_uri $new {{ default none; {} }}".format(
    "".join(
        f'"~^/a{number}/(.*)$" "/b{number}/$1"; "~/c{number}\\.php$" /d{number}; "~*^/e{number}" /f{number};'
        for number in range(20)
    )
    + r'"~^/(?<u>.*)/end$" "$u"; "~^/last$" /last;'
)
ROW = re.compile(rb'^    (~?)("(?:[^"\\]|\\.)*")( +)"((?:[^"\\]|\\.)+)";$', re.MULTILINE)
"""A row of a map with a value, as written."""


def rows(text: bytes) -> list[re.Match[bytes]]:
    """Return the rows of the emitted maps with answers of their own: no key or number that leads to another map."""
    return [row for row in ROW.finditer(text) if b"$" not in row[4] and (b"/" in row[4] or row[4].isdigit())]


def damaged(text: bytes, random: Random) -> Iterator[tuple[str, bytes]]:
    """Yield texts in which a row is dropped, has another value, or the value of another row."""
    found = rows(text)
    assert len(found) > 20
    for row in random.sample(found, 4):
        yield f"dropped {row[0]!r}", text[: row.start()] + text[row.end() + 1 :]
        yield f"value of {row[0]!r}", text[: row.end(4)] + b"x" + text[row.end(4) :]
        other = random.choice([other for other in found if other[4] != row[4] and b"|" not in other[4]])
        yield f"value of another in {row[0]!r}", text[: row.start(4)] + other[4] + text[row.end(4) :]
        key = row[2].swapcase()
        if row[2] == row[4].join([b'"', b'"']) and key != row[2]:
            # A guard gives the key back as it is spelled.
            yield f"case in {row[0]!r}", text[: row.start(4)] + key[1:-1] + text[row.end(4) :]


def with_parts(emission: Emission, rewrites: bytes, groups: bytes, trees: bytes) -> Emission:
    """Return the emission with another text of its maps."""
    return replace(emission, maps=rewrites + groups + trees, groups=groups, trees=trees)


@every_row("readings", EVERY, ids=str)
def test_rules(readings: Readings) -> None:
    """Rules whose keys or lookups lack a row, or have another value in one, are refuted."""
    config = load_text("\n".join(RULES).encode(), "rules.conf", context="server")
    emission = emit(plan(config, Options(readings, groups=True)))
    assert prove(emission).holds
    keys, groups, trees = emission.maps_of_rewrites, emission.groups, emission.trees
    random = Random(str(readings))
    for name, wrong in damaged(keys, random):
        assert not prove(with_parts(emission, wrong, groups, trees)).holds, name
    for name, wrong in damaged(groups, random):
        assert not prove(with_parts(emission, keys, wrong, trees)).holds, name


def test_map() -> None:
    """A map whose tree lacks a row, has another value in one, or has rows in another order, is refuted."""
    emission = emit(plan(load_text(MAP.encode(), "maps.conf", context="http")))
    assert prove(emission).holds
    assert b"_apart {" in emission.trees
    assert emission.maps.endswith(emission.trees)
    for name, wrong in damaged(emission.trees, Random(1)):
        assert not prove(with_parts(emission, emission.maps_of_rewrites, b"", wrong)).holds, name
    original = emission.trees.index(b"_original {")
    first, second = list(ROW.finditer(emission.trees, original))[:2]
    swapped = b"\n".join([second[0], first[0]])
    wrong = emission.trees[: first.start()] + swapped + emission.trees[second.end() :]
    assert not prove(with_parts(emission, emission.maps_of_rewrites, b"", wrong)).holds
