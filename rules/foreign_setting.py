"""Directive of another module: it has no effect on this location's requests

Flags a directive such as `proxy_read_timeout` or `proxy_intercept_errors` in a location whose requests are passed on by
another module, as by `fastcgi_pass`, if nothing inside the location uses the directive's own module.

## Why it matters
Each module has its own directives. The time-out, buffer, header or error page that was configured is not in effect:
with `proxy_intercept_errors on` beside `fastcgi_pass`, clients get the error page of the application. Seen on nginx
1.22.1 and 1.31.3.

## Bad
```nginx server
location ~ \\.php$ {
    fastcgi_pass 127.0.0.1:9000;
    proxy_intercept_errors on;
    proxy_read_timeout 300s;
}
```

## Good
```nginx server
location ~ \\.php$ {
    fastcgi_pass 127.0.0.1:9000;
    fastcgi_intercept_errors on;
    fastcgi_read_timeout 300s;
}
```

## Silent
A block within the location uses the other module, and a server has settings for all its locations:
```nginx server
proxy_read_timeout 300s;
location / {
    fastcgi_pass 127.0.0.1:9000;
    proxy_set_header Host $host;
    if ($arg_new) {
        proxy_pass http://10.0.0.1:8080;
    }
}
```

## When to ignore it
Never: rename it or delete it.

## References
- https://nginx.org/en/docs/http/ngx_http_fastcgi_module.html
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive
from nginxopt.lint import Finding, Model, Related, Severity, rule
from nginxopt.semantics import Pass, directives

MODULES = ("proxy", "fastcgi", "uwsgi", "scgi", "grpc")


@rule(severity=Severity.WARNING, category="correctness")
def check(model: Model) -> Iterator[Finding]:
    """Find settings of modules that a location does not use."""
    for level, passes in model.passes_at.items():
        if level.kind != "location" or level.is_open or len(passes) != 1:
            continue
        used = {pass_.protocol for inner in level.walk() for pass_ in model.passes_at.get(inner, ())}
        has_unread = any(inner.is_open for inner in level.walk())
        written = (directive for directive in level.directives if directive.source is level.source)
        foreign = [directive for directive in written if _module(directive) not in (None, *used)]
        if foreign and not has_unread:
            yield _finding(passes[0], foreign)


def _module(directive: Directive) -> str | None:
    """Return the module that passes requests on and has a directive; None for all other directives."""
    module, _, rest = directive.name.partition("_")
    return module if module in MODULES and rest and directive.name in directives.NAMES else None


def _finding(pass_: Pass, foreign: list[Directive]) -> Finding:
    first, *others = foreign
    own = f"{pass_.protocol}_{first.name.partition('_')[2]}"
    return Finding(
        first.source,
        first.name.span,
        f"{first.name} has no effect here: {pass_.directive.name} passes on the requests of this location",
        help=f"write `{own}`, or delete it" if own in directives.NAMES else "delete it",
        related=tuple(Related(other.source, other.name.span, "without effect as well") for other in others),
    )
