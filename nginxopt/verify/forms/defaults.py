"""What nginx does if nothing is stated: a value that is the default is the same as none.

Of the declared defaults, those of the setters of nginx's core count that have one value on all machines. Others are
computed when blocks are merged (`proxy_busy_buffers_size`), depend on the machine (`4k|8k`), or are what documentation
says and nginx does not do: the default of `proxy_cache_key` is another text than the documented one, and no
`proxy_redirect` is `default`, not `off`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from nginxopt.facts.declarations import declarations
from nginxopt.verify.forms.values import Words, canonical_words
from nginxopt.version import Version

_LITERAL: Mapping[str, Words] = {
    **dict.fromkeys(("auth_basic", "auth_request", "charset", "expires", "mirror", "source_charset"), ("off",)),
    **{f"{gateway}_cache": ("off",) for gateway in ("proxy", "fastcgi", "scgi", "uwsgi")},
    **{f"{gateway}_bind": ("off",) for gateway in ("proxy", "fastcgi", "scgi", "uwsgi", "grpc", "memcached")},
    **dict.fromkeys(("proxy_cookie_domain", "proxy_cookie_flags", "proxy_cookie_path"), ("off",)),
    "default_type": ("text/plain",),
    "index": ("index.html",),
    "large_client_header_buffers": ("4", "8k"),
    "limit_rate": ("0",),
    "real_ip_header": ("X-Real-IP",),
    "root": ("html",),
}
"""Defaults that no declaration has, as documented, and as the tests ask nginx."""

_UNSURE = frozenset(["http2", "http3", "ssl", "ssl_reject_handshake", "userid_service", "http2_streams_index_size"])
"""Flags that `listen` has to do with, and values that the declaration has in another form."""


@lru_cache(maxsize=1 << 12)
def default_words(name: str, version: Version) -> Words | None:
    """Return the default of a directive in canonical form; None if it has none, or if it is not known to be one."""
    if name in _LITERAL:
        return canonical_words(name, _LITERAL[name], version)
    rows = [row for row in declarations(name) if row.is_in(version) and row.module.startswith("ngx_http_")]
    if name in _UNSURE or len({row.default for row in rows}) != 1:
        return None
    row = rows[0]
    if not row.default or "|" in row.default or row.compared == "text":
        return None
    return canonical_words(name, tuple(row.default.split()), version)
