"""Compares the values of a map and of its tree on a real nginx, as a check of the proof.

Two instances, one with the map and one with the tree, return the value for each subject: matches of the patterns, keys,
and close variants of both. Requests set the source of the map; if they cannot, a header replaces it in both texts.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from nginxopt import lazy
from nginxopt.records import record
from nginxopt.rewrite.comparison import (
    Differential,
    Limits,
    Mismatch,
    compare,
    defining_maps,
    reasons,
    unknown_variables,
)
from nginxopt.rewrite.kinds.maps.proof import EmittedMap, read
from nginxopt.rewrite.kinds.maps.reading import RegexMap
from nginxopt.rewrite.mapfile import sizes_text
from nginxopt.rewrite.requests import HOST
from nginxopt.system.http import RequestBytes
from nginxopt.system.nginx import Binary, Instance, Verdict, configuration
from nginxopt.text import encode
from nginxopt.text.display import spellings

if TYPE_CHECKING:
    from nginxopt.rewrite.proving import Emission

_ATOM = lazy.pattern(
    rb"""\\(?P<escape>.)|(?P<group>\((?:\?(?:[:=!>]|<[=!]|P?<\w+>|[a-z]+\)))?)|(?P<end>\))|(?P<alternative>\|)"""
    rb"""|(?P<class>\[\^?\]?(?:\\.|[^]\\])*\])|(?P<repeat>[*+?]|\{\d*,?\d*\})[?+]?|(?P<anchor>[$^])|(?P<any>\.)"""
    rb"""|(?P<byte>.)""",
    re.DOTALL,
)
_ESCAPES = {b"d": b"1", b"w": b"w", b"s": b" ", b"n": b"\n", b"S": b"x", b"D": b"x", b"W": b"-"}

Variant = Callable[[bytes], bytes]
VARIANTS: tuple[Variant, ...] = (
    lambda value: value,
    lambda value: value + b"x",
    lambda value: value[:-1],
    lambda value: value.swapcase(),
    lambda value: value + b"\n",
    lambda value: value + b"/x",
    lambda value: value[:-1] + bytes([(value[-1] + 1) % 256]) if value else b"",
    lambda value: value[:-1] + bytes([(value[-1] - 1) % 256]) if value else b"",
    lambda value: value + b"\nx",
    lambda value: value.replace(b"/", b"//", 1),
    lambda value: b"/x" + value,
    lambda value: value[1:],
)
"""Functions that return a value and close variants: a byte more or less, other bytes or case, newlines, slashes."""


def subjects(regex_map: RegexMap, keys: Iterable[bytes]) -> Iterator[bytes]:
    """Yield values for which a map and a tree with these `keys` might differ, the most likely ones first."""
    known = [text for row in regex_map.patterns for text in examples(encode(row.name).lstrip(b"~*"))]
    known += [encode(row.name) for row in regex_map.rows if row.args and not row.name.startswith("~")]
    return variants([b"", *known, *keys])


def variants(values: Iterable[bytes]) -> Iterator[bytes]:
    """Yield values and their close variants, the values themselves first."""
    distinct = list(dict.fromkeys(values))
    return (variant(value) for variant in VARIANTS for value in distinct)


def examples(pattern: bytes) -> list[bytes]:
    """Return two strings that a pattern may match: without and with its optional parts."""
    return list(dict.fromkeys(example(pattern, most=most) for most in (False, True)))


def example(pattern: bytes, *, most: bool = False) -> bytes:
    """Return a string that a pattern may match: the first part of each alternation, the first byte of each class.

    With `most`, it contains optional parts.
    """
    out: list[bytes] = []
    opened: list[int] = []
    skipping = 0  # the depth of groups within an alternative that is skipped
    for match in _ATOM.finditer(pattern):
        kind, text = match.lastgroup, match[0]
        if kind == "group":
            if not text.endswith(b")"):
                opened.append(len(out))
                skipping += skipping > 0
        elif kind == "end" and opened:
            start = opened.pop()
            skipping -= skipping > 0
            if not skipping:
                out[start:] = [b"".join(out[start:])]
        elif kind == "alternative":
            if not opened:
                break
            skipping = skipping or 1
        elif not skipping:
            _append(kind, text, match["escape"], most, out)
    return b"".join(out)


def _append(kind: str | None, text: bytes, escape: bytes | None, most: bool, out: list[bytes]) -> None:
    """Add a match of an atom outside groups."""
    if escape is not None:
        out.append(_ESCAPES.get(escape, b"" if escape in b"bBAzZ" else escape))
    elif kind == "class":
        out.append(_member(text[1:-1]))
    elif kind == "repeat":
        if text[:1] == b"?" and out and not most:
            out[-1] = b""
    elif kind == "any":
        out.append(b"x")
    elif kind == "byte":
        out.append(text)


def _member(members: bytes) -> bytes:
    """Return a byte of a class."""
    if members.startswith(b"^"):
        return next(bytes([byte]) for byte in b"xyz1-_." if byte not in members)
    escape = members[:1] == b"\\"
    return _ESCAPES.get(members[1:2], members[1:2]) if escape else members[:1]


# The comparison

_HEADER = b"Nginxopt-Value"
_IN_PLACE = b"$http_nginxopt_value"
_HEAD = lazy.pattern(rb"^map\s[^{]*", re.MULTILINE)
_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/-_~"
_SPELLINGS = spellings(set(range(256)) - set(_UNRESERVED))

Sender = Callable[[bytes], RequestBytes | None]
"""A function that returns a request for which the source of the map has a value; None if there is none."""


@record(eq=True)
class MapsSide:
    """One of the two configurations: its maps, and the content of its server."""

    maps: bytes
    content: bytes

    def server(self) -> bytes:
        """Return the content of the server, which accepts long headers."""
        return b"server_name %s; large_client_header_buffers 4 64k; merge_slashes off; %s" % (HOST, self.content)

    def test(self, binary: Binary, variables: tuple[str, ...]) -> Verdict:
        """Return nginx's verdict on the configuration, in which the undefined `variables` get a value."""
        return binary.test(configuration([self.server()], http=_http(variables)), {"maps.conf": self.maps})

    def run(self, binary: Binary, variables: tuple[str, ...], avoid: bytes) -> Instance:
        """Return an nginx with the configuration; the digits of its port do not occur in `avoid`."""
        files, http = {"maps.conf": self.maps}, _http(variables)
        servers = [self.server()]
        return Instance(binary, servers=servers, http=http, files=files, log_level="emerg", avoid=avoid, alone=True)


def _http(variables: tuple[str, ...]) -> bytes:
    return b"\n".join([b"include maps.conf;", *defining_maps(variables)])


def questions(emission: Emission) -> Iterator[Callable[[Binary, Limits], Differential]]:
    """Yield the comparison of each map with its tree."""
    plan = emission.plan
    needed = sizes_text(emission.sizes)
    texts = {change.file: change.after for change in emission.changes}
    for emitted in read(plan.config, plan.maps, texts, emission.trees) if plan.maps.compiled else ():
        yield partial(_asked, emitted, needed)


def _asked(emitted: EmittedMap, needed: bytes, binary: Binary, limits: Limits) -> Differential:
    return differential(emitted, sizes=needed, binary=binary, limits=limits)


def differential(emitted: EmittedMap, *, sizes: bytes, binary: Binary, limits: Limits) -> Differential:
    """Return the differences between the values of a map and of its tree.

    `sizes` are the directives for hash tables. Raises `InputError` if nginx refuses the map.
    """
    compiled = emitted.compiled
    send, source = sender(compiled.map.source)
    before, after = (
        with_source(text, encode(compiled.map.source), source) for text in (compiled.map.text(), emitted.text)
    )
    content = b'location / { return 200 "%s"; }' % encode(f"[{compiled.map.variable}]")
    keys = [key for block in emitted.tree for key in block.keys]
    requests = (send(value) for value in subjects(compiled.map, keys))
    sides = MapsSide(before, content), MapsSide(sizes + after, content)
    return compare_sides(*sides, requests, compiled.map.directive.source.path, binary, limits)


def compare_sides(
    before: MapsSide,
    after: MapsSide,
    requests: Iterable[RequestBytes | None],
    path: str,
    binary: Binary,
    limits: Limits,
) -> Differential:
    """Return the differences between the responses of two sides. Raises `InputError` if nginx refuses `before`."""
    started = time.monotonic()
    variables, _ = unknown_variables(lambda names: before.test(binary, names), path)
    verdict = after.test(binary, variables)
    if not verdict.ok:
        start = Mismatch("start", b"", b"", reasons(verdict).encode(errors="surrogateescape"))
        return Differential(0, (start,), 1, time.monotonic() - started, 0, variables=variables)
    distinct = list(dict.fromkeys(request for request in requests if request))
    chosen = distinct[:: len(distinct) // limits.requests + 1]
    avoid = before.maps + before.content + after.maps + after.content
    with contextlib.ExitStack() as running:
        pair = [running.enter_context(side.run(binary, variables, avoid)) for side in (before, after)]
        tally = compare(pair[0], pair[1], chosen, started + limits.seconds, limits.progress)
    skipped = len(distinct) - tally.requests
    return Differential(
        tally.requests, tuple(tally.shown), tally.mismatched, time.monotonic() - started, skipped, tally.unstable
    )


def sender(source: str) -> tuple[Sender, bytes]:
    """Return the function that makes a request for a value of `source`, and the source to use in the maps."""
    name = source.removeprefix("$").removeprefix("{").removesuffix("}").lower()
    ours = encode(source)
    if name in ("uri", "document_uri"):
        return _uri, ours
    if name == "request_uri":
        return _target, ours
    if name in ("args", "query_string"):
        return lambda value: _target(b"/?" + value), ours
    if name.startswith("arg_"):
        return lambda value: _target(b"/?%s=%s" % (encode(name[4:]), value)), ours
    if name == "host":
        return lambda value: _get(b"/", value) if _is_token(value) else None, ours
    if name.startswith("http_") and name not in ("http_host", "http_content_length", "http_transfer_encoding"):
        return lambda value: _header(encode(name[5:].replace("_", "-")), value), ours
    return lambda value: _header(_HEADER, value), _IN_PLACE


def with_source(text: bytes, source: bytes, looked_up: bytes) -> bytes:
    """Return maps in which `looked_up` replaces the source."""
    return text if source == looked_up else _HEAD.sub(lambda head: head[0].replace(source, looked_up), text)


def _uri(value: bytes) -> RequestBytes | None:
    if not value.startswith(b"/") or b"\0" in value or re.search(rb"/\.\.?(?:/|\Z)", value):
        return None
    return _get(b"".join(map(_SPELLINGS.__getitem__, value)))


def _target(value: bytes) -> RequestBytes | None:
    return _get(value) if value.startswith(b"/") and _is_token(value) else None


def _header(name: bytes, value: bytes) -> RequestBytes | None:
    if re.search(rb"[\0\r\n]", value) or value != value.strip(b" "):
        return None
    return _get(b"/", more=b"%s: %s\r\n" % (name, value))


def _is_token(value: bytes) -> bool:
    return bool(value) and all(byte > 0x20 and byte != 0x7F for byte in value)


def _get(target: bytes, host: bytes = HOST, more: bytes = b"") -> RequestBytes:
    return RequestBytes(b"GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (target, host, more))
