"""No `Strict-Transport-Security`: browsers may come back without TLS

Flags servers that answer over TLS and send `Strict-Transport-Security` nowhere.

Does not flag servers that only redirect, that pass requests on (the application may send the header), or of which a
part was not read.

## Why it matters
A browser that follows an http:// link sends its first request in plain text, and an attacker on the network can answer
it instead of redirecting to https://. A browser that has seen the header once uses TLS from then on.

## Bad
```nginx server
listen 443 ssl;
ssl_certificate shop.pem;
ssl_certificate_key shop.key;
root /srv/www;
```

## Good
```nginx server
listen 443 ssl;
ssl_certificate shop.pem;
ssl_certificate_key shop.key;
root /srv/www;
add_header Strict-Transport-Security "max-age=63072000" always;
```

## Silent
```nginx server
listen 443 ssl;
ssl_certificate shop.pem;
ssl_certificate_key shop.key;
location / {
    proxy_pass http://127.0.0.1:8080;
}
```
```nginx server
listen 443 ssl;
ssl_certificate shop.pem;
ssl_certificate_key shop.key;
return 301 https://www.example.com$request_uri;
```

## When to ignore it
If a part of the site, or a name below it, has to be reached without TLS: browsers do not go back for as long as the
header says.

## References
- https://www.rfc-editor.org/rfc/rfc6797
- https://infosec.mozilla.org/guidelines/web_security#http-strict-transport-security
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nginxopt.config import Directive
from nginxopt.lint import Finding, Model, Severity, rule
from nginxopt.lint.queries import inheritance, tls
from nginxopt.semantics import PROTOCOLS, Level

_HELP = 'add_header Strict-Transport-Security "max-age=63072000" always; begin with a small max-age'
_HEADER = "strict-transport-security"
_MODULE = "security_headers"
"""The directive of a third-party module that adds this header and others."""
_ELSEWHERE = frozenset(["more_set_headers", *(f"{protocol}_pass" for protocol in PROTOCOLS)])
"""Directives with which something else may write the header."""


@rule(severity=Severity.INFO, category="hardening", default=False)
def check(model: Model) -> Iterator[Finding]:
    """Find servers over TLS without the header."""
    servers = dict.fromkeys(server for endpoint in tls.endpoints(model) for server in endpoint.servers)
    for server in servers:
        if server.source is not None and not _may_send_it(server) and not _answers_at_once(server):
            yield Finding(
                server.source,
                server.span,
                f"{_shown(server)} sends no Strict-Transport-Security: browsers may come back without TLS",
                help=_HELP + _beside(server),
                cause="",
            )


def _shown(server: Level) -> str:
    name = server.setting("server_name").value
    return f'server "{name}"' if name else "this server"


def _beside(server: Level) -> str:
    """Return the headers that have to be repeated, because a level with an `add_header` of its own inherits none."""
    if server.setting("add_header_inherit").value == "merge":
        return ""
    inherited = "" if server.own("add_header") else _named(server.setting("add_header").directives)
    inner = any(level.own("add_header") for level in server.walk() if level is not server)
    again = "; state it again in each location with an add_header of its own" if inner else ""
    return (f"; repeat beside it what the server inherits: {inherited}" if inherited else "") + again


def _named(headers: Sequence[Directive]) -> str:
    return ", ".join(dict.fromkeys(str(header.args[0]) for header in headers if header.args))


def _may_send_it(server: Level) -> bool:
    """Return whether a response has the header, or comes from elsewhere."""
    levels = list(server.walk())
    has_header = any(_HEADER in inheritance.effective(level, "add_header") for level in levels)
    is_elsewhere = any(not _ELSEWHERE.isdisjoint(level.names) for level in levels)
    return has_header or is_elsewhere or server.setting(_MODULE).is_set


def _answers_at_once(server: Level) -> bool:
    """Return whether a server itself answers all requests: it redirects, or refuses them."""
    return bool(server.own("return") or server.own("ssl_reject_handshake"))
