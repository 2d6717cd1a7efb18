"""`gzip on` without `gzip_types`: only HTML is compressed

Flags `gzip on` if no `gzip_types` is in effect in its block or in a nested block.

## Why it matters
By default, nginx compresses only `text/html`. Style sheets, scripts and JSON, which are most of the text of a page,
shrink to a third or less.

## Bad
```nginx http
gzip on;
server {
    root /srv/www;
}
```

## Good
```nginx http
gzip on;
gzip_types text/plain text/css text/javascript application/javascript application/json application/xml image/svg+xml;
server {
    root /srv/www;
}
```

## Silent
Each server sets its own:
```nginx http
gzip on;
server {
    root /srv/www;
    gzip_types text/css;
}
```

## Fix safety
May change: responses.

Text is compressed: the response has `Content-Encoding`, no `Content-Length` and a weak `ETag`, and ignores `Range`.

## When to ignore it
If nginx sends only HTML, or something in front of nginx compresses. The fix needs `--unsafe-fixes`: a compressed
response has no `Content-Length` and a weak `ETag` and ignores `Range`, and JSON that has both client input and a secret
should not be compressed over TLS (BREACH).

## References
- https://nginx.org/en/docs/http/ngx_http_gzip_module.html#gzip_types
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive, layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.semantics import Level, values

# Without text/html, which is always compressed: nginx warns if it is listed.
LINE = (
    "gzip_types text/plain text/css text/javascript application/javascript application/json application/xml "
    "image/svg+xml;"
)


@rule(severity=Severity.WARNING, category="client", fix=Safety.UNSAFE, about=("gzip",))
def check(model: Model) -> Iterator[Finding]:
    """Find compression of HTML only."""
    for directive, level in model.each("gzip"):
        if not (directive.args and values.flag(directive.args[0])) or not _lacks_types(directive, level):
            continue
        fits = level.kind != "if"  # where gzip_types is not allowed
        fix = Fix("list text types", (layout.after(directive, [LINE]),), Safety.UNSAFE) if fits else None
        message = "gzip without gzip_types compresses only text/html"
        yield Finding(
            directive.source, directive.name.span, message, fix, "" if fits else f"add `{LINE}` to the enclosing block"
        )


def _lacks_types(directive: Directive, level: Level) -> bool:
    """Return whether a `gzip` applies to a block without types: one of its servers or locations, if there are any."""
    if not level.setting("gzip_types").is_unset:
        return False
    children = [child for child in level.levels if child.kind in ("server", "location")]
    return not children or any(
        child.setting("gzip").directive is directive and child.setting("gzip_types").is_unset for child in children
    )
