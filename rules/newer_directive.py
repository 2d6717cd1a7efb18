"""Directive or map value that the target version does not have yet

Flags directives that came with a later release than the target version, values of maps that combine text and variables
before nginx 1.11.0, and `volatile` in a `map` before 1.11.7 or a `geo` before 1.29.3. Does not flag directives of NGINX
Plus and of other modules, and `max_headers`, which Debian's 1.22.1 has as well. Other rules judge the file as if nginx
had the directive.

The sources of each nginx release since 1.10.0 say which directives it has; an older target version counts as 1.10.0.
The target version is that of `--target-version`, the settings, or the installed nginx.

## Why it matters
An older nginx does not know the name and does not start, for example after a downgrade or on a machine that was not
upgraded. It starts with most of such values of maps, but takes them for plain text: clients get `/new$is_args$args`.

## Bad
```nginx server 1.22.1
http2 on;
```

```nginx http 1.10.3
map $uri $new {
    /old /new$is_args$args;
}
```

```nginx http 1.22.1
geo $remote_addr $place {
    volatile;
    10.0.0.0/8 inside;
}
```

## Good
```nginx server 1.22.1
listen 443 ssl http2;
ssl_certificate cert.pem;
ssl_certificate_key key.pem;
```

## Silent
```nginx server 1.25.1
http2 on;
```

```nginx http 1.11.0
map $uri $new {
    /old /new$is_args$args;
}
```

```nginx http 1.10.3
map $uri $new {
    default $request_uri;
    /old /new;
}
```

## When to ignore it
If the package of a distribution has the directive added to an older version.

## References
- CHANGES, https://nginx.org/en/CHANGES: 1.11.0 (combinations in maps), 1.11.7 and 1.29.3 (`volatile`)
- https://nginx.org/en/docs/http/ngx_http_map_module.html#map
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import Finding, Model, Severity, rule
from nginxopt.semantics import MIXED_VALUES, VOLATILE, commands, is_mixed

_HELP = "set --target-version if nginx has another version"


@rule(severity=Severity.WARNING, category="correctness", by_release=True)
def check(model: Model) -> Iterator[Finding]:
    """Find directives, and rows of maps, that came after the target version."""
    yield from _directives(model)
    if model.target < MIXED_VALUES:
        yield from _values(model)
    for kind, first in VOLATILE.items():
        if model.target < first:
            yield from _volatile(model, kind)


def _directives(model: Model) -> Iterator[Finding]:
    for directive, _, fault in model.faults:
        first = commands.came_after(directive.name, model.target)
        if fault.kind is commands.FaultKind.UNKNOWN and first:
            message = f'"{directive.name}" came with nginx {first}; nginx {model.target} does not start with it'
            yield Finding(directive.source, directive.name.span, message, help=_HELP)


def _values(model: Model) -> Iterator[Finding]:
    for level in model.levels("map"):
        for row in level.directives:
            if row.name != "include" and len(row.args) == 1 and is_mixed(row.args[0]):
                read_as = "the name of a variable" if row.args[0].startswith("$") else "plain text"
                message = f"this value needs nginx {MIXED_VALUES}; nginx {model.target} takes it for {read_as}"
                yield Finding(row.source, row.args[0].span, message, help=_HELP)


def _volatile(model: Model, kind: str) -> Iterator[Finding]:
    for level in model.levels(kind):
        for row in level.own("volatile"):
            if not row.args:
                message = (
                    f'"volatile" in a {kind} needs nginx {VOLATILE[kind]}; nginx {model.target} does not start with it'
                )
                yield Finding(row.source, row.name.span, message, help=_HELP)
