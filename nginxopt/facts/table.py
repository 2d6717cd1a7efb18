"""Reads `facts.tsv`: what is known of each directive besides its declaration."""

from __future__ import annotations

import pkgutil
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Literal, NamedTuple

from nginxopt.facts.declarations import names

GATEWAYS = ("proxy", "fastcgi", "uwsgi", "scgi", "grpc", "memcached", "tunnel")
"""The modules whose directives share a line: `@_bind` is `proxy_bind`, `fastcgi_bind` ..."""

Column = Literal["effect", "model", "inherited", "variables", "hidden", "code"]

GROUPS: Mapping[str, str] = {
    "allow": "one list of rules of access (ngx_http_access_merge_loc_conf)",
    "answer": "what the answer of a `return` depends on",
    "asking": "makes nginx ask other servers than those of upstreams",
    "balancing": "methods that choose a server of an upstream",
    "beside": "relative files start from the folder of nginx.conf (`ngx_conf_full_name` with `conf_prefix`)",
    "block": "blocks with directives of nginx inside",
    "browser": "what decides the variables of ngx_http_browser_module",
    "cache": "names the cache of responses",
    "captures": "where configurations use `$1`",
    "client_body": "how the body of a request is kept, which variables show",
    "defines": "defines a variable",
    "early": "what nginx looks at before the script of a server",
    "elsewhere": "answers with something else than the file of the URI",
    "error_log": "what decides the lines of the error log",
    "fields": "adds a field by its first argument, the name",
    "job": "what gives a server that only passes requests on a purpose",
    "keepalive": "how long connections of clients stay open",
    "kept": "defines a variable whose value is kept for the request",
    "late": "may fail after nginx has discarded the body of a request",
    "leads": "by any of its arguments, nginx leads a request to a URI",
    "no_error": "settings for answers that are no errors",
    "of_files": "settings for the bytes of a file",
    "of_server": "what tells the content of a server, where a file may be that of several blocks",
    "pass": "passes requests on to an upstream",
    "pattern": "has patterns whose named groups are variables",
    "pool": "may stand in an upstream beside a pool of connections",
    "real_ip": "what decides the address of a client",
    "root": "one field (ngx_http_core_root)",
    "rows": "blocks whose statements are no directives, but rows of data",
    "secure_link": "what decides the variables of ngx_http_secure_link_module",
    "stateful": "responses depend on the requests before",
    "subrequest": "makes a subrequest",
    "text": "takes any text, words of a template as well",
    "tls_choice": "what a server and a client agree on",
    "tls_client": "how certificates of clients are checked",
    "tls_session": "how sessions are resumed",
    "untried": "was not tested for inheritance by an `if`: directives of NGINX Plus, and those that run code",
    "userid": "what decides the variables of ngx_http_userid_filter_module",
    "written": "names a file or folder that nginx writes to",
}
"""The groups of directives that belong together, with what they have in common."""


class Fact(NamedTuple):
    """What is known of a directive; the columns are those of the package's docstring."""

    name: str
    effect: str
    model: str
    inherited: str
    variables: str
    hidden: str
    code: str
    off: str
    groups: str
    default: str
    instead: str
    description: str


def fact(name: str) -> Fact | None:
    """Return what is known of a directive; None if nothing is."""
    return _facts().get(name)


def known() -> frozenset[str]:
    """Return the names of the directives of which something is known, those of other modules among them."""
    return frozenset(_facts())


@cache
def group(name: str) -> frozenset[str]:
    """Return the directives of a group, one of `GROUPS`."""
    return _groups()[name]


@cache
def having(column: Column, *values: str) -> frozenset[str]:
    """Return the directives that have one of these values in a column."""
    return frozenset(row.name for row in _facts().values() if getattr(row, column) in values)


@cache
def script() -> frozenset[str]:
    """Return the directives of nginx's rewrite module that are statements: `break`, `if`, ..."""
    return having("effect", "script") & names()


@cache
def _groups() -> Mapping[str, frozenset[str]]:
    groups: dict[str, set[str]] = defaultdict(set)
    for row in _facts().values():
        for name in row.groups.split():
            groups[name].add(row.name)
    return {name: frozenset(members) for name, members in groups.items()}


@cache
def _facts() -> Mapping[str, Fact]:
    table = pkgutil.get_data("nginxopt.facts", "facts.tsv")  # importlib.resources would load zipfile
    assert table is not None, "facts.tsv belongs to the package"
    stated = [Fact(*line.split("\t")) for line in table.decode().splitlines()[1:]]
    facts = {row.name: row for shared in stated if shared.name.startswith("@") for row in _of_gateways(shared)}
    for row in stated:
        if not row.name.startswith("@"):
            shared = facts.get(row.name)
            facts[row.name] = row if row.description or shared is None else row._replace(description=shared.description)
    return facts


def _of_gateways(shared: Fact) -> Iterator[Fact]:
    """Yield what a line with `@` says of each directive of nginx that it stands for."""
    for gateway in GATEWAYS:
        name = shared.name.replace("@", gateway)
        if name in names():
            yield shared._replace(name=name)
