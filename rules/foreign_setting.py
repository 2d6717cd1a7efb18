"""Directive of another module: it has no effect on this location's requests

Flags a directive such as `proxy_read_timeout` or `proxy_intercept_errors` in a location whose requests another module
passes on, such as by `fastcgi_pass`, if nothing inside the location uses the directive's own module. Flags it also in a
location that passes nothing on, such as one with `try_files $uri @app`: `@app` is not inside, and inherits nothing. The
severity is info if no such location is named.

Does not flag locations with a directive of another module that may use the setting, such as `proxy_cache_purge` of
ngx_cache_purge, which answers requests itself and needs no `proxy_pass`; nor `fastcgi_index` and
`fastcgi_split_path_info` where something reads the variables that they set.

## Why it matters
Each module has its own directives. The timeout, buffer, header or error page that was configured is not in effect:
with `proxy_intercept_errors on` beside `fastcgi_pass`, clients get the error page of the application, and with
`proxy_set_header Host $host` beside `try_files`, the application gets nginx's own `Host`. Seen on nginx 1.22.1 and
1.31.3.

## Bad
```nginx server
location ~ \\.php$ {
    fastcgi_pass 127.0.0.1:9000;
    proxy_intercept_errors on;
    proxy_read_timeout 300s;
}
```

```nginx server
location / {
    proxy_set_header Host $host;
    try_files $uri @app;
}
location @app {
    proxy_pass http://127.0.0.1:8080;
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
The pass is commented out for the time being:
```nginx server
location /chat/ {
    # proxy_pass http://127.0.0.1:9000;
    proxy_read_timeout 12h;
}
```
A block inside the location uses the other module, and a server has settings for all its locations:
```nginx server
proxy_read_timeout 300s;
location / {
    fastcgi_pass 127.0.0.1:9000;
    proxy_set_header Host $host;
    if ($arg_new) {
        proxy_pass http://10.0.0.1:8080;
    }
}
location /files/ {
    proxy_read_timeout 600s;
    location /files/new/ {
        proxy_pass http://10.0.0.1:8080;
    }
}
```

`fastcgi_split_path_info` sets a variable for whoever reads it:
```nginx server
location ~ \\.php {
    fastcgi_split_path_info ^(.+\\.php)(/.*)$;
    proxy_set_header X-Path-Info $fastcgi_path_info;
    proxy_pass http://127.0.0.1:8080;
}
```

## When to ignore it
Never: rename it or delete it.

## References
- https://nginx.org/en/docs/http/ngx_http_fastcgi_module.html
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from nginxopt.config import Directive
from nginxopt.facts import lexicon
from nginxopt.lint import Finding, Model, Related, Severity, pattern, rule
from nginxopt.lint.queries import purpose, whole
from nginxopt.semantics import Level, Pass

_OFF = pattern(r"#\s*\w+_pass\b")
"""A pass that is commented out, for the time being."""

MODULES = ("proxy", "fastcgi", "uwsgi", "scgi", "grpc")

_SETS = {
    "fastcgi_index": ("fastcgi_script_name",),
    "fastcgi_split_path_info": ("fastcgi_script_name", "fastcgi_path_info"),
}
"""Settings with an effect on variables that need no pass (`ngx_http_fastcgi_vars`)."""


@rule(severity=Severity.INFO, highest=Severity.WARNING, category="correctness", everywhere=True)
def check(model: Model) -> Iterator[Finding]:
    """Find settings of modules that a location does not use."""
    for level, passes in model.passes_at.items():
        if level.kind != "location" or len(passes) != 1:
            continue
        used = {pass_.protocol for inner in level.walk() for pass_ in model.passes_at.get(inner, ())}
        foreign = [directive for directive in _settings(model, level) if _module(directive.name) not in used]
        if foreign and not _has_unread(level) and not _is_extended(level):
            yield _finding(passes[0], foreign)
    for level in model.levels("location"):
        useless = [] if _passes_on(level) or _is_extended(level) else list(_settings(model, level))
        if useless and not any(map(_OFF.search, purpose.comments(level))) and not _has_unread(level):
            yield _useless(useless, Severity.WARNING if _goes_elsewhere(level) else Severity.INFO)


def _settings(model: Model, level: Level) -> Iterator[Directive]:
    """Yield the settings of modules that are written in a level and have no effect without their module."""
    for directive in level.directives:
        is_written = directive.source is level.source and _module(directive.name) is not None
        read = _SETS.get(directive.name)
        if is_written and not (read and any(True for _ in whole.readers(model, read))):
            yield directive


def _has_unread(level: Level) -> bool:
    return any(inner.is_open for inner in level.walk())


def _passes_on(level: Level) -> bool:
    """Return whether something in a location may pass requests on, as modules that are not nginx's may."""
    return any(name.endswith("_pass") or name not in lexicon.NAMES for name in _names(level))


def _is_extended(level: Level) -> bool:
    """Return whether a module that is not nginx's may use settings in a location, as its directive looks like one.

    `*_cache_purge` of ngx_cache_purge is a handler. That of NGINX Plus needs a pass, but has the same name.
    """
    extended = (name for name in _names(level) if name.partition("_")[0] in MODULES)
    return any(name.endswith("_cache_purge") or name not in lexicon.NAMES for name in extended)


def _names(level: Level) -> Iterator[str]:
    return (name for inner in level.walk() for name in inner.names)


@lru_cache(maxsize=1 << 10)
def _module(name: str) -> str | None:
    """Return the module that passes requests on and has a directive; None for all other directives."""
    module, _, rest = name.partition("_")
    return module if module in MODULES and rest and name in lexicon.NAMES else None


def _goes_elsewhere(level: Level) -> bool:
    """Return whether a location hands requests to one with a name."""
    handing = (*level.own("try_files"), *level.own("error_page"))
    return any(directive.args[-1:] and directive.args[-1].startswith("@") for directive in handing)


def _useless(settings: list[Directive], severity: Severity) -> Finding:
    first, *others = settings
    return Finding(
        first.source,
        first.name.span,
        f"{first.name} has no effect here: this location passes no requests on, and others do not inherit it",
        help="set it where requests are passed on or in the server, or delete it",
        related=tuple(Related(other.source, other.name.span, "without effect as well") for other in others),
        severity=severity,
    )


def _finding(pass_: Pass, foreign: list[Directive]) -> Finding:
    first, *others = foreign
    own = f"{pass_.protocol}_{first.name.partition('_')[2]}"
    return Finding(
        first.source,
        first.name.span,
        f"{first.name} has no effect here: {pass_.directive.name} passes on the requests of this location",
        help=f"write `{own}`, or delete it" if own in lexicon.NAMES else "delete it",
        related=tuple(Related(other.source, other.name.span, "without effect as well") for other in others),
        severity=Severity.WARNING,
    )
