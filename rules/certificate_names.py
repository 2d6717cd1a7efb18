"""Certificate that does not cover a name of its server

With `--host` or `--root`, flags a certificate that lacks a `server_name` of a server that presents it on an address
with TLS. A wildcard of the certificate covers one label: `*.example.com` covers `www.example.com`, neither
`example.com` nor `a.b.example.com`. Of several certificates of a server, such as RSA and ECDSA, each must cover its
names, as the client decides which it gets.

Does not flag names that are no host names of clients: `_`, empty names, names without a dot, regular expressions,
`mail.*`, and names with variables.

## Why it matters
A client that asks for a name gets the certificate of its server, and refuses it if the name is not in it
(`ERR_CERT_COMMON_NAME_INVALID`). nginx does not compare them.

## Bad
The examples assume a certificate for `example.com` and `www.example.com`:
```nginx http
server {
    listen 443 ssl;
    server_name example.com shop.example.com;
    ssl_certificate /etc/ssl/example.com.pem;
    ssl_certificate_key /etc/ssl/example.com.key;
}
```

## Good
```nginx http
server {
    listen 443 ssl;
    server_name example.com www.example.com;
    ssl_certificate /etc/ssl/example.com.pem;
    ssl_certificate_key /etc/ssl/example.com.key;
}
```

## Silent
Which names the expression matches is not known, and without TLS no certificate is presented:
```nginx http
ssl_certificate /etc/ssl/example.com.pem;
ssl_certificate_key /etc/ssl/example.com.key;
server {
    listen 443 ssl;
    server_name ~^(?<shop>.+)\\.example\\.com$;
}
server {
    listen 80;
    server_name shop.example.net;
}
```

## When to ignore it
If a proxy in front ends TLS for that name, or clients do not verify.

## References
- RFC 6125, section 6.4 (names and wildcards); RFC 9525
- https://nginx.org/en/docs/http/configuring_https_servers.html#name_based_https_servers
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Token, has_placeholder
from nginxopt.lint import Finding, Model, Related, Severity, count, rule
from nginxopt.lint.hosted import ServedCertificate, served
from nginxopt.semantics import Level

_SHOWN = 2
"""How many names a message has; the others are counted."""


@rule(severity=Severity.WARNING, category="tls", host=True)
def check(model: Model) -> Iterator[Finding]:
    """Find names that the certificate of their server lacks."""
    tls = {server for endpoint in model.endpoints.values() if endpoint.is_tls for server in endpoint.servers}
    for found in served(model):
        names = frozenset(found.chain[0].names)
        lacking = [(server, word) for server in found.servers if server in tls for word in _lacking(server, names)]
        if lacking:
            yield _finding(found, lacking)


def _finding(found: ServedCertificate, lacking: list[tuple[Level, Token]]) -> Finding:
    names = list(dict.fromkeys(str(word) for _, word in lacking))
    more = f" and {count(len(names) - _SHOWN, 'other name')}" if len(names) > _SHOWN else ""
    related = tuple(
        Related(directive.source, word.span, f"{word} is a name of this server")
        for server, word in lacking
        for directive in server.setting("server_name").directives
        if word in directive.args
    )
    return Finding(
        found.directive.source,
        found.directive.args[0].span,
        f"the certificate does not cover {', '.join(names[:_SHOWN])}{more}",
        help=f"it is for {', '.join(found.chain[0].names) or 'no name'}",
        related=related,
    )


def _lacking(server: Level, covered: frozenset[str]) -> Iterator[Token]:
    """Yield the names of a server that certainly need a certificate with other names."""
    for directive in server.setting("server_name").directives:
        for word in directive.args:
            if _is_certain(word) and not all(name in covered or _widened(name) in covered for name in _meant(word)):
                yield word


def _is_certain(word: str) -> bool:
    return (
        "." in word.strip(".")
        and not (word.startswith("~") or word.endswith(".*") or "$" in word)
        and not (has_placeholder(word))
    )


def _meant(word: str) -> tuple[str, ...]:
    """Return the names that a certificate must have: `.example.com` stands for the name and all below it."""
    name = word.lower()
    return (name[1:], f"*{name}") if name.startswith(".") else (name,)


def _widened(name: str) -> str:
    """Return the wildcard that covers a name."""
    return name if name.startswith("*") else f"*.{name.partition('.')[2]}"
