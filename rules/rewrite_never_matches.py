"""Rewrite or location that no ordinary request reaches: nginx matches the decoded path, without arguments

Flags the pattern of a `rewrite` or `location`, or the text of a `location`, that

- contains `%20` or another escape: nginx matches the decoded URI, which has a space there, so only a URL that is
  encoded twice matches (`%2520`);
- holds arguments, as `\\?id=1` or `.php?id=`: arguments are not part of the URI that nginx matches, and only a URL
  whose question mark is encoded (`%3F`) can match `\\?`;
- does not begin with the slash that every URI begins with, or contains a scheme or a host;
- holds `//`, `/./` or `/../`, which nginx has merged or resolved by then;
- is a regular expression without the `~` before it;
- is a shell pattern: `/*.html` is any number of slashes, one character, and `html`.

The rule decides that nothing matches with automata over all normalized URIs, not by how the pattern looks. It is an
error only if no request can match; a pattern that a client could match with an unusual URL is a warning. A location
that denies `/../` is not flagged: it bars what nginx bars anyway.

## Why it matters
The directive has no effect, and nginx tries the pattern on request after request. `ngx_http_parse_complex_uri` decodes
the path, merges slashes and removes the arguments before any rule runs.

## Bad
```nginx server
rewrite ^/a%20b$ /a-b permanent;
rewrite ^/item\\.php\\?id=(\\d+)$ /items/$1 permanent;
rewrite ^old\\.html$ /new permanent;
rewrite ^/*.html$ /new permanent;
location /my%20files/ {
    return 404;
}
```

## Good
```nginx server
rewrite "^/a b$" /a-b permanent;
if ($arg_id ~ "^(\\d+)$") {
    rewrite ^/item\\.php$ /items/$arg_id? permanent;
}
rewrite ^/old\\.html$ /new permanent;
rewrite \\.html$ /new permanent;
location "/my files/" {
    return 404;
}
```

## Silent
A percent sign may be part of a name, `%20` one of several alternatives, and a question mark a quantifier or a literal:
```nginx server
rewrite ^/100%$ /all permanent;
rewrite ^/a(?:%20|-)b$ /ab permanent;
rewrite ^/what\\?$ /help permanent;
rewrite ^/colou?r$ /color permanent;
```
What is barred anyway:
```nginx server
location ~* /\\.\\./ {
    deny all;
}
```
An optional slash is the slash of `/`, the home page:
```nginx server
rewrite ^/?$ /home/ redirect;
location ~ ^/?$ {
    return 200;
}
```
What an earlier rewrite leaves as the URI is not normalized:
```nginx server
rewrite ^/files(.*)$ /store/$1 last;
location /store//archive/ {
    return 200;
}
```

A `rewrite`, `error_page` or `try_files` leads to the URI as it is written, which nginx does not decode:
```nginx server
rewrite ^/files/old$ "/my%20files/" last;
location /my%20files/ {
    return 200;
}
```

## When to ignore it
If clients really encode twice: `%2520` is the `%20` that a pattern sees.

## References
- https://nginx.org/en/docs/http/ngx_http_core_module.html#location
- https://nginx.org/en/docs/http/ngx_http_rewrite_module.html#rewrite
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from nginxopt.config import Directive
from nginxopt.lint import Finding, Model, Severity, rule
from nginxopt.lint.queries import unmatched


@rule(severity=Severity.WARNING, highest=Severity.ERROR, category="rewrite")
def check(model: Model) -> Iterator[Finding]:
    """Find patterns that never match."""
    with model.within_budget():
        for found in chain(unmatched.unmatched_rewrites(model), unmatched.unmatched_locations(model)):
            directive, message, advice, severity = found
            if directive.name == "location" and _bars_dots(directive):
                continue
            word = directive.args[0] if directive.name == "rewrite" else directive.args[-1]
            yield Finding(directive.source, word.span, message, help=advice, severity=severity, cause=advice)


def _bars_dots(location: Directive) -> bool:
    """Return whether a location is for `/../` and denies it."""
    inner = location.block.directives() if location.block else ()
    return "/\\.\\./" in location.args[-1] and any(each.name in ("deny", "return") for each in inner)
