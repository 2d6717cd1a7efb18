"""The words that nginx accepts as arguments of directives, in addition to the values in the table of declarations."""

from collections.abc import Mapping

_CACHE_PATH = ("inactive=", "keys_zone=", "levels=", "loader_files=", "manager_files=", "max_size=", "min_free=",
               "use_temp_path=off")  # fmt: skip
_FAILURES = ("error", "http_403", "http_404", "http_429", "http_500", "http_502", "http_503", "http_504",
             "invalid_header", "off", "timeout")  # fmt: skip
_GATEWAYS = ("proxy", "fastcgi", "uwsgi", "scgi")

PARAMETERS: Mapping[str, tuple[str, ...]] = {
    **{f"{gateway}_cache": ("off",) for gateway in _GATEWAYS},
    **{f"{gateway}_cache_path": _CACHE_PATH for gateway in _GATEWAYS},
    **{f"{gateway}_cache_use_stale": (*_FAILURES, "updating") for gateway in _GATEWAYS},
    **{f"{gateway}_cache_valid": ("any",) for gateway in _GATEWAYS},
    **{f"{gateway}_next_upstream": (*_FAILURES, "non_idempotent") for gateway in _GATEWAYS},
    "access_log": ("off", "buffer=", "flush=", "gzip", "if="),
    "add_header": ("always",),
    "charset": ("off", "utf-8"),
    "error_log": ("debug", "info", "notice", "warn", "error", "crit", "alert", "emerg"),
    "expires": ("epoch", "max", "off", "modified"),
    "gzip_proxied": (
        *("any", "auth", "expired", "no-cache", "no-store", "no_etag", "no_last_modified", "off", "private"),
    ),
    "http/server/listen": (
        *("backlog=", "bind", "default_server", "deferred", "fastopen=", "http2", "ipv6only=on", "ipv6only=off"),
        *("proxy_protocol", "quic", "rcvbuf=", "reuseport", "setfib=", "sndbuf=", "so_keepalive=", "ssl"),
    ),
    "http/upstream/server": (
        *("backup", "down", "fail_timeout=", "max_conns=", "max_fails=", "resolve", "service=", "slow_start="),
        "weight=",
    ),
    "limit_req": ("burst=", "delay=", "nodelay", "zone="),
    "limit_req_zone": ("rate=", "zone="),
    "limit_conn_zone": ("zone=",),
    "location": ("=", "^~", "~", "~*"),
    "log_format": ("escape=default", "escape=json", "escape=none"),
    "open_file_cache": ("inactive=", "max=", "off"),
    "resolver": ("ipv4=off", "ipv6=off", "status_zone=", "valid="),
    "rewrite": ("break", "last", "permanent", "redirect"),
    "ssl_protocols": ("TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"),
    "ssl_session_cache": ("builtin", "none", "off", "shared:"),
    "stream/server/listen": ("backlog=", "bind", "ipv6only=on", "proxy_protocol", "reuseport", "ssl", "udp"),
    "stream/upstream/server": (
        *("backup", "down", "fail_timeout=", "max_conns=", "max_fails=", "resolve", "service=", "weight="),
    ),
    "valid_referers": ("blocked", "none", "server_names"),
    "worker_processes": ("auto",),
}
"""Words by directive, or by place and directive. A word that ends with `=` or `:` takes a value."""

BEFORE: Mapping[str, int] = {
    **{f"{gateway}_cache_path": 1 for gateway in _GATEWAYS},
    **{f"{gateway}_cache_valid": 1 for gateway in _GATEWAYS},
    **{f"{place}/listen": 1 for place in ("http/server", "stream/server")},
    **{f"{place}/upstream/server": 1 for place in ("http", "stream")},
    "add_header": 2,
    "error_log": 1,
    "limit_conn_zone": 1,
    "limit_req_zone": 1,
    "log_format": 1,
    "resolver": 1,
    "rewrite": 2,
}
"""How many other arguments come before such a word, by the keys of `PARAMETERS`."""
