"""What the values of nginx's own variables depend on besides the request: settings, and the time of their first
reading.

A directive may change no answer by itself. It is compared all the same if a variable or an upstream makes it visible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from nginxopt.semantics.site.effects import IGNORED, effect
from nginxopt.verify.code import Reads, reads, runs_code

if TYPE_CHECKING:
    from nginxopt.semantics.site import LoweredSite

_ENCODING = "the encoding of a body, which decodes to the same"
_INVISIBLE = (
    "logs",
    "sizes of buffers, pools and tables",
    "connections, timeouts and the way bytes are sent",
    _ENCODING,
)
"""The groups of `effects.IGNORED` whose directives change no answer."""

_VISIBLE = {"brotli_static", "early_hints", "max_ranges", "zstd_static"}
"""Directives of these groups that do change answers: with `always`, nginx sends the compressed file even if the file
itself is missing."""

INVISIBLE = frozenset(name for group in _INVISIBLE for name in IGNORED[group].split()) - _VISIBLE
"""The directives that change no answer, unless something makes them visible (`counting`)."""

_ROOT = frozenset(["root", "alias"])
_BROWSER = frozenset(["ancient_browser", "ancient_browser_value", "modern_browser", "modern_browser_value"])
_REFERER = frozenset(["valid_referers"])
_SECURE_LINK = frozenset(["secure_link", "secure_link_md5", "secure_link_secret"])
_REAL_IP = frozenset(["real_ip_header", "real_ip_recursive", "set_real_ip_from"])
_USERID = frozenset(
    ["userid", "userid_domain", "userid_expires", "userid_flags", "userid_mark", "userid_name", "userid_path",
     "userid_service"]
)  # fmt: skip

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

READING = {"memcached_pass": "$memcached_key", "userid": "$uid_reset"}
"""The directives under which nginx reads a variable that no argument names: the key of an entry
(`ngx_http_memcached_create_request`), and whether a cookie is renewed (`ngx_http_userid_create_uid`).
"""

_KEPT_BY = {
    **{name: SETTINGS[name] for name in ("ancient_browser", "invalid_referer", "modern_browser", "slice_range")},
    **{name: SETTINGS[name] for name in ("secure_link", "secure_link_expires", "uid_got", "uid_set")},
    **dict.fromkeys(("binary_remote_addr", "proxy_add_x_forwarded_for", "remote_addr", "remote_port"), _REAL_IP),
    **dict.fromkeys(("request_body", "request_body_file"), frozenset[str]()),
}
"""The variables that nginx computes once, as they are not `NGX_HTTP_VAR_NOCACHEABLE`, although their value may change,
with the settings of locations that may change it. Without settings, the progress of a request alone may change it."""

_TLS_CLIENT = frozenset(
    ["ssl_client_certificate", "ssl_crl", "ssl_ocsp", "ssl_ocsp_responder", "ssl_trusted_certificate",
     "ssl_verify_depth"]
)  # fmt: skip
_TLS_CHOICE = frozenset(
    ["ssl_ciphers", "ssl_conf_command", "ssl_ecdh_curve", "ssl_prefer_server_ciphers", "ssl_protocols"]
)
_TLS_SESSION = frozenset(["ssl_session_cache", "ssl_session_ticket_key", "ssl_session_tickets", "ssl_session_timeout"])
_KEEPALIVE = frozenset(
    ["keepalive_disable", "keepalive_min_timeout", "keepalive_requests", "keepalive_time", "keepalive_timeout"]
)
_BODY = frozenset(["client_body_buffer_size", "client_body_in_single_buffer"])
_COMPRESSION = frozenset(IGNORED[_ENCODING].split())

_PROTOCOL = frozenset(["http2"])

_SAYS_PROTOCOL = re.compile(r"\$\{?(?:http2|request)\b")
"""The variables that contain the protocol and whose names are also prefixes of other words."""

_SHOWN_BY = {
    **dict.fromkeys(("bytes_sent", "gzip_ratio", "sent_http_content_encoding"), _COMPRESSION),  # of `add_trailer`
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
    "ssl_cipher": _TLS_CHOICE | _TLS_SESSION,  # what a client offers is not known of a resumed session: $ssl_ciphers
    "ssl_client_sigalg": _TLS_SESSION,
    "ssl_curve": _TLS_CHOICE | _TLS_SESSION,
    "ssl_early_data": _TLS_SESSION | {"ssl_early_data"},
    "ssl_protocol": _TLS_CHOICE,
    "ssl_session_id": _TLS_SESSION,
    "ssl_session_reused": _TLS_SESSION,
    "ssl_sigalg": _TLS_CHOICE | _TLS_SESSION,
}
"""The directives that a variable makes visible."""

_UNSEEN = """
    access_log log_format open_log_file_cache session_log session_log_format session_log_zone
    error_log log_not_found rewrite_log uninitialized_variable_warn
    connection_pool_size map_hash_bucket_size map_hash_max_size postpone_output referer_hash_bucket_size
    referer_hash_max_size request_pool_size server_names_hash_bucket_size server_names_hash_max_size
    types_hash_bucket_size types_hash_max_size variables_hash_bucket_size variables_hash_max_size
    aio_write auth_delay client_body_timeout client_header_timeout http2_body_preread_size http2_chunk_size
    http2_idle_timeout http2_max_concurrent_streams http2_max_field_size http2_max_header_size http2_max_requests
    http2_pool_size http2_recv_buffer_size http2_recv_timeout http2_streams_index_size http3_max_concurrent_streams
    http3_stream_buffer_size limit_rate_after lingering_close lingering_time lingering_timeout
    quic_active_connection_id_limit quic_gso quic_host_key quic_retry read_ahead reset_timedout_connection send_lowat
    send_timeout sendfile_max_chunk spdy_chunk_size spdy_headers_comp ssl_buffer_size ssl_certificate
    ssl_certificate_cache ssl_certificate_compression ssl_certificate_key ssl_dhparam ssl_ech_file ssl_key_log
    ssl_object_cache_inheritable ssl_ocsp_cache ssl_password_file ssl_stapling ssl_stapling_file
    ssl_stapling_responder ssl_stapling_verify tcp_nodelay tcp_nopush
"""
NOT_SHOWN = frozenset(_UNSEEN.split())
"""The directives that no program can notice, neither by a variable nor by the body of a request or a response."""

_SHOWN_TO_CODE = INVISIBLE - NOT_SHOWN
"""All others: they decide how a program gets the body of a request (`client_body_buffer_size`), the pieces of a
response (`output_buffers`), its encoding, or what a connection is. `log_by_lua` may keep what it sees, for a program
that answers later."""

_LOGS_SHOWN_BY = "lua_capture_error_log"
_ERROR_LOG = frozenset(["error_log", "log_not_found", "rewrite_log", "uninitialized_variable_warn"])
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
    stated = [item for site in sites for item in _stated(site)]
    names, words = {name for name, _ in stated}, {word for _, args in stated for word in args}
    text = "\0".join(chain(words, *(_rewrites(site) for site in sites))).lower()  # a program may name variables, too
    counted = set().union(*(directives for variable, directives in _SHOWN_BY.items() if variable in text))
    if _SAYS_PROTOCOL.search(text):
        counted |= _PROTOCOL
    if "ssl_verify_client" in names or "ssl_client_" in text:
        counted |= _TLS_CLIENT
    if "resolve" in words or any("$" in word for name, args in stated if name.endswith("_pass") for word in args):
        counted |= {"resolver", "resolver_timeout"}
    if any((found := effect(name, args)) is not None and found.when == "body" for name, args in stated):
        counted |= {"gunzip", "subrequest_output_buffer_size"}
    if any(runs_code(name, args) for name, args in stated):
        counted |= {"resolver", "resolver_timeout"}
    if any(Reads.VARIABLES in reads(name, args) for name, args in stated):
        counted |= _SHOWN_TO_CODE
        counted |= _ERROR_LOG if _LOGS_SHOWN_BY in names else frozenset()
    return frozenset(counted) & INVISIBLE


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
