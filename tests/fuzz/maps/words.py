"""Strings that maps look up: paths, host names and user agents, of few words, so that rows meet."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

Words = Callable[[random.Random], bytes]

_SEGMENTS = (
    b"a",
    b"b",
    b"ab",
    b"A",
    b"aB",
    b"doc",
    b"docs",
    b"Docs",
    b"v1.0",
    b"v1",
    b"x-1",
    b"x",
    b"new",
    b"en",
    b"1",
)
_ENDS = (
    b"",
    b"",
    b"",
    b"/",
    b".html",
    b".htm",
    b".php",
    b"/index.html",
    b"-2",
    b"?q=1",
    b"//a",
    b" b",
    b"+",
    b"\xc3\xa9",
)
_LABELS = (b"www", b"a", b"A", b"b", b"shop", b"shop2", b"example", b"mail", b"x-1")
_ZONES = (b"test", b"com", b"co.uk", b"org", b"Test")
_AGENTS = (b"Mozilla", b"bot", b"Googlebot", b"curl", b"Safari", b"Bing", b"MSIE 6", b"Edge", b"crawl", b"wget", b"bo")
_JOINTS = (b"/", b" ", b"; ", b"/1.0 (", b") ", b"-", b"")


def path(draw: random.Random) -> bytes:
    """Return a path, which starts with a slash."""
    segments = [
        draw.choice(_SEGMENTS) if draw.random() < 0.6 else _number(draw) for _ in range(draw.choice((1, 1, 2, 2, 3, 4)))
    ]
    return b"/" + b"/".join(segments) + draw.choice(_ENDS)


def _number(draw: random.Random) -> bytes:
    """Return a page with a number, small ones more often."""
    return draw.choice((b"p%d", b"p-%d", b"%d")) % min(1 / (1 - draw.random()), 999)


def host(draw: random.Random) -> bytes:
    """Return a host name, perhaps with a dot at its end."""
    labels = [draw.choice(_LABELS) if draw.random() < 0.8 else _number(draw) for _ in range(draw.choice((1, 1, 2, 3)))]
    return b".".join([*labels, draw.choice(_ZONES)]) + draw.choice((b"", b"", b"", b"."))


def agent(draw: random.Random) -> bytes:
    """Return something like a user agent."""
    return b"".join(
        (draw.choice(_AGENTS) if draw.random() < 0.8 else _number(draw)) + draw.choice(_JOINTS)
        for _ in range(draw.randint(1, 4))
    ).strip()


def url(draw: random.Random) -> bytes:
    """Return a scheme, a host and a path without anything between them."""
    return b"http" + draw.choice((b"a.test", b"b.test", b"www.a.test")) + path(draw)


@dataclass(frozen=True, slots=True)
class Style:
    """Words, and the bytes that stand between their parts."""

    word: Words
    separator: bytes


STYLES = {"path": Style(path, b"/"), "host": Style(host, b"."), "agent": Style(agent, b" "), "url": Style(url, b"/")}


def mutated(draw: random.Random, text: bytes) -> bytes:
    """Return a string next to one: a byte less or more, another case, a newline, a slash doubled, an empty segment."""
    place = draw.randint(0, len(text))
    head, tail = text[:place], text[place:]
    return draw.choice(
        (
            text,
            text[:-1],
            text[1:],
            head,
            tail,
            head + tail[1:],
            head + draw.choice((b"a", b"A", b"x", b".", b"-", b"/", b"\n", b" ", b"1", b"\xff", b">", b"|")) + tail,
            head + draw.choice((b"a", b"B", b".", b"/", b"\n", b"x")) + tail[1:],
            text.swapcase(),
            text.upper(),
            text.lower(),
            head + tail[:1].swapcase() + tail[1:],
            text + b"\n",
            text + b"\n\n",
            text + b"\nx",
            head + b"\n" + tail,
            b"\n" + text,
            text + b"/",
            text + b"/x",
            text + b"x",
            text + b"?q=1",
            text.replace(b"/", b"//", 1),
            text + b"//",
            text.replace(b".", b"x"),
            text.replace(b".", b"\n"),
            b"/" + text,
            b"x" + text,
            text + text,
            text + b">" + text,
            b"",
        )
    )
