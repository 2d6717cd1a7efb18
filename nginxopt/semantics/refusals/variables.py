"""Variables: names that nothing defines, definitions of those that nginx has itself, and `$` without a name.

nginx looks for undefined variables when the block of http or stream ends (`ngx_http_variables_init_vars`). What may
define a variable without saying so (text that was not read, code, a module that is not part of nginx) makes any
variable possible.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from nginxopt import lazy
from nginxopt.config import Directive
from nginxopt.facts import group, having
from nginxopt.facts.declarations import names
from nginxopt.facts.lexicon import distance
from nginxopt.semantics.commands import place
from nginxopt.semantics.directives import ROWS, is_misspelt
from nginxopt.semantics.inherit import Level
from nginxopt.semantics.refusals.reading import ReadState
from nginxopt.semantics.tables import MIXED_VALUES
from nginxopt.semantics.variables import HTTP, STREAM
from nginxopt.version import Version

Found = Iterator[tuple[Directive, str]]

_ALL = having("variables", "all")
"""The directives with variables in all arguments, but for patterns.

Not `http2_push`, which nginx 1.25.1 and later ignore.
"""
_PLAIN = ("~", "syslog:")
"""How arguments begin that have no variables: patterns, and the server of a log."""
_FIRST = having("variables", "first") | {"pass"}
_PER_REQUEST = having("variables", "passed")
"""Those whose variables nginx looks up only where a server inherits them."""
_LATER = _PER_REQUEST | having("variables", "later")
_NAMES = having("variables", "name")
_TABLES = ("map", "split_clients", "geo")
_TAKING = _ALL | _FIRST | _LATER | _NAMES | having("variables", "source", "condition", "format") | {"sticky"}
"""The directives with variables in their first argument, in the others, as their argument; and all of them."""

_IN_VALUE = lazy.pattern(r"\$(?:\{(?P<braced>\w+)\}|[1-9]|(?P<bare>\w+)|(?P<wrong>))", re.ASCII)
"""A variable or a capture (`ngx_http_script_compile`): `$1` is a capture, and `${1}` a variable."""
_IN_FORMAT = lazy.pattern(r"\$(?:\{(?P<braced>\w+)\}|(?P<bare>\w+)|(?P<wrong>))", re.ASCII)
"""A variable where there are no captures: in a `log_format` (`ngx_http_log_compile_format`)."""
_UNCLOSED = lazy.pattern(r"\{(\w*)(?![\w}])", re.ASCII)
_IN_BULK = lazy.pattern(rb"\$[{a-zA-Z_]")
_GROUP = lazy.pattern(rb"\(\?P?[<'](\w+)", re.ASCII)

_DEFINING = {name: -1 if name in _TABLES else 0 for name in group("defines")}
"""The directives that define a variable, with the number of the argument that names it."""
_OF_MODULES = (
    "acme_", "angie_", "ascii_", "brotli_", "echo_", "f4f_", "fancyindex_", "geoip_", "geoip2_", "grpc_", "jwt_",
    "lua_", "memc_", "modsecurity_", "nchan_", "oidc_", "opentracing_", "otel_", "p8s_", "passenger_", "postgres_",
    "proxy_", "push_", "quic_", "session_", "srcache_", "ssl_", "sts_", "tcpinfo_", "upload_", "uploadprogress_",
    "upstream_", "vod_", "vts_", "zstd_",
)  # fmt: skip
"""Prefixes of variables that NGINX Plus, later releases and built-in modules may define."""
_KNOWN = {"http": HTTP, "stream": STREAM}
_PREFIXES = {kind: (*(name for name in known if name.endswith("_")), *_OF_MODULES) for kind, known in _KNOWN.items()}
_FIXED = frozenset({
    "http_host", "http_user_agent", "http_referer", "http_via", "http_x_forwarded_for", "http_cookie", "content_length",
    "content_type", "host", "binary_remote_addr", "remote_addr", "remote_port", "proxy_protocol_addr", "server_addr",
    "server_port", "server_protocol", "scheme", "https", "request_uri", "uri", "document_uri", "request",
    "document_root", "realpath_root", "query_string", "is_args", "request_filename", "server_name", "request_method",
    "remote_user", "bytes_sent", "body_bytes_sent", "pipe", "request_completion", "request_body", "request_body_file",
    "request_length", "request_time", "status", "sent_http_content_type", "sent_http_content_length",
    "sent_http_location", "sent_http_last_modified", "sent_http_connection", "sent_http_keep_alive",
    "sent_http_transfer_encoding", "sent_http_cache_control", "connection", "connection_requests", "nginx_version",
    "hostname", "pid", "msec", "time_iso8601", "time_local",
})  # fmt: skip
"""The variables of http's core, of all releases, that no directive may define (`ngx_http_core_variables`)."""
_PORTS = ("request_port", "is_request_port")
_SINCE_PORTS = Version(1, 29, 3)


_CERTIFICATES = ("ssl_certificate", "ssl_certificate_key")


def is_merged(name: str) -> bool:
    """Return whether nginx compiles the variables of a directive when it merges levels: only where a server has it."""
    return name in _PER_REQUEST or name.endswith(_CERTIFICATES)


def of_variables(outer: Level, reading: ReadState) -> Found:
    """Yield what nginx refuses of the variables of a block of http or stream."""
    seen: set[tuple[int, str]] = set()
    defined = {*_defined(outer)}
    is_known = reading.is_whole and reading.is_of_nginx
    for directive, found, is_name in _uses(outer, reading.target):
        if is_name:
            if not is_known or found in defined or _is_of_nginx(found, outer.kind, reading.target):
                continue
            message = f'unknown "{found}" variable'
        else:
            message = found
        if (id(directive), message) not in seen:
            seen.add((id(directive), message))
            yield directive, message
    if outer.kind == "http":
        yield from _redefined(outer, reading.target)


def _is_of_nginx(name: str, kind: str, target: Version) -> bool:
    if name in _PORTS and target < _SINCE_PORTS:
        return False
    return name in _KNOWN[kind] or (
        name.startswith(_PREFIXES[kind]) and name not in _PREFIXES[kind] and not _is_misspelt(name, kind)
    )


@lru_cache(maxsize=1 << 10)
def _is_misspelt(name: str, kind: str) -> bool:
    """Return whether a name with the prefix of a module is most likely that of a variable of nginx, misspelt."""
    own = [prefix for prefix in _KNOWN[kind] if prefix.endswith("_")]
    if name.startswith(tuple(own)):  # nginx takes any name behind it
        return False
    likely = (known for known in _KNOWN[kind] if known.startswith(_OF_MODULES) and abs(len(known) - len(name)) <= 1)
    return any(distance(name, known) == 1 for known in likely)


def _redefined(http: Level, target: Version) -> Found:
    """Yield definitions of variables that nginx has (`ngx_http_add_variable`)."""
    fixed = _FIXED | set(_PORTS) if target >= _SINCE_PORTS else _FIXED
    for level in http.walk():
        if level.kind in ROWS:
            continue
        for name in level.names & _DEFINING.keys():
            for directive in level.own(name):
                word = directive.args[_DEFINING[name]] if directive.args else ""
                if word[1:].lower() in fixed and word.startswith("$"):
                    yield directive, f'the duplicate "{word[1:]}" variable'
        for directive, pattern in _patterns(level):
            for match in _GROUP.finditer(pattern.encode("utf-8", "surrogateescape")):
                if match[1].decode().lower() in fixed:
                    yield directive, f'the duplicate "{match[1].decode()}" variable'


def _patterns(level: Level) -> Iterator[tuple[Directive, str]]:
    """Yield the words of a level that nginx compiles as patterns and that have named groups."""
    for name in level.names & group("pattern"):
        for directive in level.own(name):
            for word in directive.args:
                if "(?" in word and (name != "server_name" or word.startswith("~")):
                    yield directive, word


def is_of_nginx(root: Level) -> bool:
    """Return whether every directive is of a module that comes with nginx, or misspelt."""
    if root.own("load_module"):
        return False
    known = names() | {"include"}
    nginx = (level for level in root.walk() if place(level.kind, level.parent.kind if level.parent else ""))
    return all(is_misspelt(name) for level in nginx for name in level.names - known)


def _defined(outer: Level) -> Iterator[str]:
    """Yield the names that a directive or a named group of a pattern defines, in lower case."""
    sources = {item.source for level in outer.walk() for items in (level.directives, level.bulks) for item in items}
    for source in sources:
        yield from (match[1].decode().lower() for match in _GROUP.finditer(source.data))
    for level in outer.walk():
        for name in level.names & _DEFINING.keys() if level.kind not in ROWS else ():
            for directive in level.own(name):
                word = directive.args[_DEFINING[name]] if directive.args else ""
                if name in ("keyval", "num_map"):
                    word = next((arg for arg in reversed(directive.args) if arg.startswith("$")), "")
                if word.startswith("$"):
                    yield word[1:].lower()
        if level.kind == "geoip2":
            yield from (row.name[1:].lower() for row in level.directives if row.name.startswith("$"))


_Use = Iterator[tuple[Directive, str, bool]]
"""A directive with the name of a variable, in lower case (True), or with what nginx says of a `$` (False)."""


def _uses(outer: Level, target: Version) -> _Use:
    for level in outer.walk():
        if level.kind == "map":
            for row in level.directives:
                if row.name != "include":
                    yield from _in_row(row, target)
        elif level.kind not in ROWS and not level.names.isdisjoint(_TAKING):
            for directive in level.directives:
                if directive.name in _TAKING and _is_looked_up(directive, level):
                    yield from _of(directive)
        for bulk in level.bulks:
            if _IN_BULK.search(bulk.source.data, bulk.span.start, bulk.span.end):
                for rewrite in bulk:
                    yield from _of(rewrite)


def _is_looked_up(directive: Directive, level: Level) -> bool:
    """Return whether nginx looks up the variables of a directive: those of headers only where a server has them."""
    if level.kind != "http" or not is_merged(str(directive.name)):
        return True
    merged = (inner for server in level.levels if server.kind == "server" for inner in server.walk())
    return any(
        inner.setting(str(directive.name)).level is level
        for inner in merged
        if inner.kind in ("server", "location", "if", "limit_except")
    )


def _in_row(row: Directive, target: Version) -> _Use:
    """Yield the variables in the value of a map."""
    if target >= MIXED_VALUES:
        yield from _in(row, row.args[:1])
    elif row.args and row.args[0].startswith("$"):
        yield row, row.args[0][1:].lower(), True


def _of(directive: Directive) -> _Use:
    """Yield the variables of a directive."""
    name, args = str(directive.name), directive.args
    if name == "access_log":
        file = [word for word in args[:1] if not word.startswith(_PLAIN)]
        yield from _in(directive, [*file, *(word for word in args[1:] if word.startswith("if="))])
    elif name in _ALL:
        yield from _in(directive, [word for word in args if not word.startswith(_PLAIN)])
        if name == "memcached_pass":
            yield directive, "memcached_key", True
    elif name in _FIRST:
        yield from _in(directive, args[:1])
    elif name in _LATER:
        yield from _in(directive, args[1:])
        if name in ("set", "auth_request_set") and args[:1] == ("$",):
            yield directive, 'invalid variable name "$"', False
    elif name == "log_format":
        yield from _in(directive, args[1:], _IN_FORMAT)
    elif name == "if":
        yield from _in_condition(directive, args)
    elif name == "sticky":
        for word in args:
            _, equals, value = word.partition("=")
            if equals or args[0] == "route":
                yield from _in(directive, [value if equals else word], _IN_FORMAT)
    elif (name in _NAMES or len(args) > 1) and args[:1] and args[0].startswith("$"):  # `geo $address $variable` as well
        is_named = len(args[0]) > 1
        yield directive, args[0][1:].lower() if is_named else 'invalid variable name "$"', is_named


def _in_condition(directive: Directive, args: Sequence[str]) -> _Use:
    """Yield the variables of a condition (`ngx_http_rewrite_if_condition`); a pattern has none."""
    if args and args[0].startswith("$") and len(args[0]) > 1:
        yield directive, args[0][1:].lower(), True
    if len(args) > 1 and (args[1] in ("=", "!=") or args[0].startswith(("-", "!"))):
        yield from _in(directive, args[-1:])


def _in(directive: Directive, words: Sequence[str], pattern: re.Pattern[str] = _IN_VALUE) -> _Use:
    for word in words:
        if "$" not in word:
            continue
        for match in pattern.finditer(word):
            name = match["braced"] or match["bare"]
            if name:
                yield directive, name.lower(), True
            elif match["wrong"] is not None:
                yield directive, _fault(word, match.end(), pattern), False
                break


def _fault(word: str, end: int, pattern: re.Pattern[str]) -> str:
    """Return nginx's message for a `$` that ends at `end` and has no name after it."""
    name = _UNCLOSED.match(word, end)
    if name is not None and word[end:] != "{":
        return f'the closing bracket in "{name[1]}" variable is missing'
    return f'invalid parameter "{word[end - 1 :]}"' if pattern is _IN_FORMAT else "invalid variable name"
