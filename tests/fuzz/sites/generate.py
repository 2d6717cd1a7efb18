"""A site made of a seed and a number: its servers, what they need in `http`, and requests that tell its parts apart."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tests.fuzz.nodes import Node, render
from tests.fuzz.sites.locations import locations
from tests.fuzz.sites.scope import Scope
from tests.fuzz.sites.scripts import script
from tests.fuzz.sites.settings import settings
from tests.fuzz.sites.words import NAMES, VALUES, b, chance, condition, d


@dataclass(slots=True)
class Site:
    """A site: nodes of `http`, and what requests are made of: hosts, decoded URIs, and
    the ports that it listens at, by their places."""

    name: str
    number: int
    nodes: list[Node]
    hosts: Sequence[str]
    uris: Sequence[str]
    ports: Sequence[int]

    def text(self) -> str:
        """Return the text, with names of places."""
        return render("site", self.nodes).files["site"].decode("utf-8", "surrogateescape")


def site(seed: int, number: int, version: tuple[int, ...]) -> Site:
    """Return the site of that number, for an nginx of that version."""
    draw = random.Random(f"{seed}-{number}")
    scope = Scope(draw, number, version)
    servers = [_server(scope, index) for index in range(draw.choice((1, 1, 2, 2, 3, 4)))]
    servers[0].body = [*(servers[0].body or []), _declarations(scope)]
    return Site(
        f"{seed}-{number}",
        number,
        [*_http(scope), *servers],
        sorted(scope.hosts),
        list(dict.fromkeys(scope.uris)),
        sorted(scope.ports),
    )


def _http(scope: Scope) -> list[Node]:
    """Return what the servers use: variables and upstreams."""
    draw, number = scope.draw, scope.number
    source = draw.choice(("$uri", "$arg_a", "$host", "$args", "$request_uri", "$arg_a$arg_v"))
    rows = [
        d(word, value)
        for word, value in dict(zip(draw.sample(_KEYS, 4), draw.choices(_RESULTS, k=4), strict=True)).items()
    ]
    extra = [d("default", draw.choice(_RESULTS))] if chance(draw, 0.6) else []
    extra += [d("volatile")] if chance(draw, 0.3) else []
    hosts = [d("hostnames"), d("*.b.test", "/d/"), d(".a.test", "host"), d("www.*", "1"), d("default", "0")]
    address = draw.choice(("{http0}", "{http1}", f"up{number}"))
    geo = [d("default", "0"), d("127.0.0.0/8", draw.choice(VALUES[1:])), d("10.0.0.0/8", "ten")]
    return [
        b("map", source, f"$map{number}", inner=[*extra, *rows]),
        b("map", "$host", f"$names{number}", inner=hosts),
        b("map", "$host", f"$address{number}", inner=[d("default", address)]),
        b("geo", *(["$arg_ip"] if chance(draw, 0.5) else []), f"$geo{number}", inner=geo),
        b("split_clients", "$uri$args", f"$split{number}", inner=[d("30%", "a"), d("25.5%", "/d/"), d("*", "0")]),
        b("upstream", f"up{number}", inner=[d("server", "{http1}")]),
    ]  # fmt: skip


_KEYS = (
    "/a",
    "a",
    "x",
    "/f.txt",
    "~^/d",
    "~*b",
    "~^(?<m>.)$",
    "a.test",
    '""',
    "0",
    "/q1",
    "~/(.+)$",
    "\\default",
    "B/C",
)
_RESULTS = ("", "0", "1", "/d/", "/f.txt", "a", "$uri", "x$1", "$arg_v", "/x.html", "q?r=1")


def _server(scope: Scope, index: int) -> Node:
    draw = scope.draw
    scope.level = "server"
    listened = draw.choice(((0,), (0,), (0,), (1,), (0, 1))) if index else (0,)
    body = [_listen(scope, port) for port in listened]
    if index or chance(draw, 0.6):
        names = [scope.own(name) for name in draw.sample(NAMES, draw.choice((1, 1, 2, 3)))]
        body.append(Node(" ".join(["server_name", *names]).encode()))
    body += [scope.log(), *settings(scope)]
    if chance(draw, 0.5):
        body += script(scope, 3)
    inner = locations(scope)
    draw.shuffle(inner)
    return b("server", inner=[*body, *inner])


def _listen(scope: Scope, port: int) -> Node:
    scope.ports.add(port)
    words = ["listen", f"127.0.0.1:{{P{port or ''}}}"]
    if port not in scope.defaults and chance(scope.draw, 0.25):
        scope.defaults.add(port)
        words.append("default_server")
    return Node(" ".join(words).encode())


def _declarations(scope: Scope) -> Node:
    """Return a location that sets what is used elsewhere, so that nginx knows it."""
    inner = [d("set", f"$v{number}", "") for number in range(4)]
    inner.append(condition(f'$uri ~ "^/never(?<n{scope.number}>.)$"', []))
    return b("location", "=", f"/never-{scope.number}", inner=inner)
