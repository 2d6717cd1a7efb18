"""Directives of all modules that a response, a log or an upstream may show, by the contexts that allow them.

A template has choices in double brackets; `@P0@` and the like are filled in where files are written.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.fuzz.nodes import Node

if TYPE_CHECKING:
    import random

    from tests.fuzz.rewrites.rules import Scope

_CHOICE = re.compile(r"\[\[(.*?)\]\]")
_LETTERS = {"http": "h", "server": "s", "location": "l", "if": "f", "limit_except": "x"}

# Contexts (h http, s server, l location, f if in location, x limit_except), how often, and the directive.
DIRECTIVES: tuple[tuple[str, float, str], ...] = (
    ("hslf", 6, "add_header X-A [[one|two|$uri|$args|$sv]] [[|always]]"),
    ("hslf", 2, "add_header X-B $mapped always"),
    ("hslf", 3, "expires [[1h|-1|max|epoch|off]]"),
    ("hslf", 3, "error_page [[404|301|302|301 302|403 404|418|500 502]] [[|=200|=]] [[/e/404|/e/up|@named|/a/old]]"),
    ("hslf", 3, "access_log [[off|logs/a.log full|logs/b.log full if=$arg_x]]"),
    ("hslf", 2, "root [[html|html/alt|html$arg_root]]"),
    ("hslf", 2, "gzip [[on|off]]"),
    ("hsl", 1, "gzip_min_length 1"),
    ("hsl", 1, "gzip_types *"),
    ("hsl", 0.5, "gzip_vary on"),
    ("hslf", 1, "ssi [[on|off]]"),
    ("hslf", 2, "charset [[utf-8|off|koi8-r]]"),
    ("hsl", 1, "override_charset on"),
    ("hsl", 1, "sub_filter up [[down|$uri|$args]]"),
    ("hsl", 1, "sub_filter_once off"),
    ("hslf", 1, "limit_rate [[0|900k]]"),
    ("hsl", 1, "default_type [[text/plain|text/html|application/x-z]]"),
    ("hsl", 1, "types { text/x-odd html txt; }"),
    ("hsl", 0.5, "server_tokens off"),
    ("hsl", 0.5, "etag off"),
    ("hsl", 0.5, "chunked_transfer_encoding off"),
    ("hsl", 0.5, "msie_padding off"),
    ("hsl", 1, "recursive_error_pages on"),
    ("hsl", 0.5, "log_not_found off"),
    ("hsl", 1, "log_subrequest on"),
    ("hslf", 0.7, "rewrite_log on"),
    ("hslf", 0.7, "uninitialized_variable_warn off"),
    ("hsl", 1, "absolute_redirect off"),
    ("hsl", 1, "port_in_redirect off"),
    ("hsl", 1, "server_name_in_redirect on"),
    ("hs", 1, "merge_slashes off"),
    ("hs", 0.5, "underscores_in_headers on"),
    ("hsl", 1, "satisfy [[any|all]]"),
    ("hslx", 1, "allow [[all|127.0.0.1]]"),
    ("hslx", 1, "deny [[all|10.0.0.0/8|127.0.0.1]]"),
    ("hslx", 1, "auth_basic [[realm|off|$arg_x]]"),
    ("hslx", 1, "auth_basic_user_file @T@/htpasswd"),
    ("hsl", 1, "auth_request [[/ok|/no|off|/a/old]]"),
    ("hsl", 0.5, "auth_request_set $ars [[$upstream_status|$uri]]"),
    ("hsl", 1, "mirror [[/mir|off]]"),
    ("hsl", 0.5, "mirror_request_body off"),
    ("hsl", 1, "limit_req zone=rq burst=9999 nodelay"),
    ("hsl", 0.7, "limit_conn cn 1000"),
    ("hsl", 1, "post_action [[/pa|/mir]]"),
    ("sl", 2, "try_files [[$uri|/none|$uri/index.html]] [[$uri/|/none2]] [[/b|=404|=418|@named|/a/old|$arg_nothing]]"),
    ("hsl", 1, "index [[index.html|a.html|/a/old|$arg_v /b]]"),
    ("hsl", 1, "autoindex on"),
    ("hsl", 1, "add_before_body [[/ok|/b]]"),
    ("hsl", 2, "proxy_set_header X-Cap [[$sv|$args|$host]]"),
    ("hsl", 1, "proxy_intercept_errors on"),
    ("hsl", 1, "proxy_redirect [[off|default]]"),
    ("hsl", 0.5, "proxy_method [[POST|GET|$arg_x]]"),
    ("hsl", 0.5, "proxy_http_version 1.1"),
    ("hsl", 0.5, "proxy_hide_header X-Up"),
    ("hsl", 0.5, "proxy_buffering off"),
    ("hsl", 0.5, "max_ranges 0"),
    ("hsl", 0.7, "client_max_body_size [[1|1m]]"),
    ("hsl", 0.5, "real_ip_header X-F"),
    ("hsl", 0.5, "set_real_ip_from 127.0.0.1"),
    ("sl", 0.5, "valid_referers none blocked ex.test"),
    ("hsl", 0.5, "slice 10"),
    ("hsl", 0.5, "gzip_static on"),
    ("hsl", 0.5, "satisfy any"),
    ("hslf", 1, "add_trailer X-T [[$uri|v]] [[|always]]"),
    ("hsl", 0.5, "open_file_cache max=10"),
    ("hsl", 0.5, "if_modified_since off"),
    ("hsl", 0.5, "secure_link_md5 x$uri"),
    ("hsl", 0.5, "client_body_in_file_only off"),
    ("hsl", 0.4, "subrequest_output_buffer_size 64k"),
    ("l", 0.8, "internal"),
    ("f", 2, "proxy_pass http://127.0.0.1:@UP@"),
    ("f", 1, "proxy_pass http://127.0.0.1:@UP@/v$is_args$args"),
)  # fmt: skip

INHERIT = (
    ("hslf", 4.0, "add_header_inherit [[off|on|merge]]"),
    ("hslf", 2.0, "add_trailer_inherit [[off|on|merge]]"),
)

CAPTURES = (
    ("hslf", 6.0, 'add_header X-Cap "[$1|$2]" always'),
    ("hslf", 2.0, "add_header X-Cap2 $captured always"),
    ("hsl", 3.0, 'proxy_set_header X-Cap "[$1]"'),
    ("hsl", 1.0, "sub_filter up [$1]"),
    ("hsl", 1.0, "auth_request_set $ars x$1"),
    ("hslf", 1.0, "root html/[[a|]]$1"),
    ("hslf", 1.0, "access_log logs/a.log full if=$1"),
    ("hslf", 1.0, "error_page 404 [[/e/404?c=$1|=200 /ok$1]]"),
)

LUA = (
    ("hslf", 3.0, "header_filter_by_lua_block { ngx.header['X-L'] = ngx.var[1] or '-' }"),
    ("hslf", 2.0, "rewrite_by_lua_block { ngx.req.set_header('X-Cap', ngx.var[1] or '-') }"),
    ("hslf", 1.0, "rewrite_by_lua_block { if ngx.var.arg_x == '2' then ngx.req.set_uri('/a/old', true) end }"),
    ("hslf", 1.0, "access_by_lua_block { if ngx.var.arg_x == '2' then ngx.exec('/b') end }"),
    ("hslf", 1.0, "access_by_lua_block { ngx.header['X-L2'] = ngx.var[2] or '-' }"),
    ("hslf", 1.0, "log_by_lua_block { ngx.log(ngx.ERR, 'captured ', ngx.var[1] or '-') }"),
    ("hsl", 0.5, "rewrite_by_lua_no_postpone on"),
    ("hslf", 1.0, "header_filter_by_lua_file lua/header.lua"),
    ("hslf", 1.0, "body_filter_by_lua_block { ngx.arg[1] = ngx.arg[1]:upper() }"),
)

NJS = (
    ("hsl", 2.0, "js_header_filter fuzz.filter"),
    ("hslf", 2.0, "add_header X-J $js always"),
)

MORE = (
    ("hslf", 3.0, "more_set_headers [['X-M: $uri'|'X-M: $1'|-s 301 'X-M: $args'|'Location: /more']]"),
    ("hslf", 1.0, "more_clear_headers [[X-A|Content-Type]]"),
    ("hslf", 1.0, "more_set_input_headers 'X-Cap: $args'"),
    ("lf", 1.0, "echo_before_body [[before|$uri|$1]]"),
)

MODULES = {"lua": LUA, "njs": NJS, "headers-more": MORE, "inherit": INHERIT}

# What may stand more than once in a block.
REPEATABLE = frozenset(
    (
        "add_header",
        "add_trailer",
        "error_page",
        "allow",
        "deny",
        "sub_filter",
        "proxy_set_header",
        "set",
        "more_set_headers",
    )
)


def fill(draw: random.Random, template: str) -> bytes:
    """Return a template with one of each choice."""
    return " ".join(_CHOICE.sub(lambda choice: draw.choice(choice[1].split("|")), template).split()).encode()


def some(scope: Scope, count: int) -> list[Node]:
    """Return up to `count` directives that may stand in the scope's level, none twice that must not."""
    table = _TABLES.get(key := (scope.level, scope.captures, scope.modules))
    if table is None:
        table = _TABLES[key] = _allowed(scope)
    nodes: list[Node] = []
    taken: set[bytes] = set()
    for template in scope.draw.choices(table[0], table[1], k=count) if table[0] else ():
        head = fill(scope.draw, template)
        name = head.split()[0]
        if name not in taken:
            nodes.append(node(head))
            scope.features.add(f"{name.decode()} ({scope.level})")
        if name.decode() not in REPEATABLE:
            taken.add(name)
    return nodes


def node(head: bytes) -> Node:
    """Return a directive; one that ends with a brace is complete."""
    return Node(head, raw=head.endswith(b"}"))


_TABLES: dict[tuple[str, bool, frozenset[str]], tuple[list[str], list[float]]] = {}


def _allowed(scope: Scope) -> tuple[list[str], list[float]]:
    letter = _LETTERS.get(scope.level, "-")
    rows = list(DIRECTIVES)
    for name in sorted(scope.modules):
        rows += MODULES.get(name, ())
    if scope.captures:
        rows += CAPTURES
    elif "$1" in str(rows):
        rows = [row for row in rows if "$1" not in row[2] and "ngx.var[" not in row[2]]
    chosen = [row for row in rows if letter in row[0]]
    return [row[2] for row in chosen], [row[1] for row in chosen]
