"""Requests by which a client puts a text of its choice into a value: by arguments, headers, cookies and the path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from urllib.parse import quote

from nginxopt.lint.queries.model import Model
from nginxopt.lint.queries.newlines import VARIABLE, conditions_of, patterns_in, patterns_of_maps, sets
from nginxopt.lint.queries.reaching import reaching
from nginxopt.lint.queries.requests import AskedRequest
from nginxopt.semantics import Level
from nginxopt.semantics.subjects import shortest
from nginxopt.text import encode

_MOST_REQUESTS = 3
_HOST = {"host", "http_host"}
_ARGS = {"args", "query_string"}
_SAFE = "/:~!$&'()*+,;=@"


def sources(model: Model, level: Level, value: str) -> tuple[str, ...]:
    """Return the variables, in lower case, that a value in a level is made of; maps and `set` count by their values.

    Each variable counts once, however often values name it: `set $a "$a$a"` would double at every level.
    """
    found: dict[str, None] = {}
    seen: set[str] = set()
    waiting = _named(value)
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            inner = _definitions(model, level, name)
            waiting += _named(*inner)
            if not inner:
                found[name] = None
    return tuple(found)


def _named(*values: str) -> list[str]:
    """Return the variables that values name, in lower case, the last first."""
    return [(match[1] or match[2]).lower() for value in values for match in VARIABLE.finditer(value)][::-1]


def requests(model: Model, level: Level, value: str, text: str) -> Iterator[AskedRequest]:
    """Yield requests to a level that may put a text into a value."""
    for name in sources(model, level, value):
        for asked in islice(reaching(level), _MOST_REQUESTS):
            yield from _with(asked, name, text)
    base = conditions_of(level)
    contained = re.escape(encode(text))
    for pattern in dict.fromkeys((None, *patterns_in(level), *patterns_of_maps(model, value))):
        inside = base if pattern is None else (*base, pattern)
        subject = shortest((*inside, b"^/[!-~]*" + contained)) if inside else None
        if subject is not None:
            yield AskedRequest(quote(subject, safe=_SAFE).encode())


def _definitions(model: Model, level: Level, name: str) -> list[str]:
    source = model.maps.get(name)
    if source is not None:
        return [source.args[0], *(row.args[0] for row in source.directives if row.args)]
    return [stated.args[1] for stated in sets(model).get((level.around("server"), name), ())]


def _with(asked: AskedRequest, name: str, text: str) -> Iterator[AskedRequest]:
    """Yield a request with a text in the variable of a name."""
    mark = b"&" if b"?" in asked.target else b"?"
    if name in _HOST:
        yield replace(asked, headers=(*asked.headers, f"Host: {text}"))
    elif name in _ARGS:
        yield replace(asked, target=asked.target + mark + encode(text))
    elif name.startswith("arg_"):
        yield replace(asked, target=asked.target + mark + encode(f"{name.removeprefix('arg_')}={text}"))
    elif name.startswith("http_"):
        header = name.removeprefix("http_").replace("_", "-").title()
        yield replace(asked, headers=(*asked.headers, f"{header}: {text}"))
    elif name.startswith("cookie_"):
        yield replace(asked, headers=(*asked.headers, f"Cookie: {name.removeprefix('cookie_')}={text}"))
