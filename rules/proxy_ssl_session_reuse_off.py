"""`proxy_ssl_session_reuse off`: a full TLS handshake for each upstream connection

Flags `proxy_ssl_session_reuse off`, or its grpc or uwsgi counterpart, where requests are passed on over TLS.

The fix needs `--unsafe-fixes`: some old servers fail with reused sessions, which may be why reuse was turned off.

## Why it matters
A handshake that resumes an earlier session needs no certificates and no signature, and, before TLS 1.3, one round trip
less.

## Bad
```nginx server
location / {
    proxy_pass https://10.0.0.1;
    proxy_ssl_session_reuse off;
}
```

## Good
```nginx server
location / {
    proxy_pass https://10.0.0.1;
}
```

## Silent
nginx does not use TLS to this server:
```nginx server
proxy_ssl_session_reuse off;
location / {
    proxy_pass http://10.0.0.1;
}
```

## Fix safety
May change: upstream requests, connections.

The server gets a session to resume instead of a full handshake; some servers refuse it, and those that ask nginx for a
certificate may not check it again.

## When to ignore it
If the error log had "digest check failed" before reuse was turned off.

## References
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_ssl_session_reuse
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule

TLS = ("https", "grpcs", "suwsgi")


@rule(
    severity=Severity.WARNING,
    category="proxy",
    fix=Safety.UNSAFE,
    about=("proxy_ssl_session_reuse", "grpc_ssl_session_reuse", "uwsgi_ssl_session_reuse"),
)
def check(model: Model) -> Iterator[Finding]:
    """Find passes that need a full TLS handshake for each connection."""
    settings = (pass_.setting("ssl_session_reuse") for pass_ in model.passes if pass_.scheme in TLS)
    off = {setting.directive: setting.name for setting in settings if setting.directive and setting.value == "off"}
    for directive, name in off.items():
        yield Finding(
            directive.source,
            directive.args[0].span,
            f"{name} is off: each upstream connection needs a full TLS handshake",
            Fix(f"delete `{name} off`", (layout.delete(directive),), Safety.UNSAFE),
        )
