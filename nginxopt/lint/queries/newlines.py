r"""Line ends that a client puts into values: `%0d%0a` in a path becomes `\r\n` in `$uri` and in captures of it.

nginx decodes the path (`ngx_http_parse_complex_uri`), and `$uri`, captures, and what is made of them have the bytes as
they are; only captures in the replacement of a `rewrite` that redirects are escaped again
(`ngx_http_script_copy_capture_code`). `$request_uri`, `$args` and headers have no line ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from urllib.parse import quote

from nginxopt import lazy
from nginxopt.config import Directive
from nginxopt.lint.queries.model import Model, once
from nginxopt.lint.queries.reaching import reaching
from nginxopt.lint.queries.requests import AskedRequest
from nginxopt.semantics import Level
from nginxopt.semantics.subjects import shortest
from nginxopt.text import encode

VARIABLE = lazy.pattern(r"\$(?:\{(\w+)\}|(\w+))", re.ASCII)
"""A variable in a word."""

_DECODED = {"uri", "document_uri"}
_ESCAPED = b"%0d%0aX-Injected:1"
_GROUP = lazy.pattern(r"\(\?P?[<'](\w+)[>']")
_LINE_END = (rb"^/[!-~\r\n]*\r\nX-Injected:1", rb"^/[!-~\r\n]*\r\n[A-Za-z]", rb"^/[!-~\r\n]*\n[!-~]")
"""Patterns of URIs with a line end, the most telling first."""
_TAKES_ONE = lazy.pattern(r"\[\^|\\[WDsRvXnr\[]|\(\?[a-z]*s|\[:")
"""What may match a line end in a pattern: a group without any of this captures none."""
_CHOOSING = lazy.pattern(r"\$\{?(host|http_host|http_\w+|arg_\w+)\}?", re.ASCII)
_CAPTURE = lazy.pattern(r"\$(?:\d+|\{\d+\})")
_MOST_REQUESTS = 4


def may_have_one(model: Model, text: str) -> bool:
    """Return whether a value may have a line end, as far as its variables show."""
    return any(name.isdecimal() or name in _decoded(model) for name in _names(text))


def requests(model: Model, level: Level, value: str) -> Iterator[AskedRequest]:
    """Yield requests to a level that put a line end into a value, if any do."""
    for headers in dict.fromkeys(_choices(model, value)):
        for asked in (*_plain(level), *_matched(model, level, value)):
            yield replace(asked, headers=(*asked.headers, *headers))


def _plain(level: Level) -> Iterator[AskedRequest]:
    for asked in islice(reaching(level), _MOST_REQUESTS):
        path, mark, args = asked.target.partition(b"?")
        yield replace(asked, target=path + _ESCAPED + mark + args)


def _matched(model: Model, level: Level, value: str) -> Iterator[AskedRequest]:
    """Yield requests whose path the patterns of a level and of the maps of a value match."""
    has_all = any((match[1] or match[2]).lower() in _DECODED for match in VARIABLE.finditer(value))
    base = conditions_of(level)
    for pattern in dict.fromkeys((None, *patterns_in(level), *patterns_of_maps(model, value))):
        inside = base if pattern is None else (*base, pattern)
        if not inside or not (has_all or any(_TAKES_ONE.search(text.decode("latin-1")) for text in inside)):
            continue
        for subject in dict.fromkeys(shortest((*inside, line_end)) for line_end in _LINE_END):
            if subject is not None:
                yield AskedRequest(quote(subject, safe="/:~!$&'()*+,;=@").encode())


@once
def _decoded(model: Model) -> frozenset[str]:
    """Return the variables whose values may have decoded parts of the path, as far as what they are made of shows."""
    made_of: dict[str, list[str]] = {}
    pending = [*_DECODED, *_groups(model).difference(model.maps)]
    for name, part in _parts(model):
        if part.isdecimal():
            pending.append(name)
        else:
            made_of.setdefault(part, []).append(name)
    found: set[str] = set()
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += made_of.get(name, ())
    return frozenset(found)


def _parts(model: Model) -> Iterator[tuple[str, str]]:
    """Yield each variable of a map or `set` with the names, or numbers, of what makes its value decoded."""
    for name, source in model.maps.items():
        values = [row.args[0] for row in source.directives if row.args]
        if any(part.isdecimal() for value in values for part in _names(value)):
            yield from ((name, part) for part in _names(source.args[0]))
        yield from ((name, part) for value in values for part in _names(_CAPTURE.sub("", value)))
    for (_, name), stated in sets(model).items():
        if name not in model.maps:
            yield from ((name, part) for directive in stated for part in _names(directive.args[1]))


def _names(text: str) -> Iterator[str]:
    """Yield the names of the variables in a word, in lower case."""
    return ((match[1] or match[2]).lower() for match in VARIABLE.finditer(text))


@once
def sets(model: Model) -> dict[tuple[Level | None, str], list[Directive]]:
    """Return the `set` directives by their server, if they are in one, and their variable, in lower case."""
    stated: dict[tuple[Level | None, str], list[Directive]] = {}
    for directive, level in model.each("set"):
        if len(directive.args) == 2:
            name = directive.args[0].lstrip("$").strip("{}").lower()
            stated.setdefault((level.around("server"), name), []).append(directive)
    return stated


@once
def _groups(model: Model) -> set[str]:
    """Return the names of the groups of locations, rewrites and conditions, which may be those of a URI."""
    words = (
        *(word for level in model.levels("location", "if") for word in level.args),
        *(rewrite.args[0] for rewrite, _ in model.each("rewrite") if rewrite.args),
    )
    return {name.lower() for word in words if "(?" in word for name in _GROUP.findall(word)}


def conditions_of(level: Level) -> tuple[bytes, ...]:
    """Return the patterns that a URI matches to reach a level."""
    patterns: list[bytes] = []
    around: Level | None = level
    while around is not None and around.kind in ("location", "if"):
        if around.kind == "location" and around.modifier in ("~", "~*"):
            patterns.append(around.pattern)
        elif around.kind == "location" and around.path.startswith("/"):
            patterns.append(b"^" + re.escape(encode(around.path)))
        elif around.kind == "if":
            patterns += _condition(around)
        around = around.parent
    return tuple(patterns)


def _condition(level: Level) -> list[bytes]:
    words = [str(word) for word in level.args]
    if len(words) != 3 or words[0].strip("${}") not in _DECODED or words[1] not in ("~", "~*"):
        return []
    return [(b"(?i)" if words[1] == "~*" else b"") + encode(words[2])]


def patterns_in(level: Level) -> Iterator[bytes]:
    """Yield the patterns of the statements of a level, whose captures are in force behind them."""
    for directive in level.directives:
        if directive.name == "rewrite" and len(directive.args) > 1:
            yield encode(directive.args[0])
    for inner in level.levels:
        if inner.kind == "if":
            yield from _condition(inner)


def _choices(model: Model, value: str) -> Iterator[tuple[str, ...]]:
    """Yield the headers by which clients choose rows of the maps of a value, if these have decoded values."""
    yield ()
    for match in VARIABLE.finditer(value):
        source = model.maps.get((match[1] or match[2]).lower())
        chosen = _CHOOSING.fullmatch(source.args[0]) if source else None
        if source is None or chosen is None or not chosen[1].startswith(("host", "http_")):
            continue
        name = chosen[1].removeprefix("http_").replace("_", "-").title()
        rows = (row for row in source.directives if row.args and may_have_one(model, row.args[0]))
        for row in islice(rows, _MOST_REQUESTS):
            if row.name not in ("default", "hostnames") and not row.name.startswith("~"):
                yield (f"{name}: {row.name}",)


def patterns_of_maps(model: Model, value: str) -> Iterator[bytes]:
    """Yield the patterns of the maps that a value reads."""
    for match in VARIABLE.finditer(value):
        source = model.maps.get((match[1] or match[2]).lower())
        for row in source.directives if source else ():
            if row.name.startswith("~") and row.args and "$" in row.args[0]:
                is_caseless = row.name.startswith("~*")
                yield (b"(?i)" if is_caseless else b"") + encode(row.name[2 if is_caseless else 1 :])
