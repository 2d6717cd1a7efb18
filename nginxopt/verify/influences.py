"""What a value depends on without naming it.

- Code reads what its words do not say (`Reads`): programs, templates in the content, unknown modules. A program may
  compute the name of a variable (`ngx.var["ti" .. "er"]`), so it may read every one that is defined. Other directives,
  even those of filters (`sub_filter`, `xslt_param`, `echo`), read only the variables in their arguments.
- nginx's own variables depend on settings (`SETTINGS`), and some on when they are first read (`keeps_first`).
- A directive that changes no answer by itself counts if a variable or an upstream shows it (`counting`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Flag, auto
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

from nginxopt import lazy
from nginxopt.facts import group, having
from nginxopt.facts.lexicon import NAMES
from nginxopt.semantics.site.levels import STRUCTURE, effect, is_off, listed
from nginxopt.version import Version

if TYPE_CHECKING:
    from nginxopt.semantics.site import LoweredSite


class Reads(Flag):
    """What code may read besides its arguments.

    - `VARIABLES`: any variable of the request, and so what defines it, and the settings that variables, headers and
      bodies show.
    - `UPSTREAMS`: the servers of any upstream.
    """

    NOTHING = 0
    VARIABLES = auto()
    UPSTREAMS = auto()
    EVERYTHING = VARIABLES | UPSTREAMS


CODE = {
    name: reads
    for word, reads in (
        ("everything", Reads.EVERYTHING),  # Lua: `ngx.var`, and `ngx.upstream` or `ngx.balancer`
        ("variables", Reads.VARIABLES),  # njs and Perl; SSI reads templates in files; modules that are not open
        ("upstreams", Reads.UPSTREAMS),  # pages that show them, and Lua without a request
        ("nothing", Reads.NOTHING),  # what it does for other directives shows where those are compared
    )
    for name in having("code", word)
}
"""The known directives that read more than their arguments name."""

_UNREAD_TABLES = frozenset(["map", "geo", "split_clients"])


def reads(name: str, args: tuple[str, ...] = ()) -> Reads:
    """Return what a directive may read besides its arguments: everything if it is unknown, or if it is an include that
    was not read."""
    if name in CODE:
        return Reads.NOTHING if is_off(name, args) else CODE[name]
    return Reads.NOTHING if name in _known() else Reads.EVERYTHING


def runs_code(name: str, args: tuple[str, ...] = ()) -> bool:
    """Return whether a directive certainly runs code, which may connect to other servers."""
    return name in CODE and not is_off(name, args)


def reads_as_definition(name: str) -> Reads:
    """Return what a directive that defines a variable of unknown value may read besides its arguments.

    A table is unknown if a part of it was not read.
    """
    return Reads.VARIABLES if name in _UNREAD_TABLES else reads(name)


@cache
def _known() -> frozenset[str]:
    """Return the directives that certainly read only what their arguments name."""
    return (NAMES | listed() | STRUCTURE) - CODE.keys() - {"include"}


_VISIBLE = {"brotli_static", "early_hints", "max_ranges", "zstd_static"}
"""Directives of these groups that do change answers: with `always`, nginx sends the compressed file even if the file
itself is missing."""

INVISIBLE = having("model", "log", "size", "connection", "encoding") - _VISIBLE
"""The directives that change no answer, unless something makes them visible (`counting`)."""

_ROOT = group("root")
_BROWSER = group("browser")
_REFERER = frozenset(["valid_referers"])
_SECURE_LINK = group("secure_link")
_USERID = group("userid")

SETTINGS = {
    "ancient_browser": _BROWSER,
    "document_root": _ROOT,
    "fastcgi_path_info": frozenset(["fastcgi_split_path_info"]),
    "fastcgi_script_name": frozenset(["fastcgi_index", "fastcgi_split_path_info"]),
    "invalid_referer": _REFERER,
    "limit_rate": frozenset(["limit_rate"]),
    "modern_browser": _BROWSER,
    "realpath_root": _ROOT,
    "request_filename": _ROOT,
    "secure_link": _SECURE_LINK,
    "secure_link_expires": _SECURE_LINK,
    "slice_range": frozenset(["slice"]),
    "uid_got": _USERID,
    "uid_reset": _USERID,
    "uid_set": _USERID,
}
"""The variables whose value depends on the block where they are read, with the settings of the block that decide it."""

READING = {"memcached_pass": "$memcached_key", "proxy_pass": "$proxy_host", "userid": "$uid_reset"}
"""The directives under which nginx reads a variable that no argument names: the key of an entry
(`ngx_http_memcached_create_request`), the header Host (`ngx_http_proxy_headers` before 1.29.4), and whether a cookie is
renewed (`ngx_http_userid_create_uid`).
"""

SHOWS_READING = {"secure_link_expires": "secure_link", "slice": "slice_range"}
"""A variable and a directive that show whether another variable has been read: the time of a link is known only then
(`ngx_http_secure_link_expires_variable`), and a response is cut only then (`ngx_http_slice_header_filter`)."""

_KEPT_BY = {
    **{name: SETTINGS[name] for name in ("ancient_browser", "invalid_referer", "modern_browser", "slice_range")},
    **{name: SETTINGS[name] for name in ("secure_link", "secure_link_expires", "uid_got", "uid_set")},
    **dict.fromkeys(
        ("binary_remote_addr", "proxy_add_x_forwarded_for", "remote_addr", "remote_port"), group("real_ip")
    ),
    **dict.fromkeys(("request_body", "request_body_file"), frozenset[str]()),
}
"""The variables that nginx computes once, as they are not `NGX_HTTP_VAR_NOCACHEABLE`, although their value may change,
with the settings of locations that may change it. Without settings, the progress of a request alone may change it."""

_TLS_CHOICE = group("tls_choice")
_TLS_SESSION = group("tls_session")
_KEEPALIVE = group("keepalive")
_BODY = group("client_body")
_COMPRESSION = having("model", "encoding")

_SENT_COMPRESSED = tuple(
    f"sent_http_{field}" for field in ("accept_ranges", "content_encoding", "content_length", "etag")
)
"""The fields that compression sets, removes or weakens (`ngx_http_gzip_header_filter`)."""

_PROTOCOL = frozenset(["http2"])

_SAYS_PROTOCOL = lazy.pattern(r"\$\{?(?:http2|request)\b")
"""The variables that contain the protocol and whose names are also prefixes of other words."""

_SHOWN_BY = {
    **dict.fromkeys(("bytes_sent", "gzip_ratio", *_SENT_COMPRESSED), _COMPRESSION),  # of `add_trailer`, `post_action`
    "connection_requests": _KEEPALIVE,
    "connection_time": _KEEPALIVE,
    "limit_rate": SETTINGS["limit_rate"],
    "request_body": _BODY,
    "request_body_file": _BODY,
    "sent_http_connection": _KEEPALIVE,
    "sent_http_keep_alive": _KEEPALIVE,
    "server_protocol": _PROTOCOL,
    "sent_http_transfer_encoding": frozenset(["chunked_transfer_encoding"]),
    "ssl_alpn_protocol": frozenset(["ssl_alpn"]),
    "ssl_cipher": _TLS_CHOICE | _TLS_SESSION,  # unknown of a resumed session: $ssl_ciphers, which the client offers
    "ssl_client_sigalg": _TLS_SESSION,
    "ssl_curve": _TLS_CHOICE | _TLS_SESSION,
    "ssl_early_data": _TLS_SESSION | {"ssl_early_data"},
    "ssl_protocol": _TLS_CHOICE,
    "ssl_session_id": _TLS_SESSION,
    "ssl_session_reused": _TLS_SESSION,
    "ssl_sigalg": _TLS_CHOICE | _TLS_SESSION,
}
"""The directives that a variable makes visible."""

NOT_SHOWN = having("hidden", "yes")
"""The directives that neither a variable nor the body of a request or a response shows to a program."""

_SHOWN_TO_CODE = INVISIBLE - NOT_SHOWN
"""All others: they decide how a program gets the body of a request (`client_body_buffer_size`), the pieces of a
response (`output_buffers`), its encoding, or what a connection is. `log_by_lua` may keep what it sees, for a program
that answers later."""

_WITH_TRAILERS = frozenset(["add_trailer", "grpc_pass", "proxy_pass_trailers"])
"""The directives that send trailers, which only a chunked response can have (`ngx_http_chunked_body_filter`)."""

_AFTER_HEADERS = frozenset(["add_trailer", "post_action"])
"""The directives whose values are evaluated after those of `limit_rate`, which may look up a map first."""

_RATES = frozenset(["limit_rate", "limit_rate_after"])

_PUSHES = frozenset(["http2_push", "http2_push_preload"])
_PUSHES_UNTIL = Version(1, 25, 1)
"""The directives by which nginx makes requests of its own for a client of HTTP/2, and the release without them."""

_LOGS_SHOWN_BY = "lua_capture_error_log"
_ERROR_LOG = group("error_log")
"""What a program reads by `ngx.errlog.get_logs`, where that directive is stated."""


def keeps_first(name: str, stated: frozenset[str]) -> bool:
    """Return whether nginx keeps the first value of one of its own variables although it may change.

    `stated`: the directives of locations and of the blocks inside them.
    """
    if name.startswith("sent_http_"):
        return True
    settings = _KEPT_BY.get(name)
    return settings is not None and (not settings or not settings.isdisjoint(stated))


def counting(sites: Iterable[LoweredSite]) -> frozenset[str]:
    """Return the directives that change no answer by themselves, but that something in these sites makes visible."""
    sites = list(sites)
    stated = dict.fromkeys(item for site in sites for item in _stated(site))
    names, words = {name for name, _ in stated}, {word for _, args in stated for word in args}
    text = "\0".join(chain(words, *(_rewrites(site) for site in sites))).lower()  # a program may name variables, too
    counted = set().union(*(directives for variable, directives in _SHOWN_BY.items() if variable in text))
    if _SAYS_PROTOCOL.search(text):
        counted |= _PROTOCOL
    if not _WITH_TRAILERS.isdisjoint(names):
        counted |= {"chunked_transfer_encoding"}
    if any("log_subrequest" in level.names for site in sites for level in site.levels):
        counted |= {"access_log", "log_format", "log_subrequest"}  # a lookup for a log is kept for the request
    if "ssl_verify_client" in names or "ssl_client_" in text:
        counted |= group("tls_client")
    if "resolve" in words or any("$" in word for name, args in stated if name.endswith("_pass") for word in args):
        counted |= {"resolver", "resolver_timeout"}
    has_inner = any((found := effect(name, args)) is not None and found.when == "body" for name, args in stated)
    if has_inner:
        counted |= {"gunzip", "subrequest_output_buffer_size"}
    if has_inner or not _AFTER_HEADERS.isdisjoint(names):
        counted |= {name for name in _RATES if any(_evaluates(site, name) for site in sites)}
    if any(_PUSHES & level.names and level.target < _PUSHES_UNTIL for site in sites for level in site.levels):
        counted |= _PUSHES
    if any(runs_code(name, args) for name, args in stated):
        counted |= {"resolver", "resolver_timeout"}
    if any(Reads.VARIABLES in reads(name, args) for name, args in stated):
        counted |= _SHOWN_TO_CODE
        counted |= _ERROR_LOG if _LOGS_SHOWN_BY in names else frozenset()
    return frozenset(counted) & INVISIBLE


def _evaluates(site: LoweredSite, name: str) -> bool:
    """Return whether a directive has a value with variables anywhere."""
    return any("$" in word for level in site.levels for each in level.own(name) for word in each.args)


def _stated(site: LoweredSite) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the directives of a site that may change an answer, with their arguments, and the rows of its maps."""
    upstreams = (inner for level in site.levels for inner in level.levels if inner.kind == "upstream")
    inner = (upstream.directives for upstream in upstreams)
    for directive in chain(*(level.directives for level in site.levels), *inner):
        if directive.name not in INVISIBLE and directive.name != "include":
            yield str(directive.name), tuple(directive.args)
    for variable in site.site["variables"]:
        if variable["kind"] != "opaque":
            yield variable["kind"], (variable["source"] or "",)
            for row in variable["rows"]:
                yield variable["kind"], tuple(row["args"])


def _rewrites(site: LoweredSite) -> Iterator[str]:
    """Yield the folded runs of rewrites of a site."""
    for bulk in (bulk for level in site.levels for bulk in level.bulks):
        yield bulk.source.data[bulk.span.start : bulk.span.end].decode("latin-1")
