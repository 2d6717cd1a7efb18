"""Faults put into an emitted text at random: the proof has to refute each that changes an answer."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

Change = Callable[[random.Random, list[bytes], int], None]
"""Changes the lines of a text at a line that it is made for; it may do nothing."""

_ROW = re.compile(rb"^(\s+)(\S.*) (\S+|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*');$", re.DOTALL)
_PARTS = (
    (b".*", b".+"), (b".*", b""), (b"$", b""), (b"$", rb"\z"), (rb"\z", b"$"), (b"(?s)", b""), (b"(?!", b"(?="),
    (b"(?:", b"(?i:"), (b"^", b""), (b"^", b"(?i)^"), (b"~", b"~*"), (b"~*", b"~"), (b"?", b""), (b"|", b""),
    (b")?", b")"), (b")", b")?"), (b"\\.", b"."), (b".", b"\\."), (b"/", b"/?"), (b"/", b"//"), (b"*", b"+"),
    (b"[", b"[^"), (b"~^", b"~^(?!x)"), (b"(?:", b"(?>"), (b"*", b"*+"),
)  # fmt: skip


def mutant(draw: random.Random, text: bytes) -> bytes:
    """Return the text with one or two faults; it is the text itself where nothing came of them."""
    lines = text.split(b"\n")
    for _ in range(draw.choice((1, 1, 1, 2))):
        rows = [number for number, line in enumerate(lines) if _ROW.match(line)]
        if rows:
            draw.choice(CHANGES)(draw, lines, draw.choice(rows))
    return b"\n".join(lines)


def _row(lines: list[bytes], number: int) -> tuple[bytes, bytes, bytes]:
    match = _ROW.match(lines[number])
    assert match
    return match[1], match[2], match[3]


def _other(draw: random.Random, lines: list[bytes], number: int, *, near: bool) -> int:
    rows = [other for other, line in enumerate(lines) if other != number and _ROW.match(line)]
    if near:
        rows = [other for other in rows if abs(other - number) < 4]
    return draw.choice(rows) if rows else number


def _lost(_: random.Random, lines: list[bytes], number: int) -> None:
    del lines[number]


def _swapped(draw: random.Random, lines: list[bytes], number: int) -> None:
    other = _other(draw, lines, number, near=draw.random() < 0.8)
    lines[number], lines[other] = lines[other], lines[number]


def _moved(draw: random.Random, lines: list[bytes], number: int) -> None:
    other = _other(draw, lines, number, near=draw.random() < 0.5)
    lines.insert(other, lines.pop(number))


def _copied(draw: random.Random, lines: list[bytes], number: int) -> None:
    lines.insert(_other(draw, lines, number, near=draw.random() < 0.3), lines[number])


def _valued(draw: random.Random, lines: list[bytes], number: int) -> None:
    """The value of another row."""
    value = _row(lines, _other(draw, lines, number, near=draw.random() < 0.5))[2]
    space, key, _ = _row(lines, number)
    lines[number] = b"%s%s %s;" % (space, key, value)


def _keyed(draw: random.Random, lines: list[bytes], number: int) -> None:
    """A byte of the key or the pattern less, more or in another case."""
    space, key, value = _row(lines, number)
    place = draw.randrange(len(key))
    key = draw.choice(
        (
            key[:place] + key[place + 1 :],
            key[:place] + key[place : place + 1].swapcase() + key[place + 1 :],
            key[:place] + draw.choice((b"a", b"b", b"/", b".", b"x", b"1", b"A")) + key[place:],
            re.sub(rb'(.)(")?$', rb"\2", key),
            re.sub(rb'(")?$', draw.choice((b"a", b"/", b"x")) + rb"\1", key, count=1),
            key.swapcase(),
        )
    )
    lines[number] = b"%s%s %s;" % (space, key, value)


def _patterned(draw: random.Random, lines: list[bytes], number: int) -> None:
    """A part of a pattern is another one."""
    space, key, value = _row(lines, number)
    fitting = [part for part in _PARTS if part[0] in key]
    if fitting:
        part, by = draw.choice(fitting)
        places = [match.start() for match in re.finditer(re.escape(part), key)]
        place = draw.choice(places)
        lines[number] = b"%s%s%s%s %s;" % (space, key[:place], by, key[place + len(part) :], value)


def _unflagged(draw: random.Random, lines: list[bytes], _: int) -> None:
    """A flag or a default is lost, or stands where there was none."""
    flags = [number for number, line in enumerate(lines) if line.strip() in (b"volatile;", b"hostnames;")]
    defaults = [number for number, line in enumerate(lines) if line.strip().startswith(b"default ")]
    openings = [number for number, line in enumerate(lines) if line.startswith(b"map ")]
    if draw.random() < 0.7 and (flags or defaults):
        del lines[draw.choice([*flags, *defaults])]
    else:
        lines.insert(
            draw.choice(openings) + 1, draw.choice((b"    volatile;", b"    hostnames;", b"    default none;"))
        )


def _sourced(draw: random.Random, lines: list[bytes], _: int) -> None:
    """A map looks up what another one does."""
    openings = [number for number, line in enumerate(lines) if re.match(rb"map \S+ \S+ \{$", line)]
    if len(openings) > 1:
        number, other = draw.sample(openings, 2)
        parts = lines[number].split(b" ")
        parts[1] = lines[other].split(b" ")[1]
        lines[number] = b" ".join(parts)


CHANGES: tuple[Change, ...] = (
    _lost, _swapped, _moved, _copied, _valued, _valued, _keyed, _keyed, _patterned, _patterned, _unflagged, _sourced,
)  # fmt: skip
