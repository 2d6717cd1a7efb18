"""Prepares maps with regular expressions for a benchmark: each map alone, before and after compilation."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt import lazy
from nginxopt.bench.cases import cases
from nginxopt.bench.rewrite_rules import FAR_MISS
from nginxopt.bench.scenario import Target
from nginxopt.config import Config, load_text
from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.rewrite import Options
from nginxopt.rewrite.comparison import defining_maps
from nginxopt.rewrite.compilation import plan
from nginxopt.rewrite.kinds.maps.differential import Sender, example, sender, with_source
from nginxopt.rewrite.kinds.maps.reading import RegexMap
from nginxopt.rewrite.kinds.maps.stability import definitions
from nginxopt.rewrite.mapfile import sizes_text
from nginxopt.rewrite.proving import proved
from nginxopt.rewrite.requests import HOST
from nginxopt.system.http import RequestBytes
from nginxopt.text import encode

NO_VALUE = "https://map.test/[]"
"""The redirect target of a server without a map."""

_FAR = (FAR_MISS, b"zqvx7 kwj9")
_PATH = lazy.pattern(r"/(?:[\w./?=&~-]|%[0-9A-F]{2})*", re.ASCII)
_HOST = ("Host", HOST.decode())


@record(eq=True)
class MeasuredMap:
    """A map alone: its text for the http block before and after compilation, and the request of each case."""

    variable: str
    rows: int
    before: bytes
    after: bytes
    targets: dict[str, Target]


def server(variable: str) -> str:
    """Return the content of a server that redirects to the value of a variable, or to a constant."""
    return f'location / {{\n    return 301 "{NO_VALUE.replace("[]", f"[{variable}]")}";\n}}'


def measured(config: Config) -> list[MeasuredMap]:
    """Return the maps of a configuration that become trees and are proved. Raises `InputError` if all of them stay."""
    planned = plan(config, Options(groups=True))
    maps = [measured for compiled in planned.maps.compiled for measured in _measured(compiled.map)]
    if not maps:
        raise InputError(
            f"none of its {planned.maps.total:,} patterns of maps moves, so there is nothing to compare",
            path=config.main.path,
            hint="for the reasons, run `nginxopt rewrite-to-map FILE --plan-only -v`",
        )
    return maps


def _measured(regex_map: RegexMap) -> Iterator[MeasuredMap]:
    """Yield a map alone, unless it can be compiled only as part of its configuration."""
    send, source = sender(regex_map.source)
    text = with_source(regex_map.text(), encode(regex_map.source), source)
    alone = load_text(text, regex_map.directive.source.path, context="http", includes=False)
    emission, proof = proved(plan(alone, Options(groups=True)))
    if not (proof.holds and emission.plan.maps.compiled):
        return
    others = b"\n".join(defining_maps(_undefined(regex_map.config, alone)))
    before = b"\n".join([sizes_text(emission.sizes), text, others])
    after = b"\n".join([emission.http, emission.after(emission.plan.config.main), others])
    yield MeasuredMap(regex_map.variable, len(regex_map.patterns), before, after, _targets(regex_map, send))


def _undefined(around: Config, alone: Config) -> list[str]:
    """Return the variables that a configuration defines, but that are undefined for one of its maps alone."""
    every, own = definitions(around), definitions(alone)
    names = {*every.maps, *every.cached, *every.in_rows, *every.in_patterns, *every.by_others}
    return sorted(names - {*own.maps, *own.in_rows})


def _targets(regex_map: RegexMap, send: Sender) -> dict[str, Target]:
    """Return the requests for the measurement of a map, by case."""
    rows = [encode(row.name) for row in regex_map.patterns]
    patterns = [b"(?i)" + row[2:] if row.startswith(b"~*") else row[1:] for row in rows]
    matched = [value for row in rows if _target(send(value := example(row.lstrip(b"~*"))))]
    far = next(value for value in _FAR if _target(send(value)))
    targets = {case: _target(send(value)) for case, value in cases(patterns, matched, far).items()}
    return {case: target for case, target in targets.items() if target is not None}


def _target(request: RequestBytes | None) -> Target | None:
    """Return a request as a target; None if load generators may send it in another form."""
    if request is None:
        return None
    head, *lines = request.data.decode("latin-1").rstrip().split("\r\n")
    headers = tuple((name, value) for name, _, value in (line.partition(": ") for line in lines))
    path = head.split(" ")[1].replace("%2E", ".")
    if not (_PATH.fullmatch(path) and all(value.isascii() and value.isprintable() for _, value in headers)):
        return None
    return Target(path, None, headers=tuple(header for header in headers if header != _HOST))
