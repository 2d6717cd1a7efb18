"""Cipher suites without forward secrecy, or with CBC

Flags `ssl_ciphers` that name suites with static RSA, such as AES128-GCM-SHA256, or with CBC, such as
ECDHE-RSA-AES128-SHA, in `stream` and `mail` as well.

Does not flag families such as HIGH, where it depends on OpenSSL which suites they have, suites that a list excludes,
and servers with TLS 1.3 alone. `weak-tls` reports lists that have nothing else.

## Why it matters
With static RSA, whoever records connections and later gets the key of the certificate can read all of them. Suites with
CBC have been attacked by their padding again and again (Lucky13, ROBOT for RSA), and HTTP/2 prohibits both kinds (RFC
9113, appendix A). Clients from after 2015 have ECDHE with AES-GCM or ChaCha20.

## Bad
```nginx http
ssl_ciphers ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-SHA:AES128-GCM-SHA256;
```

## Good
```nginx http
ssl_ciphers ECDHE-RSA-AES128-GCM-SHA256;
```

## Silent
```nginx http
ssl_ciphers ECDHE-ECDSA-CHACHA20-POLY1305:DHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-CCM:HIGH:!AES128-SHA;
server {
    ssl_protocols TLSv1.3;
    ssl_ciphers AES128-SHA;
}
```

## Fix safety
May change: responses.

Clients that support none of the other suites can no longer connect.

## When to ignore it
If such clients remain.

## References
- https://wiki.mozilla.org/Security/Server_Side_TLS
- https://www.rfc-editor.org/rfc/rfc9325#section-4.2
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive, layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.lint.queries import tls


@rule(severity=Severity.INFO, category="hardening", default=False, fix=Safety.UNSAFE)
def check(model: Model) -> Iterator[Finding]:
    """Find lists of ciphers that name dated suites."""
    for directive, level in model.everywhere("ssl_ciphers"):
        protocols = level.setting("ssl_protocols").directive
        if directive.args and not (protocols is not None and set(protocols.args) == {"TLSv1.3"}):
            yield from _judged(directive)


def _judged(directive: Directive) -> Iterator[Finding]:
    words = str(directive.args[0]).split(":")
    dated = {word: why for word in words if (why := tls.dated(word))}
    kept = [word for word in words if word not in dated]
    if not dated or not any(word[:1].isalnum() for word in kept):
        return
    fix = Fix("remove these suites", (layout.replace(directive, directive.args[0], ":".join(kept)),), Safety.UNSAFE)
    first, why = next(iter(dated.items()))
    more = f", and {len(dated) - 1} more such suites" if len(dated) > 1 else ""
    yield Finding(
        directive.source,
        directive.args[0].span,
        f"{first} has {why}{more}",
        fix,
    )
