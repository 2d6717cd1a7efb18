"""Unknown directive: nginx refuses the configuration

Flags unknown directives whose names differ from one of nginx's in one or two letters, keywords of other languages such
as `else`, and directives of Angie if no module is loaded. Does not flag other unknown names, which may belong to a
module that the text does not show, names inside `map`, `types`, `geo` and other blocks of values, or names inside
blocks of modules. With a target version of a vendor, such as `angie-1.12`, its directives are known.

## Why it matters
nginx stops at the first unknown directive: it does not start, and a reload keeps the old configuration. Until then,
nothing shows the mistake: `proxy_buferring off` looks as if buffering were off.

## Bad
```nginx location
proxy_buferring off;
proxy_pass http://127.0.0.1:8080;
```

```nginx server
if ($uri = /old) {
    return 301 /new;
} else {
    return 404;
}
```

```nginx server
ssl_ntls on;
```

## Good
```nginx location
proxy_buffering off;
proxy_pass http://127.0.0.1:8080;
```

```nginx server
if ($uri = /old) {
    return 301 /new;
}
return 404;
```

## Silent
These are values, not directives:
```nginx http
map $uri $to {
    proxy_buferring off;
}
types {
    text/html htm;
}
```

## Fix safety
May change: start, responses.

nginx starts again, and the directive takes effect.

## When to ignore it
If a module has a directive of that name.

## References
- `ngx_conf_handler` in ngx_conf_file.c
- https://nginx.org/en/docs/dirindex.html
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive, layout
from nginxopt.facts import vendors
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.semantics import commands, directives

_OF_ANGIE = "state the target version as that of Angie, such as angie-1.12, or delete it"


@rule(severity=Severity.ERROR, category="refused", fix=Safety.UNSAFE)
def check(model: Model) -> Iterator[Finding]:
    """Find names that differ from a directive of nginx by a letter or two, and those of others."""
    rows = commands.is_of_rows(model.config)
    is_plain = model.is_whole and not model.root.own("load_module")
    of_angie = vendors.names(vendors.ANGIE) if is_plain else frozenset[str]()
    for directive, scope in model.config.walk():
        if directive.name in directives.NAMES or not directives.BLOCKS.issuperset(scope.context):
            continue
        if rows and directive.source is model.config.main.source and not scope.context:
            continue
        name = str(directive.name)
        if vendors.declared(model.target, name) or name in vendors.names(vendors.FURTHER):
            continue
        similar = directives.nearest(name)
        if name in of_angie:
            message = f'unknown directive "{name}": Angie has it, nginx does not'
            yield Finding(directive.source, directive.name.span, message, help=_OF_ANGIE)
        elif similar:
            yield _finding(directive, similar)
        elif directive.name in directives.FOREIGN:
            message = f'unknown directive "{directive.name}": nginx has no such keyword'
            yield Finding(directive.source, directive.name.span, message, help="write a second if, or a map")


def _finding(directive: Directive, similar: tuple[str, ...]) -> Finding:
    is_clear = len(similar) == 1 and similar[0] != "include"  # a file that was not read may be anything
    return Finding(
        directive.source,
        directive.name.span,
        f'unknown directive "{directive.name}"; did you mean {_or(similar)}?',
        Fix(f"replace it with {similar[0]}", (layout.replace(directive, directive.name, similar[0]),), Safety.UNSAFE)
        if is_clear
        else None,
        "" if is_clear else f"replace it with {_or(similar)}",
    )


def _or(names: tuple[str, ...]) -> str:
    return " or ".join(f'"{name}"' for name in names)
