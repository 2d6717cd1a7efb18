"""nginx's defaults by version, each with its source; only those that rules need."""

from __future__ import annotations

from nginxopt.version import Version

PIVOT = Version(1, 29, 7)
"""The first version with a connection pool by default (CHANGES 1.29.7): `keepalive 32 local`, `proxy_http_version 1.1`,
and no `Connection` header."""

# Each default with the first version that has it, the newest last. Where nothing else is said the source is the
# directive's "Default:" at nginx.org/en/docs.
_DEFAULTS: dict[str, tuple[tuple[Version, str], ...]] = {
    name: tuple((Version.parse(since), value) for since, value in versions)
    for name, versions in {
        "accept_mutex": [("0.0", "on"), ("1.11.3", "off")],  # CHANGES 1.11.3
        "access_log": [("0.0", "logs/access.log")],
        "fastcgi_buffering": [("0.0", "on")],
        "fastcgi_cache": [("0.0", "off")],
        "fastcgi_keep_conn": [("0.0", "off")],
        "gzip": [("0.0", "off")],
        "gzip_comp_level": [("0.0", "1")],
        "gzip_proxied": [("0.0", "off")],
        "gzip_types": [("0.0", "text/html")],
        "gzip_vary": [("0.0", "off")],
        "http2": [("0.0", "off")],
        "keepalive_requests": [("0.0", "100"), ("1.19.10", "1000")],  # CHANGES 1.19.10
        "keepalive_timeout": [("0.0", "75s")],
        "map_hash_max_size": [("0.0", "2048")],
        "open_file_cache": [("0.0", "off")],
        "open_log_file_cache": [("0.0", "off")],
        "pcre_jit": [("0.0", "off")],
        "proxy_buffering": [("0.0", "on")],
        "proxy_cache": [("0.0", "off")],
        "proxy_cache_background_update": [("0.0", "off")],
        "proxy_cache_lock": [("0.0", "off")],
        "proxy_cache_use_stale": [("0.0", "off")],
        "proxy_http_version": [("0.0", "1.0"), ("1.29.7", "1.1")],
        "proxy_request_buffering": [("0.0", "on")],
        "proxy_ssl_session_reuse": [("0.0", "on")],
        "sendfile": [("0.0", "off")],
        "sendfile_max_chunk": [("0.0", "0"), ("1.21.4", "2m")],  # CHANGES 1.21.4
        "ssl_buffer_size": [("0.0", "16k")],
        "ssl_certificate_cache": [("0.0", "off")],
        "ssl_session_cache": [("0.0", "none")],
        "tcp_nodelay": [("0.0", "on")],
        "tcp_nopush": [("0.0", "off")],
        "worker_connections": [("0.0", "512")],
        "worker_processes": [("0.0", "1")],
    }.items()
}


def default(name: str, target: Version) -> str | None:
    """Return the default of the directive `name` in that version; None if there is none, or if it is not listed."""
    return next((value for since, value in reversed(_DEFAULTS.get(name, ())) if target >= since), None)
