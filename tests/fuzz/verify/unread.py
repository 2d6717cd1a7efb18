"""Pairs of sites with several servers, names and locations beside files that were not read: what is called equivalent
must answer alike whatever the files hold.

The edits are those that change nothing if the files are empty: locations that only repeat others, `^~` where no pattern
is, settings that move, servers in another order, names that nobody reads. `verify` compares the sites without the
files. Where it says that a pair is equivalent, or that it is one under premises, the files get contents that are meant
to show the edit, and that the premises allow. The pairs with these contents are what nginx is asked about.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from copy import deepcopy

from nginxopt.config import load_text
from nginxopt.errors import NginxoptError
from nginxopt.request.model import SiteModel
from nginxopt.semantics.site import Build
from nginxopt.verify import verify
from nginxopt.verify.premises import FIELD_ORDER, UNREAD_NAMES, Premises
from nginxopt.version import Version
from tests.fuzz.nodes import Node, render, walk
from tests.fuzz.sites.around import http_without_logs
from tests.fuzz.sites.messages import request
from tests.fuzz.verify.by_model import filled
from tests.fuzz.verify.case import Case, Edited

_BUILD = Build(Version(1, 22, 1))
_ORDERED = Premises(denied=frozenset({FIELD_ORDER}))
"""As answers are compared by their bytes."""
AROUND = http_without_logs(random.Random(0)).partition("root {T}/r;")[0] + "root {T}/r;"
"""What stands around the sites: settings that `verify` does not see would count."""
_HOSTS = ("h1", "h2", "h3")
_NAMES = (
    "/a/",
    "/a/b/",
    "/a",
    "/b/",
    "= /a/f.txt",
    "= /b",
    "~ f",
    r"~ \.txt$",
    "~* ^/B",
    "/",
    "/e",
    "^~ /a/",
    "^~ /b/",
)
_INNER = ("/a/b/", "/a/b", "^~ /a/b/", "= /a/f.txt", "~ t$", "~ ^/a/b/f")
_SETTINGS = (
    "add_header X-A 1 always", "add_header X-B $uri always", "error_page 404 /e1", "error_page 404 =200 /e2",
    "expires 1h", "root {T}/r", "root {T}/al", "deny all", "allow all", "index f.txt", "index x.html", "etag off",
    "default_type a/b", "satisfy any", "client_max_body_size 2", "proxy_set_header X 1",
    "add_header X-S $server_name always", "proxy_redirect off", "absolute_redirect off",
    "add_header X-M $mN always", "sub_filter a b", "types { }",
)  # fmt: skip
_STATEMENTS = (
    "return 200 $uri", "return 404", "return 403", "return 200 $server_name", "rewrite ^/a/(.*)$ /b/$1 last",
    "rewrite ^/b/(.*)$ /e/$1 break", "set $vN 1", "set $mN 2", "return 200 [$vN$mN]", "rewrite ^/e /a/f.txt",
    "return 301 /moved", "break",
)  # fmt: skip
_HANDLERS = (
    "proxy_pass http://{http0}", "proxy_pass http://uN", "proxy_pass http://{http0}/b/", "try_files $uri /e",
    "try_files $uri @n", "fastcgi_pass {fastcgi0}",
)  # fmt: skip
_DEFAULTS = (
    "etag on", "satisfy all", "absolute_redirect on", "server_tokens on", "port_in_redirect on",
    "proxy_buffering on", "autoindex off", "if_modified_since exact", "expires off", "server_name_in_redirect off",
    "recursive_error_pages off", "auth_basic off", "index index.html", "log_not_found on",
)  # fmt: skip

_IN_HTTP = (
    "server { listen 127.0.0.1:{P}; return 200 hidden; }",
    "server { listen 127.0.0.1:{P1}; server_name h2; return 200 hidden; }",
    "server { listen 127.0.0.1:{P} default_server; server_name h9; return 200 hidden; }",
    "map $uri $mN { default 9; }", "map $uri $wN { default 9; }",
    "server { listen 127.0.0.1:{P}; server_name h1 h2 h3; return 200 hidden; }",
    "server { listen 127.0.0.1:{P1}; return 200 $mN; }", "upstream uN { server {http1}; }",
    "server { listen 127.0.0.1:{P1}; server_name h3; location / { proxy_pass http://uN; } }",
    "geo $vN { default 8; }",
)  # fmt: skip
_ANYWHERE = (
    "", "add_header X-H 9 always;", "error_page 404 /e9;", "deny all;", "allow all;", "return 403;", "set $vN 9;",
    "set $mN 9;", "set $wN 9;", "expires 2h;", "index x.html;", "root {T}/al;", "rewrite ^/b/(.*)$ /e/$1 last;",
    "etag off;", "satisfy any;", "error_page 403 =200 /e1;", "add_header X-H [$vN$mN] always;",
    "add_header X-H $server_name always;", "break;", "if ($uri ~ b) { set $vN 7; }", "rewrite ^/a/(.*)$ /b/$1;",
    "proxy_set_header X 9;", "auth_basic x;", "location / { return 200 h0; }", "return 200 h;",
    "rewrite ^ /a/f.txt;", "add_header X-H $document_root always;", "add_header X-H $request_filename always;",
)  # fmt: skip
_IN_SERVER = (
    "location ~ f { return 200 h1; }", "location ~ . { return 200 h1; }", "location /a/b { return 200 h2; }",
    "location ^~ /a { return 200 h3; }", "location = /a/f.txt { return 200 h4; }",
    "location ^~ /b { return 200 h5; }", "location /a/f { return 200 h6; }", "server_name h2;", "server_name h3;",
    "listen 127.0.0.1:{P1};", "location /e { return 200 h7; }", "location = /a { return 200 h8; }",
    "location @n { return 200 h9; }", "location /a/b/f { root {T}/al; }", "location ~ ^/e { return 200 h7; }",
    "server_name_in_redirect on;",
)  # fmt: skip
_IN_LOCATION = (
    "proxy_pass http://{http1};", "fastcgi_pass {fastcgi0};", "location /a/b { return 200 i1; }",
    "location ~ f { return 200 i2; }", "location ~ . { }", "location = /a/f.txt { }",
    "location /a/b/f { add_header X-I 1 always; }", "try_files $uri =418;",
    "location /a/b/ { proxy_pass http://{http1}/b/; }", "if ($uri) { add_header X-I 2 always; }", "internal;",
    "alias {T}/al/;", "if ($uri ~ f) { return 200 i3; }", "location /b/f { }", "limit_except GET { deny all; }",
    "location = /a/b/ { return 200 $vN; }", "if ($uri ~ t) { proxy_pass http://{http1}; }",
)  # fmt: skip
_HOSTILE = {
    "nxh": _IN_HTTP,
    "nxs": (*_IN_SERVER, *_IN_SERVER, *_ANYWHERE),
    "nxl": (*_IN_LOCATION, *_IN_LOCATION, *_ANYWHERE),
}
"""What the files may hold that are included in `http`, in a server and in a location."""

_CONTENTS = 4
"""How often the files of a site get contents."""
_STATED = re.compile(r"(?:^|[{;]) *(\w+)", re.ASCII)
"""The name of a directive in a content."""
_SHOWN = re.compile(r"\$[mvw]N|\$(?:server_name|document_root|request_filename)|@n|uN")
"""What the two sides may define otherwise."""

_PATHS = (
    "/", "/a", "/a/", "/a/f.txt", "/a/b", "/a/b/", "/a/b/f.txt", "/b", "/b/", "/b/f.txt", "/e", "/e/f.txt", "/e1",
    "/f.txt", "/nx", "/x.html", "/d", "/%zz",
)  # fmt: skip


def cases(seed: int, number: int, edits: int) -> Iterator[Case]:
    """Yield a site and the same after those edits that `verify` calls equivalent, maybe under premises, with different
    contents of the files in their texts that the premises allow; nothing if there are no such edits.
    """
    draw = random.Random(f"unread {seed}-{number}")
    before = _site(draw)
    old = _model(before)
    kept: dict[tuple[str, ...], dict[str, tuple[list[Node], str]]] = {}  # by the premises that are needed
    tried = {_text(before, {}, number)}
    for _ in range(edits if old is not None else 0):
        after, told = before, ""
        for _ in range(draw.choice((1, 1, 1, 2))):
            after, more = _edited(draw, after)
            told += f"{more}; "
        text = _text(after, {}, number)
        new = _model(after) if text not in tried else None
        tried.add(text)
        if old is not None and new is not None:
            result = verify(old, new, premises=_ORDERED)
            if result.verdict == "equivalent" or result.conditions:
                kept.setdefault(result.conditions, {})[text] = after, told
    for premises, edited in [*kept.items()] * _CONTENTS:
        contents = {
            name: draw.choice([text for text in texts if _is_allowed(text, premises)] or [""])
            for name, texts in _HOSTILE.items()
        }
        sides = [Edited(_text(after, contents, number), told) for after, told in edited.values()]
        text = _text(before, contents, number)
        ports = [at for at, name in enumerate(("{P}", "{P1}")) if name in text]
        places = [(port, host) for port in ports for host in (draw.choice(_HOSTS), "other")]
        asked = [(port, request(path.encode(), host=host.encode())) for path in _PATHS for port, host in places]
        yield Case(f"unread {seed}-{number} {premises} {contents}", text, sides, asked)


def _is_allowed(content: str, premises: tuple[str, ...]) -> bool:
    """Return whether files may have a content under premises."""
    taken = Premises().adding(*premises)
    is_silent = any(taken.stated_of("", name) is not None for name in _STATED.findall(content))
    return not is_silent and not (UNREAD_NAMES in premises and _SHOWN.search(content))


def _chance(draw: random.Random, share: float) -> bool:
    return draw.random() < share


def _site(draw: random.Random) -> list[Node]:
    nodes = [Node(b"upstream uN", [Node(b"server {http0}")]), Node(b"map $uri $mN", [Node(b"default 1")])]
    nodes += [_server(draw, at) for at in range(draw.choice((1, 1, 2, 2, 3)))]
    if _chance(draw, 0.3):
        nodes.insert(draw.randrange(len(nodes) + 1), Node(b"include nxh"))
    return nodes


def _server(draw: random.Random, at: int) -> Node:
    port = draw.choice(("{P}", "{P}", "{P1}")) if at else "{P}"
    listen = f"listen 127.0.0.1:{port}{draw.choice(('', '', '', ' default_server'))}"
    body = [Node(listen.encode())]
    if _chance(draw, 0.7):
        body.append(Node(f"server_name {' '.join(draw.sample(_HOSTS, draw.choice((1, 1, 2))))}".encode()))
    body += _content(draw, 1.2)
    body += [_location(draw, name, 1) for name in draw.sample(_NAMES, draw.randrange(5))]
    if _chance(draw, 0.2):
        body.append(Node(b"location @n", _content(draw, 1.0)))
    if _chance(draw, 0.55):
        body.insert(draw.randrange(1, len(body) + 1), Node(b"include nxs"))
    return Node(b"server", body)


def _location(draw: random.Random, name: str, depth: int) -> Node:
    body = _content(draw, 1.0)
    if _chance(draw, 0.35):
        body.append(Node(draw.choice(_HANDLERS).encode()))
    if _chance(draw, 0.1):
        body.append(Node(b"if ($uri ~ f)", [Node(draw.choice((*_STATEMENTS, "add_header X-I 1 always")).encode())]))
    if depth and name in ("/a/", "/", "^~ /a/", "/a") and _chance(draw, 0.5):
        body += [_location(draw, inner, 0) for inner in draw.sample(_INNER, draw.choice((1, 1, 2)))]
    if _chance(draw, 0.3):
        body.insert(draw.randrange(len(body) + 1), Node(b"include nxl"))
    return Node(f"location {name}".encode(), body)


def _content(draw: random.Random, mean: float) -> list[Node]:
    heads = [draw.choice(_SETTINGS) for _ in range(int(draw.expovariate(1 / mean) + 0.5))]
    heads += [draw.choice(_STATEMENTS)] if _chance(draw, 0.35) else []
    draw.shuffle(heads)
    return [Node(head.encode()) if "{ }" not in head else Node(b"types", []) for head in dict.fromkeys(heads)]


Edit = Callable[[random.Random, list[Node]], str]


def _edited(draw: random.Random, before: list[Node]) -> tuple[list[Node], str]:
    after = deepcopy(before)
    return after, draw.choice(_EDITS)(draw, after)


def _blocks(nodes: list[Node], *kinds: bytes) -> list[tuple[list[Node], Node]]:
    return [(body, node) for body, node in walk(nodes) if node.body is not None and node.head.split()[0] in kinds]


def _caret(draw: random.Random, nodes: list[Node]) -> str:
    """Write `^~`, or take it away."""
    found = [node for _, node in _blocks(nodes, b"location") if node.head.split()[1][:1] in b"/^"]
    if not found:
        return "nothing"
    node = draw.choice(found)
    parts = node.head.split()
    node.head = b"location " + (parts[2] if parts[1] == b"^~" else b"^~ " + parts[1])
    return f"{node.head!r} by ^~"


def _repeated(draw: random.Random, nodes: list[Node]) -> str:
    """Repeat a location under a longer name, or for a path of it."""
    found = [(body, node) for body, node in _blocks(nodes, b"location") if node.head.split()[-1][:1] == b"/"]
    if not found:
        return "nothing"
    body, node = draw.choice(found)
    name = node.head.split()[-1]
    sign = draw.choice((b"", b"= ", b"^~ ", b"~ ^"))
    longer = name.rstrip(b"/") + draw.choice((b"/b/", b"/f.txt", b"/", b"x"))
    again = Node(b"location " + sign + longer, deepcopy(node.body))
    body.insert(draw.randrange(len(body) + 1), again)
    return f"{again.head!r} as {node.head!r}"


def _fallback(draw: random.Random, nodes: list[Node]) -> str:
    """Put the statement of a server into a location, or an empty location beside others."""
    _, server = draw.choice(_blocks(nodes, b"server"))
    assert server.body is not None
    returns = [node for node in server.body if node.head.startswith(b"return")]
    inner: list[Node] = []
    if returns and _chance(draw, 0.7):
        server.body.remove(returns[0])
        inner = [returns[0]]
    name = draw.choice((b"/", b"/c/", b"/a/b/", b"^~ /b/"))
    server.body.append(Node(b"location " + name, inner))
    return f"location with {[node.head for node in inner]!r}"


def _without(draw: random.Random, nodes: list[Node]) -> str:
    places = [(body, node) for body, node in walk(nodes) if not node.head.startswith((b"listen", b"include"))]
    body, node = draw.choice(places)
    if body is nodes and node.head == b"server" and len(_blocks(nodes, b"server")) == 1:
        return "nothing"
    body.remove(node)
    return f"without {node.head!r}"


def _moved(draw: random.Random, nodes: list[Node]) -> str:
    """Swap two neighbours, or put an include elsewhere in its block."""
    includes = [(body, node) for body, node in walk(nodes) if node.head.startswith(b"include")]
    if includes and _chance(draw, 0.5):
        body, node = draw.choice(includes)
        body.remove(node)
        body.insert(draw.randrange(len(body) + 1), node)
        return f"{node.head!r} elsewhere"
    body, node = draw.choice(list(walk(nodes)))
    at, other = body.index(node), draw.randrange(len(body))
    body[at], body[other] = body[other], body[at]
    return f"{node.head!r} and {body[at].head!r} swapped"


def _sunk(draw: random.Random, nodes: list[Node]) -> str:
    """Put a setting of a server or location into all locations in it."""
    _, outer = draw.choice(_blocks(nodes, b"server", b"location"))
    assert outer.body is not None
    own = [node for node in outer.body if node.body is None and node.head.split()[0] in _names(_SETTINGS)]
    inner = [node for node in outer.body if node.head.startswith(b"location")]
    if not own or not inner:
        return "nothing"
    node = draw.choice(own)
    outer.body.remove(node)
    for location in inner:
        assert location.body is not None
        if not any(each.head.split()[0] == node.head.split()[0] for each in location.body):
            location.body.insert(0, Node(node.head))
    return f"{node.head!r} in each location"


def _hoisted(draw: random.Random, nodes: list[Node]) -> str:
    """Put a setting of a location into the block around it."""
    _, outer = draw.choice(_blocks(nodes, b"server", b"location"))
    assert outer.body is not None
    inner = [node for node in outer.body if node.head.startswith(b"location")]
    found = [(location, node) for location in inner for node in location.body or () if node.body is None]
    found = [(location, node) for location, node in found if node.head.split()[0] in _names(_SETTINGS)]
    if not found:
        return "nothing"
    _, node = draw.choice(found)
    for location in inner:
        assert location.body is not None
        location.body[:] = [each for each in location.body if each.head != node.head]
    outer.body.insert(0, Node(node.head))
    return f"{node.head!r} of {outer.head!r}"


def _names(texts: tuple[str, ...]) -> set[bytes]:
    return {text.split()[0].encode() for text in texts}


def _default(draw: random.Random, nodes: list[Node]) -> str:
    _, outer = draw.choice(_blocks(nodes, b"server", b"location"))
    assert outer.body is not None
    node = Node(draw.choice(_DEFAULTS).encode())
    outer.body.insert(draw.randrange(len(outer.body) + 1), node)
    return f"{node.head!r} stated"


def _flat(draw: random.Random, nodes: list[Node]) -> str:
    """Put a location beside the one that it is in, or into one beside it."""
    pairs = [(body, outer) for body, outer in _blocks(nodes, b"location")]
    draw.shuffle(pairs)
    for body, outer in pairs:
        assert outer.body is not None
        inner = [node for node in outer.body if node.head.startswith(b"location")]
        if inner:
            node = draw.choice(inner)
            outer.body.remove(node)
            body.insert(draw.randrange(len(body) + 1), node)
            return f"{node.head!r} out of {outer.head!r}"
        beside = [node for node in body if node is not outer and node.head.startswith(outer.head)]
        if beside:
            body.remove(beside[0])
            outer.body.append(beside[0])
            return f"{beside[0].head!r} into {outer.head!r}"
    return "nothing"


def _renamed(draw: random.Random, nodes: list[Node]) -> str:
    """Give a variable, an upstream or a named location another name everywhere."""
    old, new = draw.choice(((b"$mN", b"$wN"), (b"$vN", b"$wN"), (b"uN", b"wN"), (b"@n", b"@w")))
    for _, node in walk(nodes):
        node.head = node.head.replace(old, new)
    return f"{new!r} for {old!r}"


def _constant(draw: random.Random, nodes: list[Node]) -> str:
    """Write a value in place of a variable."""
    name, value = draw.choice(((b"$mN", b"1"), (b"$vN", b"1"), (b"$mN", b"2"), (b"$server_name", b"h1")))
    for _, node in walk(nodes):
        if node.head.startswith((b"return", b"add_header")):
            node.head = node.head.replace(name, value)
    return f"{value!r} for {name!r}"


def _hosts(draw: random.Random, nodes: list[Node]) -> str:
    """Change the names of a server, or whether it is the default."""
    _, server = draw.choice(_blocks(nodes, b"server"))
    assert server.body is not None
    for node in server.body:
        words = node.head.split()
        if words[0] == b"server_name" and _chance(draw, 0.6):
            names = words[1:]
            draw.shuffle(names)
            names = [*names, b"h4"] if _chance(draw, 0.3) else names
            node.head = b"server_name " + b" ".join(names)
            return f"{node.head!r}"
        if words[0] == b"listen" and _chance(draw, 0.6):
            node.head = b" ".join(words[:2] if len(words) > 2 else [*words, b"default_server"])
            return f"{node.head!r}"
    return "nothing"


def _merged(draw: random.Random, nodes: list[Node]) -> str:
    """Give a server the names of another one, which is left out."""
    servers = [node for _, node in _blocks(nodes, b"server")]
    if len(servers) < 2:
        return "nothing"
    first, second = draw.sample(servers, 2)
    assert first.body is not None
    assert second.body is not None
    nodes.remove(second)
    first.body[1:1] = [node for node in second.body if node.head.startswith(b"server_name")]
    return "two servers are one"


def _copied(draw: random.Random, nodes: list[Node]) -> str:
    """Repeat a server for another name, or at the other port."""
    _, server = draw.choice(_blocks(nodes, b"server"))
    again = deepcopy(server)
    assert again.body is not None
    if _chance(draw, 0.5):
        again.body[:] = [node for node in again.body if not node.head.startswith(b"server_name")]
        again.body.insert(1, Node(b"server_name h5"))
    else:
        again.body[0] = Node(b"listen 127.0.0.1:{P1}")
    nodes.append(again)
    return "a server again"


_EDITS: tuple[Edit, ...] = (_caret, _caret, _repeated, _repeated, _fallback, _without, _without, _moved, _moved, _sunk,
                            _hoisted, _default, _default, _flat, _flat, _renamed, _constant, _hosts, _hosts, _merged,
                            _copied)  # fmt: skip


def _model(nodes: list[Node]) -> SiteModel | None:
    text = _text(nodes, {}, 0).replace("{http0}", "192.0.2.1").replace("{http1}", "192.0.2.2")
    text = filled(f"events {{}} http {{ {text} }}")
    try:
        return SiteModel(load_text(text.encode(), "nginx.conf", missing_ok=True), _BUILD)
    except NginxoptError:
        return None


def _text(nodes: list[Node], contents: dict[str, str], number: int) -> str:
    """Return what stands in `http`, with contents in place of includes, and names of its own."""
    text = render("site", nodes).files["site"].decode()
    for name, content in contents.items():
        text = text.replace(f"include {name};", content)
    for name in ("$m", "$v", "$w"):
        text = text.replace(f"{name}N", f"{name}{number}")
    for name in ("u", "w"):
        for before in ("http://", "upstream "):
            text = text.replace(f"{before}{name}N", f"{before}{name}{number}")
    return text
