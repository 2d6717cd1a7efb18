"""Redirect to a URI that is redirected again: an unnecessary round trip

Flags redirects, by `rewrite` or `return`, with a fixed target that the same configuration redirects again. The rule
asks the model of `nginxopt trace` for the response to a URL, then for that to its `Location`, and so on, on all servers
of the configuration. It stops where something is not certain, such as an argument or cookie that a client may send, the
response of an upstream, or a name that several servers have.

## Why it matters
Each hop costs the client a round trip (and a connection, if the previous one was closed) before it can show anything:
with 100 ms between client and server, a chain of three takes 0.3 s. Crawlers give up after some hops, Google's after
10.

## Bad
```nginx server
rewrite ^/team$ /about permanent;
rewrite ^/about$ /company permanent;
```

## Good
```nginx server
rewrite ^/team$ /company permanent;
rewrite ^/about$ /company permanent;
```

## Silent
The second rule is not a redirect but continues within nginx, and the third sends clients to another site:
```nginx server
rewrite ^/team$ /about permanent;
rewrite ^/about$ /company last;
rewrite ^/jobs$ https://jobs.example.com/about permanent;
```

nginx removes a final dot from the host of a request, so the second server does not answer:
```nginx http
server {
    server_name a.example.com;
    return 301 http://b.example.com/new;
}
server {
    server_name b.example.com.;
    location = /new {
        return 301 /newer;
    }
}
```

## When to ignore it
If the intermediate target changes over time, such as `/latest`, which leads to the newest release.

## References
- https://nginx.org/en/docs/http/ngx_http_rewrite_module.html
- RFC 9110, 15.4, https://www.rfc-editor.org/rfc/rfc9110#section-15.4
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nginxopt.config import decode
from nginxopt.lint import Finding, Model, Related, Severity, rule

if TYPE_CHECKING:
    from nginxopt.lint import RedirectChain


@rule(severity=Severity.WARNING, category="rewrite", about=("return", "rewrite"))
def check(model: Model) -> Iterator[Finding]:
    """Find redirects whose target is redirected."""
    for chain in model.chains:
        if chain.is_constant and not chain.is_loop:
            yield _finding(chain)


def _finding(chain: RedirectChain) -> Finding:
    first, *others = chain.redirects
    uris = [redirect.uri for redirect in chain.redirects]
    last = chain.redirects[-1].target
    end = last or "another site"
    second = others[0]
    return Finding(
        first.source,
        first.span,
        f"{first.uri} takes {len(uris)} redirects to {end}: it is redirected to {uris[1]}, and that again",
        help=f"redirect directly to {end}" if last else f"redirect directly to the target of {uris[-1]}",
        related=tuple(
            Related(redirect.source, redirect.span, f"{uri} is redirected here")
            for redirect, uri in zip(others, uris[1:], strict=True)
        ),
        cause=decode(second.source.data[second.span.start : second.span.end]),
    )
