"""Redirect of the server takes the requests of the ACME authority: certificates are not renewed

Flags a location for `/.well-known/acme-challenge/` that no request reaches, as a `rewrite` or an `if` of its server
redirects or answers all of them. The rule asks the model of `nginxopt trace`. A `return` of the server is reported by
`dead-directive`.

Does not flag locations that requests reach over TLS only: the authority follows redirects.

## Why it matters
The statements of a server run before nginx looks for a location (`NGX_HTTP_SERVER_REWRITE_PHASE`). The authority asks
for a file below `/.well-known/acme-challenge/` and gets the redirect. If the other server does not have the file,
there is no certificate; the old one expires, often months after the change that broke its renewal.

## Bad
```nginx server
listen 80;
rewrite ^(.*)$ https://www.example.com$1 permanent;
location /.well-known/acme-challenge/ {
    root /srv/acme;
}
```

## Good
```nginx server
listen 80;
location / {
    rewrite ^(.*)$ https://www.example.com$1 permanent;
}
location /.well-known/acme-challenge/ {
    root /srv/acme;
}
```

## Silent
```nginx server
listen 80;
if ($host = example.com) {
    return 301 http://www.example.com$request_uri;
}
rewrite ^/old$ /new permanent;
location /.well-known/acme-challenge/ {
    root /srv/acme;
}
```

## When to ignore it
If the server that the redirect leads to answers the challenge; the location is then not needed.

## References
- https://letsencrypt.org/docs/challenge-types/#http-01-challenge
- https://nginx.org/en/docs/http/ngx_http_rewrite_module.html
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import AskedRequest, Finding, Model, Related, Severity, rule
from nginxopt.semantics import Level

_FOLDER = "/.well-known/acme-challenge"
_TOKEN = AskedRequest(f"{_FOLDER}/token".encode())


@rule(severity=Severity.WARNING, category="correctness", witness=True, about=("rewrite", "if"))
def check(model: Model) -> Iterator[Finding]:
    """Find challenges that statements of the server answer."""
    if not model.mentions("acme-challenge"):
        return
    for location in model.levels("location"):
        server = location.parent
        if server is not None and server.kind == "server" and location.path.startswith(_FOLDER):
            yield from _judged(model, location, server)


def _judged(model: Model, location: Level, server: Level) -> Iterator[Finding]:
    answers = list(model.requests.ask(location, _TOKEN))
    first = answers[0] if answers else None
    if first is None or first.directive is None or location.opener is None or location.own("internal"):
        return
    outside = [
        *server.own("rewrite"),
        *(stated for inner in server.levels if inner.kind == "if" for stated in inner.directives),
    ]
    if all(answer.is_at == "redirect" and answer.directive in outside for answer in answers):
        yield Finding(
            location.opener.source,
            location.opener.name.span,
            f"no challenge gets here: the {first.directive.name} of the server redirects it first",
            help="move the redirect into `location /`",
            related=(Related(first.directive.source, first.directive.name.span, "this redirects first"),),
            witness=first.witness(f"nginx redirects to {first.outcome['location']}"),
        )
