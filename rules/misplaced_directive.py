"""Directive in the wrong block: nginx refuses the configuration

Flags directives of nginx in a block where they are not allowed, such as `proxy_pass` in `server`. Does not flag
directives of NGINX Plus and of other modules, and fragments that may belong where the directive is allowed. If nothing
in a file is allowed where a fragment includes it, the fragment means another file of that name: that is not flagged.

The sources of each nginx release say where a directive is allowed.

## Why it matters
nginx stops at the first directive that is not allowed in its block: it does not start, and a reload keeps the old
configuration. Until then, nothing shows the mistake.

## Bad
```nginx http
server {
    proxy_pass http://127.0.0.1:8080;
}
```
In an `if` of a server, only `rewrite`, `return`, `set` and `break` are allowed:
```nginx server
if ($http_x_debug) {
    add_header X-Debug 1;
}
```

## Good
```nginx http
server {
    location / {
        proxy_pass http://127.0.0.1:8080;
    }
}
```

## Silent
An `if` in a location may have more:
```nginx location
if ($http_x_debug) {
    add_header X-Debug 1;
}
```

## When to ignore it
If a patched nginx or a fork allows the directive there.

## References
- `ngx_conf_handler` in ngx_conf_file.c: "directive is not allowed here"
- https://nginx.org/en/docs/dirindex.html
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive, Scope, Source
from nginxopt.lint import Finding, Model, Severity, rule
from nginxopt.semantics import commands


@rule(severity=Severity.ERROR, category="refused", by_release=True)
def check(model: Model) -> Iterator[Finding]:
    """Find directives that nginx does not allow where they stand."""
    found = [(directive, scope) for directive, scope, fault in model.faults if fault.kind is commands.FaultKind.PLACE]
    other = _other_files(model, {directive for directive, _ in found}) if found else set()
    for directive, scope in found:
        if directive.source in other:
            continue
        places = [_words(place) for place in commands.allowed(directive.name, model.target)]
        yield Finding(
            directive.source,
            directive.name.span,
            f'"{directive.name}" is not allowed in {_where(model, scope)}',
            help=f"nginx allows it in {', '.join(places)}",
        )


def _other_files(model: Model, misplaced: set[Directive]) -> set[Source]:
    """Return the included files of a fragment in which no directive may stand where the include is.

    Where the fragment is installed, its relative include leads to another file than the one of that name here.
    """
    if model.root.kind == "main":
        return set()
    return {file.source for file in model.config.files[1:] if misplaced.issuperset(file.block.directives())}


def _where(model: Model, scope: Scope) -> str:
    """Return the place of a scope in words; of a fragment that may stand in several, the name of the block."""
    places = {commands.place_of((*outer, *scope.context)) or "" for outer in model.config.candidates}
    words = {_words(place) for place in places}
    context = scope.context or model.config.candidates[0]
    return words.pop() if len(words) == 1 and "" not in places else context[-1]


def _words(place: str) -> str:
    """Return a place in words: `if in location` for `http/location/if`, `server of stream`."""
    parts = place.split("/")
    if parts[0] in ("stream", "mail") and len(parts) > 1:
        return f"{parts[1]} of {parts[0]}"
    return " in ".join(reversed(parts[1:] or parts))
