"""Unknown directive: nginx refuses the configuration

Flags unknown directives whose names differ from one of nginx's in one or two letters, keywords of other languages such
as `else`, directives of Angie if no module is loaded, and in a main configuration that was read as a whole any name
that no table has. Does not flag unknown names in fragments, nor where the configuration shows that its build has more:
it loads a module, has a directive of a vendor or a common module, or several with one prefix that is none of nginx's,
or the target version is that of a vendor. Does not flag names inside `map`, `types`, `geo` and other blocks of values,
or names inside blocks of modules. With a target version of a vendor, such as `angie-1.12`, its directives are known.

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

```nginx server
acme_frobnicate on;
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
from nginxopt.facts import lexicon, vendors
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.semantics import commands

_OF_ANGIE = "state the target version as that of Angie, such as angie-1.12, or delete it"
_OF_COMMENT = "a comment begins with #"
_OF_MODULE = "load the module that has it, or delete it"


@rule(severity=Severity.ERROR, category="refused", fix=Safety.UNSAFE)
def check(model: Model) -> Iterator[Finding]:
    """Find names that differ from a directive of nginx by a letter or two, and those of others."""
    rows = commands.is_of_rows(model.config)
    is_plain = model.is_whole and not model.root.own("load_module")
    is_bare = model.is_whole and commands.is_plain(model.root, model.target)
    of_angie = vendors.names(vendors.ANGIE) if is_plain else frozenset[str]()
    named = model.config.by_name
    unknown = [place for name in named if name not in lexicon.NAMES for place in named[name]]
    for directive, scope in unknown:
        if rows and directive.source is model.config.main.source and not scope.context:
            continue
        name = str(directive.name)
        if vendors.declared(model.target, name) or name in vendors.names(vendors.FURTHER):
            continue
        similar = lexicon.nearest(name)
        if name in of_angie:
            message = f'unknown directive "{name}": Angie has it, nginx does not'
            yield Finding(directive.source, directive.name.span, message, help=_OF_ANGIE)
        elif similar:
            yield _finding(directive, similar)
        elif is_bare and name not in lexicon.FOREIGN and commands.place_of(scope.context):
            message = f'unknown directive "{name}": no release of nginx has it, and no module is loaded'
            advice = _OF_COMMENT if name.startswith(("//", "/*", "--")) else _OF_MODULE
            yield Finding(directive.source, directive.name.span, message, help=advice)
        elif directive.name in lexicon.FOREIGN:
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
