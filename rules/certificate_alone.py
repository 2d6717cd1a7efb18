"""Certificate without that of its issuer: some clients cannot verify it

Flags `ssl_certificate` with the file in which certbot (`/etc/letsencrypt/live/NAME/cert.pem`) or acme.sh
(`.acme.sh/NAME/NAME.cer`) keeps the certificate of the server by itself. Both write another file beside it, with the
certificate of the issuer as well. `certificate-chain` looks into files, with `--host`.

## Why it matters
A server must send the certificates between its own and one that clients have (RFC 8446, section 4.4.2). Browsers fetch
a missing one or remember it from elsewhere; curl, Java, mobile applications and other servers refuse.

## Bad
```nginx server
listen 443 ssl;
ssl_certificate /etc/letsencrypt/live/a.example/cert.pem;
ssl_certificate_key /etc/letsencrypt/live/a.example/privkey.pem;
```
```nginx server
listen 443 ssl;
ssl_certificate /root/.acme.sh/a.example_ecc/a.example.cer;
ssl_certificate_key /root/.acme.sh/a.example_ecc/a.example.key;
```

## Good
```nginx server
listen 443 ssl;
ssl_certificate /etc/letsencrypt/live/a.example/fullchain.pem;
ssl_certificate_key /etc/letsencrypt/live/a.example/privkey.pem;
```
```nginx server
listen 443 ssl;
ssl_certificate /root/.acme.sh/a.example_ecc/fullchain.cer;
ssl_certificate_key /root/.acme.sh/a.example_ecc/a.example.key;
```

## Silent
```nginx server
listen 443 ssl;
ssl_certificate /etc/ssl/live/cert.pem;
ssl_certificate_key /etc/ssl/live/privkey.pem;
```

## Fix safety
May change: connections.

The handshake carries one or two certificates more. nginx does not start if the file is not there.

## When to ignore it
If all clients have the certificate of the issuer.

## References
- https://eff-certbot.readthedocs.io/en/stable/using.html#where-are-my-certificates
- https://nginx.org/en/docs/http/configuring_https_servers.html#chains
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, pattern, rule

_ALONE = pattern(r"(?P<folder>(?:.*/)?letsencrypt/live/[^/]+/)cert(?P<suffix>\.pem)")
_OF_ACME_SH = pattern(r"(?P<folder>.*/\.acme\.sh/(?P<name>[^/]+?)(?:_ecc)?/)(?P=name)(?P<suffix>\.cer)")


@rule(severity=Severity.WARNING, category="tls", fix=Safety.UNSAFE, about=("ssl_certificate",))
def check(model: Model) -> Iterator[Finding]:
    """Find files with one certificate only, by their names."""
    for directive, _ in model.each("ssl_certificate"):
        path = str(directive.args[0]) if directive.args else ""
        match = _ALONE.fullmatch(path) or _OF_ACME_SH.fullmatch(path)
        if match is None:
            continue
        whole = f"{match['folder']}fullchain{match['suffix']}"
        yield Finding(
            directive.source,
            directive.args[0].span,
            "this file has only the certificate of the server: clients without that of its issuer refuse it",
            Fix(f"use {whole}", (layout.replace(directive, directive.args[0], whole),), Safety.UNSAFE),
        )
