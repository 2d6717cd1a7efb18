"""Pairs of small sites with missing includes, lists and nested locations: what is called equivalent must answer alike
whatever the files hold.

`verify` compares the sites without the files. Where it says that a pair is equivalent, the files get contents, and the
pairs with these contents are what nginx is asked about.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from copy import deepcopy

from nginxopt.config import load_text
from nginxopt.errors import NginxoptError
from nginxopt.request.model import SiteModel
from nginxopt.semantics.site import Build
from nginxopt.verify import verify
from nginxopt.version import Version
from tests.fuzz.nodes import Node, render, walk
from tests.fuzz.sites.messages import request
from tests.fuzz.verify.by_model import filled
from tests.fuzz.verify.case import Case, Edited

_BUILD = Build(Version(1, 22, 1))
_FILES = ("nx0", "nx1")
_SETTINGS = (
    "add_header X-A 1 always", "add_header X-A 2 always", "add_header X-B $uri always", "error_page 404 /e1",
    "error_page 404 =200 /e2", "error_page 403 /e1", "expires 1h", "expires epoch", "root {T}/r", "deny all",
    "allow all", "deny 127.0.0.0/8", "allow 127.0.0.0/16", "proxy_set_header X 1", "proxy_set_header X 2",
    "proxy_set_header Host h", "proxy_redirect off", "proxy_redirect / /r/", "index f.txt", "default_type a/b",
    "proxy_pass http://{http0}", "proxy_pass http://{http1}", "satisfy any", "auth_basic r", "sub_filter a b",
    "sub_filter a c", "fastcgi_param X 1", "fastcgi_param X 2", "proxy_hide_header X-A",
)  # fmt: skip
_STATEMENTS = ("return 200 $uri", "return 404", "rewrite ^/a/(.*)$ /b/$1 last", "set $v 1", "return 403")
_NAMES = ("/a/", "/a/b/", "/b/", "= /a/f.txt", "~ f", r"~ \.txt$", "/", "/e", "^~ /a/")
_CONTENTS = (
    "", "", "add_header X-A 9 always;", "error_page 404 /e9;", "deny all;", "allow all;", "return 403;", "set $v 9;",
    "location ~ f { return 200 inc; }", "location /a/b/f { }", "proxy_set_header X 9;", "proxy_redirect /b /c;",
    "root {T}/al;", "proxy_pass http://{http1};", "rewrite ^/b/(.*)$ /e/$1 last;", "error_page 403 =200 /e1;",
    "fastcgi_pass {fastcgi0};", "expires 2h;", "index x.html;", "location = /a { return 200 exact; }",
)  # fmt: skip
_PATHS = ("/", "/a", "/a/", "/a/f.txt", "/a/b/", "/a/b/f.txt", "/b/", "/b/f.txt", "/e", "/e1", "/f.txt", "/nx", "/b")


def case(seed: int, number: int, edits: int) -> Case:
    """Return a site and the same after those edits that `verify` calls equivalent, as nodes with missing files; the
    text has the contents that were drawn for the files.
    """
    draw = random.Random(f"{seed}-{number}")
    before = _site(draw)
    old = _model(before)
    kept = []
    for _ in range(edits if old is not None else 0):
        after, told = _edited(draw, before)
        new = _model(after)
        if old is not None and new is not None and verify(old, new).verdict == "equivalent":
            kept.append((after, told))
    contents = {name: draw.choice(_CONTENTS) for name in _FILES}
    sides = [Edited(_text(after, contents), told) for after, told in kept]
    asked = [(0, request(path.encode(), host=b"h1")) for path in _PATHS]
    return Case(f"includes {seed}-{number} {contents}", _text(before, contents), sides, asked)


def _site(draw: random.Random) -> list[Node]:
    inner = [_location(draw, name, 1) for name in draw.sample(_NAMES, draw.randrange(1, 5))]
    server = [Node(b"listen 127.0.0.1:{P}"), Node(b"server_name h1"), *_content(draw, 2.0), *inner]
    return [Node(b"server", server)]


def _location(draw: random.Random, name: str, depth: int) -> Node:
    body = _content(draw, 1.5)
    if depth and name in ("/a/", "/") and draw.random() < 0.6:
        body.append(_location(draw, "/a/b/", 0))
    return Node(f"location {name}".encode(), body)


def _content(draw: random.Random, mean: float) -> list[Node]:
    """Return settings and statements at random, with one include or none among them."""
    heads = [draw.choice(_SETTINGS) for _ in range(int(draw.expovariate(1 / mean) + 0.5))]
    heads += [draw.choice(_STATEMENTS)] if draw.random() < 0.2 else []
    heads += [f"include {draw.choice(_FILES)}"] if draw.random() < 0.4 else []
    draw.shuffle(heads)
    return [Node(head.encode()) for head in heads]


def _edited(draw: random.Random, before: list[Node]) -> tuple[list[Node], str]:
    """Return a copy after an edit, and what it was."""
    after = deepcopy(before)
    places = [(body, node) for body, node in walk(after) if node.head.split()[0] not in (b"server", b"listen")]
    body, node = draw.choice(places)
    at = body.index(node)
    match draw.randrange(6):
        case 0:
            del body[at]
            return after, f"without {node.head!r}"
        case 1:
            other = draw.randrange(len(body))
            body[at], body[other] = body[other], body[at]
            return after, f"{node.head!r} changes its place"
        case 2 | 3:
            name = node.head.decode().split()[0]
            others = [each for each in (*_SETTINGS, *_STATEMENTS) if each.split()[0] == name and node.body is None]
            node.head = draw.choice(others).encode() if others else node.head
            return after, f"another {name}"
        case 4:
            target = draw.choice([each.body for _, each in walk(after) if each.body is not None])
            target.insert(draw.randrange(len(target) + 1), Node(draw.choice(_SETTINGS).encode()))
            return after, "one more setting"
        case _:
            inner = [each.body for each in body if each.body is not None]
            if node.body is not None or not inner:
                return after, "nothing"
            del body[at]
            for target in inner:
                target.insert(0, Node(node.head))
            return after, f"{node.head!r} in each location"


def _model(nodes: list[Node]) -> SiteModel | None:
    text = _text(nodes, {}).replace("{http0}", "192.0.2.1").replace("{http1}", "192.0.2.2")
    text = filled(f"events {{}} http {{ {text} }}")
    try:
        return SiteModel(load_text(text.encode(), "nginx.conf", missing_ok=True), _BUILD)
    except NginxoptError:
        return None


def _text(nodes: list[Node], contents: dict[str, str]) -> str:
    """Return what stands in `http`, with contents in place of includes."""
    text = render("site", nodes).files["site"].decode()
    for name, content in contents.items():
        text = text.replace(f"include {name};", content)
    return text


def cases(seed: int, count: int, edits: int) -> Iterator[Case]:
    """Yield sites of which some edits are called equivalent."""
    return (made for number in range(count) if (made := case(seed, number, edits)).edited)
