"""Servers with locations of every kind, and what shows the state that the rewrites leave."""

from __future__ import annotations

import random

from tests.fuzz.nodes import Node
from tests.fuzz.rewrites import directives, rules
from tests.fuzz.rewrites.rules import Scope

# The head of a location, what URIs of rules in it start with, and whether others may nest in it.
LOCATIONS: tuple[tuple[bytes, bytes, bool], ...] = (
    (b"/a/", b"/a/", True),
    (b"/b", b"/b", True),
    (b"/t/", b"/t/", True),
    (b"= /a/old", b"/a/", False),
    (b"= /b", b"/", False),
    (b"^~ /p/", b"/p/", True),
    (b"~ ^/re/(.*)$", b"/re/", False),
    (b"~* ^/(re)x(?<tail>.*)$", b"/rex", False),
    (rb"~ \.(php|aspx)$", b"/", False),
    (b"/static/", b"/static/", False),
)
NESTED: tuple[tuple[bytes, bytes], ...] = ((b"%sa/", b"a/"), (b"%sb", b"b"), (b"= %snew", b""))

# Every server has these: what error_page, auth_request, mirror and the like lead to.
HELPERS = (
    (b"location = /e/404", (b"internal", b'return 200 "page uri=$uri args=$args"')),
    (b"location = /e/up", (b"proxy_pass http://127.0.0.1:@UP@",)),
    (b"location = /ok", (b'return 200 "ok"',)),
    (b"location = /no", (b"return 403",)),
    (
        b"location = /mir",
        (b"internal", b"proxy_pass http://127.0.0.1:@UP@", b'proxy_set_header X-Cap "mir $request_uri"'),
    ),
    (b"location = /pa", (b"proxy_pass http://127.0.0.1:@UP@/pa",)),
    (b"location = /try", (b"try_files /none /a/old",)),
    (b"location = /trya", (b"try_files /none /b?q=1",)),
    (b"location = /err", (b"error_page 404 =200 /a/old", b"return 404")),
    (b"location = /empty", (b"try_files /none $arg_nothing",)),
    (b"location /auth/", (b"auth_request /a/old", b'return 200 "authorized"')),
    (b"location = /last", (b"rewrite ^ /a/old last",)),
    (b"location /index/", (b"index /a/old", b"root html")),
)


def contents(scope: Scope) -> list[Node]:
    """Return what answers in a location."""
    draw = scope.draw
    state = b'return 200 "uri=$uri args=$args ia=$is_args ru=$request_uri sv=$sv"'
    choices: list[tuple[float, list[bytes]]] = [
        (4, [state]),
        (3, []),
        (2, [b"try_files $uri $uri/ " + draw.choice((b"@named", b"/b", b"=404", b"/a/old?t=1", b"=418"))]),
        (2, [b"proxy_pass http://127.0.0.1:@UP@"]),
        (1, [b"proxy_pass http://127.0.0.1:@UP@/base/"]),
        (1, [b"proxy_pass http://127.0.0.1:@UP@/v$is_args$args"]),
        (1, [b"root html/alt"]),
        (1, [b"return 404"]),
        (1, [b"return 302 /moved$uri"]),
        (0.5, [b"empty_gif"]),
        (0.5, [draw.choice((b"fastcgi", b"uwsgi", b"scgi")) + b"_pass 127.0.0.1:@UP@"]),
    ]
    if scope.captures:
        choices.append((4, [b'return 200 "uri=$uri 1=[$1] 2=[$2] 3=[$3]"']))
        choices.append((1, [b"alias html/static/$1"]))
    if "lua" in scope.modules:
        body = b"ngx.say(ngx.var.uri, ngx.var[1] or '-')" if scope.captures else b"ngx.say(ngx.var.uri)"
        choices.append((2, [b"content_by_lua_block { %s }" % body]))
        choices.append((1, [b"content_by_lua_file lua/%s.lua" % (b"captures" if scope.captures else b"plain")]))
        capture = b"ngx.location.capture('%s', {%s_all_vars = true})" % (
            draw.choice((b"/a/old", b"/b", b"/t/x")),
            draw.choice((b"copy", b"share")),
        )
        choices.append((2, [b"content_by_lua_block { local r = %s; ngx.say(r.status, r.body) }" % capture]))
        choices.append((1, [b"content_by_lua_block { ngx.exec('/a/old', 'x=2') }"]))
    if "njs" in scope.modules:
        choices.append((1, [b"js_content fuzz." + draw.choice((b"redirect", b"sub"))]))
        choices.append((2, [b"js_content fuzz.%s" % (b"captures" if scope.captures else b"plain")]))
    if "echo" in scope.modules:
        choices.append((2, [b"echo $uri%s" % (b"$1" if scope.captures else b"")]))
        choices.append((1, [b"echo_location " + draw.choice((b"/a/old", b"/b"))]))
        choices.append((1, [b"echo_exec " + draw.choice((b"/a/old", b"/b", b"@named"))]))
    heads = draw.choices([heads for _, heads in choices], [weight for weight, _ in choices])[0]
    scope.features |= {f"content: {head.split()[0].decode()}" for head in heads}
    return [directives.node(head) for head in heads]


def location(scope: Scope, head: bytes, base: bytes, nests: bool, depth: int = 0) -> Node:
    """Return a location with or without rewrites, directives and locations in it."""
    draw = scope.draw
    inner = scope.inside("location", base)
    body = directives.some(inner, draw.choice((0, 1, 2, 4)))
    if draw.random() < (0.75 if depth < 2 else 0.3):
        block_ = rules.block(inner)
        where = draw.choice((0, len(body)))
        body[where:where] = block_
        scope.features.add("run in a location " + head.split()[0].decode() if b" " in head else "run in a location")
    answer = contents(inner)
    taken = {node.head.split()[0] for node in body if not node.raw}
    body += [node for node in answer if node.head.split()[0] not in taken or node.head.startswith(b"return")]
    if nests and depth < 2:
        for nested, tail in draw.sample(NESTED, draw.choice((0, 0, 0, 1, 2))):
            name = nested % base if b"%s" in nested else nested
            body.append(location(scope, name, base + tail, not name.startswith(b"="), depth + 1))
            scope.features.add("nested location")
    if nests and draw.random() < 0.1:
        body += rules.locations(inner)
    if draw.random() < 0.05:
        limited = directives.some(scope.inside("limit_except"), 2)
        body.append(Node(b"limit_except " + draw.choice((b"GET", b"POST")), limited or [Node(b"deny all")]))
        scope.features.add("limit_except")
    return Node(b"location " + head, body)


def server(scope: Scope, names: bytes, listen: bytes) -> Node:
    """Return a server with a run, or several, and locations."""
    draw = scope.draw
    body = [Node(b"listen " + listen), Node(b"server_name " + names), Node(b'set $sv ""')]
    if draw.random() < 0.3:
        del body[2]
    body += directives.some(scope, draw.choice((0, 1, 3, 6)))
    at_server = rules.block(scope) if draw.random() < 0.7 else []
    locations = [location(scope, *each) for each in draw.sample(LOCATIONS, draw.choice((0, 1, 2, 4)))]
    locations.append(location(scope, b"/", b"/", nests=False))
    named = scope.inside("location", b"/")
    locations.append(Node(b"location @named", [*(rules.block(named) if draw.random() < 0.1 else []), *contents(named)]))
    for head, heads in HELPERS:
        locations.append(Node(head, [Node(each) for each in heads]))
    draw.shuffle(locations)
    if draw.random() < 0.35:
        at = draw.randrange(len(locations))
        locations[at:at] = rules.locations(scope)
    body += [*at_server, *locations] if draw.random() < 0.7 else [*locations, *at_server]
    if at_server:
        scope.features.add("run in a server")
    return Node(b"server", body)


def moved_into_files(draw: random.Random, scope: Scope, node: Node, folder: str, number: int) -> int:
    """Move some of the rewrites of a server into files of their own; return the number of the next."""
    blocks = [node, *(child for child in node.body or [] if child.head.startswith(b"location "))]
    for block in blocks:
        body = block.body or []
        rewrites = [index for index, child in enumerate(body) if child.head.startswith(b"rewrite")]
        if len(rewrites) < 2 or draw.random() < 0.7:
            continue
        first, last = rewrites[0], rewrites[-1] + 1
        if draw.random() < 0.3:
            last = rewrites[len(rewrites) // 2] + 1
        name = f"{folder}/rules{number}.conf"
        number += 1
        body[first:last] = [Node(b"include " + name.encode(), files={name: body[first:last]})]
        if draw.random() < 0.25:
            other = draw.choice(blocks)
            (other.body or []).append(Node(b"include " + name.encode()))
            scope.features.add("file included twice")
        scope.features.add("run in an included file")
    return number
