"""The default values of directives by nginx version, as far as rules need them."""

from __future__ import annotations

from nginxopt.config.declarations import declarations
from nginxopt.version import Version

PIVOT = Version(1, 29, 7)
"""The first version with a connection pool by default (CHANGES 1.29.7): `keepalive 32 local`, `proxy_http_version 1.1`,
and no `Connection` header."""

_IN_TABLE = """
    accept_mutex fastcgi_buffering fastcgi_keep_conn gzip gzip_comp_level gzip_proxied gzip_vary http2
    keepalive_requests pcre_jit proxy_buffering proxy_cache_background_update proxy_cache_lock proxy_cache_use_stale
    proxy_http_version proxy_request_buffering proxy_ssl_session_reuse sendfile sendfile_max_chunk ssl_buffer_size
    tcp_nodelay tcp_nopush
"""
_DECLARED = frozenset(_IN_TABLE.split())
"""The directives whose default is in the table of declarations."""

_STATED = {
    "access_log": "logs/access.log",
    "fastcgi_cache": "off",
    "gzip_types": "text/html",
    "keepalive_timeout": "75s",
    "map_hash_max_size": "2048",
    "open_file_cache": "off",
    "open_log_file_cache": "off",
    "proxy_cache": "off",
    "ssl_certificate_cache": "off",
    "ssl_session_cache": "none",
    "worker_connections": "512",
    "worker_processes": "1",
}
"""Other defaults, which are the same in all versions: those documented at nginx.org/en/docs ("Default:")."""


def default(name: str, target: Version) -> str | None:
    """Return the default of the directive `name` in a version; None if it has none, or if it is not listed here.

    For a version that does not have the directive, this is the default of the first version that has it.
    """
    if name not in _DECLARED:
        return _STATED.get(name)
    rows = declarations(name)
    return next((row.default for row in rows if row.is_in(target)), rows[0].default)
