"""`add_header Content-Type`: responses have the header twice

Flags `add_header Content-Type`. Does not flag levels that hide the header of the upstream with `proxy_hide_header
Content-Type`, and levels that answer with an empty body.

## Why it matters
`add_header` adds a header to those that nginx or the upstream has set. A response with two different Content-Type
headers is read in different ways: browsers take the last one or join them, proxies the first, and `nosniff` makes
browsers refuse scripts and styles whose type they cannot read.

## Bad
```nginx server
location = /health {
    add_header Content-Type text/plain;
    return 200 "ok";
}
```

## Good
```nginx server
location = /health {
    default_type text/plain;
    return 200 "ok";
}
```

## Silent
```nginx server
location /api/ {
    proxy_hide_header Content-Type;
    add_header Content-Type application/json;
    proxy_pass http://127.0.0.1:8080;
}
```
Without `always`, an error has no added headers:
```nginx server
location = /missing.js {
    default_type application/javascript;
    add_header Content-Type application/javascript;
    return 404 "/* not found */";
}
```

## Fix safety
May change: responses.

Only where the level answers with `return` and a text: the response then has the header once.

## When to ignore it
If the responses have no Content-Type of their own: those with an empty body.

## References
- https://nginx.org/en/docs/http/ngx_http_core_module.html#default_type
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.config import Directive, layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, pattern, rule
from nginxopt.semantics import PROTOCOLS, Level

_NAME = pattern(r"content-type", re.IGNORECASE)
_EMPTY = {"204", "304", "444"}
_ADDED = {"200", "201", "204", "206", "301", "302", "303", "304", "307", "308"}
"""The responses that have what `add_header` adds without `always`."""


@rule(severity=Severity.INFO, category="correctness", fix=Safety.UNSAFE, about=("add_header",))
def check(model: Model) -> Iterator[Finding]:
    """Find types that are added to others."""
    for directive, level in model.each("add_header"):
        if (
            directive.args
            and _NAME.fullmatch(directive.args[0])
            and not (_is_only(level) or _is_left(directive, level))
        ):
            yield _finding(directive, level)


def _is_only(level: Level) -> bool:
    """Return whether the responses of a level have no other type."""
    hidden = (
        word for name in PROTOCOLS for stated in level.setting(f"{name}_hide_header").directives for word in stated.args
    )
    returned = [stated.args[0] for stated in level.own("return") if stated.args]
    return any(_NAME.fullmatch(word) for word in hidden) or bool(returned and returned[0] in _EMPTY)


def _is_left(directive: Directive, level: Level) -> bool:
    """Return whether a location answers with a status to which `add_header` adds nothing."""
    codes = [stated.args[0] for stated in level.own("return") if stated.args and stated.args[0].isdecimal()]
    return bool(codes) and codes[0] not in _ADDED and "always" not in directive.args[2:]


def _finding(directive: Directive, level: Level) -> Finding:
    value = str(directive.args[1]) if len(directive.args) > 1 else ""
    returns = any(len(stated.args) > 1 for stated in level.own("return"))
    is_plain = returns and value and "$" not in value and level.kind == "location" and not level.own("default_type")
    line = f"default_type {layout.quoted(value)};"
    return Finding(
        directive.source,
        directive.args[0].span,
        "responses have Content-Type twice: add_header does not replace the one that is there",
        Fix(f"set `{line}`", (layout.rewrite(directive, line),), Safety.UNSAFE) if is_plain else None,
        "" if is_plain else "use default_type or types, or hide the header of the upstream with proxy_hide_header",
    )
