"""Redirect to a host without `http://` or `https://`: browsers take the host for a file name

Flags redirects of `rewrite` and `return` whose target begins with the name of a host, or with a variable that holds
one, such as `$host`. Does not flag paths, names of files, and variables that may hold a whole URL.

## Why it matters
nginx sends the target as it is written. A browser at `/shop/` that gets `Location: www.example.com/x` asks the same
server for `/shop/www.example.com/x`, which is not there, or is redirected once more.

## Bad
```nginx server
rewrite ^ www.example.com/x permanent;
```
```nginx server
location /old/ {
    return 301 $host/new/;
}
```

## Good
```nginx server
rewrite ^ $scheme://www.example.com/x permanent;
```

## Silent
```nginx server
location /a {
    return 301 /www.example.com/x;
}
location /b {
    rewrite ^ index.html redirect;
}
location /c {
    return 302 $arg_to;
}
location /d {
    return 301 //www.example.com/x;
}
location /e {
    return 200 "www.example.com/x";
}
```

## Fix safety
May change: responses.

Browsers are redirected to the other host, with the scheme that they used.

## When to ignore it
Never: name the scheme.

## References
- https://nginx.org/en/docs/http/ngx_http_rewrite_module.html
- https://www.rfc-editor.org/rfc/rfc9110#name-location
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.config import Directive, Token, layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, pattern, rule

_HOST = pattern(
    r"(?:www\.[\w.-]+\.[a-z]{2,}|(?:[\w-]+\.)+(?:com|org|net|de|edu|gov|info|io|ru|fr|nl|ch|at|co\.uk|dev|app)"
    r"|\$\{?(?:host|http_host|server_name|hostname)\b\}?)(?::\d+)?(?=[/?$]|$)",
    re.IGNORECASE,
)
_CODES = ("301", "302", "303", "307", "308")


@rule(severity=Severity.WARNING, category="correctness", fix=Safety.UNSAFE, about=("rewrite", "return"))
def check(model: Model) -> Iterator[Finding]:
    """Find targets of redirects that should be URLs."""
    for directive, _ in model.each("rewrite", "return"):
        target = _target(directive)
        if target is not None and _HOST.match(target):
            yield Finding(
                directive.source,
                target.span,
                f"{target} has no scheme: browsers look for it below the current path",
                Fix("add the scheme", (layout.replace(directive, target, f"$scheme://{target}"),), Safety.UNSAFE),
            )


def _target(directive: Directive) -> Token | None:
    """Return the target of a redirect; None for any other directive."""
    args = directive.args
    if directive.name == "return":
        return args[1] if len(args) == 2 and args[0] in _CODES else None
    return args[1] if len(args) == 3 and args[2] in ("permanent", "redirect") else None
