"""`alias` ends with a slash and its location does not: `/files../` leaves the directory

Flags locations from which a request can leave the directory of the `alias`: a prefix without a trailing slash and an
`alias` with one, or a pattern whose capture may begin with `..`. The rule asks the model of `nginxopt trace` for the
file that such a request gets.

Does not flag locations where both or neither end with a slash, exact ones, an `alias` that is a file, locations whose
requests another location takes, and a capture with a fixed name behind it, which no client gets around.

## Why it matters
nginx appends the rest of the URI to the `alias` (`ngx_http_map_uri_to_path`). The `files..` in `/files../x` is an
ordinary name, so nginx does not resolve it, but after the slash of the `alias` the dots stand alone:
`/srv/shop/files/../x`. Clients can read everything in the parent directory: the source of the application, its
settings, its keys.

## Bad
```nginx server
location /files {
    alias /srv/shop/files/;
}
```
A capture may begin with two dots:
```nginx server
location ~ ^/files(.*)$ {
    alias /srv/shop/files/$1;
}
```
The second of two captures may, too, as the text between them is left out:
```nginx server
location ~ ^/static/(.*)-v\\d+(.*)$ {
    alias /srv/shop/static/$1$2;
}
```

## Good
```nginx server
location /files/ {
    alias /srv/shop/files/;
}
```
```nginx server
location ~ ^/files/(.*)$ {
    alias /srv/shop/files/$1;
}
```

```nginx server
location ~ ^/static/(.*)-v\\d+([^/]*)$ {
    alias /srv/shop/static/$1$2;
}
```

## Silent
Without a slash, the dots are part of a name; another location takes the URI; only internal requests get here:
```nginx server
location /images {
    alias /srv/shop/images;
}
location /media {
    alias /srv/shop/media/;
}
location ^~ /media. {
    return 404;
}
location ~ ^/~(.+?)(/.*)?$ {
    alias /home/$1/public_html$2;
}
location /sent {
    internal;
    alias /srv/shop/sent/;
}
location = /robots.txt {
    alias /srv/shop/robots.txt;
}
```

## Fix safety
May change: responses.

`/files` and `/filesx` are no longer served from the directory. `/files/x` is, as before.

## When to ignore it
If the parent directory has nothing that clients may not read.

## References
- https://nginx.org/en/docs/http/ngx_http_core_module.html#alias
- https://i.blackhat.com/us-18/Wed-August-8/us-18-Orange-Tsai-Breaking-Parser-Logic-Take-Your-Path-Normalization-Off-And-Pop-0days-Out-2.pdf
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive
from nginxopt.lint import AskedRequest, Finding, Model, ModelAnswer, Safety, Severity, rule
from nginxopt.lint.queries import traversal
from nginxopt.semantics import Level


@rule(severity=Severity.ERROR, category="security", fix=Safety.UNSAFE, witness=True, about=("alias",))
def check(model: Model) -> Iterator[Finding]:
    """Find aliases whose folder a request leaves."""
    for alias, level in model.each("alias"):
        if level.kind != "location" or not alias.args:
            continue
        for target in traversal.targets(level, alias.args[0]):
            answer = model.requests.first(level, AskedRequest(target))
            if answer is not None and _leaves(answer, alias):
                yield _finding(level, alias, answer)


def _leaves(answer: ModelAnswer, alias: Directive) -> bool:
    """Return whether the file of an answer is outside of the folder of an alias."""
    is_sent = answer.file is not None and answer.is_at in ("static", "unknown")
    return is_sent and traversal.leaves(answer.file or "", alias.args[0])


def _finding(level: Level, alias: Directive, answer: ModelAnswer) -> Finding:
    fix = traversal.fix(level)
    return Finding(
        alias.source,
        alias.args[0].span,
        f"location {level.path} lets clients read files outside of {alias.args[0]}",
        fix,
        "" if fix else traversal.advice(level),
        witness=answer.witness(f"nginx sends {answer.file}, if it exists"),
    )
