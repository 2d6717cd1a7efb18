"""TLS sessions cannot be resumed: every connection needs a full handshake

Flags `ssl_session_tickets off` without a session cache that the workers share: there is no `ssl_session_cache`, or it
is `none` or `off`, or it is `builtin` alone with several workers. The cache of the address's default server counts,
whatever the server with the name of the request sets.

## Why it matters
A client resumes a session with a ticket that it keeps, or from a cache that nginx keeps. With neither, each connection
costs a signature with the private key and, in TLS 1.2, one more round trip. Measured on nginx 1.22.1 and 1.31.5:
without tickets and cache, no second connection is resumed; with a shared cache each one is, in TLS 1.2 and 1.3, and
after a reload; a cache in a server other than the default one of its address changes nothing. A request on a new
connection, with an RSA 2048 key, takes 0.63 ms of processor time in TLS 1.2 and 0.70 ms in TLS 1.3; resumed, it takes
0.13 and 0.34 ms (1.22.1).

## Bad
```nginx http
ssl_protocols TLSv1.3;
ssl_certificate cert.pem;
ssl_certificate_key cert.key;
ssl_session_tickets off;
server {
    listen 443 ssl;
}
```

```nginx http
ssl_certificate cert.pem;
ssl_certificate_key cert.key;
ssl_session_tickets off;
server {
    listen 443 ssl;
    ssl_session_cache off;
}
```

## Good
```nginx http
ssl_protocols TLSv1.3;
ssl_certificate cert.pem;
ssl_certificate_key cert.key;
ssl_session_tickets off;
server {
    listen 443 ssl;
    ssl_session_cache shared:SSL:10m;
}
```

## Silent
A comment says that no session is to be resumed:
```nginx server
listen 443 ssl;
ssl_certificate cert.pem;
ssl_certificate_key cert.key;
# CIS 4.1.13: ensure session resumption is disabled
ssl_session_tickets off;
```

With tickets, which are on by default, clients resume without a cache:
```nginx http
ssl_certificate cert.pem;
ssl_certificate_key cert.key;
ssl_session_cache none;
server {
    listen 443 ssl;
}
```

## Fix safety
May change: connections, limits.

A resumed session is the one negotiated before, with its protocol, cipher and names. The fix sets the cache in the
default server of the address, where no other server inherits it, under a name that no zone of any
module uses; it takes 10 MB. Experiments show what it could change:

- Removed ciphers and curves. In TLS 1.2, a resumed session keeps its cipher and needs no curve. Seen on nginx 1.22.1
  and 1.31.3: a client whose only cipher is deleted from `ssl_ciphers`, with a reload after that, fails to connect
  without the cache and gets 200 with it; so does one whose only curve is deleted from `ssl_ecdh_curve`. TLS 1.3 agrees
  on both anew, and no session outlives its protocol. So the fix needs the premise `no-cipher-removal`, except with
  `ssl_protocols TLSv1.3` alone.
- Revoked clients. nginx reads `ssl_crl`, queries OCSP and checks dates in full handshakes only. Seen on nginx 1.22.1
  and 1.31.3 with `ssl_verify_client on`: a client whose certificate was revoked, with a reload after that, gets 400
  without the cache and 200 with it. If the only server of the address requests client certificates, the fix needs the
  premise `no-client-revocation`; if several servers share the sessions, there is no fix.
- Servers with other names. In TLS 1.2, a session keeps the name and the cipher it was created with. Seen on nginx
  1.22.1: `ssl_reject_handshake on` admits a client that resumes a session of `a.example` under another name, and
  `$ssl_server_name` is `a.example`. If servers of one address differ in what applies before a request is read, or
  something other than a log reads that variable, the fix needs the premise `sessions-by-name`.
- What tells a full handshake from a resumed one: `$ssl_session_reused`, `$ssl_curves`, `$ssl_ciphers` and the like
  outside of logs; Lua, njs, Perl and SSI, which may read them; code that runs in the handshake
  (`ssl_certificate_by_lua`); early data; and certificates named by a variable. With any of these, the fix needs
  `--unsafe-fixes`.
- `ssl_session_cache off` prohibits resumption: the fix that changes it needs `--unsafe-fixes`.

## When to ignore it
If sessions must never be resumed.

## References
- https://nginx.org/en/docs/http/ngx_http_ssl_module.html#ssl_session_cache
- `ngx_ssl_session_cache` in ngx_event_openssl.c
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.lint import (
    NO_CIPHER_REMOVAL,
    NO_CLIENT_REVOCATION,
    SESSIONS_BY_NAME,
    Finding,
    Model,
    Safety,
    Severity,
    pattern,
    rule,
)
from nginxopt.lint.queries import purpose, tls
from nginxopt.semantics import Level

_OFF = pattern(r"resumption.*disabl|(disabl|without|no)\w*( \w+)* resumption", re.IGNORECASE)


@rule(
    severity=Severity.WARNING,
    category="tls",
    fix=(Safety.SAFE, Safety.under(NO_CIPHER_REMOVAL, NO_CLIENT_REVOCATION, SESSIONS_BY_NAME), Safety.UNSAFE),
    since="1.5.9",
    about=("ssl_session_tickets",),
)
def check(model: Model) -> Iterator[Finding]:
    """Find servers without tickets and without a shared session cache."""
    for endpoint in tls.endpoints(model):
        why = _nothing_kept(model, endpoint.default)
        for server in endpoint.servers:
            tickets = server.setting("ssl_session_tickets")
            off = tickets.directive
            if why and off and tickets.value == "off" and not purpose.says(off, server, _OFF):
                fix = tls.cache_fix(model, endpoint.default)
                yield Finding(
                    off.source,
                    off.args[0].span,
                    f"without tickets {why}, no TLS session is resumed: each connection is a full handshake",
                    fix,
                    "" if fix else tls.by_hand(model, endpoint.default),
                )


def _nothing_kept(model: Model, default: Level) -> str:
    """Return why the default server of an address keeps no sessions for all workers; empty if it does."""
    cache = default.setting("ssl_session_cache")
    if tls.has_shared_cache(default):
        return ""
    if cache.value is not None and cache.value.startswith("builtin"):
        workers = model.root.setting("worker_processes")
        several = workers.known and workers.value != "1"
        return "and with a cache for each worker" if several else ""
    return f"and with `ssl_session_cache {cache.value}`" if cache.is_set else "and without a session cache"
