"""Files of rewrites like those of real configurations, of any size; the same size always gives the same bytes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from nginxopt.bench.rewrite_rules import literal


def wild(count: int) -> Iterator[bytes]:
    """Yield rules in the shares of 7,398 rules of 74 public repositories; about half of them move."""
    draw = random.Random(count)
    kinds = draw.choices(*zip(*_SHARES, strict=True), k=count)
    for number, kind in enumerate(kinds):
        flag = draw.choices((b"permanent", b"redirect", b"last"), (56, 36, 8))[0]
        of = draw.randrange(number) if kind is _duplicate and number else number
        yield b"rewrite %s %s;\n" % (kind(of), flag)


def kept(count: int) -> Iterator[bytes]:
    """Yield as many rules that stay as rules that move, the former first: each string of the latter is asked of
    all those that stay, whose prefix it shares.
    """
    for number in range(count // 2):
        yield b"rewrite ^/section/archive/(.*)-%05d\\.php$ /new/$1-%d last;\n" % (number, number)
    yield from literal(count - count // 2)


def example(rule: bytes) -> bytes:
    """Return a URI that a rule of a mix matches."""
    uri = rule.split(b" ")[1].strip(b'"')
    for part, text in _MATCHED:
        uri = uri.replace(part, text)
    return uri


_MATCHED = (
    (b"(?i)", b""),
    (b"^", b""),
    (b"/?$", b"/"),
    (b"$", b""),
    (b"\\", b""),
    (b"(.*)", b"some/page.html"),
    (b"([/]+)", b"part"),  # without its ^
    (b"([0-9]+)", b"42"),
    (b"(print|mail)", b"mail"),
)


def _stem(number: int) -> bytes:
    return b"/%s/item-%05d" % ((b"news", b"blog", b"shop", b"wiki", b"docs")[number % 5], number)


def _literal(number: int) -> bytes:
    return rb"^%s\.html$ /new/%d" % (_stem(number), number)


def _duplicate(number: int) -> bytes:
    return _literal(number)


def _optional_slash(number: int) -> bytes:
    return b"^%s/?$ https://example.com/new/%d?from=old" % (_stem(number), number)


def _tail(number: int) -> bytes:
    return b"^%s/(.*)$ /new/%d/$1" % (_stem(number), number)


def _prefix(number: int) -> bytes:
    return b"^%s/ /new/%d" % (_stem(number), number)


def _open_literal(number: int) -> bytes:
    return b"^%s.html /new/%d?" % (_stem(number), number)


def _segments(number: int) -> bytes:
    return b"^%s/([^/]+)/([0-9]+)$ /new/%d?a=$1&b=$2" % (_stem(number), number)


def _unanchored(number: int) -> bytes:
    return rb"%s\.php$ /new/%d" % (_stem(number), number)


def _ignore_case(number: int) -> bytes:
    return b'"(?i)^%s/About$" /new/%d' % (_stem(number), number)


def _alternatives(number: int) -> bytes:
    return b"^%s/(print|mail)$ /new/%d" % (_stem(number), number)


def _dotted(number: int) -> bytes:
    return b"^%s.html$ /new/%d" % (_stem(number), number)


_SHARES: tuple[tuple[Callable[[int], bytes], int], ...] = (
    (_literal, 25),
    (_optional_slash, 12),
    (_tail, 15),
    (_prefix, 10),
    (_open_literal, 13),
    (_segments, 5),
    (_unanchored, 4),
    (_ignore_case, 4),
    (_alternatives, 4),
    (_dotted, 4),
    (_duplicate, 4),
)

MIXES: dict[str, Callable[[int], Iterator[bytes]]] = {"literal": literal, "wild": wild, "kept": kept}
"""What can be asked for on the command line."""


def write(path: Path, rules: Iterable[bytes]) -> None:
    """Write rules to a file, a few at a time (see `child.run` for why)."""
    with path.open("wb") as file:
        file.writelines(rules)
