"""Redirect that leads back to itself: clients give up, or nginx responds with 500

Flags redirects, by `rewrite` or `return`, that send a client to a URI that leads back, directly or through others, and
`rewrite ... last` in a location that selects the same location again and again. The rule asks the model of
`nginxopt trace` for the response to a URL, then for that to its `Location`, and stops where something is not certain.

A URI that ends within an optional group of its pattern, such as `/static/version` for `(version\\d*/)?`, is an info: no
page has such an address.

## Why it matters
No browser shows the page: browsers stop after 20 redirects. Within nginx, the eleventh change of a URI is a 500 with
"rewrite or internal redirection cycle" in the log (`NGX_HTTP_MAX_URI_CHANGES`), after eleven runs of the rules.

## Bad
```nginx server
location /shop/ {
    rewrite ^/shop/(.*)$ /shop/index.php last;
}
```
`/?` also matches the target:
```nginx server
rewrite ^/shop/?$ /shop/ permanent;
```

A server that has only TLS redirects to itself:
```nginx http
server {
    listen 443 ssl;
    server_name a.example.com;
    ssl_certificate a.pem;
    ssl_certificate_key a.key;
    rewrite ^(.*) https://$host$1 permanent;
}
```

## Good
```nginx server
location /shop/ {
    rewrite ^/shop/(.*)$ /shop/index.php break;
}
```

## Silent
Another location handles the target, or the pattern does not match it:
```nginx server
location / {
    rewrite ^(.*)$ /index.php?q=$1 last;
}
location ~ \\.php$ {
    return 200;
}
rewrite ^/shop$ /shop/ permanent;
```

## When to ignore it
Never.

## References
- https://nginx.org/en/docs/http/ngx_http_rewrite_module.html#rewrite
- https://fetch.spec.whatwg.org/#http-redirect-fetch
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from nginxopt.config import Source, Span, decode
from nginxopt.lint import Finding, Model, Related, Severity, pattern, rule
from nginxopt.lint.queries import names

if TYPE_CHECKING:
    from nginxopt.lint import RedirectChain

_OPTIONAL = pattern(r"\^([\w/-]+)\((?:\?:)?([\w/-]+)(?![*?+{|])[^()|]*\)\?")
"""A literal beginning and a group that may be absent: `^/static/(version\\d*/)?`."""
_HOST = pattern(r"https?://([^/:$\s;\"']+)")


@rule(severity=Severity.ERROR, category="rewrite", about=("return", "rewrite"))
def check(model: Model) -> Iterator[Finding]:
    """Find redirect loops."""
    reported: set[tuple[Source, Span]] = set()
    for chain in model.chains:
        places = {(redirect.source, redirect.span) for redirect in chain.redirects}
        if chain.is_loop and not places & reported and not any(_is_to_replace(*place) for place in places):
            reported |= places
            finding = _finding(chain)
            yield replace(finding, severity=Severity.INFO) if _is_stump(chain) else finding


def _is_to_replace(source: Source, span: Span) -> bool:
    """Return whether a script puts another host in place of the one of a redirect: `http://www.DOMAIN/`."""
    return any(names.is_to_replace(url[1]) for url in _HOST.finditer(decode(source.data[span.start : span.end])))


def _is_stump(chain: RedirectChain) -> bool:
    """Return whether a URI within nginx ends inside the optional group by which its rewrite is known."""
    redirect = chain.redirects[0]
    optional = _OPTIONAL.search(decode(redirect.source.data[redirect.span.start : redirect.span.end]))
    return redirect.is_internal and optional is not None and redirect.uri == "".join(optional.groups())


MOST_STEPS = 4
"""The maximum number of redirects with a note; a loop in which each URI is longer has no end."""


def _finding(chain: RedirectChain) -> Finding:
    first = chain.redirects[0]
    if first.is_internal:
        return Finding(
            first.source,
            first.span,
            f"{first.uri} is rewritten again and again in its location: nginx answers 500 after 10 changes",
            help="add a location that takes the new URI and does not rewrite it; or, if this location is to answer it "
            "by itself, use break instead of last",
        )
    return Finding(
        first.source,
        first.span,
        f"a client that asks for {first.uri} is redirected in a loop",
        help="exclude the target from the pattern, or redirect elsewhere",
        related=tuple(
            Related(step.source, step.span, f"{step.uri} is redirected to {step.target}")
            for step in chain.redirects[:MOST_STEPS]
        ),
    )
