"""Rows of a `map` with regular expressions, as one public site has 42,209 of: redirects of documentation that grew.

The shares are those of that map, and nothing else is: words, paths and targets are made up. The same size always gives
the same bytes. Sources are `$request_uri`, targets are paths.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

VARIABLE = b"$new_uri"
ASKED = b"if (%s) { return 301 %s; }\n" % (VARIABLE, VARIABLE)
"""What the server asks the map for."""

_AREAS = b"admin api cli cloud data design devices games guides learn mobile office sdk security store tools".split()
_TOPICS = (
    b"accounts alerts archive audit backup billing branches cache charts clusters commands concepts containers"
    b" credentials dashboards deploy devices diagnostics domains editor events exports extensions faq filters forms"
    b" functions gateways groups hosting identity images import indexes install insights jobs keys labels licensing"
    b" limits logging mail messages metrics migration modules monitor networks notes objects overview packages pages"
    b" partners patterns permissions pipelines plans policies portal pricing profiles projects queries queues quotas"
    b" regions registry releases reports roles routes rules samples schemas scripts search secrets services sessions"
    b" setup signing snapshots storage streams support sync tables tags tasks templates tenants tests themes threads"
    b" tokens topics tracing training tutorials updates upgrade usage users vaults versions views volumes webhooks"
    b" widgets workflows zones"
).split()
_VERBS = b"about add change choose compare configure create debug delete enable export find fix manage move use".split()
_VERSIONS = (b"v1.0", b"v1.2", b"v2.0", b"v2.5", b"3.1", b"7.x", b"net4.8")
_FILES = (b".html", b".aspx", b".md", b".htm")


def rows(count: int) -> Iterator[bytes]:
    """Yield `count` rows in their shares: 65 % with `.*$` behind a literal, 31 % literals with `$`, 4 % with something
    in between, 1 of 500 without an anchor, and 1 of 5,000 with a capture in its value.
    """
    draw = random.Random(count)
    known: set[bytes] = set()
    for number in range(count):
        path = _new_path(draw, known)
        yield b'"~%s" "%s";\n' % _row(draw, number, path)


def _row(draw: random.Random, number: int, path: bytes) -> tuple[bytes, bytes]:
    """Return a pattern and its value."""
    target = b"/%s/%d" % (draw.choice(_AREAS), number)
    if number % 5_000 == 4_999:
        return rb"^%s/([a-z0-9-]+)/details.*$" % _pattern(draw, path, 0.6), target + b"/$1"
    if number % 500 == 499:
        return rb"%s$" % _pattern(draw, b"/" + path.rpartition(b"/")[2], 0.5), target
    kind = draw.random()
    if kind < 0.65:
        return rb"^%s.*$" % _pattern(draw, path, 0.7), target
    if kind < 0.96:
        return rb"^%s$" % _pattern(draw, path, 0.5), target
    head, _, tail = path.rpartition(b"/")
    between = draw.choice((rb"/.*/", rb"/[^/]+/", rb"/[0-9]+/", rb"/(?:[a-z]{2}-[a-z]{2}/)?", rb"/.*"))
    return b"^%s%s%s.*$" % (_pattern(draw, head, 0.5), between, _pattern(draw, tail, 0.5)), target


def _new_path(draw: random.Random, known: set[bytes]) -> bytes:
    """Return a path that no row has yet; one of ten goes on where another ends."""
    while (path := _path(draw)) in known:
        pass
    known.add(path)
    return path


def _path(draw: random.Random) -> bytes:
    parts = [draw.choice(_AREAS)]
    if draw.random() < 0.5:
        parts.append(draw.choice(_VERSIONS))
    parts += (_topic(draw) for _ in range(draw.choice((1, 2, 2, 3))))
    parts.append(_page(draw))
    return b"/" + b"/".join(parts)


def _page(draw: random.Random) -> bytes:
    words = [draw.choice(_VERBS), *(_topic(draw) for _ in range(draw.choice((1, 2, 2, 3))))]
    end = draw.choice(_FILES) if draw.random() < 0.6 else b""
    return b"-".join(words) + end


def _topic(draw: random.Random) -> bytes:
    """Return a topic, more often one of the first."""
    return _TOPICS[int(len(_TOPICS) * draw.random() ** 2)]


def _pattern(draw: random.Random, path: bytes, unescaped: float) -> bytes:
    """Return a path as a pattern, with its dots escaped, or not in that share."""
    return path if draw.random() < unescaped else path.replace(b".", rb"\.")


def block(lines: Sequence[bytes]) -> bytes:
    """Return the map that has these rows."""
    return b"map $request_uri %s {\n%s}\n" % (VARIABLE, b"".join(b"    " + line for line in lines))


@dataclass(frozen=True, slots=True)
class Probe:
    """A request target and how far rows have to look at it."""

    name: str
    target: bytes


def probes(lines: Sequence[bytes]) -> list[Probe]:
    """Return targets that no row matches, far and near, and that the first and the last plain row match."""
    plain = [path for path in map(_path_of, lines) if path]
    return [
        Probe("far miss", b"/favicon.ico"),
        Probe("near miss", plain[len(plain) // 2].rpartition(b"/")[0] + b"/add-what-is-not-there"),
        Probe("hit first", plain[0] + b"?utm=1"),
        Probe("hit last", plain[-1] + b"?utm=1"),
    ]


def _path_of(line: bytes) -> bytes | None:
    """Return the path of a row with a literal and `.*$`."""
    found = re.match(rb'"~\^(/(?:[\w/.-]|\\\.)*)\.\*\$" ', line)
    return found[1].replace(b"\\", b"") if found else None
