"""Finds variables that nothing defines, or that have no name: with one, nginx does not start.

See `ngx_http_variables_init_vars` and `ngx_http_script_compile`.

Reports no undefined variable if an unread file, code, or a module that is not part of nginx may define it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nginxopt.config import Config, Directive
from nginxopt.config.declarations import names
from nginxopt.config.dump import is_dump
from nginxopt.config.includes import has_folder, is_pattern
from nginxopt.errors import InputError
from nginxopt.semantics.commands import place
from nginxopt.semantics.inherit import Level
from nginxopt.semantics.site.variables import DEFINING, TABLES
from nginxopt.semantics.tables import MIXED_VALUES
from nginxopt.semantics.variables import HTTP
from nginxopt.version import Version

_GATEWAYS = ("proxy", "fastcgi", "uwsgi", "scgi", "grpc", "memcached", "tunnel")
_OF_GATEWAYS = (
    "bind", "cache", "cache_bypass", "cache_key", "limit_rate", "no_cache", "pass", "ssl_certificate",
    "ssl_certificate_key", "ssl_name", "store",
)  # fmt: skip

_ALL = frozenset(
    {
        "access_log", "alias", "auth_basic", "auth_basic_user_file", "early_hints", "error_page", "expires", "hash",
        "image_filter", "index", "limit_rate", "limit_rate_after", "proxy_cookie_domain",
        "proxy_cookie_flags", "proxy_cookie_path", "proxy_method", "proxy_redirect", "proxy_set_body", "return", "root",
        "secure_link", "secure_link_md5", "ssl_certificate", "ssl_certificate_key", "sub_filter", "try_files",
        *(f"{gateway}_{name}" for gateway in _GATEWAYS for name in _OF_GATEWAYS),
    }
)  # fmt: skip
"""The directives with variables in all arguments, but for patterns.

Not `http2_push`, which nginx 1.25.1 and later ignore.
"""

_PLAIN = ("~", "syslog:")
"""How arguments begin that have no variables: patterns, and the server of a log."""

_FIRST = frozenset(["limit_conn_zone", "limit_req_zone", "map", "split_clients"])
_LATER = frozenset({
    "add_header", "add_trailer", "auth_request_set", "fastcgi_param", "grpc_set_header", "proxy_set_header", "rewrite",
    "scgi_param", "set", "uwsgi_param", "xslt_param", "xslt_string_param", "xslt_stylesheet",
})  # fmt: skip
_NAMES = frozenset(["charset", "source_charset"])
_TAKING = _ALL | _FIRST | _LATER | _NAMES | {"geo", "if", "log_format"}
"""The directives with variables in their first argument, in the others, as their argument; and all of them."""

_IN_VALUE = re.compile(r"\$(?:\{(?P<braced>\w+)\}|[1-9]|(?P<bare>\w+)|(?P<wrong>))", re.ASCII)
"""A variable or a capture (`ngx_http_script_compile`): `$1` is a capture, and `${1}` a variable."""
_IN_FORMAT = re.compile(r"\$(?:\{(?P<braced>\w+)\}|(?P<bare>\w+)|(?P<wrong>))", re.ASCII)
"""A variable in a `log_format`, which has no captures (`ngx_http_log_compile_format`)."""
_UNCLOSED = re.compile(r"\{(\w*)(?![\w}])", re.ASCII)
_IN_BULK = re.compile(rb"\$[{a-zA-Z_]")
_DEFINING = DEFINING | {"set"}
_GROUP = re.compile(rb"\(\?P?[<'](\w+)", re.ASCII)

_BEGINNINGS = tuple(name for name in HTTP if name.endswith("_"))
_OF_MODULES = (
    "acme_", "angie_", "ascii_", "brotli_", "echo_", "f4f_", "fancyindex_", "geoip_", "geoip2_", "grpc_", "jwt_",
    "lua_", "memc_", "modsecurity_", "nchan_", "oidc_", "opentracing_", "otel_", "p8s_", "passenger_", "postgres_",
    "proxy_", "push_", "quic_", "session_", "srcache_", "ssl_", "sts_", "tcpinfo_", "upload_", "uploadprogress_",
    "upstream_", "vod_", "vts_", "zstd_",
)  # fmt: skip
"""Prefixes of variables that NGINX Plus, later releases and built-in modules may define."""


def check(http: Level, config: Config, target: Version) -> None:
    """Raise `InputError` for the first variable without a name, or else the first that nothing defines, unless what is
    not known may define it.
    """
    uses = [(directive, name) for directive, name in _uses(http, target) if not _is_of_nginx(name)]
    if not uses or not _is_known(http, config):
        return
    defined = {*_defined(http)}
    for directive, name in uses:
        if name not in defined:
            message = f'unknown "{name}" variable'
            raise directive.error(message, nginx=message)


def _is_of_nginx(name: str) -> bool:
    return name in HTTP or name.startswith((*_BEGINNINGS, *_OF_MODULES))


def _is_known(http: Level, config: Config) -> bool:
    """Return whether every file was read and every directive is of a module that comes with nginx."""
    main = http.around("main")
    if main is None or http.opener is None or any(level.is_open for level in main.walk()) or main.own("load_module"):
        return False
    patterns = (include for include in config.includes if is_pattern(include.args[0]))
    if not is_dump(config.origin) and not all(has_folder(config.prefix, str(name.args[0])) for name in patterns):
        return False
    known = names() | {"include"}
    nginx = (level for level in main.walk() if place(level.kind, level.parent.kind if level.parent else ""))
    return all(known.issuperset(level.names) for level in nginx)


def _defined(http: Level) -> Iterator[str]:
    """Yield the names that a directive or a named group of a pattern defines, in lower case."""
    sources = {item.source for level in http.walk() for items in (level.directives, level.bulks) for item in items}
    for source in sources:
        yield from (match[1].decode().lower() for match in _GROUP.finditer(source.data))
    for level in http.walk():
        for name in level.names & _DEFINING:
            for directive in level.own(name):
                words = directive.args[-1:] if name in TABLES else directive.args[:1]
                yield from (word[1:].lower() for word in words if word.startswith("$"))


def _uses(http: Level, target: Version) -> Iterator[tuple[Directive, str]]:
    """Yield the names of variables in the arguments of directives, in lower case."""
    for level in http.walk():
        if level.kind == "map":
            for row in level.directives:
                if row.name != "include":
                    yield from _in_row(row, target)
        elif level.kind not in TABLES and not level.names.isdisjoint(_TAKING):
            for directive in level.directives:
                if directive.name in _TAKING:
                    yield from _of(directive)
        for bulk in level.bulks:
            if _IN_BULK.search(bulk.source.data, bulk.span.start, bulk.span.end):
                for rewrite in bulk:
                    yield from _of(rewrite)


def _in_row(row: Directive, target: Version) -> Iterator[tuple[Directive, str]]:
    """Yield the variables in the value of a map."""
    if target >= MIXED_VALUES:
        yield from _in(row, row.args[:1])
    elif row.args and row.args[0].startswith("$"):
        yield row, row.args[0][1:].lower()


def _of(directive: Directive) -> Iterator[tuple[Directive, str]]:
    """Yield the variables of a directive."""
    name, args = str(directive.name), directive.args
    if name in _ALL:
        yield from _in(directive, [word for word in args if not word.startswith(_PLAIN)])
        if name == "memcached_pass":
            yield directive, "memcached_key"
    elif name in _FIRST:
        yield from _in(directive, args[:1])
    elif name in _LATER:
        if name == "auth_request_set" and args:
            _name(directive, args[0])
        yield from _in(directive, args[1:])
    elif name == "log_format":
        yield from _in(directive, args[1:], _IN_FORMAT)
    elif name == "if":
        yield from _in_condition(directive, args)
    elif (name in _NAMES or len(args) > 1) and args[:1] and args[0].startswith("$"):  # `geo $address $variable` as well
        yield directive, _name(directive, args[0])


def _name(directive: Directive, word: str) -> str:
    """Return the name of the variable `word`, in lower case. Raises `InputError` for a word that is no variable."""
    if not word.startswith("$") or word == "$":
        raise _refused(directive, f'invalid variable name "{word}"')
    return word[1:].lower()


def _in_condition(directive: Directive, args: Sequence[str]) -> Iterator[tuple[Directive, str]]:
    """Yield the variables of a condition (`ngx_http_rewrite_if_condition`); a pattern has none."""
    if args and args[0].startswith("$"):
        yield directive, args[0][1:].lower()
    if len(args) > 1 and (args[1] in ("=", "!=") or args[0].startswith(("-", "!"))):
        yield from _in(directive, args[-1:])


def _in(
    directive: Directive, words: Sequence[str], pattern: re.Pattern[str] = _IN_VALUE
) -> Iterator[tuple[Directive, str]]:
    for word in words:
        if "$" in word:
            for match in pattern.finditer(word):
                name = match["braced"] or match["bare"]
                if name:
                    yield directive, name.lower()
                elif match["wrong"] is not None:
                    raise _refused(directive, _fault(word, match.end(), pattern))


def _fault(word: str, end: int, pattern: re.Pattern[str]) -> str:
    """Return nginx's message for a `$` that ends at `end` and has no name after it."""
    name = _UNCLOSED.match(word, end)
    if name is not None and word[end:] != "{":
        return f'the closing bracket in "{name[1]}" variable is missing'
    return f'invalid parameter "{word[end - 1 :]}"' if pattern is _IN_FORMAT else "invalid variable name"


def _refused(directive: Directive, message: str) -> InputError:
    return directive.error(message, nginx=directive.located(message))
