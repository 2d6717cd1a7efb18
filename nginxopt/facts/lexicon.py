"""The names that nginx knows, and corrections of misspelt ones: directives of nginx, NGINX Plus and common modules, and
the variables of nginx in http and stream (the `ngx_http_variable_t` of its modules).

The directives come from the tables of `nginxopt.facts`. That of modules is incomplete, so a name that is missing here
is not necessarily wrong.
"""

from __future__ import annotations

from functools import cache, lru_cache

from nginxopt.facts import group, vendors
from nginxopt.facts.table import names
from nginxopt.version import Version

ROWS = group("rows")
"""Blocks whose statements are not directives, but rows of data."""

BLOCKS = group("block")
"""Blocks whose statements are directives of nginx. In others, such as `map` or those of modules, they may be values."""

NGINX = names() | vendors.names(vendors.OLDER) | vendors.names(vendors.PLUS)
"""The directives of nginx up to 1.31.5 and of NGINX Plus."""

NAMES = NGINX | vendors.names(vendors.MODULES)
"""The directives of nginx, NGINX Plus, and the most common modules."""

FOREIGN = frozenset(["elif", "else", "elseif", "endif"])
"""Words of other languages that no module of nginx uses."""

_SHORTEST = 4
_LONG = 8


def _letters(name: str) -> int:
    """Return the set of letters of a name as bits, which some letters share. One typo changes at most two bits."""
    bits = 0
    for letter in name:
        bits |= 1 << (ord(letter) & 63)
    return bits


@cache
def _letters_of_names() -> dict[str, int]:
    return {name: _letters(name) for name in NAMES}


@lru_cache(maxsize=1 << 10)
def nearest(name: str) -> tuple[str, ...]:
    """Return the directives of nginx that an unknown name may be a misspelling of, in alphabetical order.

    One letter may be wrong, missing, superfluous or swapped with the next; in names of eight or more characters, two.
    Empty for a name of less than four characters, which would be similar to too many.
    """
    if len(name) < _SHORTEST:
        return ()
    limit = 2 if len(name) >= _LONG else 1
    letters = _letters(name)
    likely = (
        known
        for known, others in _letters_of_names().items()
        if abs(len(known) - len(name)) <= limit and (letters ^ others).bit_count() <= 2 * limit
    )
    near = {known: distance(name, known) for known in likely}
    least = min(near.values(), default=limit + 1)
    return tuple(sorted(known for known, distance in near.items() if distance == least <= limit))


def distance(name: str, other: str) -> int:
    """Return the optimal string alignment distance: letters inserted, deleted, replaced, or swapped with the next."""
    before, last = [0] * (len(other) + 1), list(range(len(other) + 1))
    for row, letter in enumerate(name, 1):
        line = [row]
        for column, target in enumerate(other, 1):
            cost = min(last[column] + 1, line[-1] + 1, last[column - 1] + (letter != target))
            if row > 1 and column > 1 and letter == other[column - 2] and name[row - 2] == target:
                cost = min(cost, before[column - 2] + 1)
            line.append(cost)
        before, last = last, line
    return last[-1]


def is_misspelt(name: str) -> bool:
    """Return whether most likely no module has a directive with this name: it is misspelt, or a word of another
    language."""
    return name in FOREIGN or (name not in NAMES and bool(nearest(name)))


_HTTP = """
    ancient_browser arg_ args binary_remote_addr body_bytes_sent bytes_sent connection connection_requests
    connection_time connections_active connections_reading connections_waiting connections_writing
    content_length content_type cookie_ date_gmt date_local document_root document_uri fastcgi_path_info
    fastcgi_script_name gzip_ratio host hostname http2 http3 http_ https invalid_referer is_args is_request_port
    limit_conn_status limit_rate limit_req_status modern_browser msec msie nginx_version pid pipe
    proxy_add_x_forwarded_for proxy_host proxy_port proxy_protocol_addr proxy_protocol_port
    proxy_protocol_server_addr proxy_protocol_server_port proxy_protocol_tlv_ query_string realip_remote_addr
    realip_remote_port realpath_root remote_addr remote_port remote_user request request_body request_body_file
    request_completion request_filename request_id request_length request_method request_port request_time
    request_uri scheme secure_link secure_link_expires sent_http_ sent_trailer_ server_addr server_name
    server_port server_protocol slice_range ssl_alpn_protocol ssl_cipher ssl_ciphers ssl_client_cert
    ssl_client_escaped_cert ssl_client_fingerprint ssl_client_i_dn ssl_client_i_dn_legacy ssl_client_raw_cert
    ssl_client_s_dn ssl_client_s_dn_legacy ssl_client_serial ssl_client_sigalg ssl_client_v_end ssl_client_v_remain
    ssl_client_v_start ssl_client_verify ssl_curve ssl_curves ssl_early_data ssl_ech_outer_server_name
    ssl_ech_status ssl_protocol ssl_server_name ssl_sigalg ssl_sigalgs
    ssl_session_id ssl_session_reused status tcpinfo_rcv_space tcpinfo_rtt tcpinfo_rttvar tcpinfo_snd_cwnd
    time_iso8601 time_local uid_got uid_reset uid_set upstream_addr upstream_bytes_received upstream_bytes_sent
    upstream_cache_last_modified upstream_cache_status upstream_connect_time upstream_cookie_
    upstream_header_time upstream_http_ upstream_response_length upstream_response_time upstream_status
    upstream_trailer_ uri
"""

_STREAM = """
    binary_remote_addr bytes_received bytes_sent connection hostname limit_conn_status msec nginx_version pid
    protocol proxy_protocol_addr proxy_protocol_port proxy_protocol_server_addr proxy_protocol_server_port
    proxy_protocol_tlv_ realip_remote_addr realip_remote_port remote_addr remote_port server_addr server_name
    server_port session_time ssl_alpn_protocol ssl_cipher ssl_ciphers ssl_client_cert ssl_client_escaped_cert
    ssl_client_fingerprint ssl_client_i_dn ssl_client_raw_cert ssl_client_s_dn ssl_client_serial ssl_client_sigalg
    ssl_client_v_end ssl_client_v_remain ssl_client_v_start ssl_client_verify ssl_curve ssl_curves
    ssl_ech_outer_server_name ssl_ech_status ssl_preread_alpn_protocols ssl_preread_protocol ssl_preread_server_name
    ssl_protocol ssl_server_name ssl_session_id ssl_session_reused ssl_sigalg ssl_sigalgs status time_iso8601
    time_local upstream_addr upstream_bytes_received upstream_bytes_sent upstream_connect_time
    upstream_first_byte_time upstream_session_time
"""

HTTP_VARIABLES = frozenset(_HTTP.split())
"""The variables of http; a name that ends with `_` is the prefix of variables such as `$arg_name`."""

STREAM_VARIABLES = frozenset(_STREAM.split())
"""The variables of stream, likewise."""

_HEADERS = """
    http_cookie http_host http_referer http_user_agent http_via http_x_forwarded_for sent_http_cache_control
    sent_http_connection sent_http_content_length sent_http_content_type sent_http_keep_alive sent_http_last_modified
    sent_http_location sent_http_transfer_encoding
"""
"""The variables of headers that http's core lists by name."""

_CHANGEABLE = """
    ancient_browser args invalid_referer limit_rate modern_browser msie proxy_host proxy_port uid_reset
"""
"""Variables that directives may define as well (`NGX_HTTP_VAR_CHANGEABLE`), or that they define."""

_OF_OPTIONS = ("connections_", "http2", "http3", "realip_", "secure_", "slice_", "ssl_", "tcpinfo_")
"""The beginnings of variables that not every build has."""

_FIXED = {
    kind: frozenset(name for name in known - set(_CHANGEABLE.split()) if not name.startswith(_OF_OPTIONS))
    for kind, known in (("http", HTTP_VARIABLES | set(_HEADERS.split())), ("stream", STREAM_VARIABLES))
}

_SINCE = {
    "http": {
        **dict.fromkeys(("request_port", "is_request_port"), Version(1, 29, 3)),
        **dict.fromkeys(("proxy_protocol_server_addr", "proxy_protocol_server_port"), Version(1, 17, 6)),
        **dict.fromkeys(("limit_conn_status", "limit_req_status"), Version(1, 17, 6)),
        **dict.fromkeys(("proxy_protocol_port", "request_id"), Version(1, 11, 0)),
        "connection_time": Version(1, 19, 10),
        "upstream_bytes_received": Version(1, 11, 4),
        "upstream_bytes_sent": Version(1, 15, 8),
    },
    "stream": {
        **dict.fromkeys(("proxy_protocol_server_addr", "proxy_protocol_server_port"), Version(1, 17, 6)),
        "limit_conn_status": Version(1, 17, 6),
        "server_name": Version(1, 25, 5),
    },
}
"""The releases that brought variables after directives of the same module (CHANGES)."""


def is_variable(name: str, kind: str, target: Version) -> bool:
    """Return whether a variable of http or stream, in lower case, is one of nginx that a release has."""
    known = HTTP_VARIABLES if kind == "http" else STREAM_VARIABLES
    return name in known and not target < _SINCE[kind].get(name, target)


def is_fixed_variable(name: str, kind: str, target: Version) -> bool:
    """Return whether a release has a variable, in lower case, that no directive of http or stream may define.

    It is of the core, or of a module that is in every build.
    """
    return name in _FIXED[kind] and not target < _SINCE[kind].get(name, target)
