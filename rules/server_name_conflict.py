"""Two servers answer to the same name at the same address: nginx ignores the second

Flags names that an earlier server has at the same address and port, whatever its other names; `.example.com` is both
`example.com` and `*.example.com`. Also flags `.example.com` after `example.com` or `*.example.com` in the same server:
nginx ignores all of it, so requests for the other half go to another server. nginx starts, and warns: "conflicting
server name". A server without a name left is reported by `server-never-chosen`.

Does not flag servers at different addresses (`listen 80` and `listen 127.0.0.1:80`), names that overlap
(`*.example.com` and `www.example.com`), patterns, and blanks to be filled in (`<name of the shop>`; in two files,
`example.com` and `yourdomain.com` are such, too).

## Why it matters
nginx keeps the first of two equal names (`ngx_http_server_names`, `ngx_hash_add_key`). The second server gets no
requests for that name, and which one is first depends on the order in which files are included.

## Bad
```nginx http
server {
    listen 80;
    server_name example.com;
    return 301 https://example.com$request_uri;
}
server {
    listen 80;
    server_name www.example.com example.com;
    root /srv/www;
}
```

```nginx http
server {
    listen 80;
    server_name .example.com;
    return 301 https://example.com$request_uri;
}
server {
    listen 80;
    server_name www.example.com *.example.com;
    root /srv/www;
}
```

Requests for subdomains of the first name do not reach this server, nor do those for `example.net`:

```nginx http
server {
    listen 80;
    server_name example.com .example.com;
    server_name *.example.net .example.net example.net;
    root /srv/www;
}
```

## Good
```nginx http
server {
    listen 80;
    server_name example.com;
    return 301 https://example.com$request_uri;
}
server {
    listen 80;
    server_name www.example.com;
    root /srv/www;
}
```

## Silent
```nginx http
server {
    listen 80;
    server_name example.org *.example.org .example.org;
    server_name .example.net example.net;
    root /srv/www;
}
```

```nginx http
server {
    listen 80;
    server_name example.com *.example.com;
    root /srv/www;
}
server {
    listen 127.0.0.1:80;
    server_name example.com;
    root /srv/local;
}
server {
    listen 80;
    server_name www.example.com;
    root /srv/other;
}
```

The longer of two wildcards answers:

```nginx http
server {
    listen 80;
    server_name .example.com example.*;
    root /srv/www;
}
server {
    listen 80;
    server_name *.www.example.com .other.example.com;
    root /srv/other;
}
```

Blanks that share a word are no names:

```nginx http
server {
    listen 80;
    server_name <name of the shop>;
}
server {
    listen 80;
    server_name <name of the blog> blog;
}
server {
    listen 80;
    server_name <name of the shop> shop;
}
```

## When to ignore it
Never.

## References
- https://nginx.org/en/docs/http/server_names.html
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive, Token
from nginxopt.lint import Finding, Model, Related, Severity, rule
from nginxopt.lint.queries import names
from nginxopt.semantics import Level


@rule(severity=Severity.WARNING, category="correctness")
def check(model: Model) -> Iterator[Finding]:
    """Find names that an earlier server, or the same server, has before."""
    yield from _of_other_servers(model)
    for server in model.levels("server"):
        for word, half, other in names.halves_lost(server):
            yield Finding(
                word.directive.source,
                word.token.span,
                f"nginx ignores {word.token} after {half}: requests for {other} do not reach this server",
                help=f"write only {word.token}, which is both",
            )


def _of_other_servers(model: Model) -> Iterator[Finding]:
    reported: set[tuple[Directive, Token]] = set()
    causes: dict[Level, str] = {}
    never_chosen = names.never_chosen(model)
    for conflict in names.conflicts(model):
        word, server = conflict.word, conflict.server
        if word is None or server.source is None or server in never_chosen or _is_to_fill_in(word, conflict.first):
            continue
        if (word.directive, word.token) in reported:  # at another address
            continue
        reported.add((word.directive, word.token))
        if server not in causes:
            causes[server] = _names(server)
        related = names.place(conflict.first)
        yield Finding(
            word.directive.source,
            word.token.span,
            f"another server already has the name {word.token} at {conflict.address}: nginx ignores it here",
            related=(Related(*related, "this server answers"),) if related else (),
            cause=causes[server],
        )


def _is_to_fill_in(word: names.WrittenName, first: Level) -> bool:
    """Return whether a name is a blank. Examples in one file show one site, those in two files are two sites."""
    is_elsewhere = first.source is not None and first.source.path != word.directive.source.path
    return names.has_blank(word.directive) or (is_elsewhere and names.is_blank(str(word.token)))


def _names(server: Level) -> str:
    """Return the names of a server as written, which identify it even if lines move."""
    return " ".join(str(word) for directive in server.own("server_name") for word in directive.args)
