"""`ssl_early_data on` without `Early-Data` for the upstream: attackers can repeat requests

Flags servers with `ssl_early_data on` that pass requests to an upstream without `$ssl_early_data` in a header or
parameter. Does not flag servers that send only files, and configurations that test the variable.

## Why it matters
Early data is the first request of a resumed TLS 1.3 connection, sent before the handshake has ended. TLS does not stop
an attacker who recorded it from sending it again (RFC 8446, section 8): an order or a payment is made twice. The
upstream has to know that a request came this way, and answer 425 (Too Early) if it must not be repeated (RFC 8470).

## Bad
```nginx http
server {
    listen 443 ssl;
    ssl_certificate shop.pem;
    ssl_certificate_key shop.key;
    ssl_early_data on;
    location / {
        proxy_pass http://127.0.0.1:8080;
    }
}
```

## Good
```nginx http
server {
    listen 443 ssl;
    ssl_certificate shop.pem;
    ssl_certificate_key shop.key;
    ssl_early_data on;
    location / {
        proxy_set_header Early-Data $ssl_early_data;
        proxy_pass http://127.0.0.1:8080;
    }
}
```

## Silent
```nginx http
server {
    listen 443 ssl;
    ssl_certificate shop.pem;
    ssl_certificate_key shop.key;
    ssl_early_data on;
    if ($ssl_early_data) {
        return 425;
    }
    location / {
        proxy_pass http://127.0.0.1:8080;
    }
}
server {
    listen 443 ssl;
    server_name files.example.com;
    ssl_early_data on;
    root /srv/files;
}
```

## When to ignore it
If requests to the upstream change nothing.

## References
- https://nginx.org/en/docs/http/ngx_http_ssl_module.html#ssl_early_data
- https://www.rfc-editor.org/rfc/rfc8470
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive
from nginxopt.lint import Finding, Model, Related, Severity, rule
from nginxopt.lint.queries import whole
from nginxopt.semantics import Level, Pass

_NAME = ("ssl_early_data",)
_LOGS = ("log_format", "access_log")


@rule(severity=Severity.WARNING, category="security", since="1.15.3", about=("ssl_early_data",))
def check(model: Model) -> Iterator[Finding]:
    """Find upstreams that cannot recognize early data."""
    if not model.mentions("ssl_early_data") or whole.is_read_by_code(model):
        return
    told = {reader for reader in whole.readers(model, _NAME) if reader.name not in _LOGS}
    reported: set[Level] = set()
    for pass_ in model.passes:
        server = pass_.level.around("server")
        stated = server.setting("ssl_early_data") if server else None
        if server is None or stated is None or stated.value != "on" or stated.directive is None or server in reported:
            continue
        if not _may_know(pass_, told):
            reported.add(server)
            yield Finding(
                pass_.directive.source,
                pass_.directive.name.span,
                "this upstream cannot recognize early data, which attackers can replay",
                help="add `proxy_set_header Early-Data $ssl_early_data;`, or answer such requests with 425",
                related=(Related(stated.directive.source, stated.directive.name.span, "early data is accepted here"),),
            )


def _may_know(pass_: Pass, told: set[Directive]) -> bool:
    """Return whether the upstream gets a header with `$ssl_early_data`, or nginx tests that variable first."""
    settings = [pass_.setting(name) for name in ("set_header", "param")]
    level: Level | None = pass_.level
    is_asked = False
    while level is not None:
        is_asked |= any(directive in told for directive in level.directives)
        level = level.parent
    is_sent = any(directive in told for setting in settings for directive in setting.directives)
    return is_asked or is_sent or not all(setting.known for setting in settings)
